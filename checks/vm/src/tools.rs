//! Programs of the machine that this runs on.

use anyhow::Result;
use executorch_tools::{Lock, apt};
use std::path::{Path, PathBuf};

/// A program and the Debian package that has it.
pub type Tool = (&'static str, &'static str);

pub const ARCH_TEST: Tool = ("arch-test", "arch-test");
pub const BWRAP: Tool = ("bwrap", "bubblewrap");
pub const DEPMOD: Tool = ("depmod", "kmod");
pub const DPKG_DEB: Tool = ("dpkg-deb", "dpkg");
pub const MKSQUASHFS: Tool = ("mksquashfs", "squashfs-tools");
pub const MMDEBSTRAP: Tool = ("mmdebstrap", "mmdebstrap");
pub const QEMU_AARCH64: Tool = ("qemu-system-aarch64", "qemu-system-arm");
pub const QEMU_USER_AARCH64: Tool = ("qemu-aarch64-static", "qemu-user-static");
pub const QEMU_X86_64: Tool = ("qemu-system-x86_64", "qemu-system-x86");
pub const XZ: Tool = ("xz", "xz-utils");
pub const ZSTD: Tool = ("zstd", "zstd");

/// The program's path, if it is installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Where Debian keeps what only administrators are thought to need.
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Installs what is missing of `tools`; `cache` holds the lock that keeps two installations apart.
pub fn ensure(cache: &Path, tools: &[Tool]) -> Result<()> {
    let missing = || -> Vec<&str> {
        tools.iter().filter(|(program, _)| find(program).is_none()).map(|&(_, package)| package).collect()
    };
    if missing().is_empty() {
        return Ok(());
    }
    let _lock = Lock::wait(&cache.join("apt.lock"))?;
    match missing() {
        packages if packages.is_empty() => Ok(()),
        packages => apt(&packages),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program"), None);
    }
}
