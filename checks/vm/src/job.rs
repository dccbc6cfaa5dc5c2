//! What a machine is asked to do, and what came of it.

use anyhow::{Result, bail, ensure};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// How long a machine may take to stop the command, to write results, and to switch itself off.
pub(crate) const GRACE: Duration =
    if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(90) };

/// Files and a command for a clean machine.
///
/// The command runs as an ordinary user called `user`, with an empty home as current folder, without a network and
/// without a terminal. It finds the files in `/job`, where it cannot write, and leaves its results in `/results`.
#[derive(Clone, Debug)]
pub struct Job {
    /// The folder with the files. Links that lead out of it lead nowhere in the machine.
    pub files: PathBuf,
    /// The command, for `sh`.
    pub command: String,
    /// A folder that is empty or missing. It gets `results`, with what the command left in `/results`, and
    /// `console.log`, with all that it printed.
    pub out: PathBuf,
    /// The path of the report among the results, whose presence is what makes a run complete.
    pub report: PathBuf,
    /// How long the command may take, without the time that the machine needs to start.
    pub timeout: Duration,
    /// How long the machine may take to start.
    pub boot_timeout: Duration,
    /// Memory in MiB; three quarters of it at most hold files that are written. [`crate::Machine::here`] does not limit it.
    pub memory: u32,
    /// Processors. [`crate::Machine::here`] does not limit them.
    pub cpus: u32,
    /// The size of all results together, in MiB.
    pub results_limit: u32,
}

impl Job {
    /// A job with the report `report.json`, 10 minutes, 2 GiB of memory, two processors and 256 MiB of results.
    pub fn new(files: PathBuf, command: impl Into<String>, out: PathBuf) -> Self {
        Self {
            files,
            command: command.into(),
            out,
            report: "report.json".into(),
            timeout: Duration::from_secs(600),
            boot_timeout: Duration::from_secs(240),
            memory: 2048,
            cpus: 2,
            results_limit: 256,
        }
    }

    /// Checks the job and makes the folder for results.
    pub(crate) fn begin(&self) -> Result<Paths> {
        ensure!(self.files.is_dir(), "the files of the job should lie in a folder: {}", self.files.display());
        let plain = self.report.components().all(|part| matches!(part, Component::Normal(_)));
        ensure!(
            plain && self.report.file_name().is_some(),
            "the report should be a path below /results, not {}",
            self.report.display()
        );
        ensure!(self.cpus > 0 && self.memory >= 256, "a machine needs a processor and 256 MiB of memory");
        fs::create_dir_all(&self.out)?;
        if fs::read_dir(&self.out)?.next().is_some() {
            bail!("{} is not empty: old results would be taken for new ones", self.out.display());
        }
        let out = fs::canonicalize(&self.out)?;
        let paths = Paths { results: out.join("results"), console: out.join("console.log"), out };
        fs::create_dir(&paths.results)?;
        Ok(paths)
    }
}

/// Where the results of a run go.
pub(crate) struct Paths {
    pub out: PathBuf,
    pub results: PathBuf,
    pub console: PathBuf,
}

impl Paths {
    /// The report, if there is one.
    pub fn report(&self, job: &Job) -> Option<PathBuf> {
        let report: &Path = &job.report;
        Some(self.results.join(report))
            .filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_file()))
    }
}

/// What a job left behind. Whether it went well stands in its report, and nowhere else.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The folder with the results.
    pub results: PathBuf,
    /// The report, which is one of them.
    pub report: PathBuf,
    /// All that the machine and the command printed.
    pub console: PathBuf,
    /// The seconds from the machine's start to that of the command.
    pub boot_seconds: f64,
    /// The seconds that the command took.
    pub seconds: f64,
    /// The command's exit status, for the curious.
    pub exit_status: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_cannot_be_run_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let good = Job::new(dir.path().into(), "true", dir.path().join("out"));
        let refusal = |job: Job| job.begin().err().map(|error| error.to_string()).unwrap();
        assert!(refusal(Job { files: "/no/such".into(), ..good.clone() }).contains("/no/such"));
        for report in ["../x", "/x", "", "a/../../x"] {
            assert!(refusal(Job { report: report.into(), ..good.clone() }).contains("below /results"));
        }
        assert!(refusal(Job { cpus: 0, ..good.clone() }).contains("processor"));
        good.begin().unwrap();
        assert!(refusal(good).contains("not empty"));
    }
}
