//! Runs each check in a process of its own, and makes the report.

use crate::check::Check;
use crate::clean::{self, Ending};
use crate::context::State;
use crate::input::Input;
use crate::outcome::{Handed, shortened};
use crate::{checks, machine, schedule, server};
use anyhow::{Context, Result, bail};
use executorch_gate_report::{self as report, Outcome, Report, SCHEMA, Verdict};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
use wheelhouse::digest;

/// Runs the checks that `only` names, or all, and writes the report to `out`.
pub fn run(folder: &Path, out: &Path, work: Option<PathBuf>, only: &[String]) -> Result<Report> {
    let (begun, started) = (Instant::now(), SystemTime::now());
    let folder = fs::canonicalize(folder).with_context(|| folder.display().to_string())?;
    let input = Input::read(&folder)?;
    let gate = &input.gate;
    fs::create_dir_all(out.join("logs")).with_context(|| out.display().to_string())?;
    let out = fs::canonicalize(out)?;
    let path = folder.join("index").join(&gate.index).join(&gate.wheel);
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    let sha256 = digest::sha256(&bytes);

    let (work, temporary) = match work {
        Some(work) => (work, false),
        None => (std::env::temp_dir().join(format!("gate-{}", std::process::id())), true),
    };
    fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let work = fs::canonicalize(work)?;
    let indexes = server::start(folder.join("index")).unwrap_or_else(|error| {
        eprintln!("gate: {error:#}; taking the indexes from their folder");
        format!("file://{}/index", folder.display())
    });
    let state = State { input: folder, work: work.clone(), indexes };
    let state_file = work.join("state.json");
    state.write(&state_file)?;

    let chosen = choose(checks::all(), only)?;
    let total = chosen.len();
    let runner = Runner { state_file, work: work.clone(), logs: out.join("logs"), patience: gate.patience };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let told = |count: usize, result: &report::Check| {
        let mark = crate::table::word(result.outcome);
        eprintln!("gate: {count:>2}/{total} {mark:6} {:24} {:5.1} s", result.id, result.seconds);
    };
    let done = schedule::all(&chosen, workers, |check, needs| runner.one(check, needs), told);
    let mut report = Report {
        schema: SCHEMA.into(),
        wheel: report::Wheel { filename: gate.wheel.clone(), sha256, size: bytes.len() as u64 },
        row: gate.row.clone(),
        image: gate.image.clone(),
        machine: machine::look(&work),
        started: humantime::format_rfc3339_seconds(started).to_string(),
        seconds: begun.elapsed().as_secs_f64(),
        checks: done,
        verdict: Verdict::Fail,
    };
    report.verdict = gate.rules.verdict(&report.checks);
    if temporary {
        fs::remove_dir_all(&work).with_context(|| work.display().to_string())?;
    }
    report.verify(&gate.rules)?;
    write(&out.join("report.txt"), &crate::table::render(&report))?;
    write(&out.join("report.json"), &report.to_json()?)?;
    Ok(report)
}

/// Writes a file that is there as a whole or not at all.
fn write(path: &Path, text: &str) -> Result<()> {
    let part = path.with_extension("part");
    fs::write(&part, text).with_context(|| part.display().to_string())?;
    fs::rename(&part, path).with_context(|| path.display().to_string())
}

/// The checks that `only` names, with those that they build on; all if it names none.
fn choose(all: Vec<Check>, only: &[String]) -> Result<Vec<Check>> {
    if only.is_empty() {
        return Ok(all);
    }
    let names = |check: &Check, name: &str| match name.strip_suffix(".*") {
        Some(group) => check.group() == group,
        None => check.id == name,
    };
    if let Some(name) = only.iter().find(|name| !all.iter().any(|check| names(check, name))) {
        bail!("no check `{name}`; `list` lists them");
    }
    let mut wanted: Vec<bool> = all.iter().map(|check| only.iter().any(|name| names(check, name))).collect();
    // Needs come first, so one pass from the end finds them all.
    for place in (0..all.len()).rev() {
        if wanted.get(place) == Some(&true) {
            for need in all[place].needs {
                if let Some(earlier) = all.iter().position(|check| check.id == *need) {
                    wanted[earlier] = true;
                }
            }
        }
    }
    Ok(all.into_iter().zip(wanted).filter_map(|(check, wanted)| wanted.then_some(check)).collect())
}

struct Runner {
    state_file: PathBuf,
    work: PathBuf,
    logs: PathBuf,
    patience: f64,
}

impl Runner {
    fn one(&self, check: &Check, needs: &[report::Check]) -> report::Check {
        let started = Instant::now();
        let handed = match unmet(needs) {
            Some(handed) => handed,
            None => self.process(check).unwrap_or_else(|error| Handed {
                outcome: Outcome::Fail,
                reason: shortened(&format!("the check could not be run: {error:#}")),
                evidence: Vec::new(),
            }),
        };
        report::Check {
            id: check.id.into(),
            title: check.title.into(),
            group: check.group().into(),
            outcome: handed.outcome,
            reason: handed.reason,
            evidence: handed.evidence,
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    fn process(&self, check: &Check) -> Result<Handed> {
        let outcome = self.work.join(format!("{}.outcome.json", check.id));
        let log = self.logs.join(format!("{}.log", check.id));
        let mut command = clean::command(std::env::current_exe()?, &self.work);
        command
            .arg("check")
            .arg(check.id)
            .arg("--state")
            .arg(&self.state_file)
            .arg("--outcome")
            .arg(&outcome);
        let limit = check.limit(self.patience);
        let ending = clean::watched(command.current_dir(&self.work), limit, &log)?;
        let last = || {
            let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
            text.lines().rev().take(20).collect::<Vec<_>>().into_iter().rev().map(str::to_owned).collect()
        };
        let failed = |reason: String| Handed { outcome: Outcome::Fail, reason, evidence: last() };
        Ok(match ending {
            Ending::TooLong => failed(format!("it took longer than {} s and was stopped", limit.as_secs())),
            Ending::Ended(status) if status.success() => {
                serde_json::from_slice(&fs::read(&outcome).context("the check left no outcome")?)?
            }
            Ending::Ended(status) => failed(match status.signal() {
                Some(signal) => format!("the check's process was ended by signal {signal}"),
                None => format!("the check's process ended with {status}"),
            }),
        })
    }
}

/// What a check that cannot be tried gets, because of one of its needs.
fn unmet(needs: &[report::Check]) -> Option<Handed> {
    let need = needs.iter().find(|need| need.outcome != Outcome::Pass)?;
    let reason = shortened(&format!("{}: {}", need.id, need.reason));
    Some(Handed { outcome: need.outcome, reason, evidence: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Stop;

    fn check(id: &'static str, needs: &'static [&'static str]) -> Check {
        Check { id, title: "x", needs, limit: 1, run: |_| Err(Stop::absent("x")) }
    }

    #[test]
    fn the_chosen_come_with_what_they_build_on() {
        let all =
            || vec![check("a.x", &[]), check("b.x", &["a.x"]), check("b.y", &[]), check("c.x", &["b.x"])];
        let ids = |only: &[&str]| -> Vec<&str> {
            let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
            choose(all(), &only).unwrap().iter().map(|check| check.id).collect()
        };
        assert_eq!(ids(&[]).len(), 4);
        assert_eq!(ids(&["c.x"]), ["a.x", "b.x", "c.x"]);
        assert_eq!(ids(&["b.*"]), ["a.x", "b.x", "b.y"]);
        assert!(choose(all(), &["d.x".into()]).is_err());
    }

    #[test]
    fn what_builds_on_a_failure_fails() {
        let mut earlier = report::Check {
            id: "a.x".into(),
            title: "x".into(),
            group: "a".into(),
            outcome: Outcome::Fail,
            reason: "broken".into(),
            evidence: Vec::new(),
            seconds: 0.0,
        };
        let unmet = |earlier: &report::Check| super::unmet(std::slice::from_ref(earlier));
        assert_eq!(unmet(&earlier).unwrap().reason, "a.x: broken");
        earlier.outcome = Outcome::Skip;
        assert_eq!(unmet(&earlier).unwrap().outcome, Outcome::Skip);
        earlier.outcome = Outcome::Pass;
        assert_eq!(unmet(&earlier), None);
    }
}
