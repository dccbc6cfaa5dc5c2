//! Changes of what an index holds, and the rules that it keeps.

use std::collections::HashSet;

use anyhow::{Context, Result, bail, ensure};
use chrono::{DateTime, FixedOffset};
use pep440_rs::{Version, VersionSpecifiers};

use super::name::{WheelName, check_file, check_index, check_project, normalize};
use super::{Action, Catalogue, Change, Entry, SCHEMA};

/// How many changes are kept, newest first of all; the promotion log has the others.
const CHANGES: usize = 200;

/// Longest reason, in bytes.
const REASON: usize = 1000;

impl Catalogue {
    /// An index that holds nothing.
    pub fn new(index: &str) -> Self {
        Self {
            schema: SCHEMA.into(),
            index: index.into(),
            url: None,
            entries: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Reads `entries.json` of the index called `index`, and trusts nothing in it.
    pub fn parse(json: &[u8], index: &str) -> Result<Self> {
        let mut catalogue: Self = serde_json::from_slice(json).context("this is not the list of an index")?;
        ensure!(
            catalogue.index == index,
            "the list is of the index `{}`; it must not be copied between indexes",
            catalogue.index
        );
        catalogue.settle()?;
        Ok(catalogue)
    }

    /// The text of `entries.json`: one line an entry, so that two of them can be compared by line.
    pub fn json(&self) -> Result<Vec<u8>> {
        fn lines<T: serde::Serialize>(items: &[T]) -> Result<String> {
            let lines: Vec<String> = items.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
            Ok(if lines.is_empty() { "[]".into() } else { format!("[\n{}\n]", lines.join(",\n")) })
        }
        let head = serde_json::json!({ "schema": self.schema, "index": self.index, "url": self.url });
        let head = head.to_string();
        let head = head.trim_end_matches('}');
        let (entries, changes) = (lines(&self.entries)?, lines(&self.changes)?);
        Ok(format!("{head},\n\"entries\": {entries},\n\"changes\": {changes}}}\n").into_bytes())
    }

    /// The entry of the wheel called `filename`.
    pub fn entry(&self, filename: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.filename == filename)
    }

    /// Adds a wheel. If it is there already, with the same bytes, the new gate results and provenance take the place
    /// of the old, and it keeps its time and its yank. A name that has other bytes is refused: installers and lock
    /// files know the first.
    pub fn insert(&mut self, entry: Entry) -> Result<()> {
        if let Some(known) = self.entries.iter_mut().find(|known| known.filename == entry.filename) {
            ensure!(
                known.sha256 == entry.sha256,
                "`{}` is in `{}` with SHA-256 {}, and this file has {}: release it under a new version",
                entry.filename,
                self.index,
                known.sha256,
                entry.sha256
            );
            let (upload_time, yanked) = (known.upload_time.clone(), known.yanked.take());
            *known = Entry { upload_time, yanked, ..entry };
            return Ok(());
        }
        self.note(&entry.upload_time, Action::Added, &entry.filename, "");
        self.entries.push(entry);
        Ok(())
    }

    /// Takes a wheel out of the list.
    pub fn remove(&mut self, filename: &str, time: &str, reason: &str) -> Result<()> {
        self.find(filename)?;
        self.entries.retain(|entry| entry.filename != filename);
        self.note(time, Action::Removed, filename, reason);
        Ok(())
    }

    /// Tells installers to leave a wheel alone unless it is pinned.
    pub fn yank(&mut self, filename: &str, time: &str, reason: &str) -> Result<()> {
        ensure!(!reason.trim().is_empty(), "`{filename}`: a yank needs a reason, which users are shown");
        self.find(filename)?.yanked = Some(reason.to_owned());
        self.note(time, Action::Yanked, filename, reason);
        Ok(())
    }

    /// Takes a yank back.
    pub fn restore(&mut self, filename: &str, time: &str, reason: &str) -> Result<()> {
        let entry = self.find(filename)?;
        ensure!(entry.yanked.is_some(), "`{filename}` is not yanked");
        entry.yanked = None;
        self.note(time, Action::Restored, filename, reason);
        Ok(())
    }

    /// Sorts the entries, drops old changes, and refuses what breaks a rule.
    pub fn settle(&mut self) -> Result<()> {
        ensure!(self.schema == SCHEMA, "schema `{}`: this program knows `{SCHEMA}`", self.schema);
        check_index(&self.index)?;
        if let Some(url) = &self.url {
            check_url(url)?;
        }
        let mut names = HashSet::new();
        for entry in &self.entries {
            check_entry(entry).with_context(|| format!("entry `{}`", entry.filename))?;
            ensure!(names.insert(&entry.filename), "`{}` is listed twice", entry.filename);
        }
        self.changes.drain(..self.changes.len().saturating_sub(CHANGES));
        for change in &self.changes {
            check_file(&change.filename)?;
            utc(&change.time)?;
            check_reason(&change.reason)?;
        }
        let key = |entry: &Entry| {
            let version: Option<Version> = entry.version.parse().ok();
            (normalize(&entry.project), version, entry.filename.clone())
        };
        self.entries.sort_by_cached_key(key);
        Ok(())
    }

    fn find(&mut self, filename: &str) -> Result<&mut Entry> {
        let index = &self.index;
        let entry = self.entries.iter_mut().find(|entry| entry.filename == filename);
        entry.with_context(|| format!("`{filename}` is not in `{index}`"))
    }

    fn note(&mut self, time: &str, action: Action, filename: &str, reason: &str) {
        self.changes.push(Change {
            time: time.to_owned(),
            action,
            filename: filename.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

/// The present time in the form that entries and changes use.
pub fn now() -> String {
    chrono::Utc::now().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Reads a time, which must be UTC.
pub(crate) fn utc(time: &str) -> Result<DateTime<FixedOffset>> {
    let parsed = DateTime::parse_from_rfc3339(time).ok().filter(|_| time.ends_with('Z'));
    parsed.with_context(|| {
        format!("`{time}` is not a time: expected RFC 3339 in UTC, as in 2026-01-31T12:00:00Z")
    })
}

fn check_url(url: &str) -> Result<()> {
    let scheme = ["https://", "http://", "file:///"].iter().any(|scheme| url.starts_with(scheme));
    let plain = url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>`\\?#".contains(&byte));
    ensure!(
        scheme && plain && url.ends_with('/'),
        "`{url}` is not the address of an index: expected https://…/ with a final `/` and no query"
    );
    Ok(())
}

fn check_reason(reason: &str) -> Result<()> {
    ensure!(
        reason.len() <= REASON && !reason.chars().any(char::is_control),
        "a reason is one line of at most {REASON} bytes: {reason:?}"
    );
    Ok(())
}

fn check_digest(what: &str, digest: &str) -> Result<()> {
    let plain = digest.len() == 64
        && digest.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    ensure!(plain, "{what} `{digest}`: expected 64 lower-case hexadecimal digits");
    Ok(())
}

fn check_label(what: &str, name: &str) -> Result<()> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    ensure!(plain && !name.is_empty(), "{what} `{name}`: expected letters, digits, `-`, `_` and `.`");
    Ok(())
}

fn check_entry(entry: &Entry) -> Result<()> {
    let name: WheelName = entry.filename.parse()?;
    check_project(&entry.project)?;
    if normalize(&entry.project) != name.project {
        bail!("project `{}` does not fit the file name", entry.project);
    }
    let version: Version = entry.version.parse().with_context(|| format!("version `{}`", entry.version))?;
    ensure!(version == name.version, "version `{version}` does not fit the file name");
    check_digest("sha256", &entry.sha256)?;
    check_digest("metadata_sha256", &entry.metadata_sha256)?;
    if let Some(range) = &entry.requires_python {
        range.parse::<VersionSpecifiers>().with_context(|| format!("requires_python `{range}`"))?;
    }
    utc(&entry.upload_time)?;
    if let Some(reason) = &entry.yanked {
        check_reason(reason)?;
    }
    check_label("row", &entry.row)?;
    for gate in &entry.gate {
        check_label("image", &gate.image)?;
        check_digest("report_sha256", &gate.report_sha256)?;
    }
    entry.provenance.as_deref().map_or(Ok(()), check_file)
}
