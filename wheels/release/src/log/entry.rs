//! One entry of the log.

use anyhow::{Context, Result, ensure};
use executorch_gate_report::Rules;
use serde::{Deserialize, Serialize};

use crate::index;
use crate::sign::{PrivateKey, PublicKey, Signature};

/// The value of [`Draft::schema`].
pub const SCHEMA: &str = "executorch-promotion-log/1";

/// The payload type that entries are signed as.
pub const PAYLOAD_TYPE: &str = "application/vnd.executorch.promotion-log-entry+json";

/// What the first entry has for the digest of the one before.
pub(super) const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// An entry as it is written: a draft and the signature over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What is signed.
    #[serde(flatten)]
    pub draft: Draft,
    /// The signature of a writer or an owner of the index over the draft's text.
    pub signature: Signature,
}

/// An entry without its signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// [`SCHEMA`].
    pub schema: String,
    /// The index whose log this is.
    pub index: String,
    /// Its place, from 1.
    pub number: u64,
    /// SHA-256 of the file of the entry before, in hexadecimal; zeros in the first.
    pub previous: String,
    /// When it was written, RFC 3339 in UTC; never earlier than the entry before.
    pub time: String,
    /// What happened.
    #[serde(flatten)]
    pub action: Action,
    /// The files that it rests on, kept as `<index>/evidence/<sha256>.json`.
    pub evidence: Vec<Evidence>,
}

/// What happened, and to what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", content = "subject", rename_all = "kebab-case")]
pub enum Action {
    /// A wheel came into the index.
    Promote(Box<Promotion>),
    /// A wheel was marked as not to be chosen.
    Yank(Yank),
    /// The set of wheels went back to what it was after an earlier entry.
    Rollback(Rollback),
}

/// A wheel that came into the index, with what was asked of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promotion {
    /// The wheel as the index lists it.
    pub wheel: index::Entry,
    /// What its row asked: each image has a passing report in the evidence.
    pub demands: Vec<Demand>,
    /// How many owners had to approve.
    pub approvals: usize,
    /// Checks that were skipped, with the reasons.
    pub skipped: Vec<Finding>,
    /// Checks of parts that are not in the wheel yet.
    pub absent: Vec<Finding>,
}

/// What a row asks of the gate on one image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// The machine's image.
    pub image: String,
    /// What the report has to have, and what it may skip.
    pub rules: Rules,
}

/// A check that did not pass and was no failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The machine's image.
    pub image: String,
    /// The check.
    pub check: String,
    /// Why.
    pub reason: String,
}

/// A wheel that was marked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yank {
    /// The wheel.
    pub filename: String,
    /// Why, for users.
    pub reason: String,
}

/// A set of wheels that was restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// The entry after which the index was as it is to be.
    pub to: u64,
    /// Why, for users.
    pub reason: String,
    /// Whether wheels that were yanked since then come back.
    pub restore_yanked: bool,
    /// Wheels that are taken back, sorted.
    pub taken_back: Vec<String>,
    /// Wheels that come back, sorted.
    pub restored: Vec<String>,
    /// What users should install from now on, one requirement each.
    pub pins: Vec<String>,
}

/// One file that an entry rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is.
    pub kind: EvidenceKind,
    /// The image of a report, the owner of an approval, the file name of a statement.
    pub name: String,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Kinds of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// A gate report.
    Report,
    /// The signature of a gate over the report of the same name.
    ReportSignature,
    /// An owner's approval.
    Approval,
    /// The statement of how the wheel was made. It lies beside the wheel, under its name.
    Provenance,
}

impl Draft {
    /// Signs the draft.
    pub fn sign(self, key: &PrivateKey) -> Result<Entry> {
        let signature = Signature::new(key, PAYLOAD_TYPE, &text(&self)?);
        Ok(Entry { draft: self, signature })
    }
}

impl Entry {
    /// The content of the entry's file.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        text(self)
    }

    /// Reads an entry. A file that says the same in other words (order of fields, spaces, a field more) is refused:
    /// there is one text of an entry.
    pub fn parse(json: &[u8]) -> Result<Self> {
        let entry: Self = serde_json::from_slice(json).context("not a log entry")?;
        ensure!(entry.to_json()? == json, "not written as a log entry is: the file was edited");
        Ok(entry)
    }

    /// Checks the signature, which must be by one of the `trusted` keys; gives the signer.
    pub fn verify(&self, trusted: &[PublicKey]) -> Result<PublicKey> {
        Ok(self.signature.verify(PAYLOAD_TYPE, &text(&self.draft)?, trusted)?)
    }
}

/// JSON with a line per field, in the order of the fields, ending in a line feed.
pub(crate) fn text(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).context("cannot write JSON")?;
    text.push(b'\n');
    Ok(text)
}
