//! Programs of the machine, and Debian's packages that have them.

use crate::Lock;
use crate::command::{output, run, step};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A program and the Debian package that has it.
pub type Program = (&'static str, &'static str);

/// Keeps our own installations apart, those of other processes too. Only root comes this far.
const LOCK: &str = "/run/lock/executorch-runtime-apt.lock";
/// How long others, such as unattended upgrades, may keep apt busy.
const PATIENCE: Duration = Duration::from_secs(600);

/// The program's path, if it is installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Where Debian keeps what only administrators are thought to need.
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Installs what is missing of `programs`, which only root can.
pub fn ensure(programs: &[Program]) -> Result<()> {
    let missing = || -> Vec<&str> {
        let missing = programs.iter().filter(|(program, _)| find(program).is_none());
        missing.map(|(_, package)| *package).collect()
    };
    if missing().is_empty() {
        return Ok(());
    }
    let _lock = lock(&missing())?;
    // Whoever held the lock may have installed them.
    match missing() {
        packages if packages.is_empty() => Ok(()),
        packages => install(&packages),
    }
}

/// Installs Debian packages, which only root can.
pub fn apt(packages: &[&str]) -> Result<()> {
    let _lock = lock(packages)?;
    install(packages)
}

/// Waits until none of ours installs anything; fails for users who cannot install.
fn lock(packages: &[&str]) -> Result<Lock> {
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("missing: install {} with your package manager", packages.join(", "));
    }
    Lock::wait(Path::new(LOCK))
}

fn install(packages: &[&str]) -> Result<()> {
    step(&format!("apt-get install {}", packages.join(" ")), || {
        update()?;
        let mut apt = apt_get();
        apt.arg("-o").arg(format!("DPkg::Lock::Timeout={}", PATIENCE.as_secs()));
        run(apt.args(["install", "-y", "--no-install-recommends"]).args(packages))
    })
}

/// Reads the lists of packages. Unlike `install`, apt does not wait by itself while another one does that.
fn update() -> Result<()> {
    let started = Instant::now();
    loop {
        match output(apt_get().arg("update")) {
            Err(error) if is_busy(&error) && started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_secs(1));
            }
            done => return done.map(drop),
        }
    }
}

fn is_busy(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("Could not get lock")
}

fn apt_get() -> Command {
    let mut apt = Command::new("apt-get");
    apt.arg("-qq").env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
    apt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program"), None);
    }

    #[test]
    fn what_is_there_is_not_installed() {
        ensure(&[("sh", "no-such-package"), ("cat", "no-such-package")]).unwrap();
    }

    #[test]
    fn another_apt_is_waited_for() {
        let said = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 8657 (apt-get)";
        let error = anyhow::anyhow!("{said}").context("apt-get -qq update failed");
        assert!(is_busy(&error));
        assert!(!is_busy(&anyhow::anyhow!("E: Unable to locate package no-such-package")));
    }
}
