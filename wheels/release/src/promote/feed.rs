//! What users and tools follow: an Atom feed of everything that happened, and a list of what was taken back.

use anyhow::{Context, Result};
use atom_syndication::{Category, Content, Entry as Item, Feed, Generator, Link, Text};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::indexes::Policy;
use crate::log::{Action, Draft, Head, Log, Promotion, State, text};

/// How many of the last entries the feed shows.
const SHOWN: usize = 100;

/// One entry of the log, told to people.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The entry's number.
    pub number: u64,
    /// When it was written, RFC 3339 in UTC.
    pub time: String,
    /// `promote`, `yank` or `rollback`.
    pub kind: &'static str,
    /// A line.
    pub title: String,
    /// Some more lines.
    pub details: String,
}

/// `advisories.json`.
#[derive(Serialize)]
struct Advisories {
    schema: &'static str,
    index: String,
    /// The log's last entry when this was written.
    log: Head,
    /// What users should install now.
    pins: Vec<String>,
    advisories: Vec<Advisory>,
}

/// Something that was taken back.
#[derive(Serialize)]
struct Advisory {
    /// Index and number of the log entry.
    id: String,
    time: String,
    kind: &'static str,
    reason: String,
    affected: Vec<Affected>,
    /// What users should install instead, as of then.
    instead: Vec<String>,
}

/// A wheel that users should not use.
#[derive(Serialize)]
struct Affected {
    filename: String,
    project: String,
    version: String,
    sha256: String,
    /// Whether this still holds: a later rollback can bring a wheel back.
    in_force: bool,
}

/// Every entry of the log, oldest first.
pub fn notices(log: &Log) -> Result<Vec<Notice>> {
    let mut state = State::default();
    log.entries()
        .iter()
        .map(|entry| {
            state.apply(&entry.draft)?;
            notice(&entry.draft, &state)
        })
        .collect()
}

fn notice(draft: &Draft, state: &State) -> Result<Notice> {
    let index = &draft.index;
    let install = format!("Install: {}", state.pins()?.join(", "));
    let (kind, title, details) = match &draft.action {
        Action::Promote(promotion) => {
            let wheel = &promotion.wheel;
            let title = format!("{} {} ({}) is in {index}", wheel.project, wheel.version, wheel.row);
            ("promote", title, format!("{}\n{install}", tried(promotion)))
        }
        Action::Yank(yank) => {
            let title = format!("Do not use {}: {}", yank.filename, yank.reason);
            ("yank", title, instead(state)?)
        }
        Action::Rollback(rollback) => {
            let title =
                format!("{index} went back to what it was after entry {}: {}", rollback.to, rollback.reason);
            let list = |what: &str, names: &[String]| match names {
                [] => String::new(),
                names => format!("{what}: {}\n", names.join(", ")),
            };
            let details = list("Do not use", &rollback.taken_back) + &list("Back again", &rollback.restored);
            ("rollback", title, details + &instead(state)?)
        }
    };
    Ok(Notice { number: draft.number, time: draft.time.clone(), kind, title, details })
}

/// The gate's results in a few lines, with what was not tried.
fn tried(promotion: &Promotion) -> String {
    let wheel = &promotion.wheel;
    let mut lines = vec![format!("{}, sha256 {}", wheel.filename, wheel.sha256)];
    lines.extend(wheel.gate.iter().map(|gate| {
        format!(
            "Tried on {}: {} checks passed, {} were skipped, {} are for parts that are not built yet",
            gate.image, gate.passed, gate.skipped, gate.absent
        )
    }));
    let skipped = promotion.skipped.iter();
    lines.extend(
        skipped.map(|check| format!("Skipped on {}: {}: {}", check.image, check.check, check.reason)),
    );
    lines.join("\n")
}

fn instead(state: &State) -> Result<String> {
    Ok(match state.pins()? {
        pins if pins.is_empty() => "There is nothing to install instead".to_owned(),
        pins => format!("Install instead: {}", pins.join(", ")),
    })
}

/// `atom.xml`: the last entries, newest first.
pub(super) fn atom(log: &Log, policy: &Policy) -> Result<Vec<u8>> {
    let notices = notices(log)?;
    let (Some(first), Some(last)) = (log.digest(1), notices.last()) else {
        anyhow::bail!("the log of an index without entries has no feed");
    };
    let page = policy.url.as_deref().unwrap_or("./");
    let mut feed = Feed {
        title: Text::plain(format!("{} wheels", log.index())),
        id: identifier(first)?,
        updated: last.time.parse().context("time")?,
        authors: vec![atom_syndication::Person {
            name: "executorch-runtime".to_owned(),
            ..Default::default()
        }],
        generator: Some(Generator { value: "wheelhouse".to_owned(), ..Default::default() }),
        links: vec![link("alternate", &format!("{page}index.html"), "text/html")],
        ..Default::default()
    };
    if policy.url.is_some() {
        feed.links.push(link("self", &format!("{page}atom.xml"), "application/atom+xml"));
    }
    for notice in notices.iter().rev().take(SHOWN) {
        let digest = log.digest(notice.number).context("an entry without a digest")?;
        feed.entries.push(Item {
            title: Text::plain(notice.title.clone()),
            id: identifier(digest)?,
            updated: notice.time.parse().context("time")?,
            categories: vec![Category { term: notice.kind.to_owned(), ..Default::default() }],
            content: Some(Content {
                value: Some(notice.details.clone()),
                content_type: Some("text".to_owned()),
                ..Default::default()
            }),
            ..Default::default()
        });
    }
    let mut xml = feed.write_to(vec![]).context("cannot write the feed")?;
    xml.push(b'\n');
    Ok(xml)
}

/// `advisories.json`: everything that was taken back, oldest first.
pub(super) fn advisories(log: &Log) -> Result<Vec<u8>> {
    let (now, mut state, mut advisories) = (log.state()?, State::default(), vec![]);
    for entry in log.entries() {
        let draft = &entry.draft;
        state.apply(draft)?;
        let (kind, reason, names) = match &draft.action {
            Action::Promote(_) => continue,
            Action::Yank(yank) => ("yank", &yank.reason, std::slice::from_ref(&yank.filename)),
            Action::Rollback(rollback) => ("rollback", &rollback.reason, &rollback.taken_back[..]),
        };
        let wheels = names.iter().filter_map(|name| state.wheel(name)).map(|wheel| &wheel.entry);
        advisories.push(Advisory {
            id: format!("{}-{}", draft.index, draft.number),
            time: draft.time.clone(),
            kind,
            reason: reason.clone(),
            affected: wheels
                .map(|wheel| Affected {
                    filename: wheel.filename.clone(),
                    project: wheel.project.clone(),
                    version: wheel.version.clone(),
                    sha256: wheel.sha256.clone(),
                    in_force: now.wheel(&wheel.filename).is_some_and(|wheel| !wheel.live()),
                })
                .collect(),
            instead: state.pins()?,
        });
    }
    let (index, log, pins) = (log.index().to_owned(), log.head(), state.pins()?);
    text(&Advisories { schema: "executorch-advisories/1", index, log, pins, advisories })
}

fn link(rel: &str, href: &str, mime: &str) -> Link {
    Link {
        rel: rel.to_owned(),
        href: href.to_owned(),
        mime_type: Some(mime.to_owned()),
        ..Default::default()
    }
}

/// A name for what has this digest, that is the same wherever the log is kept (RFC 6920).
fn identifier(sha256: &str) -> Result<String> {
    let digits = sha256.as_bytes().chunks(2);
    let bytes =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair)?, 16).map_err(anyhow::Error::from));
    let bytes = bytes.collect::<Result<Vec<u8>>>().context("not a digest")?;
    Ok(format!("ni:///sha-256;{}", URL_SAFE_NO_PAD.encode(bytes)))
}
