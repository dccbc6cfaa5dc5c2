//! Machines that run jobs.

use crate::cache::{self, Entry, Facts, INITRD, KERNEL, ROOT};
use crate::cpio::Archive;
use crate::error::Remains;
use crate::here::Here;
use crate::job::{GRACE, Paths};
use crate::qemu::{self, Plan};
use crate::results::{self, End};
use crate::watch::{self, Ending, Limits, Running, Seen};
use crate::{
    Acceleration, Arch, Error, Image, Job, Outcome, Progress, Settings, acceleration, mirror, recipe, tools,
};
use anyhow::{Context, Result};
use executorch_tools::command::output;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Exit statuses of a command that `timeout` ended.
const TIMED_OUT: [i32; 2] = [124, 137];
/// A machine that is ready to run jobs. Every run starts from the same state.
#[derive(Clone, Debug)]
pub struct Machine {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Emulated { entry: Entry, arch: Arch, emulator: PathBuf, acceleration: Acceleration },
    Here(Here),
}

impl Image {
    /// Makes the image, which takes minutes unless the cache has it, and finds out how to run it here.
    ///
    /// The image is made from the packages that the mirror has now. If the mirror cannot be reached, the newest image of
    /// the cache is taken, and `progress` says so.
    pub fn prepare(&self, settings: &Settings, progress: Progress<'_>) -> Result<Machine, Error> {
        let kind = prepare(self, settings, progress);
        let kind = kind.map_err(|source| Error::Prepare { image: self.name(), source })?;
        Ok(Machine { name: self.name(), kind })
    }
}

fn prepare(image: &Image, settings: &Settings, progress: Progress<'_>) -> Result<Kind> {
    let (cache, name, wanted) = (&settings.cache, image.name(), settings.acceleration()?);
    fs::create_dir_all(cache).with_context(|| cache.display().to_string())?;
    let cache = &fs::canonicalize(cache)?;
    let recipe = recipe::key(image);
    let mirror = mirror::address(settings.mirror.as_deref())
        .and_then(|mirror| mirror::state(&mirror, image.suite()).map(|state| (mirror, state)));
    let entry = match mirror {
        Ok((mirror, state)) => {
            let key = format!("{recipe}-{}", state.digest.get(..8).unwrap_or(&state.digest));
            cache::get(cache, &name, &key, progress, |dir| {
                recipe::build(image, &mirror, &state, dir, progress)
            })?
        }
        Err(error) => {
            let entry = cache::newest(cache, &name, &format!("{recipe}-")).ok_or(error)?;
            let date = &entry.facts().release_date;
            progress(&format!("{name}: the mirror does not answer; taking the image of {date}"));
            entry
        }
    };
    tools::ensure(&[tools::MKSQUASHFS])?;
    let emulator = match &settings.emulator {
        Some(emulator) => emulator.clone(),
        None => {
            let tool = match image.arch() {
                Arch::X86_64 => tools::QEMU_X86_64,
                Arch::Aarch64 => tools::QEMU_AARCH64,
            };
            tools::ensure(&[tool])?;
            tools::find(tool.0).with_context(|| format!("{} is missing", tool.0))?
        }
    };
    let acceleration = match wanted {
        Some(acceleration) => acceleration,
        None => acceleration::choose(cache, &emulator, image.arch(), &entry, progress)?,
    };
    Ok(Kind::Emulated { entry, arch: image.arch(), emulator, acceleration })
}

impl Machine {
    /// This machine, with namespaces of its own: no network, an empty home and `/tmp`, other users and processes out of
    /// sight, and of the files only `/usr` and what programs need of `/etc`. It starts at once, but it is no clean
    /// machine: the kernel, the processor and the installed packages are those that happen to be here.
    pub fn here() -> Result<Self, Error> {
        let name = "here".to_owned();
        match Here::new() {
            Ok(here) => Ok(Self { name, kind: Kind::Here(here) }),
            Err(source) => Err(Error::Prepare { image: name, source }),
        }
    }

    /// The image's name, or `here`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the image is made of; [`Machine::here`] has none.
    pub fn facts(&self) -> Option<&Facts> {
        match &self.kind {
            Kind::Emulated { entry, .. } => Some(entry.facts()),
            Kind::Here(_) => None,
        }
    }

    /// How the machine's instructions are run; those of [`Machine::here`] are not the machine's own.
    pub fn acceleration(&self) -> Option<Acceleration> {
        match &self.kind {
            Kind::Emulated { acceleration, .. } => Some(*acceleration),
            Kind::Here(_) => None,
        }
    }

    /// Runs a job to its end.
    ///
    /// # Errors
    /// The run counts only if the job left its report: otherwise it is [`Error::NoReport`], whatever the exit status
    /// was. A job that ran out of time is [`Error::TimedOut`], even if it left a report.
    pub fn run(&self, job: &Job, progress: Progress<'_>) -> Result<Outcome, Error> {
        let failed = |source| Error::Run { machine: self.name.clone(), source };
        let paths = job.begin().map_err(failed)?;
        let (seen, end) = match &self.kind {
            Kind::Emulated { entry, arch, emulator, acceleration } => {
                let machine = Emulated { entry, arch: *arch, emulator, acceleration: *acceleration };
                machine.run(&self.name, job, &paths, progress)
            }
            Kind::Here(here) => here.run(job, &paths, progress),
        }
        .map_err(failed)?;
        self.judge(job, paths, seen, end)
    }

    /// What a run that was seen so, and whose machine told `end`, amounts to.
    fn judge(&self, job: &Job, paths: Paths, seen: Seen, end: Result<End>) -> Result<Outcome, Error> {
        let late = match (&seen.ending, &end) {
            (Ending::NoStart, _) => Some(("the command did not start", job.boot_timeout)),
            (Ending::NoEnd, _) => Some(("the command did not end", job.timeout)),
            (_, Ok(end)) if timed_out(end, job.timeout) => Some(("the command did not end", job.timeout)),
            _ => None,
        };
        let report = paths.report(job);
        let mut remains = Box::new(Remains {
            machine: self.name.clone(),
            reason: String::new(),
            stage: seen.stage,
            tail: watch::tail(&paths.console),
            console: paths.console,
            results: paths.results,
        });
        if let Some((what, limit)) = late {
            remains.reason = format!("{what} within {} s", limit.as_secs_f64());
            return Err(Error::TimedOut(remains));
        }
        remains.reason = match (end, report) {
            (Ok(end), Some(report)) => {
                return Ok(Outcome {
                    results: remains.results,
                    report,
                    console: remains.console,
                    boot_seconds: seen.boot.unwrap_or_default().as_secs_f64(),
                    seconds: end.seconds,
                    exit_status: end.status,
                });
            }
            (Ok(end), None) => {
                format!("the command ended with status {} and left no {}", end.status, job.report.display())
            }
            (Err(error), _) => match seen.ending {
                Ending::Ended(status) if !status.success() => {
                    format!("{error:#}, and the emulator failed ({status})")
                }
                _ => format!("{error:#}"),
            },
        };
        Err(Error::NoReport(remains))
    }
}

/// Whether `timeout` ended the command. It says so by a status that a command may return too, but not so late.
fn timed_out(end: &End, limit: Duration) -> bool {
    // Starts and ends are noticed a little late.
    const SLACK: f64 = 0.2;
    TIMED_OUT.contains(&end.status) && end.seconds + SLACK >= limit.as_secs_f64()
}

struct Emulated<'a> {
    entry: &'a Entry,
    arch: Arch,
    emulator: &'a Path,
    acceleration: Acceleration,
}

impl Emulated<'_> {
    fn run(
        &self,
        name: &str,
        job: &Job,
        paths: &Paths,
        progress: Progress<'_>,
    ) -> Result<(Seen, Result<End>)> {
        let work = tempfile::tempdir_in(&paths.out)?;
        let file = |name: &str| work.path().join(name);
        let (files, disk, initrd) = (file("job.squashfs"), file("results.raw"), file("initrd"));
        pack(&job.files, &files)?;
        File::create(&disk)?.set_len(u64::from(job.results_limit) << 20)?;
        fs::write(&initrd, self.first_files(job)?)?;
        let plan = Plan {
            emulator: self.emulator,
            arch: self.arch,
            acceleration: self.acceleration,
            memory: job.memory,
            cpus: job.cpus,
            kernel: &self.entry.path(KERNEL),
            initrd: &initrd,
            disks: &[(&self.entry.path(ROOT), false), (&files, false), (&disk, true)],
        };
        let running = Running::start(&mut qemu::command(&plan), &paths.console)?;
        let limits = Limits { boot: job.boot_timeout, job: job.timeout, grace: GRACE };
        let seen = watch::follow(running, name, &paths.console, limits, progress)?;
        let end = results::unpack(&disk, &paths.results);
        Ok((seen, end))
    }

    /// The first file system: the image's, then what belongs to this job.
    fn first_files(&self, job: &Job) -> Result<Vec<u8>> {
        let settings = format!("limit={}\n", job.timeout.as_secs_f64());
        let mut bytes = fs::read(self.entry.path(INITRD))?;
        let own = Archive::default()
            .file("init", 0o755, include_bytes!("../guest/init.sh"))
            .file("vm/job.sh", 0o644, include_bytes!("../guest/job.sh"))
            .file("vm/settings", 0o644, settings.as_bytes())
            .file("vm/command", 0o644, job.command.as_bytes());
        bytes.extend(own.finish());
        Ok(bytes)
    }
}

/// Packs a folder into a file system that any user of the machine can read.
fn pack(dir: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new("mksquashfs");
    command.arg(dir).arg(file).args(["-comp", "lz4", "-noappend", "-no-progress", "-no-xattrs", "-all-root"]);
    output(command.args(["-root-mode", "755", "-action", "chmod(a+rX)@true"])).map(drop)
}

#[cfg(test)]
mod tests;
