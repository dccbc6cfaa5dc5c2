//! The log's files: reading them with every check that needs nothing but them, and adding one.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use wheelhouse::digest::sha256;

use super::entry::{self, Action, Draft, Entry, Evidence, SCHEMA};
use super::state::State;
use crate::promote::Policy;
use crate::sign::PrivateKey;
use crate::store::{self, Store};

/// How often a writer begins again after another one came first.
const ATTEMPTS: u32 = 100;

/// The last entry of a log, as `head.json` names it and as verifiers remember it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The entry's number; 0 if there is none.
    pub number: u64,
    /// SHA-256 of its file in hexadecimal.
    pub sha256: String,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.sha256)
    }
}

impl FromStr for Head {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (number, sha256) = text.split_once(':').unwrap_or_default();
        let plain =
            sha256.len() == 64 && sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match number.parse() {
            Ok(number) if plain => Ok(Self { number, sha256: sha256.to_owned() }),
            _ => bail!(
                "`{text}` is not the head of a log: expected NUMBER:SHA256, as `wheelhouse verify` prints it"
            ),
        }
    }
}

/// A log whose chain and signatures hold.
#[derive(Clone, Debug)]
pub struct Log {
    index: String,
    entries: Vec<Entry>,
    digests: Vec<String>,
    /// What `head.json` says, which an interrupted writer leaves behind the last entry.
    written: Head,
}

impl Log {
    /// Reads the log of `index`, and refuses one with an entry that is missing, changed, out of order, or signed by
    /// a key that `policy` does not list for it.
    pub fn load(store: &Store, index: &str, policy: &Policy) -> Result<Self> {
        // The head first: entries that another writer adds meanwhile are then not taken for missing.
        let head = head_path(index);
        let written = match store.get(&head)? {
            Some(object) => serde_json::from_slice(&object.bytes)
                .with_context(|| format!("{head}: not the head of a log: restore the file from a backup"))?,
            None => Head { number: 0, sha256: entry::NOTHING.to_owned() },
        };
        let mut log = Self { index: index.to_owned(), entries: vec![], digests: vec![], written };
        for path in numbered(store, index)? {
            let object = store.get(&path)?.with_context(|| {
                format!("{path}: was deleted while the log was read: restore it from a backup")
            })?;
            log.push(&object.bytes, policy).with_context(|| path.clone())?;
        }
        let (number, sha256) = (log.written.number, &log.written.sha256);
        ensure!(
            number <= log.len(),
            "{head}: names entry {number}, but the log ends with entry {}: the log was cut off; restore the missing \
             files from a backup",
            log.len()
        );
        ensure!(
            log.digest(number) == Some(sha256),
            "{head}: names entry {number} with sha256 {sha256}, but the file has {}: the log was rewritten; restore \
             it from a backup",
            log.digest(number).unwrap_or("none")
        );
        Ok(log)
    }

    /// Checks that `json` is the next entry, and takes it.
    fn push(&mut self, json: &[u8], policy: &Policy) -> Result<()> {
        let entry = Entry::parse(json)?;
        let (draft, next) = (&entry.draft, self.len() + 1);
        ensure!(draft.schema == SCHEMA, "schema: expected `{SCHEMA}`, found `{}`", draft.schema);
        ensure!(
            draft.index == self.index,
            "index: an entry of `{}` in the log of `{}`",
            draft.index,
            self.index
        );
        ensure!(
            draft.number == next,
            "number: expected {next}, found {}: entries were reordered",
            draft.number
        );
        let before = self.head().sha256;
        ensure!(
            draft.previous == before,
            "previous: expected the sha256 of entry {}, {before}, found {}: that entry was changed, or this one \
             belongs to another log",
            self.len(),
            draft.previous
        );
        let time = moment(&draft.time)?;
        if let Some(last) = self.entries.last() {
            ensure!(time >= moment(&last.draft.time)?, "time: {} is before the entry before", draft.time);
        }
        entry.verify(&policy.writers_at(next))?;
        self.digests.push(sha256(json));
        self.entries.push(entry);
        Ok(())
    }

    /// The index whose log this is.
    pub fn index(&self) -> &str {
        &self.index
    }

    /// How many entries there are, which is the number of the last.
    #[expect(clippy::len_without_is_empty, reason = "an empty log is nothing that anybody asks for")]
    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The entries from number 1.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The SHA-256 of entry `number`'s file; zeros for number 0.
    pub fn digest(&self, number: u64) -> Option<&str> {
        match number.checked_sub(1) {
            None => Some(entry::NOTHING),
            Some(place) => self.digests.get(usize::try_from(place).ok()?).map(String::as_str),
        }
    }

    /// The last entry.
    pub fn head(&self) -> Head {
        let sha256 = self.digests.last().map_or(entry::NOTHING, String::as_str).to_owned();
        Head { number: self.len(), sha256 }
    }

    /// What `head.json` said when the log was read: the last entry, or an earlier one if a writer was interrupted.
    pub fn written(&self) -> &Head {
        &self.written
    }

    /// What results from the whole log.
    pub fn state(&self) -> Result<State> {
        let mut state = State::default();
        for entry in &self.entries {
            let number = entry.draft.number;
            state.apply(&entry.draft).with_context(|| entry_path(&self.index, number))?;
        }
        Ok(state)
    }
}

/// The place in a log that an entry is to have.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The entry's number.
    pub number: u64,
    /// The entry's time, to the second.
    pub time: SystemTime,
}

impl Slot {
    /// The place after the last entry of `log`. Another machine's clock may be ahead of `now`: the log's time stands
    /// still then.
    pub fn next(log: &Log, now: SystemTime) -> Result<Self> {
        let now = moment(&rfc3339(now))?;
        let last = log.entries.last().map(|entry| moment(&entry.draft.time)).transpose()?;
        Ok(Self { number: log.len() + 1, time: last.map_or(now, |last| last.max(now)) })
    }
}

/// Adds an entry to the log of `index`.
///
/// `decide` says what happens, given the state and the place after which it happens. It runs again, on the newer
/// state, whenever another writer comes first, so that what it decides is never based on something outdated.
pub fn append(
    store: &Store,
    index: &str,
    policy: &Policy,
    key: &PrivateKey,
    now: SystemTime,
    mut decide: impl FnMut(&State, &Slot) -> Result<(Action, Vec<Evidence>)>,
) -> Result<Entry> {
    for _ in 0..ATTEMPTS {
        let log = Log::load(store, index, policy)?;
        let slot = Slot::next(&log, now)?;
        let number = slot.number;
        policy.check_writer(index, &key.public(), number)?;
        let mut state = log.state()?;
        let (action, evidence) = decide(&state, &slot)?;
        let draft = Draft {
            schema: SCHEMA.to_owned(),
            index: index.to_owned(),
            number,
            previous: log.head().sha256,
            time: rfc3339(slot.time),
            action,
            evidence,
        };
        // An entry that replay refuses must not get into the log: nothing could be added after it.
        state.apply(&draft)?;
        let entry = draft.sign(key)?;
        let (path, json) = (entry_path(index, number), entry.to_json()?);
        match store.create(&path, json.clone()) {
            Ok(()) => return Ok(entry),
            Err(store::Error::Conflict { .. }) => {
                // A server can answer a request that was sent twice like this, although the first one was heard.
                if store.get(&path)?.is_some_and(|object| object.bytes == json) {
                    return Ok(entry);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    bail!("other writers to index `{index}` came first {ATTEMPTS} times in a row: try again")
}

/// Makes `head.json` name `head`, unless it names a later entry already.
pub(crate) fn advance(store: &Store, index: &str, head: &Head) -> Result<()> {
    store.update(&head_path(index), |old| -> Result<_> {
        let old = old.map(serde_json::from_slice::<Head>).transpose().context("not the head of a log")?;
        if old.is_some_and(|old| old.number >= head.number) {
            return Ok(None);
        }
        Ok(Some(entry::text(head)?.into()))
    })?;
    Ok(())
}

/// The paths of the entries in their order, without a gap.
fn numbered(store: &Store, index: &str) -> Result<Vec<String>> {
    let (folder, head) = (format!("{index}/log"), head_path(index));
    let found = store.list(&folder)?.into_iter().map(|listed| listed.path).filter(|path| *path != head);
    let mut paths = vec![];
    for path in found {
        let next = entry_path(index, paths.len() as u64 + 1);
        ensure!(
            path == next,
            "{path}: expected {next} here: an entry was removed, or a file put in that is none; restore {folder} \
             from a backup"
        );
        paths.push(path);
    }
    Ok(paths)
}

/// Where entry `number` is kept. Names sort like numbers.
pub(crate) fn entry_path(index: &str, number: u64) -> String {
    format!("{index}/log/{number:08}.json")
}

fn head_path(index: &str) -> String {
    format!("{index}/log/head.json")
}

/// Reads an RFC 3339 time in UTC.
pub(crate) fn moment(text: &str) -> Result<SystemTime> {
    humantime::parse_rfc3339(text)
        .with_context(|| format!("`{text}` is not a time: expected 2026-01-31T12:00:00Z"))
}

/// Writes a time, to the second.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}
