//! What the page shows, as texts in the order in which it shows them.

use std::collections::BTreeMap;

use pep440_rs::Version;
use serde::Serialize;

use crate::index::{Action, Catalogue, Entry, normalize, url};

/// How many releases and changes the page lists; `simple/` has every file.
const RELEASES: usize = 40;
const CHANGES: usize = 20;

/// Where dependencies come from.
const PYPI: &str = "https://pypi.org/simple/";

/// What stands for the address of an index that does not know it.
const UNKNOWN: &str = "ADDRESS-OF-THIS-PAGE/";

#[derive(Serialize)]
pub(super) struct View<'a> {
    index: &'a str,
    staging: bool,
    wheels: usize,
    updated: Option<Time>,
    address: &'a str,
    address_known: bool,
    installs: Vec<Install<'a>>,
    releases: Vec<Release<'a>>,
    older: usize,
    gates: Vec<Gate<'a>>,
    yanked: Vec<Release<'a>>,
    changes: Vec<Happened<'a>>,
}

/// The lines that install the newest release of a project.
#[derive(Serialize)]
struct Install<'a> {
    project: &'a str,
    version: &'a str,
    pip: String,
    uv: String,
    requirements: String,
}

/// One wheel.
#[derive(Serialize)]
struct Release<'a> {
    project: &'a str,
    version: &'a str,
    row: &'a str,
    file: &'a str,
    href: String,
    python: &'a str,
    size: String,
    bytes: u64,
    sha256: &'a str,
    uploaded: Time,
    gate: &'static str,
    gate_note: String,
    newest: bool,
    yanked: Option<&'a str>,
    provenance: Option<String>,
}

/// What the gate found on a wheel, one line for each machine.
#[derive(Serialize)]
struct Gate<'a> {
    project: &'a str,
    version: &'a str,
    row: &'a str,
    results: Vec<GateLine<'a>>,
}

#[derive(Serialize)]
struct GateLine<'a> {
    image: &'a str,
    ok: bool,
    passed: u32,
    failed: u32,
    skipped: u32,
    absent: u32,
    report: &'a str,
    report_short: &'a str,
}

#[derive(Serialize)]
struct Happened<'a> {
    time: Time,
    action: &'static str,
    file: &'a str,
    reason: &'a str,
}

/// A time: for machines, and as people read it.
#[derive(Serialize)]
struct Time {
    exact: String,
    day: String,
}

impl Time {
    fn new(exact: &str) -> Self {
        Self { exact: exact.to_owned(), day: exact.split('T').next().unwrap_or(exact).to_owned() }
    }
}

impl<'a> View<'a> {
    pub(super) fn new(catalogue: &'a Catalogue) -> Self {
        let address = catalogue.url.as_deref();
        let newest = newest(catalogue);
        let is_newest = |entry: &Entry| newest.iter().any(|one| one.filename == entry.filename);
        let mut wheels: Vec<&Entry> = catalogue.entries.iter().collect();
        wheels.reverse();
        let older = wheels.len().saturating_sub(RELEASES);
        let shown = wheels.iter().take(RELEASES);
        let yanked = wheels.iter().filter(|entry| entry.yanked.is_some()).take(RELEASES);
        let times = catalogue.entries.iter().map(|entry| &entry.upload_time);
        let updated = times.chain(catalogue.changes.iter().map(|change| &change.time)).max();
        Self {
            index: &catalogue.index,
            staging: catalogue.index == "staging",
            wheels: catalogue.entries.len(),
            updated: updated.map(|time| Time::new(time)),
            address: address.unwrap_or(UNKNOWN),
            address_known: address.is_some(),
            installs: installs(&newest, address.unwrap_or(UNKNOWN)),
            releases: shown.map(|entry| Release::new(entry, is_newest(entry))).collect(),
            older,
            gates: newest
                .iter()
                .filter(|entry| !entry.gate.is_empty())
                .map(|entry| Gate::new(entry))
                .collect(),
            yanked: yanked.map(|entry| Release::new(entry, false)).collect(),
            changes: catalogue.changes.iter().rev().take(CHANGES).map(Happened::new).collect(),
        }
    }
}

impl<'a> Release<'a> {
    fn new(entry: &'a Entry, newest: bool) -> Self {
        let (gate, gate_note) = gate(entry);
        Self {
            project: &entry.project,
            version: &entry.version,
            row: &entry.row,
            file: &entry.filename,
            href: url(&entry.filename),
            python: entry.requires_python.as_deref().unwrap_or("any"),
            size: size(entry.size),
            bytes: entry.size,
            sha256: &entry.sha256,
            uploaded: Time::new(&entry.upload_time),
            gate,
            gate_note,
            newest,
            yanked: entry
                .yanked
                .as_deref()
                .map(|reason| if reason.is_empty() { "no reason given" } else { reason }),
            provenance: entry.provenance.as_deref().map(url),
        }
    }
}

impl<'a> Gate<'a> {
    fn new(entry: &'a Entry) -> Self {
        let line = |result: &'a crate::index::GateResult| GateLine {
            image: &result.image,
            ok: result.failed == 0,
            passed: result.passed,
            failed: result.failed,
            skipped: result.skipped,
            absent: result.absent,
            report: &result.report_sha256,
            report_short: result.report_sha256.get(..12).unwrap_or(&result.report_sha256),
        };
        Self {
            project: &entry.project,
            version: &entry.version,
            row: &entry.row,
            results: entry.gate.iter().map(line).collect(),
        }
    }
}

impl<'a> Happened<'a> {
    fn new(change: &'a crate::index::Change) -> Self {
        let action = match change.action {
            Action::Added => "Added",
            Action::Removed => "Removed",
            Action::Yanked => "Yanked",
            Action::Restored => "Restored",
        };
        Self { time: Time::new(&change.time), action, file: &change.filename, reason: &change.reason }
    }
}

/// The newest wheel of each project and row that is not yanked; a pre-release only where there is nothing else.
fn newest(catalogue: &Catalogue) -> Vec<&Entry> {
    // Entries are sorted by version within their project: the first from behind is the newest.
    let mut best: BTreeMap<(String, &str), (bool, &Entry)> = BTreeMap::new();
    for entry in catalogue.entries.iter().rev().filter(|entry| entry.yanked.is_none()) {
        let key = (normalize(&entry.project), &entry.row[..]);
        if best.get(&key).is_some_and(|(stable, _)| *stable) {
            continue;
        }
        let stable = entry.version.parse().is_ok_and(|version: Version| !version.any_prerelease());
        if stable || !best.contains_key(&key) {
            best.insert(key, (stable, entry));
        }
    }
    best.into_values().map(|(_, entry)| entry).collect()
}

/// Install lines for each project and version among `newest`.
fn installs<'a>(newest: &[&'a Entry], address: &str) -> Vec<Install<'a>> {
    let mut groups: Vec<Vec<&'a Entry>> = Vec::new();
    for entry in newest {
        let same = |group: &&mut Vec<&Entry>| {
            group
                .first()
                .is_some_and(|other| other.project == entry.project && other.version == entry.version)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    let install = |group: Vec<&'a Entry>| {
        let first = *group.first()?;
        let pin = format!("{}=={}", normalize(&first.project), first.version);
        let hashes: Vec<String> =
            group.iter().map(|entry| format!("    --hash=sha256:{}", entry.sha256)).collect();
        Some(Install {
            project: &first.project,
            version: &first.version,
            pip: format!(
                "pip install \"{pin}\" \\\n    --index-url {address}simple/ \\\n    --extra-index-url {PYPI}"
            ),
            uv: format!("uv pip install \"{pin}\" \\\n    --index {address}simple/"),
            requirements: format!(
                "--index-url {address}simple/\n--extra-index-url {PYPI}\n{pin} \\\n{}",
                hashes.join(" \\\n")
            ),
        })
    };
    groups.into_iter().filter_map(install).collect()
}

/// The gate's result in a word, and what to add to it.
fn gate(entry: &Entry) -> (&'static str, String) {
    let sum = |count: fn(&crate::index::GateResult) -> u32| {
        entry.gate.iter().map(count).fold(0, u32::saturating_add)
    };
    let images = |count: usize| if count == 1 { "1 machine".to_owned() } else { format!("{count} machines") };
    let failed = entry.gate.iter().filter(|result| result.failed > 0).count();
    match entry.gate.len() {
        0 => ("Not run", String::new()),
        all if failed > 0 => ("Failed", format!("on {failed} of {}", images(all))),
        all => {
            let mut note = format!("on {}", images(all));
            for (count, what) in
                [(sum(|result| result.skipped), "skipped"), (sum(|result| result.absent), "not built")]
            {
                if count > 0 {
                    note.push_str(&format!(", {count} {what}"));
                }
            }
            ("Passed", note)
        }
    }
}

/// Bytes with three digits.
fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}
