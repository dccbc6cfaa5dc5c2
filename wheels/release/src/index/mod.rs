//! What an index holds. Everything that installers and people read is a pure function of it.

mod entry;

pub use entry::{Action, Catalogue, Change, Entry, GateResult, SCHEMA};
