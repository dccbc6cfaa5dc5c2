//! How an image is made: Debian packages, installed by mmdebstrap, in a compressed read-only file system.

use crate::cache::{Facts, INITRD, KERNEL, ROOT};
use crate::mirror::State;
use crate::{Arch, Image, Progress, binfmt, kernel, tools};
use anyhow::{Context, Result, ensure};
use executorch_tools::digest;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Raise this when images must be made again although nothing in [`key`] changed.
const VERSION: &str = "2";
/// What runs at the end of the installation.
const CUSTOMIZE: &str = include_str!("../guest/customize.sh");
/// What no machine reads; most of the time of making an image goes into writing files.
const EXCLUDED: [&str; 4] =
    ["/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*"];
const APT: [&str; 3] = [
    // A mirror may lag behind; what it serves is signed all the same.
    "Acquire::Check-Valid-Until \"false\"",
    "APT::Install-Recommends \"false\"",
    "Acquire::Languages \"none\"",
];
/// The folder of the new system in which [`CUSTOMIZE`] leaves what is copied out.
const LEFT: &str = "executorch-vm";

/// Digest over everything but the mirror's state that decides about an image.
pub fn key(image: &Image) -> String {
    let own = [VERSION, CUSTOMIZE, image.suite(), image.arch().debian()];
    let texts = own.into_iter().chain(EXCLUDED).chain(APT).chain(kernel::parts());
    let mut digest = digest::of_texts(texts.chain(image.packages().iter().copied()));
    digest.truncate(8);
    digest
}

/// Makes the image in `dir`.
pub fn build(
    image: &Image,
    mirror: &str,
    state: &State,
    dir: &Path,
    progress: Progress<'_>,
) -> Result<Facts> {
    let cache = dir.parent().context("the cache is the root folder")?;
    let mut needed =
        vec![tools::MMDEBSTRAP, tools::MKSQUASHFS, tools::DEPMOD, tools::DPKG_DEB, tools::XZ, tools::ZSTD];
    if image.arch() == Arch::Aarch64 && !image.arch().is_here() {
        needed.extend([tools::QEMU_USER_AARCH64, tools::ARCH_TEST]);
    }
    tools::ensure(&needed)?;
    // The packages' own scripts run while they are installed.
    let _emulation = binfmt::enable(image.arch(), cache, progress)?;

    let work = dir.join("work");
    fs::create_dir(&work)?;
    install(image, mirror, dir, &work, progress)?;
    let left = work.join(LEFT);
    let unpacked = work.join("kernel");
    fs::create_dir(&unpacked)?;
    let kernel = kernel::unpack(&left, &unpacked, &dir.join(KERNEL), &dir.join(INITRD))?;
    let packages = fs::read_to_string(left.join("packages"))?;
    let packages = packages.lines().filter_map(|line| line.split_once(' '));
    let packages: BTreeMap<String, String> =
        packages.map(|(name, version)| (name.into(), version.into())).collect();
    ensure!(packages.contains_key("python3"), "the list of installed packages has no python3");
    fs::remove_dir_all(work)?;
    Ok(Facts {
        name: image.name(),
        suite: image.suite().into(),
        arch: image.arch().kernel().into(),
        release_date: state.date.clone(),
        release_digest: state.digest.clone(),
        kernel,
        packages,
    })
}

/// Installs the packages, and writes the system's file system.
fn install(image: &Image, mirror: &str, dir: &Path, work: &Path, progress: Progress<'_>) -> Result<()> {
    let mut command = in_memory(work)?;
    command
        .args(["--variant=minbase", "--format=tar"])
        .arg(format!("--architectures={}", image.arch().debian()));
    command.args(APT.map(|option| format!("--aptopt={option}")));
    command.arg("--dpkgopt=force-unsafe-io");
    command.args(EXCLUDED.map(|path| format!("--dpkgopt=path-exclude={path}")));
    command.arg(format!("--include={}", image.packages().join(",")));
    command.arg(format!("--customize-hook=KERNEL_ARCH={}\n{CUSTOMIZE}", image.arch().debian()));
    // As mmdebstrap says it itself, this works without root too.
    command.arg(format!("--customize-hook=copy-out /{LEFT} {}", work.display()));
    command.arg(format!("--customize-hook=rm -r \"$1\"/{LEFT}"));
    command.args([image.suite(), "-", &format!("deb {mirror} {} main", image.suite())]);
    // With SOURCE_DATE_EPOCH, sources would get older than Python's compiled files say, which are useless then.
    command.env_remove("SOURCE_DATE_EPOCH").env("LC_ALL", "C.UTF-8");

    let mut bootstrap =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("mmdebstrap")?;
    let tar = bootstrap.stdout.take().context("no standard output")?;
    let errors = bootstrap.stderr.take().context("no standard error")?;
    let log = fs::File::create(work.join("mksquashfs.log"))?;
    let mut squash = Command::new("mksquashfs")
        .arg("-")
        .arg(dir.join(ROOT))
        .args(["-tar", "-comp", "lz4", "-noappend", "-no-progress"])
        .stdin(tar)
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("mksquashfs")?;
    let mut tail = VecDeque::new();
    for line in BufReader::new(errors).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
        if let Some(text) = line.strip_prefix("I: ") {
            progress(&format!("{image}: {text}"));
        }
        tail.push_back(line);
        if tail.len() > 40 {
            tail.pop_front();
        }
    }
    let status = bootstrap.wait()?;
    let squashed = squash.wait()?;
    let tail = || tail.iter().map(|line| format!("{line}\n")).collect::<String>();
    ensure!(status.success(), "mmdebstrap failed ({status}); its last lines:\n{}", tail());
    let log = || fs::read_to_string(work.join("mksquashfs.log")).unwrap_or_default();
    ensure!(squashed.success(), "mksquashfs failed ({squashed}):\n{}", log());
    Ok(())
}

/// mmdebstrap, with its scratch folder in memory where that can be had: packages are installed in half of the time.
fn in_memory(work: &Path) -> Result<Command> {
    let scratch = work.join("scratch");
    fs::create_dir(&scratch)?;
    let mount = "mount -t tmpfs -o size=4g,mode=0755 scratch \"$1\"";
    let probe = Command::new("unshare").args(["--mount", "sh", "-c", mount, "sh"]).arg(&scratch).output();
    if !memory_is_ample() || !probe.is_ok_and(|result| result.status.success()) {
        return Ok(Command::new("mmdebstrap"));
    }
    let mut command = Command::new("unshare");
    let script = format!("{mount} && TMPDIR=$1 && export TMPDIR && shift && exec mmdebstrap \"$@\"");
    command.args(["--mount", "sh", "-c", &script, "sh"]).arg(&scratch);
    Ok(command)
}

/// Whether 4 GiB of memory are free.
fn memory_is_ample() -> bool {
    let free = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    free.is_some_and(|kib| kib > 4 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_image_has_a_key_of_its_own() {
        let keys: BTreeSet<String> = Image::all().map(|image| key(&image)).collect();
        assert_eq!(keys.len(), Image::all().count());
    }
}
