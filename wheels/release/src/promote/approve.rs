//! Approving and promoting a wheel.

use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use bytes::Bytes;
use executorch_gate_report::Wheel;
use wheelhouse::digest;

use super::candidate::Candidate;
use super::case::{ApprovalFile, Approved, Case, Passed, ReportFile};
use super::indexes::Policy;
use super::settle::put_evidence;
use super::{Site, settle};
use crate::index::{self, Index};
use crate::log::{self, Action, Entry, Evidence, EvidenceKind, Finding, Log, Promotion, Slot, rfc3339};
use crate::sign::PrivateKey;

/// The longest time that an approval may hold: what was true of a wheel months ago may not be so any more.
const LONGEST: Duration = Duration::from_secs(90 * 24 * 3600);

/// What the reports say of a wheel, for the people who decide.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The result on each image.
    pub gate: Vec<index::GateResult>,
    /// Checks that were skipped, with the reasons.
    pub skipped: Vec<Finding>,
    /// Checks of parts that are not in the wheel yet.
    pub absent: Vec<Finding>,
}

impl Judged {
    fn new(reports: &[Passed]) -> Self {
        Self {
            gate: reports.iter().map(|report| report.result.clone()).collect(),
            skipped: reports.iter().flat_map(|report| report.skipped.clone()).collect(),
            absent: reports.iter().flat_map(|report| report.absent.clone()).collect(),
        }
    }
}

/// Approves the promotion of the wheel `filename` from staging to `index`, with the key of one of the index's owners,
/// for `valid` from `now`. Refuses what could not be promoted anyway. Gives the content of the approval's file, and
/// what was approved.
pub fn approve(
    site: &Site<'_>,
    index: &str,
    filename: &str,
    reports: &[ReportFile],
    key: &PrivateKey,
    now: SystemTime,
    valid: Duration,
) -> Result<(Vec<u8>, Judged)> {
    let policy = site.indexes.find(index)?;
    ensure!(valid <= LONGEST, "an approval holds for {} days at most", LONGEST.as_secs() / 86_400);
    let slot = Slot::next(&Log::load(site.store, index, policy)?, now)?;
    ensure!(
        policy.owners_at(slot.number).contains(&key.public()),
        "{} is not the key of an owner of index `{index}`: indexes.toml lists their keys",
        key.public()
    );
    let candidate = Candidate::find(site, index, policy, filename)?;
    let case = case(index, policy, &slot, &candidate);
    case.statement(candidate.statement(), candidate.wheel.bytes())?;
    let reports = case.reports(reports)?;
    let approval = case.approval(&reports, slot.time.max(now) + valid);
    Ok((approval.sign(key)?, Judged::new(&reports)))
}

/// Promotes the wheel `filename` from staging to `index`, and writes it into the log with `key`. Gives the log's
/// entry; if that very wheel is in the index already, the entry that brought it, after completing what an
/// interrupted promotion may have left undone.
pub fn promote(
    site: &Site<'_>,
    index: &str,
    filename: &str,
    reports: &[ReportFile],
    approvals: &[ApprovalFile],
    key: &PrivateKey,
    now: SystemTime,
) -> Result<Entry> {
    let policy = site.indexes.find(index)?;
    let candidate = Candidate::find(site, index, policy, filename)?;
    let log = Log::load(site.store, index, policy)?;
    if let Some(entry) = already(&log, &candidate)? {
        settle(site.store, index, policy)?;
        return Ok(entry);
    }
    let slot = Slot::next(&log, now)?;
    policy.check_writer(index, &key.public(), slot.number)?;
    let planned = plan(index, policy, &slot, &candidate, reports, approvals)?;

    // Everything that the entry names is there before the entry is.
    let folder = Index::new(site.store, index)?;
    for (item, bytes) in &planned.evidence {
        if item.kind != EvidenceKind::Provenance {
            put_evidence(site.store, index, item, bytes)?;
        }
    }
    let provenance = candidate.provenance.as_ref();
    folder.put_files(
        &candidate.wheel,
        provenance.map(|statement| (&statement.filename[..], &statement.bytes[..])),
    )?;
    let entry = log::append(site.store, index, policy, key, now, |_, slot| {
        let plan = plan(index, policy, slot, &candidate, reports, approvals)?;
        Ok((plan.action, plan.evidence.into_iter().map(|(item, _)| item).collect()))
    })?;
    settle(site.store, index, policy)?;
    Ok(entry)
}

/// The entry that brought the candidate into the index, if one did and it was not taken back.
fn already(log: &Log, candidate: &Candidate) -> Result<Option<Entry>> {
    let state = log.state()?;
    let Some(wheel) = state.wheel(candidate.wheel.filename()) else { return Ok(None) };
    let (filename, entry) = (candidate.wheel.filename(), &wheel.entry);
    ensure!(
        entry.sha256 == candidate.wheel.sha256(),
        "`{filename}` was promoted in entry {} with sha256 {}, and the one in staging has {}: a file name stands for \
         one wheel for ever; release this one under a new version",
        wheel.promoted,
        entry.sha256,
        candidate.wheel.sha256()
    );
    if let Some(reason) = &entry.yanked {
        anyhow::bail!("`{filename}` was taken back ({reason}): mend it and release it under a new version");
    }
    Ok(log.entries().iter().find(|entry| entry.draft.number == wheel.promoted).cloned())
}

/// What a promotion writes.
struct Plan {
    action: Action,
    evidence: Vec<(Evidence, Bytes)>,
}

fn case<'a>(index: &'a str, policy: &'a Policy, slot: &Slot, candidate: &'a Candidate) -> Case<'a> {
    Case {
        index,
        policy,
        number: slot.number,
        time: slot.time,
        row: &candidate.row,
        wheel: file_of(&candidate.wheel),
        demands: &candidate.demands,
        approvals: policy.approvals_at(slot.number),
    }
}

/// The wheel as reports and approvals name it.
pub(super) fn file_of(wheel: &index::Wheel) -> Wheel {
    Wheel { filename: wheel.filename().to_owned(), sha256: wheel.sha256(), size: wheel.bytes().len() as u64 }
}

fn plan(
    index: &str,
    policy: &Policy,
    slot: &Slot,
    candidate: &Candidate,
    reports: &[ReportFile],
    approvals: &[ApprovalFile],
) -> Result<Plan> {
    policy.check_open(index, slot.number)?;
    let case = case(index, policy, slot, candidate);
    case.statement(candidate.statement(), candidate.wheel.bytes())?;
    let reports = case.reports(reports)?;
    let approvals = case.approvals(&reports, approvals)?;
    let judged = Judged::new(&reports);

    let mut entry = candidate.wheel.entry(&candidate.row, &rfc3339(slot.time), judged.gate);
    let mut evidence = evidence(&reports, &approvals);
    if let Some(statement) = &candidate.provenance {
        let sha256 = digest::sha256(&statement.bytes);
        let item = Evidence { kind: EvidenceKind::Provenance, name: statement.filename.clone(), sha256 };
        evidence.push((item, statement.bytes.clone()));
        entry.provenance = Some(statement.filename.clone());
    }
    let promotion = Promotion {
        wheel: entry,
        demands: candidate.demands.clone(),
        approvals: case.approvals,
        skipped: judged.skipped,
        absent: judged.absent,
    };
    Ok(Plan { action: Action::Promote(Box::new(promotion)), evidence })
}

/// The evidence that reports and approvals are, with its bytes: per image the report and its signature, then the
/// approvals.
pub(super) fn evidence(reports: &[Passed], approvals: &[Approved]) -> Vec<(Evidence, Bytes)> {
    let mut evidence = vec![];
    for report in reports {
        let name = &report.result.image;
        let sha256 = report.result.report_sha256.clone();
        let item = Evidence { kind: EvidenceKind::Report, name: name.clone(), sha256 };
        evidence.push((item, report.file.json.clone()));
        if let Some(signature) = &report.file.signature {
            let sha256 = digest::sha256(signature);
            let item = Evidence { kind: EvidenceKind::ReportSignature, name: name.clone(), sha256 };
            evidence.push((item, signature.clone()));
        }
    }
    for approval in approvals {
        let (name, sha256) = (approval.owner.clone(), approval.sha256.clone());
        let item = Evidence { kind: EvidenceKind::Approval, name, sha256 };
        evidence.push((item, approval.file.json.clone()));
    }
    evidence
}
