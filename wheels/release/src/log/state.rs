//! What results from a log: the wheels of the index, and what happened to each.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use super::entry::{Action, Draft, Rollback};
use super::pins::pins;
use crate::index;

/// An index after some entry of its log.
#[derive(Clone, Debug, Default)]
pub struct State {
    number: u64,
    wheels: BTreeMap<String, Wheel>,
    changes: Vec<index::Change>,
}

/// A wheel of the index with its history.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// As the index lists it now.
    pub entry: index::Entry,
    /// The log entry that brought it.
    pub promoted: u64,
    /// When it was marked and unmarked since: the log entry, and whether it was yanked then.
    marks: Vec<(u64, bool)>,
}

impl Wheel {
    /// Whether installers may choose it.
    pub fn live(&self) -> bool {
        self.entry.yanked.is_none()
    }

    /// Whether installers could choose it after log entry `number`.
    fn live_at(&self, number: u64) -> bool {
        let marked = self.marks.iter().rev().find(|(at, _)| *at <= number);
        self.promoted <= number && marked.is_none_or(|(_, yanked)| !yanked)
    }
}

impl State {
    /// The last entry that counts here.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The wheel of that file name.
    pub fn wheel(&self, filename: &str) -> Option<&Wheel> {
        self.wheels.get(filename)
    }

    /// Every wheel by file name.
    pub fn wheels(&self) -> impl Iterator<Item = &Wheel> {
        self.wheels.values()
    }

    /// What happened to wheels, oldest first.
    pub fn changes(&self) -> &[index::Change] {
        &self.changes
    }

    /// What users should install: for each project the newest version that is not yanked, one requirement each.
    pub fn pins(&self) -> Result<Vec<String>> {
        pins(self.wheels().filter(|wheel| wheel.live()).map(|wheel| &wheel.entry))
    }

    /// Takes the next entry. Refuses one that cannot happen in this state; the state is then of no use.
    pub fn apply(&mut self, draft: &Draft) -> Result<()> {
        self.number = draft.number;
        match &draft.action {
            Action::Promote(promotion) => {
                let entry = &promotion.wheel;
                ensure!(
                    !self.wheels.contains_key(&entry.filename),
                    "subject: `{}` was promoted before: a file name stands for one wheel for ever",
                    entry.filename
                );
                ensure!(entry.yanked.is_none(), "subject: a promoted wheel is not yanked");
                ensure!(
                    entry.upload_time == draft.time,
                    "subject: upload_time {} is not the time of the entry, {}",
                    entry.upload_time,
                    draft.time
                );
                let wheel = Wheel { entry: entry.clone(), promoted: draft.number, marks: vec![] };
                self.wheels.insert(entry.filename.clone(), wheel);
                self.tell(draft, index::Action::Added, &entry.filename, "");
            }
            Action::Yank(yank) => {
                self.check_yank(&yank.filename)?;
                self.mark(draft, &yank.filename, Some(&yank.reason))?;
            }
            Action::Rollback(rollback) => {
                let planned = self.rollback_from(
                    draft.number,
                    Some(rollback.to),
                    &rollback.reason,
                    rollback.restore_yanked,
                )?;
                ensure!(
                    planned == *rollback,
                    "subject: a rollback to entry {} takes back {:?}, restores {:?} and leaves {:?}, not what the \
                     entry says",
                    rollback.to,
                    planned.taken_back,
                    planned.restored,
                    planned.pins
                );
                for filename in &rollback.taken_back {
                    self.mark(draft, filename, Some(&rollback.reason))?;
                }
                for filename in &rollback.restored {
                    self.mark(draft, filename, None)?;
                }
            }
        }
        Ok(())
    }

    /// Refuses to yank what is not there or yanked already.
    pub fn check_yank(&self, filename: &str) -> Result<()> {
        let wheel = self.wheel(filename).with_context(|| {
            let names: Vec<&str> = self.wheels.keys().map(String::as_str).collect();
            format!("`{filename}` is not in the index, which has: {}", names.join(", "))
        })?;
        if let Some(reason) = &wheel.entry.yanked {
            anyhow::bail!("`{filename}` is yanked already: {reason}");
        }
        Ok(())
    }

    /// What a rollback in the next entry does: everything that came after entry `to` is taken back. Without `to`, the
    /// set is restored that the newest live wheel was added to. Wheels that were yanked since then come back only if
    /// `restore_yanked` says so: each was yanked for a reason.
    pub fn rollback(&self, to: Option<u64>, reason: &str, restore_yanked: bool) -> Result<Rollback> {
        self.rollback_from(self.number + 1, to, reason, restore_yanked)
    }

    fn rollback_from(
        &self,
        next: u64,
        to: Option<u64>,
        reason: &str,
        restore_yanked: bool,
    ) -> Result<Rollback> {
        let newest = self.wheels().filter(|wheel| wheel.live()).map(|wheel| wheel.promoted).max();
        let to = match (to, newest) {
            (Some(to), _) => to,
            (None, Some(newest)) => newest - 1,
            (None, None) => anyhow::bail!("the index has no wheel that could be taken back"),
        };
        ensure!(
            (1..next).contains(&to),
            "there is no set after entry {to} to go back to: the log has entries 1 to {}; use `yank` to take back \
             the first wheel of an index",
            next - 1
        );
        let names = |choose: &dyn Fn(&Wheel) -> bool| -> Vec<String> {
            let chosen = self.wheels.iter().filter(|(_, wheel)| choose(wheel));
            chosen.map(|(name, _)| name.clone()).collect()
        };
        let taken_back = names(&|wheel| wheel.live() && !wheel.live_at(to));
        let restored = names(&|wheel| restore_yanked && !wheel.live() && wheel.live_at(to));
        ensure!(
            !taken_back.is_empty() || !restored.is_empty(),
            "nothing to take back: the index is as it was after entry {to}, except for what was yanked since"
        );
        let left: Vec<&Wheel> = self
            .wheels
            .iter()
            .filter(|(name, wheel)| (wheel.live() && !taken_back.contains(name)) || restored.contains(name))
            .map(|(_, wheel)| wheel)
            .collect();
        let kept: BTreeSet<&str> = left.iter().map(|wheel| wheel.entry.project.as_str()).collect();
        let lost = taken_back.iter().filter_map(|name| self.wheel(name)).map(|wheel| &wheel.entry.project);
        if let Some(project) = lost.into_iter().find(|project| !kept.contains(project.as_str())) {
            anyhow::bail!(
                "no wheel of {project} would be left that users could install: name an earlier set with --to, restore \
                 what was yanked with --restore-yanked, or use `yank` if nothing is to be left"
            );
        }
        let pins = pins(left.iter().map(|wheel| &wheel.entry))?;
        Ok(Rollback { to, reason: reason.to_owned(), restore_yanked, taken_back, restored, pins })
    }

    fn mark(&mut self, draft: &Draft, filename: &str, reason: Option<&str>) -> Result<()> {
        let wheel =
            self.wheels.get_mut(filename).with_context(|| format!("`{filename}` is not in the index"))?;
        wheel.entry.yanked = reason.map(str::to_owned);
        wheel.marks.push((draft.number, reason.is_some()));
        let action = if reason.is_some() { index::Action::Yanked } else { index::Action::Restored };
        self.tell(draft, action, filename, reason.unwrap_or_default());
        Ok(())
    }

    fn tell(&mut self, draft: &Draft, action: index::Action, filename: &str, reason: &str) {
        let change = index::Change {
            time: draft.time.clone(),
            action,
            filename: filename.to_owned(),
            reason: reason.to_owned(),
        };
        self.changes.push(change);
    }
}
