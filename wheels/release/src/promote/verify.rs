//! Recomputing an index from its files.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use wheelhouse::digest::sha256;

use super::approve::{evidence, file_of};
use super::case::{ApprovalFile, Case, ReportFile};
use super::indexes::{Indexes, Policy};
use super::settle::{evidence_path, rendered};
use crate::index::Wheel;
use crate::log::{Action, Draft, Entry, Evidence, EvidenceKind, Head, Log, Promotion, entry_path, moment};
use crate::store::Store;

/// What was found to be right.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The last entry: remember it, and name it at the next verification.
    pub head: Head,
    /// Wheels whose files were read and compared.
    pub wheels: usize,
    /// How many of them installers may choose.
    pub live: usize,
    /// Files that nothing names, left by interrupted promotions. No installer finds them.
    pub leftovers: Vec<String>,
}

/// Checks everything that `index` consists of against its log, and the log against the keys of `indexes`: the chain,
/// every signature, report and approval, the digest of every wheel, and that all else is what the log makes of it.
/// The error says the first thing that is wrong and where.
///
/// An index whose files were all set back to how they once were is consistent, too. Only `remembered`, the head of an
/// earlier verification, tells: the log must still hold that entry.
pub fn verify(store: &Store, indexes: &Indexes, index: &str, remembered: Option<&Head>) -> Result<Verified> {
    let policy = indexes.find(index)?;
    let log = Log::load(store, index, policy)?;
    if let Some(head) = remembered {
        let found = log.digest(head.number).with_context(|| {
            format!(
                "{index}/log: ends with entry {}, but it had entry {} before: the log was cut off or set back; restore it \
                 from a backup",
                log.len(),
                head.number
            )
        })?;
        ensure!(
            found == head.sha256,
            "{}: sha256 is {found}, but it was {} before: the log was rewritten; restore it from a backup",
            entry_path(index, head.number),
            head.sha256
        );
    }
    let head = log.head();
    ensure!(
        *log.written() == head,
        "{index}/log/head.json: names entry {}, but the log ends with entry {}: a command was interrupted; run \
         `wheelhouse recover --index {index}`",
        log.written().number,
        head.number
    );
    let mut known: BTreeSet<String> = BTreeSet::from([format!("{index}/log/head.json")]);
    for entry in log.entries() {
        let path = entry_path(index, entry.draft.number);
        check_entry(store, index, policy, entry, &mut known).with_context(|| path.clone())?;
        known.insert(path);
    }
    let state = log.state()?;
    if head.number > 0 {
        for (path, bytes) in rendered(&log, policy)? {
            let found = store.get(&path)?;
            let advice = "the log makes something else of it: a command was interrupted, or somebody edited it; run \
                          `wheelhouse recover` to write it again";
            let found = found.with_context(|| format!("{path}: is missing; {advice} (--index {index})"))?;
            ensure!(found.bytes == bytes, "{path}: {advice} (--index {index})");
            known.insert(path);
        }
    }
    let leftovers = leftovers(store, index, &known)?;
    let live = state.wheels().filter(|wheel| wheel.live()).count();
    Ok(Verified { head, wheels: state.wheels().count(), live, leftovers })
}

fn check_entry(
    store: &Store,
    index: &str,
    policy: &Policy,
    entry: &Entry,
    known: &mut BTreeSet<String>,
) -> Result<()> {
    let draft = &entry.draft;
    match &draft.action {
        Action::Promote(promotion) => check_promotion(store, index, policy, draft, promotion, known),
        Action::Yank(_) => no_evidence(draft),
        Action::Rollback(rollback) => {
            policy.check_restore(index, &entry.signature.key, draft.number, rollback)?;
            no_evidence(draft)
        }
    }
}

fn no_evidence(draft: &Draft) -> Result<()> {
    ensure!(draft.evidence.is_empty(), "evidence: what is taken back needs none");
    Ok(())
}

fn check_promotion(
    store: &Store,
    index: &str,
    policy: &Policy,
    draft: &Draft,
    promotion: &Promotion,
    known: &mut BTreeSet<String>,
) -> Result<()> {
    let listed = &promotion.wheel;
    let path = format!("{index}/{}", listed.filename);
    let wheel = read(store, &path, known)?;
    let wheel = Wheel::read(&listed.filename, wheel).with_context(|| path.clone())?;
    let metadata = format!("{path}.metadata");
    ensure!(
        read(store, &metadata, known)? == wheel.metadata(),
        "{metadata}: is not the metadata in the wheel"
    );
    let mut found = wheel.entry(&listed.row, &draft.time, listed.gate.clone());
    found.provenance = listed.provenance.clone();
    ensure!(
        found.sha256 == listed.sha256,
        "{path}: sha256 is {}, but {} was promoted: the wheel was changed",
        found.sha256,
        listed.sha256
    );
    ensure!(found == *listed, "{path}: the wheel is {found:?}, but the entry says {listed:?}");

    let needed = policy.approvals_at(draft.number);
    ensure!(
        promotion.approvals >= needed,
        "approvals: it was promoted with {}, and indexes.toml asks for {needed} (or list an `earlier` rule there)",
        promotion.approvals
    );
    let case = Case {
        index,
        policy,
        number: draft.number,
        time: moment(&draft.time)?,
        row: &listed.row,
        wheel: file_of(&wheel),
        demands: &promotion.demands,
        approvals: promotion.approvals,
    };
    let files = Files::read(store, index, &draft.evidence, known)?;
    let statement = files.provenance.as_ref();
    case.statement(statement.map(|(_, bytes)| bytes), wheel.bytes())?;
    let reports = case.reports(&files.reports)?;
    let approvals = case.approvals(&reports, &files.approvals)?;
    let findings = |recorded: &[_], found: Vec<_>| recorded == found.as_slice();
    ensure!(
        listed.gate.iter().eq(reports.iter().map(|report| &report.result))
            && findings(
                &promotion.skipped,
                reports.iter().flat_map(|report| report.skipped.clone()).collect()
            )
            && findings(&promotion.absent, reports.iter().flat_map(|report| report.absent.clone()).collect()),
        "subject: the results of the gate are not those of the reports"
    );
    let mut expected: Vec<Evidence> =
        evidence(&reports, &approvals).into_iter().map(|(item, _)| item).collect();
    expected.extend(statement.map(|(item, _)| item.clone()));
    ensure!(draft.evidence == expected, "evidence: is not listed as its files say");
    let named = statement.map(|(item, _)| &item.name);
    ensure!(
        named == listed.provenance.as_ref(),
        "evidence: the statement is not the one that the wheel names"
    );
    Ok(())
}

/// The evidence of an entry, read.
#[derive(Default)]
struct Files {
    reports: Vec<ReportFile>,
    approvals: Vec<ApprovalFile>,
    provenance: Option<(Evidence, Bytes)>,
}

impl Files {
    fn read(store: &Store, index: &str, evidence: &[Evidence], known: &mut BTreeSet<String>) -> Result<Self> {
        let (mut files, mut signatures) = (Self::default(), BTreeMap::new());
        for item in evidence {
            let path = match item.kind {
                EvidenceKind::Provenance => format!("{index}/{}", item.name),
                _ => evidence_path(index, &item.sha256),
            };
            let json = read(store, &path, known)?;
            let sha256 = sha256(&json);
            ensure!(sha256 == item.sha256, "{path}: sha256 is {sha256}, not {}: it was changed", item.sha256);
            match item.kind {
                EvidenceKind::Report => files.reports.push(ReportFile { name: path, json, signature: None }),
                EvidenceKind::ReportSignature => drop(signatures.insert(item.name.clone(), json)),
                EvidenceKind::Approval => files.approvals.push(ApprovalFile { name: path, json }),
                EvidenceKind::Provenance => files.provenance = Some((item.clone(), json)),
            }
        }
        let reports = evidence.iter().filter(|item| item.kind == EvidenceKind::Report);
        for (file, item) in files.reports.iter_mut().zip(reports) {
            file.signature = signatures.remove(&item.name);
        }
        Ok(files)
    }
}

fn read(store: &Store, path: &str, known: &mut BTreeSet<String>) -> Result<Bytes> {
    let object = store.get(path)?;
    let object = object.with_context(|| format!("{path}: is missing; restore it from a backup"))?;
    known.insert(path.to_owned());
    Ok(object.bytes)
}

/// Files that the log does not account for. Those that installers would find are refused.
fn leftovers(store: &Store, index: &str, known: &BTreeSet<String>) -> Result<Vec<String>> {
    let mut left = vec![];
    for listed in store.list(index)? {
        if known.contains(&listed.path) {
            continue;
        }
        let name = listed.path.strip_prefix(&format!("{index}/")).unwrap_or(&listed.path);
        let harmless = name.starts_with("evidence/") || !name.contains('/');
        ensure!(
            harmless,
            "{}: the log does not account for it, and installers would find it: delete it",
            listed.path
        );
        left.push(listed.path);
    }
    Ok(left)
}
