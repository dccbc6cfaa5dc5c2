//! The gate's report on one wheel in one clean machine.
//!
//! The gate writes it, promotion reads it. [`Report::parse`] trusts nothing: a report whose verdict does not follow
//! from its checks and from what the row asks is refused as forged.

mod known;
mod rules;

pub use known::{CHECKS, Known};
pub use rules::Rules;

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The value of [`Report::schema`].
pub const SCHEMA: &str = "executorch-gate-report/1";

/// Largest report that is read, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// The result of one run of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The wheel that was installed.
    pub wheel: Wheel,
    /// Its row in `wheels/rows.toml`.
    pub row: String,
    /// The clean machine's image, or `here`.
    pub image: String,
    /// What the gate saw of the machine.
    pub machine: Machine,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// Every check of the gate, in the order in which they ran.
    pub checks: Vec<Check>,
    /// What follows from the checks.
    pub verdict: Verdict,
}

/// The wheel's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// File name, without a folder.
    pub filename: String,
    /// Digest of the bytes that were installed: 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// The machine that the gate ran on; `unknown` where it could not be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name and release of the distribution.
    pub system: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Version of glibc.
    pub glibc: String,
    /// Model of the processor.
    pub cpu: String,
    /// Version of the interpreter that the wheel was installed for.
    pub python: String,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// `group.name`, such as `elf.closure`.
    pub id: String,
    /// What a pass proves.
    pub title: String,
    /// The part of the id before the dot.
    pub group: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not pass; empty when it did.
    pub reason: String,
    /// What was seen, one fact each.
    pub evidence: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It holds.
    Pass,
    /// It does not hold, or the check crashed or took too long.
    Fail,
    /// It could not be tried on this machine.
    Skip,
    /// The part that it is about is not in the wheel yet. Counted apart, never as passed.
    Absent,
}

/// What follows from the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every check is there; nothing failed, and nothing was skipped or absent that the row has and does not let skip.
    Pass,
    /// Anything else.
    Fail,
}

/// How many checks ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// [`Outcome::Pass`].
    pub passed: u32,
    /// [`Outcome::Fail`].
    pub failed: u32,
    /// [`Outcome::Skip`].
    pub skipped: u32,
    /// [`Outcome::Absent`].
    pub absent: u32,
}

/// Why a file is not a report that can be believed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Larger than [`MAX_BYTES`].
    #[error("the report has {0} bytes, and none has more than {MAX_BYTES}; run the gate again")]
    TooLarge(usize),
    /// Not JSON, or not of this form.
    #[error("not a gate report: {0}; run the gate again with the same release of the project")]
    Form(#[from] serde_json::Error),
    /// A field that no run of the gate writes.
    #[error("forged or damaged report: {field}: expected {expected}, found {found}; run the gate again")]
    Forged {
        /// Where.
        field: String,
        /// What a run of the gate would have written.
        expected: String,
        /// What is there.
        found: String,
    },
}

impl Report {
    /// Reads a report and checks that it is consistent; `rules` are those of the row, not of the report.
    ///
    /// A report that reads well may still have failed: look at [`Report::verdict`], and compare
    /// [`Report::wheel`], [`Report::row`] and [`Report::image`] with what was asked for.
    pub fn parse(json: &[u8], rules: &Rules) -> Result<Self, Error> {
        if json.len() > MAX_BYTES {
            return Err(Error::TooLarge(json.len()));
        }
        let report: Self = serde_json::from_slice(json)?;
        report.verify(rules)?;
        Ok(report)
    }

    /// The file's content: JSON with a line per field, ending in a line feed.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// How many checks ended in which way.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for check in &self.checks {
            match check.outcome {
                Outcome::Pass => counts.passed += 1,
                Outcome::Fail => counts.failed += 1,
                Outcome::Skip => counts.skipped += 1,
                Outcome::Absent => counts.absent += 1,
            }
        }
        counts
    }

    /// Refuses a report that no run of the gate can have written.
    pub fn verify(&self, rules: &Rules) -> Result<(), Error> {
        expect("schema", self.schema == SCHEMA, SCHEMA, &self.schema)?;
        let digest = &self.wheel.sha256;
        let hexadecimal =
            digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        expect("wheel.sha256", hexadecimal, "64 lower-case hexadecimal digits", digest)?;
        let name = &self.wheel.filename;
        let plain = name.ends_with(".whl") && !name.contains(['/', '\\', '\0']) && !name.starts_with('.');
        expect("wheel.filename", plain, "the name of a wheel without a folder", name)?;
        let moment = humantime::parse_rfc3339(&self.started).is_ok();
        expect("started", moment, "a moment as in 2026-01-31T12:00:00Z", &self.started)?;
        expect("seconds", duration(self.seconds), "a duration", &self.seconds.to_string())?;
        let mut ids = BTreeSet::new();
        for check in &self.checks {
            check.verify()?;
            expect("checks", ids.insert(&check.id), "each id once", &check.id)?;
        }
        let verdict = rules.verdict(&self.checks);
        let found = format!("{:?}", self.verdict);
        expect("verdict", self.verdict == verdict, &format!("{verdict:?}"), &found)
    }
}

impl Check {
    fn verify(&self) -> Result<(), Error> {
        let field = |name: &str| format!("checks[{:?}].{name}", self.id);
        let group = self.id.split_once('.').map(|(group, _)| group);
        let grouped = group.is_some_and(|group| !group.is_empty() && group == self.group);
        expect(&field("group"), grouped, "the part of the id before its dot", &self.group)?;
        expect(&field("title"), !self.title.is_empty(), "what the check proves", &self.title)?;
        expect(&field("seconds"), duration(self.seconds), "a duration", &self.seconds.to_string())?;
        let told = match self.outcome {
            // A pass shows what it saw, or it saw nothing.
            Outcome::Pass => self.reason.is_empty() && !self.evidence.is_empty(),
            Outcome::Fail | Outcome::Skip | Outcome::Absent => !self.reason.is_empty(),
        };
        let expected = "evidence and no reason for a pass, a reason for anything else";
        expect(&field("reason"), told, expected, &format!("{:?}, {:?}", self.outcome, self.reason))
    }
}

fn duration(seconds: f64) -> bool {
    seconds.is_finite() && seconds >= 0.0
}

fn expect(field: &str, holds: bool, expected: &str, found: &str) -> Result<(), Error> {
    if holds {
        return Ok(());
    }
    Err(Error::Forged {
        field: field.to_owned(),
        expected: expected.to_owned(),
        found: found.chars().take(200).collect(),
    })
}
