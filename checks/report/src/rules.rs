//! What a row asks of its reports.

use crate::{CHECKS, Check, Outcome, Verdict};
use serde::{Deserialize, Serialize};

/// What a row asks of its reports on one image. Without any skips and absences allowed, each of them fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Ids of checks, or `group.*` for a whole group, that may be skipped.
    pub skips: Vec<String>,
    /// Ids of checks that may be absent, because the row ships none of the parts that they are about.
    pub absent: Vec<String>,
    /// Ids of checks that must be in the report.
    pub required: Vec<String>,
}

impl Rules {
    /// What a row that ships `components` asks, where `skips` are allowed: every check of the gate, and no absence of
    /// what it ships.
    pub fn of(components: &[String], skips: Vec<String>) -> Self {
        let ships = |part: &&str| components.iter().any(|component| component == part);
        let absent = CHECKS.iter().filter(|check| !check.parts.is_empty() && !check.parts.iter().any(ships));
        Self {
            skips,
            absent: absent.map(|check| check.id.to_owned()).collect(),
            required: CHECKS.iter().map(|check| check.id.to_owned()).collect(),
        }
    }

    /// The verdict on `checks`: passed if something passed and [`Rules::faults`] finds nothing.
    pub fn verdict(&self, checks: &[Check]) -> Verdict {
        let something = checks.iter().any(|check| check.outcome == Outcome::Pass);
        if something && self.faults(checks).is_empty() { Verdict::Pass } else { Verdict::Fail }
    }

    /// Why `checks` do not pass, a line for each: what failed, what was skipped or absent and must not be, and what is
    /// required and not there.
    pub fn faults(&self, checks: &[Check]) -> Vec<String> {
        let mut faults = Vec::new();
        for check in checks {
            let (id, reason) = (&check.id, &check.reason);
            match check.outcome {
                Outcome::Pass => {}
                Outcome::Fail => faults.push(format!("{id} ({reason})")),
                Outcome::Skip if self.allows(id) => {}
                Outcome::Skip => {
                    faults.push(format!("{id} was skipped, which the row does not allow ({reason})"))
                }
                Outcome::Absent if self.absent.contains(id) => {}
                Outcome::Absent => {
                    faults.push(format!("{id} is absent, which it must not be in this row ({reason})"))
                }
            }
        }
        let there = |id: &String| checks.iter().any(|check| check.id == *id);
        let missing = self.required.iter().filter(|id| !there(id));
        faults.extend(missing.map(|id| format!("{id} was left out of the report")));
        faults
    }

    /// Whether the check `id` may be skipped.
    pub fn allows(&self, id: &str) -> bool {
        self.skips.iter().any(|allowed| match allowed.strip_suffix(".*") {
            Some(group) => id.split_once('.').is_some_and(|(of, _)| of == group),
            None => allowed == id,
        })
    }
}
