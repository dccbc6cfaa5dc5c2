//! Changes of what an index holds, and the rules that it keeps.

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, FixedOffset};
use pep440_rs::{Version, VersionSpecifiers};
use wheelhouse::digest::is_sha256;

use super::name::{Parts, check_file, check_index, check_project, normalize};
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
        fn lines<T: serde::Serialize>(text: &mut Vec<u8>, items: &[T]) -> Result<()> {
            for (number, item) in items.iter().enumerate() {
                text.extend_from_slice(if number == 0 { b"\n" } else { b",\n" });
                serde_json::to_writer(&mut *text, item)?;
            }
            if !items.is_empty() {
                text.push(b'\n');
            }
            Ok(())
        }
        let head = serde_json::json!({ "schema": self.schema, "index": self.index, "url": self.url });
        let head = head.to_string();
        let mut text = Vec::with_capacity(768 * self.entries.len() + 1024);
        text.extend_from_slice(head.trim_end_matches('}').as_bytes());
        text.extend_from_slice(b",\n\"entries\": [");
        lines(&mut text, &self.entries)?;
        text.extend_from_slice(b"],\n\"changes\": [");
        lines(&mut text, &self.changes)?;
        text.extend_from_slice(b"]}\n");
        Ok(text)
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
        let mut range = None;
        let mut keyed = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            keyed
                .push(check_entry(entry, &mut range).with_context(|| format!("entry `{}`", entry.filename))?);
        }
        let mut keyed: Vec<(Key, Entry)> = keyed.into_iter().zip(std::mem::take(&mut self.entries)).collect();
        keyed.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.filename.cmp(&other.filename)));
        self.entries = keyed.into_iter().map(|(_, entry)| entry).collect();
        // Equal names have equal keys, so they are neighbours now.
        for pair in self.entries.windows(2) {
            if let [one, other] = pair {
                ensure!(one.filename != other.filename, "`{}` is listed twice", one.filename);
            }
        }
        self.changes.drain(..self.changes.len().saturating_sub(CHANGES));
        for change in &self.changes {
            check_file(&change.filename)?;
            utc(&change.time)?;
            check_reason(&change.reason)?;
        }
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
    ensure!(is_sha256(digest), "{what} `{digest}`: expected 64 lower-case hexadecimal digits");
    Ok(())
}

fn check_label(what: &str, name: &str) -> Result<()> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    ensure!(plain && !name.is_empty(), "{what} `{name}`: expected letters, digits, `-`, `_` and `.`");
    Ok(())
}

/// What entries are sorted by: the project's normalised name, then the version.
type Key = (String, Version);

/// Refuses an entry that breaks a rule, and gives its key. `range` is the last Python range that was read: nearly all
/// wheels of an index have the same.
fn check_entry<'a>(entry: &'a Entry, range: &mut Option<&'a str>) -> Result<Key> {
    let name = Parts::of(&entry.filename)?;
    check_project(&entry.project)?;
    let project = normalize(&entry.project);
    ensure!(project == normalize(name.project), "project `{}` does not fit the file name", entry.project);
    let version: Version = entry.version.parse().with_context(|| format!("version `{}`", entry.version))?;
    if name.version != entry.version {
        let named: Version = name
            .version
            .parse()
            .with_context(|| format!("`{}`: version `{}`", entry.filename, name.version))?;
        ensure!(version == named, "version `{version}` does not fit the file name");
    }
    check_digest("sha256", &entry.sha256)?;
    check_digest("metadata_sha256", &entry.metadata_sha256)?;
    if let Some(found) = entry.requires_python.as_deref()
        && *range != Some(found)
    {
        found.parse::<VersionSpecifiers>().with_context(|| format!("requires_python `{found}`"))?;
        *range = Some(found);
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
    entry.provenance.as_deref().map_or(Ok(()), check_file)?;
    Ok((project, version))
}
