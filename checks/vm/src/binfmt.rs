//! Programs of another processor run here while an image for it is made: the kernel hands them to an emulator.

use crate::{Arch, Progress};
use anyhow::{Context, Result, ensure};
use executorch_tools::Lock;
use executorch_tools::command::output;
use std::fs;
use std::path::Path;
use std::process::Command;

const DIR: &str = "/proc/sys/fs/binfmt_misc";
const NAME: &str = "qemu-aarch64";
/// How to register, from Debian's qemu-user-static.
const CONFIGURATION: &str = "/usr/lib/binfmt.d/qemu-aarch64.conf";

/// The emulation that was switched on; dropping this switches it off.
pub struct Emulation {
    mounted: bool,
    /// Whoever needs the emulation meanwhile waits, lest it is switched off too early.
    _lock: Lock,
}

/// Switches the emulation of `arch` on, if it is not on.
///
/// The kernel keeps this setting for the whole machine, and only root can change it.
pub fn enable(arch: Arch, cache: &Path, progress: Progress<'_>) -> Result<Option<Emulation>> {
    let entry = Path::new(DIR).join(NAME);
    if arch.is_here() {
        return Ok(None);
    }
    let lock = Lock::wait(&cache.join("emulation.lock"))?;
    if entry.exists() {
        return Ok(None);
    }
    ensure!(arch == Arch::Aarch64, "there is no emulation of {} here", arch.kernel());
    let register = Path::new(DIR).join("register");
    let mounted = !register.exists();
    if mounted {
        output(Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", DIR])).context(
            "programs of arm64 must run here while the image is made: install qemu-user-static and start \
             systemd-binfmt, or run this once as root",
        )?;
    }
    let emulation = Emulation { mounted, _lock: lock };
    if !entry.exists() {
        let line = fs::read(CONFIGURATION).with_context(|| format!("cannot read {CONFIGURATION}"))?;
        fs::write(register, line).context("cannot register the emulator of arm64, which only root can")?;
    }
    progress("programs of arm64 are emulated on this machine until the image is made");
    Ok(Some(emulation))
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // Nothing depends on this; who runs next finds the emulation switched on.
        let _ = fs::write(Path::new(DIR).join(NAME), "-1");
        if self.mounted {
            let _ = Command::new("umount").arg(DIR).output();
        }
    }
}
