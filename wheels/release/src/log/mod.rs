//! The promotion log of an index: what was promoted and taken back, by whom, on what evidence.
//!
//! The log is the source of truth. What installers and people read is rendered from what [`State`] makes of it, and
//! can be thrown away and made again. One file an entry, `<index>/log/<number>.json`, is only ever created:
//! creating the next number is what decides which of two writers comes first, and the moment at which a change has
//! happened. `<index>/log/head.json` names the last entry, so that a log whose end was cut off is noticed.

mod chain;
mod entry;
mod pins;
mod state;

pub use chain::{Head, Log, Slot, append};
pub(crate) use chain::{advance, entry_path, moment, rfc3339};
pub(crate) use entry::text;
pub use entry::{
    Action, Demand, Draft, Entry, Evidence, EvidenceKind, Finding, PAYLOAD_TYPE, Promotion, Rollback, SCHEMA,
    Yank,
};
pub use state::{State, Wheel};
