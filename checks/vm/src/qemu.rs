//! The emulator's command line.

use crate::{Acceleration, Arch};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The parts of a machine.
pub struct Plan<'a> {
    pub emulator: &'a Path,
    pub arch: Arch,
    pub acceleration: Acceleration,
    pub memory: u32,
    pub cpus: u32,
    pub kernel: &'a Path,
    pub initrd: &'a Path,
    /// The disks `vda`, `vdb` and so on, and whether the machine may write to them.
    pub disks: &'a [(&'a Path, bool)],
}

/// The command that runs the machine until it switches itself off. Its console is the command's standard output.
pub fn command(plan: &Plan<'_>) -> Command {
    let mut command = Command::new(plan.emulator);
    let (machine, console) = match plan.arch {
        // The newer machine type starts half as fast. The time stamp counter is the real one also when it is emulated;
        // left to itself the kernel takes a clock that is slow to read, and that loses 43 s when the emulator is stopped
        // for longer. Its test of the timer fails on busy hosts.
        Arch::X86_64 => ("pc", "ttyS0 tsc=reliable no_timer_check"),
        Arch::Aarch64 => ("virt,gic-version=3", "ttyAMA0"),
    };
    let (accelerator, cpu) = match (plan.acceleration, plan.arch) {
        (Acceleration::Kvm, _) => ("kvm", "host"),
        (Acceleration::Tcg, Arch::X86_64) => ("tcg,thread=multi", "max"),
        // Arm's own algorithm of pointer authentication takes most of the time when it is emulated.
        (Acceleration::Tcg, Arch::Aarch64) => ("tcg,thread=multi", "max,pauth-impdef=on"),
    };
    command.args(["-accel", accelerator, "-machine", machine, "-cpu", cpu]);
    command.args(["-smp", &plan.cpus.to_string(), "-m", &plan.memory.to_string()]);
    command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"]);
    command.args(["-nic", "none", "-serial", "stdio"]);
    command.arg("-kernel").arg(plan.kernel).arg("-initrd").arg(plan.initrd);
    // A kernel that panics restarts, which ends the emulator; nobody attacks a machine that lives for minutes.
    let words = format!("console={console} quiet panic=-1 mitigations=off random.trust_cpu=on");
    command.args(["-append", &words]);
    for (index, (path, writable)) in plan.disks.iter().enumerate() {
        let mut drive = OsString::from(format!("id=d{index},format=raw,if=none,cache=unsafe"));
        drive.push(if *writable { ",file=" } else { ",readonly=on,file=" });
        drive.push(escaped(path));
        command.arg("-drive").arg(drive);
        command.args(["-device", &format!("virtio-blk-pci,drive=d{index}")]);
    }
    command
}

/// Commas separate options, and are doubled in values.
fn escaped(path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = path.as_os_str().as_bytes();
    let doubled = bytes.iter().flat_map(|&byte| std::iter::repeat_n(byte, if byte == b',' { 2 } else { 1 }));
    OsString::from_vec(doubled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_no_network_and_write_only_where_they_may() {
        let plan = Plan {
            emulator: Path::new("qemu"),
            arch: Arch::Aarch64,
            acceleration: Acceleration::Tcg,
            memory: 512,
            cpus: 2,
            kernel: Path::new("k"),
            initrd: Path::new("i"),
            disks: &[(Path::new("/a,b"), false), (Path::new("/c"), true)],
        };
        let command = command(&plan);
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let line = words.join(" ");
        assert!(line.contains("-nic none") && line.contains("-nodefaults"), "{line}");
        assert!(line.contains("id=d0,format=raw,if=none,cache=unsafe,readonly=on,file=/a,,b "), "{line}");
        assert!(line.contains("id=d1,format=raw,if=none,cache=unsafe,file=/c "), "{line}");
        assert!(line.contains("max,pauth-impdef=on") && line.contains("console=ttyAMA0"), "{line}");
    }
}
