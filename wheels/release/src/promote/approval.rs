//! An owner's word that a wheel may go to an index.

use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use executorch_gate_report::Wheel;
use serde::{Deserialize, Serialize};

use crate::log::{moment, text};
use crate::sign::{PrivateKey, PublicKey, Signature};

/// The value of [`Approval::schema`].
const SCHEMA: &str = "executorch-approval/1";

/// The payload type that approvals are signed as.
const PAYLOAD_TYPE: &str = "application/vnd.executorch.promotion-approval+json";

/// What an owner approves: one wheel, for one index, on the strength of these reports, for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    schema: String,
    /// The index that the wheel may go to.
    pub index: String,
    /// The row that the wheel is for.
    pub row: String,
    /// The wheel.
    pub wheel: Wheel,
    /// The reports that the owner has seen, in the order of the row's images.
    pub reports: Vec<Seen>,
    /// The last moment at which the wheel may be promoted, RFC 3339 in UTC.
    pub expires: String,
}

/// A report that an owner has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The machine's image.
    pub image: String,
    /// SHA-256 of the report in hexadecimal.
    pub sha256: String,
}

/// An approval with its signature, as its file holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Signed {
    #[serde(flatten)]
    approval: Approval,
    signature: Signature,
}

impl Approval {
    /// An approval of `wheel`; give it to [`Approval::sign`].
    pub(super) fn new(index: &str, row: &str, wheel: Wheel, reports: Vec<Seen>, expires: String) -> Self {
        let (index, row) = (index.to_owned(), row.to_owned());
        Self { schema: SCHEMA.to_owned(), index, row, wheel, reports, expires }
    }

    /// Signs; gives the content of the approval's file.
    pub(super) fn sign(self, key: &PrivateKey) -> Result<Vec<u8>> {
        let signature = Signature::new(key, PAYLOAD_TYPE, &text(&self)?);
        text(&Signed { approval: self, signature })
    }
}

impl Signed {
    /// Reads an approval's file. There is one text of an approval, so that nothing can be added to it.
    pub(super) fn parse(json: &[u8]) -> Result<Self> {
        let signed: Self = serde_json::from_slice(json).context("not an approval")?;
        ensure!(text(&signed)? == json, "not written as an approval is: the file was edited");
        Ok(signed)
    }

    /// Checks that this approves what `wanted` says (but for the time that it expires) and had not expired at `time`,
    /// and that one of `trusted` signed it; gives the signer.
    pub(super) fn verify(
        &self,
        wanted: &Approval,
        time: SystemTime,
        trusted: &[PublicKey],
    ) -> Result<PublicKey> {
        let found = &self.approval;
        let field = |name: &str, wanted: &str, found: &str| -> Result<()> {
            ensure!(
                wanted == found,
                "it approves another promotion: {name}: expected `{wanted}`, found `{found}`; the owner has to run \
                 `wheelhouse approve` for this one"
            );
            Ok(())
        };
        field("schema", &wanted.schema, &found.schema)?;
        field("index", &wanted.index, &found.index)?;
        field("row", &wanted.row, &found.row)?;
        field("wheel", &wanted.wheel.filename, &found.wheel.filename)?;
        field("sha256 of the wheel", &wanted.wheel.sha256, &found.wheel.sha256)?;
        field("size of the wheel", &wanted.wheel.size.to_string(), &found.wheel.size.to_string())?;
        field("reports", &list(&wanted.reports), &list(&found.reports))?;
        let expires = moment(&found.expires).context("expires")?;
        ensure!(
            time <= expires,
            "it expired at {}: the owner has to run `wheelhouse approve` again",
            found.expires
        );
        let payload = text(found)?;
        self.signature
            .verify(PAYLOAD_TYPE, &payload, trusted)
            .context("not signed by an owner of the index (indexes.toml lists their keys)")
    }
}

fn list(reports: &[Seen]) -> String {
    let reports: Vec<_> = reports.iter().map(|seen| format!("{} {}", seen.image, seen.sha256)).collect();
    reports.join(", ")
}
