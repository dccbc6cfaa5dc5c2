//! `cargo xtask test`: the suites that CI runs, and their sum.

use crate::installed::Environment;
use crate::place::Place;
use crate::{bindings, demo, dry_run, gate, headers, nix, provenance, readme, schema, wheel};
use anyhow::{Context, Result};
use executorch_tools::command::{self, step};
use executorch_xnnpack_native::Target;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

/// The feature of indexes in buckets.
const S3: &str = "wheelhouse-cli/s3";

#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// Runs every suite, prints the sum, and fails if anything failed.
pub fn run(place: &Place) -> Result<ExitCode> {
    let mut tally = Tally::default();
    let cargo = |args: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(args).current_dir(&place.root);
        command
    };
    tally.check("XNNPACK library", || library(place));
    tally.check("format", || command::run(&mut cargo(&["fmt", "--all", "--check"])));
    // What needs an S3 client is built with the rest, once.
    let lints = ["clippy", "--workspace", "--all-targets", "--features", S3, "--", "-D", "warnings"];
    tally.check("lints", || command::run(&mut cargo(&lints)));
    let test = ["test", "--workspace", "--features", S3, "--no-fail-fast"];
    tally.suite("Rust tests", || count(&mut cargo(&test), cargo_summary));
    for (what, script) in [("operator", "coverage.py"), ("kind of XNNPACK node", "xnnpack_coverage.py")] {
        tally.check(&format!("every {what} has a conformance case"), || covered(place, script));
    }
    if nix::RUNS_HERE {
        tally.check("the flake evaluates, and reads the same rows", || nix::evaluates(place));
    }
    tally.check("C headers are current", || headers::generate(place, true));
    tally.check("readers of the file formats are current", || schema::generate(place, true));
    tally.check("declarations of XNNPACK are current", || bindings::generate(place, true));
    tally.check("C headers compile alone", || headers::compile(place));
    tally.check("wheel", || wheel::build(place, "cpu", &place.root.join("dist")).map(drop));
    tally.check("the wheel's SBOM is valid and complete", || {
        let wheel = wheel::build(place, "cpu", &place.root.join("dist"))?;
        provenance::check(place, "cpu", &wheel)
    });
    tally.suite("Python tests", || python_tests(place));
    tally.suite("C++ tests", || cpp_tests(place));
    tally.check("demo", || demo::run(place));
    tally.check("gate", || gate::gate(place, &gate::Request::here("cpu")));
    let planted = [
        "test",
        "--profile",
        "xtask",
        "--package",
        "executorch-gate",
        "--test",
        "planted",
        "--",
        "--ignored",
    ];
    tally.suite("the gate against planted faults", || {
        count(cargo(&planted).env("EXECUTORCH_GATE_INPUT", gate::input(place, "cpu", None)), cargo_summary)
    });
    tally.check("examples of the README", || readme::run(place));
    if nix::RUNS_HERE {
        tally.check("checks of the flake", || nix::check(place));
        // The sandbox has another path, and dependencies that were built apart.
        tally.check("the flake and cargo make the same wheel", || {
            nix::same_wheel(place, "cpu", &wheel::build(place, "cpu", &place.root.join("dist"))?)
        });
        tally.check("release dry run", || release(place));
    } else {
        tally.check("the wheel's bytes are reproducible", || {
            wheel::check_reproducible(place, "cpu", &wheel::build(place, "cpu", &place.root.join("dist"))?)
        });
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Tally {
    /// Something that counts as one test.
    fn check(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        self.suite(name, || work().map(|()| (1, 0)));
    }

    /// A suite that tells how many tests passed and failed; one that cannot run counts as one failure.
    fn suite(&mut self, name: &str, work: impl FnOnce() -> Result<(u64, u64)>) {
        let (passed, failed) = step(name, work).unwrap_or_else(|error| {
            eprintln!("xtask: {error:#}");
            (0, 1)
        });
        self.passed += passed;
        self.failed += failed;
    }
}

/// The XNNPACK library; once, for cargo and for the flake.
fn library(place: &Place) -> Result<()> {
    if nix::RUNS_HERE {
        nix::library(place)?;
    }
    let target = Target::from_arch(std::env::consts::ARCH)?;
    executorch_xnnpack_native::build(&place.xnnpack(target)).map(drop)
}

/// The release dry run, with what the flake's gate has left. The row's other images would take as long again, each: a
/// release gates on all of them.
fn release(place: &Place) -> Result<()> {
    let (row, image) = ("cpu".to_owned(), "debian-12".to_owned());
    let gated = Some(nix::gated(place, &row, &image)?);
    dry_run::dry_run(place, &dry_run::Request { row, images: vec![image], gated })
}

/// Runs a script of the conformance programs that tells what they lack. It needs nothing but Python.
fn covered(place: &Place, script: &str) -> Result<()> {
    let mut python = Environment::new::<&str>(place, "clean", &[])?.python();
    command::run(python.arg(place.root.join("checks/conformance").join(script)))
}

/// The Python package's tests, against the installed wheel.
fn python_tests(place: &Place) -> Result<(u64, u64)> {
    let environment =
        Environment::new(place, "python-tests", &["pytest", "numpy"])?.with_wheel(place, "cpu")?;
    let mut command = environment.python();
    command
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "runtime/python/tests"])
        .current_dir(&place.root);
    count(&mut command, pytest_summary)
}

/// The C++ consumer tests, built through `find_package` against the installed wheel.
fn cpp_tests(place: &Place) -> Result<(u64, u64)> {
    let environment = Environment::new::<&str>(place, "clean", &[])?.with_wheel(place, "cpu")?;
    // zig is clang with another standard library.
    let second = format!("-DEXECUTORCH_SECOND_COMPILER={},c++", place.tools.zig()?.display());
    let build = environment.cmake(place, "cpp-tests", &place.root.join("runtime/cpp/tests"), &[second])?;
    let mut command = Command::new(place.tools.cmake()?.join("bin/ctest"));
    command.arg("--test-dir").arg(build).args(["--output-on-failure", "--parallel", "2"]);
    let cache = place.tools.zig_cache();
    count(command.env("ZIG_GLOBAL_CACHE_DIR", &cache).env("ZIG_LOCAL_CACHE_DIR", cache), ctest_summary)
}

/// Runs a test program, shows its output, and sums the counts that `summary` finds in its lines.
fn count(command: &mut Command, summary: fn(&str) -> Option<(u64, u64)>) -> Result<(u64, u64)> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {program}"))?;
    let stdout = child.stdout.take().context("no standard output")?;
    let (mut passed, mut failed) = (0, 0);
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read the test program's output")?;
        println!("{line}");
        if let Some((good, bad)) = summary(&line) {
            passed += good;
            failed += bad;
        }
    }
    // A test program that does not build or dies has no summary of its own.
    if !child.wait()?.success() && failed == 0 {
        failed = 1;
    }
    Ok((passed, failed))
}

/// The counts of pytest's last line, such as `1 failed, 12 passed, 2 skipped in 0.31s`.
fn pytest_summary(line: &str) -> Option<(u64, u64)> {
    let (counts, _) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    let (mut passed, mut failed) = (0, 0);
    for part in counts.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word {
            "passed" => passed = number,
            "failed" | "error" | "errors" => failed += number,
            _ => {}
        }
    }
    Some((passed, failed))
}

/// The counts of ctest's line `75% tests passed, 1 tests failed out of 4`.
fn ctest_summary(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.split_once("% tests passed, ")?;
    let mut numbers = counts.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let failed = numbers.next()?;
    Some((numbers.next()?.checked_sub(failed)?, failed))
}

/// The counts of a line such as `test result: ok. 3 passed; 0 failed; …`.
fn cargo_summary(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut parts = counts.split("; ");
    let mut count = |word: &str| parts.next()?.strip_suffix(word)?.trim().parse().ok();
    Some((count("passed")?, count("failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_cargo_summaries() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(cargo_summary(line), Some((12, 3)));
        assert_eq!(cargo_summary("test result: ok. 1 passed; 0 failed; 0 ignored"), Some((1, 0)));
        assert_eq!(cargo_summary("running 3 tests"), None);
    }

    #[test]
    fn reads_pytest_summaries() {
        assert_eq!(pytest_summary("===== 1 failed, 12 passed, 2 skipped in 0.31s ====="), Some((12, 1)));
        assert_eq!(pytest_summary("3 passed, 1 warning, 2 errors in 1.00s"), Some((3, 2)));
        assert_eq!(pytest_summary("collected in passing"), None);
    }

    #[test]
    fn reads_ctest_summaries() {
        assert_eq!(ctest_summary("75% tests passed, 1 tests failed out of 4"), Some((3, 1)));
        assert_eq!(ctest_summary("Total Test time (real) = 0.02 sec"), None);
    }
}
