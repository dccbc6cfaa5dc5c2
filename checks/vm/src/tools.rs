//! Programs of the machine that this runs on.

pub use executorch_tools::{ensure, find};

use executorch_tools::Program;

pub const ARCH_TEST: Program = ("arch-test", "arch-test");
pub const BWRAP: Program = ("bwrap", "bubblewrap");
pub const DEPMOD: Program = ("depmod", "kmod");
pub const DPKG_DEB: Program = ("dpkg-deb", "dpkg");
pub const MKSQUASHFS: Program = ("mksquashfs", "squashfs-tools");
pub const MMDEBSTRAP: Program = ("mmdebstrap", "mmdebstrap");
pub const QEMU_AARCH64: Program = ("qemu-system-aarch64", "qemu-system-arm");
pub const QEMU_USER_AARCH64: Program = ("qemu-aarch64-static", "qemu-user-static");
pub const QEMU_X86_64: Program = ("qemu-system-x86_64", "qemu-system-x86");
pub const XZ: Program = ("xz", "xz-utils");
pub const ZSTD: Program = ("zstd", "zstd");
