//! One check: what it proves, what it builds on, and how it is run.

use crate::checks;
use crate::context::{Context, State};
use crate::outcome::{Found, Handed};
use anyhow::{Context as _, Result};
use std::path::Path;
use std::time::Duration;

/// A check of the gate.
#[derive(Clone, Copy)]
pub struct Check {
    /// `group.name`.
    pub id: &'static str,
    /// What a pass proves.
    pub title: &'static str,
    /// Ids of checks whose results it uses; they come before it.
    pub needs: &'static [&'static str],
    /// Seconds that it may take on an ordinary machine.
    pub limit: u64,
    /// The check itself.
    pub run: fn(&Context) -> Found,
}

impl Check {
    /// The part of the id before the dot.
    pub fn group(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(group, _)| group)
    }

    /// How long it may take where everything takes `patience` times as long.
    pub fn limit(&self, patience: f64) -> Duration {
        Duration::from_secs(self.limit).mul_f64(patience)
    }
}

/// Runs the check `id` in this process, and writes what it found to `outcome`.
pub fn run_here(id: &str, state: &Path, outcome: &Path) -> Result<()> {
    let checks = checks::all();
    let check = checks.iter().find(|check| check.id == id).with_context(|| format!("no check `{id}`"))?;
    let context = Context::new(State::read(state)?)?;
    let handed = Handed::from((check.run)(&context));
    std::fs::write(outcome, serde_json::to_vec(&handed)?).with_context(|| outcome.display().to_string())
}
