//! Bringing the files of an index to what its log says.

use anyhow::{Result, bail, ensure};
use bytes::Bytes;

use super::feed;
use super::indexes::Policy;
use crate::index::{Catalogue, render};
use crate::log::{Evidence, Log, State, advance, entry_path};
use crate::store::{Error, Store};

/// How often it begins again after another writer came first.
const ATTEMPTS: u32 = 100;

/// Brings `head.json`, the list of entries, the pages, the pins and the feeds of `index` to what its log says. Does
/// nothing if they are there. Completes what an interrupted command left undone.
///
/// Writers do not undo each other's work: each file is replaced only if it still is what it was *before* the log was
/// read, so that what was rendered from a longer log never gives way to what was rendered from a shorter one.
pub fn settle(store: &Store, index: &str, policy: &Policy) -> Result<Log> {
    'again: for _ in 0..ATTEMPTS {
        let log = Log::load(store, index, policy)?;
        if log.len() == 0 {
            return Ok(log);
        }
        advance(store, index, &log.head())?;
        let files = rendered(&log, policy)?;
        let mut olds = vec![];
        for (path, _) in &files {
            olds.push(store.get(path)?);
        }
        if store.exists(&entry_path(index, log.len() + 1))? {
            continue 'again;
        }
        for ((path, new), old) in files.into_iter().zip(olds) {
            let written = match old {
                Some(old) if old.bytes == new => Ok(()),
                Some(old) => store.replace(&path, new, &old.version),
                None => store.create(&path, new),
            };
            match written {
                Ok(()) => {}
                Err(Error::Conflict { .. }) => continue 'again,
                Err(error) => return Err(error.into()),
            }
        }
        return Ok(log);
    }
    bail!("other writers to index `{index}` came first {ATTEMPTS} times in a row: try again")
}

/// Every file of the index that follows from its log, in the order in which they are written.
pub(super) fn rendered(log: &Log, policy: &Policy) -> Result<Vec<(String, Bytes)>> {
    let (index, state) = (log.index(), log.state()?);
    let catalogue = catalogue(index, policy, &state)?;
    let mut files = vec![(format!("{index}/entries.json"), catalogue.json()?.into())];
    let pages = render(&catalogue, std::iter::empty())?;
    files.extend(pages.into_iter().map(|page| (format!("{index}/{}", page.name), page.bytes)));
    for (name, bytes) in [
        ("pins.txt", pins(log, &state)?),
        ("advisories.json", feed::advisories(log)?),
        ("atom.xml", feed::atom(log, policy)?),
    ] {
        files.push((format!("{index}/{name}"), bytes.into()));
    }
    Ok(files)
}

/// The index as it lists itself.
fn catalogue(index: &str, policy: &Policy, state: &State) -> Result<Catalogue> {
    let mut catalogue = Catalogue::new(index);
    catalogue.url = policy.url.clone();
    catalogue.entries = state.wheels().map(|wheel| wheel.entry.clone()).collect();
    catalogue.changes = state.changes().to_vec();
    catalogue.settle()?;
    Ok(catalogue)
}

/// `pins.txt`, which `pip install -r` reads.
fn pins(log: &Log, state: &State) -> Result<Vec<u8>> {
    let head = log.head();
    let mut text = format!(
        "# What to install from {}, after entry {} of its log ({})\n",
        log.index(),
        head.number,
        head.sha256
    );
    for pin in state.pins()? {
        text.push_str(&pin);
        text.push('\n');
    }
    Ok(text.into_bytes())
}

/// Where evidence is kept.
pub(super) fn evidence_path(index: &str, sha256: &str) -> String {
    format!("{index}/evidence/{sha256}.json")
}

/// Keeps a file of evidence. Its name is its digest, so whatever is there must be the same.
pub(super) fn put_evidence(store: &Store, index: &str, item: &Evidence, bytes: &Bytes) -> Result<()> {
    let path = evidence_path(index, &item.sha256);
    match store.create(&path, bytes.clone()) {
        Err(Error::Conflict { .. }) => {
            let same = store.get(&path)?.is_some_and(|object| object.bytes == *bytes);
            ensure!(same, "{path}: does not have the digest that it is named by: delete it and try again");
            Ok(())
        }
        result => Ok(result?),
    }
}
