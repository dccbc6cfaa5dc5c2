//! `cargo xtask test`: the suites that CI runs, and their sum.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// Runs every suite, prints the sum, and fails if anything failed.
pub fn run() -> Result<ExitCode> {
    let mut tally = Tally::default();
    check(&mut tally, "format", &["fmt", "--all", "--check"])?;
    check(&mut tally, "lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    cargo_test(&mut tally)?;
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One command that counts as one test.
fn check(tally: &mut Tally, name: &str, args: &[&str]) -> Result<()> {
    let start = Instant::now();
    eprintln!("xtask: {name}: cargo {}", args.join(" "));
    let status = Command::new("cargo").args(args).status().context("cannot start cargo")?;
    eprintln!("xtask: {name}: {:.1} s", start.elapsed().as_secs_f64());
    if status.success() {
        tally.passed += 1
    } else {
        tally.failed += 1
    }
    Ok(())
}

/// The workspace's Rust tests, counted from cargo's own summaries.
fn cargo_test(tally: &mut Tally) -> Result<()> {
    eprintln!("xtask: Rust tests: cargo test --workspace --no-fail-fast");
    let mut child = Command::new("cargo")
        .args(["test", "--workspace", "--no-fail-fast"])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let stdout = child.stdout.take().context("cargo has no standard output")?;
    let mut failed = 0;
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read cargo's output")?;
        println!("{line}");
        if let Some((passed, not)) = summary(&line) {
            tally.passed += passed;
            failed += not;
        }
    }
    let status = child.wait()?;
    // A test program that does not build or dies has no summary of its own.
    if !status.success() && failed == 0 {
        failed = 1;
    }
    tally.failed += failed;
    Ok(())
}

/// The counts of a line such as `test result: ok. 3 passed; 0 failed; …`.
fn summary(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut parts = counts.split("; ");
    let mut count = |word: &str| parts.next()?.strip_suffix(word)?.trim().parse().ok();
    Some((count("passed")?, count("failed")?))
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn reads_cargo_summaries() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(summary(line), Some((12, 3)));
        assert_eq!(summary("test result: ok. 1 passed; 0 failed; 0 ignored"), Some((1, 0)));
        assert_eq!(summary("running 3 tests"), None);
    }
}
