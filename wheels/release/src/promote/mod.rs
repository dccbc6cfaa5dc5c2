//! What happens to an index: promotion of wheels out of staging, taking them back, telling users, verifying it all.
//!
//! Every command adds at most one entry to the index's [log](crate::log) and then brings the index's files to what the
//! whole log says ([`settle`]). A command that is interrupted before its entry is written has changed nothing that
//! users see; one that is interrupted after it is completed by the next command, or by [`settle`] alone.

mod approval;
mod approve;
mod candidate;
mod case;
mod feed;
mod files;
mod indexes;
mod settle;
mod take_back;
mod verify;

use wheelhouse::component::Components;
use wheelhouse::row::Rows;

use crate::store::Store;

pub use approval::Approval;
pub use approve::{Judged, approve, promote};
pub use case::{ApprovalFile, REPORT_TYPE, ReportFile};
pub use feed::{Notice, notices};
pub use files::{find_approvals, find_reports};
pub use indexes::{Earlier, Indexes, Key, Policy};
pub use settle::settle;
pub use take_back::{rollback, yank};
pub use verify::{Verified, verify};

/// Where promotion works, and by which rules.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The store with the staging folder and the indexes.
    pub store: &'a Store,
    /// Who may publish what.
    pub indexes: &'a Indexes,
    /// The rows.
    pub rows: &'a Rows,
    /// The components that rows are made of.
    pub components: &'a Components,
}

#[cfg(test)]
mod tests;
