//! What boots a machine: the kernel, the modules that reach the disks, and busybox, all from Debian packages.

use crate::cpio::Archive;
use crate::tools;
use anyhow::{Context, Result, ensure};
use executorch_tools::command::output;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules that the first process needs. Some are built into some kernels.
const MODULES: [&str; 4] = ["virtio_pci", "virtio_blk", "squashfs", "overlay"];

/// What decides about the first file system, besides the packages.
pub fn parts() -> impl Iterator<Item = &'static str> {
    MODULES.into_iter().chain(APPLETS)
}

/// Unpacks the packages (`*.deb`) in `packages` into `work`, writes the kernel and the first file system, and returns the
/// kernel's version.
pub fn unpack(packages: &Path, work: &Path, kernel: &Path, initrd: &Path) -> Result<String> {
    for file in fs::read_dir(packages)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            output(Command::new("dpkg-deb").arg("-x").arg(path).arg(work))?;
        }
    }
    // Newer Debian has everything below usr; depmod reads lib.
    if !work.join("lib").exists() {
        std::os::unix::fs::symlink("usr/lib", work.join("lib"))?;
    }
    let modules = only(&work.join("lib/modules"))?;
    let version = name_of(&modules);
    let image = [work.join("boot").join(format!("vmlinuz-{version}")), modules.join("vmlinuz")];
    let image = image.iter().find(|path| path.is_file()).context("the kernel's packages have no vmlinuz")?;
    fs::copy(image, kernel)?;
    let depmod = tools::find("depmod").context("depmod is missing")?;
    output(Command::new(depmod).arg("-b").arg(work).arg(&version))?;
    let order = load_order(&fs::read_to_string(modules.join("modules.dep"))?);

    let busybox = ["usr/bin/busybox", "bin/busybox"].iter().map(|path| work.join(path)).find(|p| p.is_file());
    let busybox = fs::read(busybox.context("busybox-static has no busybox")?)?;
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "proc", "sys", "modules", "vm"] {
        archive = archive.folder(folder);
    }
    archive = archive.file("bin/busybox", 0o755, &busybox);
    for applet in APPLETS {
        archive = archive.link(&format!("bin/{applet}"), "busybox");
    }
    for (index, path) in order.iter().enumerate() {
        let name = name_of(Path::new(path)).split('.').next().unwrap_or_default().to_owned();
        archive =
            archive.file(&format!("modules/{index:02}-{name}.ko"), 0o644, &module(&modules.join(path))?);
    }
    fs::write(initrd, archive.finish())?;
    Ok(version)
}

/// What the first process calls.
const APPLETS: [&str; 11] =
    ["[", "cp", "insmod", "mkdir", "mount", "poweroff", "sh", "switch_root", "umount", "usleep", "sleep"];

/// A module's bytes; newer kernels have them compressed.
fn module(path: &Path) -> Result<Vec<u8>> {
    let context = || format!("cannot read {}", path.display());
    let program = match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return fs::read(path).with_context(context),
    };
    let result = Command::new(program).arg("-dc").arg(path).output().with_context(context)?;
    ensure!(result.status.success(), "{}: {}", context(), String::from_utf8_lossy(&result.stderr));
    Ok(result.stdout)
}

/// The paths of [`MODULES`] and what they need, in the order of loading. `dependencies` is the text of `modules.dep`.
fn load_order(dependencies: &str) -> Vec<String> {
    // The name as the kernel says it, to the path and the paths that it needs, the first to load last.
    let mut lines: BTreeMap<String, (&str, Vec<&str>)> = BTreeMap::new();
    for line in dependencies.lines() {
        if let Some((path, needs)) = line.split_once(':') {
            let stem = name_of(Path::new(path)).split('.').next().unwrap_or_default().replace('-', "_");
            lines.insert(stem, (path, needs.split_whitespace().collect()));
        }
    }
    let mut order: Vec<String> = Vec::new();
    for (path, needs) in MODULES.iter().filter_map(|name| lines.get(*name)) {
        for part in needs.iter().rev().chain([path]) {
            if !order.iter().any(|known| known == part) {
                order.push((*part).to_owned());
            }
        }
    }
    order
}

/// The only entry of `dir`.
fn only(dir: &Path) -> Result<PathBuf> {
    let mut entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let path = entries.next().with_context(|| format!("{} is empty", dir.display()))??.path();
    ensure!(entries.next().is_none(), "{} should have the modules of one kernel only", dir.display());
    Ok(path)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_load_after_what_they_need() {
        let text = "kernel/drivers/virtio/virtio_pci.ko.xz: kernel/drivers/virtio/virtio.ko.xz kernel/virtio_ring.ko.xz\n\
                    kernel/drivers/block/virtio_blk.ko: kernel/drivers/virtio/virtio.ko.xz kernel/virtio_ring.ko.xz\n\
                    kernel/drivers/virtio/virtio.ko.xz: kernel/virtio_ring.ko.xz\n\
                    kernel/virtio_ring.ko.xz:\n\
                    kernel/fs/overlayfs/overlay.ko:\n\
                    kernel/other.ko:\n";
        let expected = [
            "kernel/virtio_ring.ko.xz",
            "kernel/drivers/virtio/virtio.ko.xz",
            "kernel/drivers/virtio/virtio_pci.ko.xz",
            "kernel/drivers/block/virtio_blk.ko",
            "kernel/fs/overlayfs/overlay.ko",
        ];
        assert_eq!(load_order(text), expected);
        assert!(load_order("").is_empty());
    }
}
