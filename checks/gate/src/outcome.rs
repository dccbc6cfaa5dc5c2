//! How a check ends.

use executorch_gate_report::Outcome;
use serde::{Deserialize, Serialize};

/// What was seen, or why the check did not pass.
pub type Found = Result<Vec<String>, Stop>;

/// Why a check did not pass.
#[derive(Debug)]
pub struct Stop {
    pub outcome: Outcome,
    pub reason: String,
    pub evidence: Vec<String>,
}

impl Stop {
    /// The machine cannot try it.
    pub fn skip(reason: impl Into<String>) -> Self {
        Self { outcome: Outcome::Skip, reason: reason.into(), evidence: Vec::new() }
    }

    /// The part is not in the wheel yet.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { outcome: Outcome::Absent, reason: reason.into(), evidence: Vec::new() }
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self { outcome: Outcome::Fail, reason: format!("{error:#}"), evidence: Vec::new() }
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        anyhow::Error::from(error).into()
    }
}

/// Fails with all `findings`, or passes with `evidence` if there are none.
pub fn judge(findings: Vec<String>, evidence: Vec<String>) -> Found {
    match findings.first() {
        None => Ok(evidence),
        Some(first) => {
            let more = findings.len() - 1;
            let reason = if more == 0 { first.clone() } else { format!("{first} (and {more} more)") };
            Err(Stop { outcome: Outcome::Fail, reason, evidence: findings })
        }
    }
}

/// Fails with what `told` says unless `holds`.
pub fn expect(holds: bool, told: impl FnOnce() -> String) -> Result<(), Stop> {
    if holds { Ok(()) } else { Err(Stop { outcome: Outcome::Fail, reason: told(), evidence: Vec::new() }) }
}

/// What the process of a check hands to the gate.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Handed {
    pub outcome: Outcome,
    pub reason: String,
    pub evidence: Vec<String>,
}

/// Longest text of one fact, in bytes: a compiler can say very much.
const LONGEST: usize = 4000;

impl From<Found> for Handed {
    fn from(found: Found) -> Self {
        let (outcome, reason, evidence) = match found {
            Ok(evidence) if evidence.is_empty() => {
                (Outcome::Fail, "the check saw nothing: a fault of the gate".into(), evidence)
            }
            Ok(evidence) => (Outcome::Pass, String::new(), evidence),
            Err(stop) => (stop.outcome, stop.reason, stop.evidence),
        };
        Self {
            outcome,
            reason: shortened(&reason),
            evidence: evidence.iter().take(200).map(|text| shortened(text)).collect(),
        }
    }
}

/// The beginning and the end of a long text.
pub fn shortened(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let head: String = text.chars().take(LONGEST / 8).collect();
    let tail: String = text.chars().rev().take(LONGEST / 8).collect();
    format!("{head} … {}", tail.chars().rev().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_without_evidence_is_none() {
        assert_eq!(Handed::from(Ok(Vec::new())).outcome, Outcome::Fail);
        assert_eq!(Handed::from(Ok(vec!["x".into()])).outcome, Outcome::Pass);
        assert_eq!(Handed::from(Err(Stop::absent("x"))).outcome, Outcome::Absent);
        assert_eq!(Handed::from(judge(vec!["a".into(), "b".into()], Vec::new())).reason, "a (and 1 more)");
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let text = format!("begin{}end", "ü".repeat(10_000));
        let short = shortened(&text);
        assert!(short.len() <= LONGEST && short.starts_with("begin") && short.ends_with("end"));
    }
}
