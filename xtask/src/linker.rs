//! The linker that rustc calls for wheels: `zig cc`, which links against the glibc of the row's floor.
//!
//! This same program is the linker when it is called by the name [`NAME`]; the build hands over through the
//! environment what may not stand in rustc's arguments, because paths there would change the output.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// File name under which this program is the linker.
pub const NAME: &str = "zig-cc";
/// Environment: the zig executable.
pub const ZIG: &str = "XTASK_ZIG";
/// Environment: zig's target triple with the glibc version.
pub const TARGET: &str = "XTASK_ZIG_TARGET";
/// Environment: the folder of libraries linked before.
pub const STAGE: &str = "XTASK_STAGE";

/// Links with rustc's arguments.
pub fn run(args: Vec<OsString>) -> Result<ExitCode> {
    let variable =
        |name| std::env::var_os(name).with_context(|| format!("{name} is not set: use cargo xtask wheel"));
    let stage = PathBuf::from(variable(STAGE)?);
    let status = Command::new(variable(ZIG)?)
        .args(["cc", "-target"])
        .arg(variable(TARGET)?)
        .args(args.into_iter().filter_map(|arg| translate(arg, &stage)))
        .status()
        .context("cannot start zig")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What zig is given for one of rustc's arguments.
fn translate(arg: OsString, stage: &Path) -> Option<OsString> {
    let text = arg.to_string_lossy();
    // rustc's own list of exports has no version node and would win over ours.
    let own_exports = text.starts_with("-Wl,--version-script=") && text.ends_with("/list");
    // The linker that rustc brings along.
    let own_linker = text.starts_with("-fuse-ld=") || (text.starts_with("-B") && text.ends_with("gcc-ld"));
    if own_exports || own_linker || text == "-m64" {
        return None;
    }
    // zig does not search its -L folders for whole file names.
    if let Some(file) = text.strip_prefix("-l:") {
        return Some(stage.join(file).into());
    }
    // zig's static unwinder, so that the library does not need libgcc_s.
    if text == "-lgcc_s" { Some("-lunwind".into()) } else { Some(arg) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_zig_cannot_use_is_changed() {
        let seen = |arg: &str| translate(arg.into(), Path::new("/s")).map(|arg| arg.into_string().unwrap());
        assert_eq!(seen("-Wl,--version-script=/x/rustcAbC/list"), None);
        assert_eq!(
            seen("-Wl,--version-script=wheels/exports/et.map").as_deref(),
            Some("-Wl,--version-script=wheels/exports/et.map")
        );
        assert_eq!(seen("-B/x/gcc-ld"), None);
        assert_eq!(seen("-lgcc_s").as_deref(), Some("-lunwind"));
        assert_eq!(seen("-l:liba.so.1").as_deref(), Some("/s/liba.so.1"));
        assert_eq!(seen("-lc").as_deref(), Some("-lc"));
    }
}
