//! Whether the processor itself can run a machine, or its instructions are translated.

use crate::cache::{Entry, INITRD, KERNEL};
use crate::cpio::Archive;
use crate::qemu::{self, Plan};
use crate::watch::{self, Ending, Limits, Running};
use crate::{Arch, Progress};
use anyhow::Result;
use executorch_tools::Lock;
use executorch_tools::command::output;
use executorch_tools::digest;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How the instructions of a machine are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceleration {
    /// Translated by the emulator, which works everywhere. On x86 the widest vectors are those of AVX2.
    Tcg,
    /// By the processor itself, through the kernel.
    Kvm,
}

impl Acceleration {
    /// The one called `tcg` or `kvm`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Tcg, Self::Kvm].into_iter().find(|one| one.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }
}

/// How long a machine may take to show that it runs. With a processor that helps it takes less than two seconds.
const PROBE: Duration = Duration::from_secs(20);

/// Finds out once whether a machine really starts with the processor's help: that the device is there does not prove it.
/// The answer is kept in `cache`.
pub fn choose(
    cache: &Path,
    emulator: &Path,
    arch: Arch,
    image: &Entry,
    progress: Progress<'_>,
) -> Result<Acceleration> {
    if !arch.is_here() || File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(Acceleration::Tcg);
    }
    let host = output(Command::new("uname").arg("-srvm"))?;
    let version = output(Command::new(emulator).arg("--version"))?;
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    let key = digest::of_texts([&host, &version, model]);
    let answer = cache.join(format!("kvm-{}", key.get(..16).unwrap_or(&key)));
    let _lock = Lock::wait(&cache.join("kvm.lock"))?;
    let known = fs::read_to_string(&answer).ok().and_then(|text| Acceleration::named(text.trim()));
    if let Some(known) = known {
        return Ok(known);
    }
    progress("does a machine start with KVM here?");
    let works = probe(emulator, arch, image)?;
    progress(if works { "it does" } else { "it does not: machines are emulated" });
    let found = if works { Acceleration::Kvm } else { Acceleration::Tcg };
    fs::write(answer, found.name())?;
    Ok(found)
}

fn probe(emulator: &Path, arch: Arch, image: &Entry) -> Result<bool> {
    let dir = tempfile::tempdir()?;
    let initrd = dir.path().join("initrd");
    let mut bytes = fs::read(image.path(INITRD))?;
    bytes.extend(Archive::default().file("init", 0o755, include_bytes!("../guest/probe.sh")).finish());
    fs::write(&initrd, bytes)?;
    let console = dir.path().join("console.log");
    let plan = Plan {
        emulator,
        arch,
        acceleration: Acceleration::Kvm,
        memory: 512,
        cpus: 1,
        kernel: &image.path(KERNEL),
        initrd: &initrd,
        disks: &[],
    };
    let running = Running::start(&mut qemu::command(&plan), &console)?;
    let limits = Limits { boot: PROBE, job: PROBE, grace: PROBE };
    let seen = watch::follow(running, "kvm", &console, limits, &|_| {})?;
    Ok(matches!(seen.ending, Ending::Ended(status) if status.success()) && seen.stage == "alive")
}
