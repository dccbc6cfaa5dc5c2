//! The report, and the list of checks, for people.

use crate::check::Check;
use executorch_gate_report::{Outcome, Report, Verdict};
use std::fmt::Write;

/// How a check ended, in a word of its own length.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::Skip => "skip",
        Outcome::Absent => "absent",
    }
}

/// The report as a table in plain text.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    let machine = &report.machine;
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _strings_take_everything = writeln!(text, "{arguments}");
    };
    line(format_args!(
        "{} ({} bytes, sha256 {})",
        report.wheel.filename, report.wheel.size, report.wheel.sha256
    ));
    line(format_args!(
        "row {} on {}: {}, glibc {}, Python {}, Linux {}, {}",
        report.row, report.image, machine.system, machine.glibc, machine.python, machine.kernel, machine.cpu
    ));
    for check in &report.checks {
        let told = if check.outcome == Outcome::Pass { &check.title } else { &check.reason };
        let told: String = told.lines().next().unwrap_or_default().chars().take(160).collect();
        line(format_args!("{:6}  {:24} {:6.1} s  {told}", word(check.outcome), check.id, check.seconds));
    }
    let counts = report.counts();
    let verdict = match report.verdict {
        Verdict::Pass => "PASSED",
        Verdict::Fail => "FAILED",
    };
    line(format_args!(
        "{verdict}: {} passed, {} failed, {} skipped, {} absent, {:.0} s",
        counts.passed, counts.failed, counts.skipped, counts.absent, report.seconds
    ));
    text
}

/// The checks as a table in Markdown.
pub fn list(checks: &[Check]) -> String {
    let mut text = "| check | what a pass proves |\n|---|---|\n".to_owned();
    for check in checks {
        text += &format!("| `{}` | {} |\n", check.id, check.title);
    }
    text
}
