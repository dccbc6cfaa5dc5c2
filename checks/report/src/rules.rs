//! What a row asks of its reports.

use crate::{Check, Outcome, Verdict};
use serde::{Deserialize, Serialize};

/// The skips that a row allows on one image. Without any, every skip fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Ids of checks, or `group.*` for a whole group, that may be skipped.
    pub skips: Vec<String>,
    /// Ids of checks that must have passed: neither skipped nor absent nor left out of the report.
    pub required: Vec<String>,
}

impl Rules {
    /// The verdict on `checks`: passed if nothing failed, something passed, every skip is allowed, and what is
    /// required passed.
    pub fn verdict(&self, checks: &[Check]) -> Verdict {
        let bad = |check: &Check| match check.outcome {
            Outcome::Fail => true,
            Outcome::Skip => !self.allows(&check.id),
            Outcome::Pass | Outcome::Absent => false,
        };
        let passed = |id: &str| checks.iter().any(|check| check.id == id && check.outcome == Outcome::Pass);
        let something = checks.iter().any(|check| check.outcome == Outcome::Pass);
        if something && !checks.iter().any(bad) && self.required.iter().all(|id| passed(id)) {
            Verdict::Pass
        } else {
            Verdict::Fail
        }
    }

    /// Whether the check `id` may be skipped.
    pub fn allows(&self, id: &str) -> bool {
        self.skips.iter().any(|allowed| match allowed.strip_suffix(".*") {
            Some(group) => id.split_once('.').is_some_and(|(of, _)| of == group),
            None => allowed == id,
        })
    }
}
