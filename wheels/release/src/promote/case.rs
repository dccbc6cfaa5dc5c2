//! Whether the evidence is enough to promote a wheel. Promotion asks before it writes, verification asks again.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use executorch_gate_report::{Outcome, Report, Rules, Verdict, Wheel};
use serde::Deserialize;
use wheelhouse::digest::sha256;
use wheelhouse::provenance::statement;

use super::approval::{Approval, Seen, Signed};
use super::indexes::Policy;
use crate::index::GateResult;
use crate::log::{Demand, Finding, rfc3339};
use crate::sign::{Envelope, Signature};

/// The payload type that gates sign reports as.
pub const REPORT_TYPE: &str = "application/vnd.executorch.gate-report+json";

/// A gate report, as it was handed in.
#[derive(Clone, Debug)]
pub struct ReportFile {
    /// Where it came from, for messages.
    pub name: String,
    /// Content.
    pub json: Bytes,
    /// Content of the gate's signature file, if there is one.
    pub signature: Option<Bytes>,
}

/// An approval, as it was handed in.
#[derive(Clone, Debug)]
pub struct ApprovalFile {
    /// Where it came from, for messages.
    pub name: String,
    /// Content.
    pub json: Bytes,
}

/// A promotion to be judged.
pub(super) struct Case<'a> {
    pub index: &'a str,
    pub policy: &'a Policy,
    /// The number of its entry in the log: which keys hold depends on it.
    pub number: u64,
    /// The time of its entry.
    pub time: SystemTime,
    pub row: &'a str,
    pub wheel: Wheel,
    /// What the row asks of the gate, an image each.
    pub demands: &'a [Demand],
    /// How many owners have to approve.
    pub approvals: usize,
}

/// The part of a report that says which rules it is held to.
#[derive(Deserialize)]
struct OnImage {
    image: String,
}

/// A report that counts.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub result: GateResult,
    pub skipped: Vec<Finding>,
    pub absent: Vec<Finding>,
    pub file: ReportFile,
}

/// An approval that counts.
#[derive(Clone, Debug)]
pub(super) struct Approved {
    pub owner: String,
    pub sha256: String,
    pub file: ApprovalFile,
}

impl Case<'_> {
    /// The reports in the order of the images, if there is exactly one good one for each.
    pub(super) fn reports(&self, files: &[ReportFile]) -> Result<Vec<Passed>> {
        let mut passed: BTreeMap<String, Passed> = BTreeMap::new();
        for file in files {
            let report = self.report(file).with_context(|| format!("report {}", file.name))?;
            if let Some(other) = passed.get(&report.result.image) {
                bail!(
                    "reports {} and {} are both for image {}: hand in the one that counts",
                    other.file.name,
                    file.name,
                    report.result.image
                );
            }
            passed.insert(report.result.image.clone(), report);
        }
        let missing: Vec<&str> = self.images().filter(|image| !passed.contains_key(*image)).collect();
        ensure!(
            missing.is_empty(),
            "no report of {} on {}: run the gate there (cargo xtask gate {} --vm IMAGE) and hand in its report",
            self.wheel.filename,
            missing.join(", "),
            self.row
        );
        Ok(self.images().filter_map(|image| passed.remove(image)).collect())
    }

    fn images(&self) -> impl Iterator<Item = &str> {
        self.demands.iter().map(|demand| demand.image.as_str())
    }

    fn report(&self, file: &ReportFile) -> Result<Passed> {
        // Which rules hold depends on the image, which nothing but the report says.
        let image = serde_json::from_slice::<OnImage>(&file.json).context("not a gate report")?.image;
        let rules = self.demands.iter().find(|demand| demand.image == image).map(|demand| &demand.rules);
        let rules = rules.with_context(|| {
            let images: Vec<&str> = self.images().collect();
            format!(
                "it is for image `{image}`, which row `{}` does not name: {}",
                self.row,
                images.join(", ")
            )
        })?;
        let report = Report::parse(&file.json, rules)?;
        let (found, wheel) = (&report.wheel, &self.wheel);
        ensure!(
            found.filename == wheel.filename,
            "it is about {}, not about {}",
            found.filename,
            wheel.filename
        );
        ensure!(
            found.sha256 == wheel.sha256 && found.size == wheel.size,
            "the gate tried a wheel with sha256 {} and {} bytes, but the one in staging has {} and {}: it was changed \
             after the gate; run the gate again",
            found.sha256,
            found.size,
            wheel.sha256,
            wheel.size
        );
        ensure!(
            report.row == self.row,
            "it is for row `{}`, but the wheel is for `{}`",
            report.row,
            self.row
        );
        ensure!(
            report.verdict == Verdict::Pass,
            "the gate did not pass: {}; mend the wheel, build it anew and run the gate again",
            failures(&report, rules)
        );
        self.signed(file)?;
        let counts = report.counts();
        let findings = |outcome: Outcome| {
            let checks = report.checks.iter().filter(|check| check.outcome == outcome);
            checks
                .map(|check| Finding {
                    image: report.image.clone(),
                    check: check.id.clone(),
                    reason: check.reason.clone(),
                })
                .collect()
        };
        Ok(Passed {
            skipped: findings(Outcome::Skip),
            absent: findings(Outcome::Absent),
            result: GateResult {
                report_sha256: sha256(&file.json),
                passed: counts.passed,
                failed: counts.failed,
                skipped: counts.skipped,
                absent: counts.absent,
                image: report.image,
            },
            file: file.clone(),
        })
    }

    /// Checks the gate's signature, if the index names gates.
    fn signed(&self, file: &ReportFile) -> Result<()> {
        if !self.policy.signed_reports_at(self.number) {
            return Ok(());
        }
        let signature = file.signature.as_ref().context(
            "not signed, but the index trusts only signed reports: sign it on the machine that ran the gate, and keep \
             the signature beside it as REPORT.sig",
        )?;
        let signature = Signature::from_json(signature)?;
        let trusted = self.policy.gates_at(self.number);
        signature
            .verify(REPORT_TYPE, &file.json, &trusted)
            .context("not signed by a gate of the index (indexes.toml lists their keys)")?;
        Ok(())
    }

    /// Checks the builder's statement on the wheel with these `bytes`, if the index names builders.
    pub(super) fn statement(&self, statement: Option<&Bytes>, bytes: &[u8]) -> Result<()> {
        if !self.policy.statements_at(self.number) {
            return Ok(());
        }
        let name = &self.wheel.filename;
        let statement = statement.with_context(|| {
            format!(
                "no statement of what {name} was built from, and index `{}` takes no wheel without: sign it on the \
                 machine that built the wheel (wheelhouse provenance sign), and put both into staging \
                 (wheelhouse index add --provenance)",
                self.index
            )
        })?;
        let verify = || {
            let envelope = Envelope::from_json(statement)?;
            let (text, _) =
                envelope
                    .verify(statement::PAYLOAD_TYPE, &self.policy.builders_at(self.number))
                    .context("not signed by a builder of the index (indexes.toml lists their keys)")?;
            let expected = statement::Expected {
                row: Some(self.row),
                allow_modified: self.policy.modified_at(self.number),
                ..Default::default()
            };
            statement::check(text, name, bytes, expected).map(drop)
        };
        verify().with_context(|| format!("the statement of what {name} was built from"))
    }

    /// What an owner has to approve, until `expires`.
    pub(super) fn approval(&self, reports: &[Passed], expires: SystemTime) -> Approval {
        let seen = |report: &Passed| Seen {
            image: report.result.image.clone(),
            sha256: report.result.report_sha256.clone(),
        };
        let reports = reports.iter().map(seen).collect();
        Approval::new(self.index, self.row, self.wheel.clone(), reports, rfc3339(expires))
    }

    /// The approvals in the order of their owners' names, if each is good and enough owners gave one.
    pub(super) fn approvals(&self, reports: &[Passed], files: &[ApprovalFile]) -> Result<Vec<Approved>> {
        let wanted = self.approval(reports, self.time);
        let trusted = self.policy.owners_at(self.number);
        let mut approved: BTreeMap<String, Approved> = BTreeMap::new();
        for file in files {
            let owner = Signed::parse(&file.json)
                .and_then(|signed| signed.verify(&wanted, self.time, &trusted))
                .and_then(|key| self.policy.owner(&key).context("the key has no owner"))
                .with_context(|| format!("approval {}", file.name))?;
            if let Some(other) = approved.get(owner) {
                bail!(
                    "approvals {} and {} are both by `{owner}`, who counts once: ask another owner",
                    other.file.name,
                    file.name
                );
            }
            let sha256 = sha256(&file.json);
            let owner = owner.to_owned();
            approved.insert(owner.clone(), Approved { owner, sha256, file: file.clone() });
        }
        ensure!(
            approved.len() >= self.approvals,
            "index `{}` asks for the approvals of {} owners, and there are {}: have others run `wheelhouse approve {} \
             --index {}`",
            self.index,
            self.approvals,
            approved.len(),
            self.wheel.filename,
            self.index
        );
        Ok(approved.into_values().collect())
    }
}

/// Why a report failed, a few of its faults.
fn failures(report: &Report, rules: &Rules) -> String {
    let mut told = rules.faults(&report.checks);
    let more = told.len().saturating_sub(5);
    told.truncate(5);
    match (told.is_empty(), more) {
        (true, _) => "no check passed".to_owned(),
        (false, 0) => told.join(", "),
        (false, more) => format!("{}, and {more} more", told.join(", ")),
    }
}
