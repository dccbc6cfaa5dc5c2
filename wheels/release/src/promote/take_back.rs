//! Taking back what turned out bad.

use std::time::SystemTime;

use anyhow::{Result, ensure};

use super::{Site, settle};
use crate::log::{self, Action, Entry, Rollback, Yank};
use crate::sign::PrivateKey;

/// Longest reason in bytes: users read it in one line of what their installer prints.
const LONGEST: usize = 500;

/// Marks the wheel `filename` of `index` so that installers leave it alone unless it is pinned. Its file stays: who
/// has pinned it can still install it, and is shown `reason`.
pub fn yank(
    site: &Site<'_>,
    index: &str,
    filename: &str,
    reason: &str,
    key: &PrivateKey,
    now: SystemTime,
) -> Result<Entry> {
    let policy = site.indexes.find(index)?;
    check_reason(reason)?;
    let entry = log::append(site.store, index, policy, key, now, |state, _| {
        state.check_yank(filename)?;
        let yank = Yank { filename: filename.to_owned(), reason: reason.to_owned() };
        Ok((Action::Yank(yank), vec![]))
    })?;
    settle(site.store, index, policy)?;
    Ok(entry)
}

/// Restores the set of wheels that users could install after log entry `to`; without it, the set that the newest live
/// wheel was added to. Wheels that were yanked since stay yanked, unless `restore_yanked`, which asks for an owner's
/// key. Gives the log's entry and in it the pins that users should use.
pub fn rollback(
    site: &Site<'_>,
    index: &str,
    to: Option<u64>,
    reason: &str,
    restore_yanked: bool,
    key: &PrivateKey,
    now: SystemTime,
) -> Result<(Entry, Rollback)> {
    let policy = site.indexes.find(index)?;
    check_reason(reason)?;
    let mut planned = None;
    let entry = log::append(site.store, index, policy, key, now, |state, slot| {
        let rollback = state.rollback(to, reason, restore_yanked)?;
        policy.check_restore(index, &key.public(), slot.number, &rollback)?;
        planned = Some(rollback.clone());
        Ok((Action::Rollback(rollback), vec![]))
    })?;
    settle(site.store, index, policy)?;
    // `append` succeeds only after it asked.
    let rollback = planned.ok_or_else(|| anyhow::anyhow!("the log was written without a decision"))?;
    Ok((entry, rollback))
}

fn check_reason(reason: &str) -> Result<()> {
    ensure!(
        !reason.trim().is_empty() && reason.len() <= LONGEST && !reason.chars().any(char::is_control),
        "say in one line of at most {LONGEST} bytes why, for users to read: --reason \"…\""
    );
    Ok(())
}
