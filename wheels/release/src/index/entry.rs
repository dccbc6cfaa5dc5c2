//! The entries of an index, as `entries.json` keeps them.

use serde::{Deserialize, Serialize};

/// What [`Catalogue::schema`] says.
pub const SCHEMA: &str = "executorch-index/1";

/// One wheel of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// File name, in the folder of the index.
    pub filename: String,
    /// Project name as its metadata writes it.
    pub project: String,
    /// Version with its local label (PEP 440).
    pub version: String,
    /// Digest of the wheel, in hexadecimal.
    pub sha256: String,
    /// Size of the wheel in bytes.
    pub size: u64,
    /// `Requires-Python`, if the metadata has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_python: Option<String>,
    /// When the wheel came to this index: RFC 3339 in UTC.
    pub upload_time: String,
    /// Digest of the file `<filename>.metadata`.
    pub metadata_sha256: String,
    /// Why installers shall not choose it unless it is pinned (PEP 592); `None` if they may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yanked: Option<String>,
    /// Row of wheels/rows.toml that it was made for.
    pub row: String,
    /// What the gate found on each clean machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<GateResult>,
    /// File name of the provenance statement, in the folder of the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<String>,
}

/// The gate's result for a wheel on one clean machine, counted from its report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateResult {
    /// Name of the machine's image.
    pub image: String,
    /// Digest of the report.
    pub report_sha256: String,
    /// Checks that passed.
    pub passed: u32,
    /// Checks that failed.
    pub failed: u32,
    /// Checks that were skipped for a reason that the row allows.
    pub skipped: u32,
    /// Checks of parts that are not built yet.
    pub absent: u32,
}

/// What was done to a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It came to the index.
    Added,
    /// It left the index.
    Removed,
    /// Installers were told to leave it alone.
    Yanked,
    /// It was yanked or removed, and came back.
    Restored,
}

/// One thing that happened to an index, for its page and its feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// RFC 3339 in UTC.
    pub time: String,
    /// What was done.
    pub action: Action,
    /// The wheel's file name.
    pub filename: String,
    /// Why, in a sentence; empty if there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// `entries.json`: everything that is known of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// [`SCHEMA`].
    pub schema: String,
    /// The index's name, which is its folder: `cpu`, `cu126`, …
    pub index: String,
    /// Where users find the folder of the index, for install lines; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The wheels, sorted by project, version and file name.
    pub entries: Vec<Entry>,
    /// What changed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}
