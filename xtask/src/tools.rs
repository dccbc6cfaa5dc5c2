//! Tools that come from package registries, each in a virtual environment below the target folder.

use crate::place::{Place, output, run, step};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker: clang and lld with the symbol lists of every glibc.
const ZIG: &str = "ziglang==0.15.2";

/// A virtual environment called `name` that holds exactly `requirements` (arguments of `pip install`).
/// It is made once, and again when the requirements change.
pub fn venv<S: AsRef<str>>(place: &Place, name: &str, requirements: &[S]) -> Result<PathBuf> {
    let requirements: Vec<&str> = requirements.iter().map(AsRef::as_ref).collect();
    let dir = place.tools.join(name);
    let stamp = dir.join("requirements.stamp");
    let wanted = requirements.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(dir);
    }
    let what = if requirements.is_empty() { "nothing".into() } else { requirements.join(" ") };
    step(&format!("make {} with {what}", dir.display()), || {
        fresh_venv(&dir)?;
        if !requirements.is_empty() {
            run(pip(&dir).args(["install", "--quiet"]).args(&requirements).current_dir(&place.root))?;
        }
        Ok(fs::write(&stamp, wanted)?)
    })?;
    Ok(dir)
}

/// An empty virtual environment, in place of what was there.
pub fn fresh_venv(dir: &Path) -> Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    let make = || run(Command::new("python3").args(["-m", "venv"]).arg(dir));
    if make().is_err() {
        apt(&["python3", "python3-venv"])?;
        make()?;
    }
    Ok(())
}

/// `pip` of a virtual environment.
pub fn pip(venv: &Path) -> Command {
    let mut command = Command::new(venv.join("bin/python"));
    command.args(["-m", "pip", "--disable-pip-version-check"]);
    command
}

/// The zig executable.
pub fn zig(place: &Place) -> Result<PathBuf> {
    let venv = venv(place, "zig", &[ZIG])?;
    let script = "import ziglang, os; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))";
    Ok(output(Command::new(venv.join("bin/python")).args(["-c", script]))?.trim().into())
}

/// Installs the C++ compiler if it is missing, and returns an environment with cmake.
pub fn cmake(place: &Place) -> Result<PathBuf> {
    if Command::new("c++").arg("--version").output().is_err() {
        apt(&["g++", "make"])?;
    }
    venv(place, "cmake", &["cmake>=3.19,<5", "ninja"])
}

/// The requirements that a file lists, for [`venv`].
pub fn requirements(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(String::from).collect())
}

/// Installs Debian packages, which only root can.
fn apt(packages: &[&str]) -> Result<()> {
    let user = output(Command::new("id").arg("-u")).context("whose session is this?")?;
    if user.trim() != "0" {
        bail!("missing: install {} with your package manager", packages.join(", "));
    }
    step(&format!("apt-get install {}", packages.join(" ")), || {
        run(Command::new("apt-get").args(["-qq", "update"]))?;
        run(Command::new("apt-get").args(["-qq", "install", "-y", "--no-install-recommends"]).args(packages))
    })
}
