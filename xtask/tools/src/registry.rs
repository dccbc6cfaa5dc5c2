//! Tools that come from package registries, each in a virtual environment of its own.

use crate::command::{output, step};
use crate::{Lock, apt};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker and C compiler: clang and lld with the headers and symbol lists of every glibc.
const ZIG: &str = "ziglang==0.15.2";

/// Environment variable: a folder with tools that are taken as they are, where nothing may be installed. Its `bin` has
/// `zig`, `cmake`, `ninja` and `python`, and its `share/licenses` the licences of what compilers link in.
const GIVEN: &str = "EXECUTORCH_TOOLS";

/// The folder with the virtual environments.
#[derive(Clone, Debug)]
pub struct Tools {
    dir: PathBuf,
}

impl Tools {
    /// The version of [`Tools::zig`], as its requirement: what it compiles depends on it.
    pub const ZIG: &str = ZIG;

    /// The tools in `dir`, which need not exist yet.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The folder that `EXECUTORCH_TOOLS` names: its tools are used instead of those of registries.
    pub fn given(&self) -> Option<PathBuf> {
        std::env::var_os(GIVEN).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A virtual environment called `name` that holds exactly `requirements` (arguments of `pip install`).
    /// It is made once, and again when the requirements change.
    pub fn venv<S: AsRef<str>>(&self, name: &str, requirements: &[S]) -> Result<PathBuf> {
        let requirements: Vec<&str> = requirements.iter().map(AsRef::as_ref).collect();
        let dir = self.dir.join(name);
        let stamp = dir.join("requirements.stamp");
        let wanted = requirements.join("\n");
        let _lock = Lock::wait(&self.dir.join(format!("{name}.lock")))?;
        if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
            return Ok(dir);
        }
        let what = if requirements.is_empty() { "nothing".into() } else { requirements.join(" ") };
        step(&format!("make {} with {what}", dir.display()), || {
            fresh_venv(&dir)?;
            if !requirements.is_empty() {
                output(pip(&dir).args(["install", "--quiet"]).args(&requirements))?;
            }
            Ok(fs::write(&stamp, wanted)?)
        })?;
        Ok(dir)
    }

    /// The zig executable.
    pub fn zig(&self) -> Result<PathBuf> {
        if let Some(given) = self.given() {
            let zig = given.join("bin/zig");
            let found = output(Command::new(&zig).arg("version"))?;
            let wanted = ZIG.rsplit('=').next().unwrap_or_default();
            if found.trim() != wanted {
                bail!(
                    "{} is zig {}, expected {wanted}: what is built depends on it",
                    zig.display(),
                    found.trim()
                );
            }
            return Ok(zig);
        }
        let venv = self.venv("zig", &[ZIG])?;
        let script = "import ziglang, os; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))";
        Ok(output(Command::new(venv.join("bin/python")).args(["-c", script]))?.trim().into())
    }

    /// The folder where zig keeps what it has compiled, the C libraries above all.
    pub fn zig_cache(&self) -> PathBuf {
        self.dir.join("zig-cache")
    }

    /// An environment with cmake and ninja.
    pub fn cmake(&self) -> Result<PathBuf> {
        if let Some(given) = self.given() {
            return Ok(given);
        }
        self.venv("cmake", &["cmake>=3.19,<5", "ninja"])
    }
}

/// An empty virtual environment, in place of what was there.
pub fn fresh_venv(dir: &Path) -> Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    let make = || output(Command::new("python3").args(["-m", "venv"]).arg(dir)).map(drop);
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

/// The requirements that a file lists, for [`Tools::venv`].
pub fn requirements(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(String::from).collect())
}
