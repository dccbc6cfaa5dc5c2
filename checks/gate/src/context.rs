//! What a check works with.

use crate::clean;
use crate::input::Input;
use crate::outcome::Stop;
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::component::Component;
use wheelhouse::elf::{self, Facts};

/// What the gate leaves for the processes of its checks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// The input folder.
    pub input: PathBuf,
    /// The folder in which checks install and build.
    pub work: PathBuf,
    /// Where the folder `index/` is served: an address without a slash at the end.
    pub indexes: String,
}

impl State {
    /// Reads what [`State::write`] wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| path.display().to_string())?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// Writes it to `path`.
    pub fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, serde_json::to_vec(self)?).with_context(|| path.display().to_string())
    }
}

/// The machine, the input, and what earlier checks have left.
pub struct Context {
    pub state: State,
    pub input: Input,
}

/// A library of the installed wheel.
pub struct Library {
    pub component: Component,
    pub path: PathBuf,
    pub facts: Facts,
}

/// What an ELF file says of itself.
pub fn facts(path: &Path) -> Result<Facts> {
    let data = fs::read(path).with_context(|| path.display().to_string())?;
    elf::read(&data).with_context(|| path.display().to_string())
}

impl Context {
    /// Reads the input again: every check runs in a process of its own.
    pub fn new(state: State) -> Result<Self> {
        let input = Input::read(&state.input)?;
        Ok(Self { state, input })
    }

    /// A folder for this check, new and empty.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let path = self.state.work.join(name);
        if path.exists() {
            fs::remove_dir_all(&path).with_context(|| path.display().to_string())?;
        }
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// A command with a clean environment.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        clean::command(program, &self.state.work)
    }

    /// Whether the machine has the program.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        clean::PATH.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
    }

    /// The version of the machine's `python3`.
    pub fn python_version(&self) -> Result<(u32, u32)> {
        let script = "import sys; print('%d.%d' % sys.version_info[:2])";
        let text = clean::output(self.command("python3").args(["-c", script]))?;
        elf::dotted(text.trim()).with_context(|| format!("python3 gives its version as {text:?}"))
    }

    /// The row's oldest version of Python.
    pub fn python_floor(&self) -> Result<(u32, u32)> {
        let text = self.input.row.requires_python()?;
        elf::dotted(&text).with_context(|| format!("the row asks for Python {text:?}"))
    }

    /// The virtual environment with the wheel; skips where the machine's Python is too old for one.
    pub fn python(&self) -> Result<Command, Stop> {
        let python = self.state.work.join("venv/bin/python");
        if python.exists() {
            let mut command = self.command(python);
            command.args(["-s", "-E", "-W", "error"]);
            return Ok(command);
        }
        let ((major, minor), (_, floor)) = (self.python_version()?, self.python_floor()?);
        if (major, minor) < (3, floor) {
            let reason =
                format!("the machine has Python {major}.{minor}, the wheel needs 3.{floor} or later");
            return Err(Stop::skip(reason));
        }
        Err(anyhow::anyhow!("there is no virtual environment with the wheel").into())
    }

    /// Runs a script of `projects/python` in the environment with the wheel; its lines of output are the evidence.
    pub fn script(&self, name: &str, arguments: &[&Path]) -> Result<Vec<String>, Stop> {
        let script = self.projects().join("python").join(name);
        let text = clean::output(self.python()?.arg(script).args(arguments))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The folder into which the wheel was installed.
    pub fn site(&self) -> Result<PathBuf> {
        let tree = self.state.work.join("tree");
        if tree.is_dir() {
            return Ok(tree);
        }
        let lib = self.state.work.join("venv/lib");
        let entries = fs::read_dir(&lib).context("the wheel is not installed")?;
        for entry in entries {
            let site = entry?.path().join("site-packages");
            if site.join("executorch_runtime").is_dir() {
                return Ok(site);
            }
        }
        anyhow::bail!("no executorch_runtime below {}", lib.display())
    }

    /// The installed package, `…/executorch_runtime`.
    pub fn package(&self) -> Result<PathBuf> {
        Ok(self.site()?.join("executorch_runtime"))
    }

    /// The sources of consumers.
    pub fn projects(&self) -> PathBuf {
        self.state.input.join("projects")
    }

    /// The programs with cases.
    pub fn models(&self) -> PathBuf {
        self.state.input.join("models")
    }

    /// The row's libraries as they are installed, in link order.
    pub fn libraries(&self) -> Result<Vec<Library>> {
        let package = self.package()?;
        let read = |name: &String| {
            let component =
                self.input.components.get(name.as_str()).with_context(|| format!("component `{name}`"))?;
            let path = package.join(&component.path);
            ensure!(path.is_file(), "{name}: {} is not in the installed wheel", component.path);
            let facts = facts(&path)?;
            Ok(Library { component: component.clone(), path, facts })
        };
        self.input.row.components.iter().map(read).collect()
    }

    /// Whether the row ships the component.
    pub fn ships(&self, component: &str) -> bool {
        self.input.row.components.iter().any(|name| name == component)
    }
}

/// Copies a folder with all that is in it; links are followed.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().with_context(|| path.display().to_string())?;
        if path.is_dir() {
            copy_tree(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name)).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// All files below a folder, relative to it, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    fn collect(folder: &Path, below: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
        for entry in fs::read_dir(folder.join(below)).with_context(|| folder.display().to_string())? {
            let name = below.join(entry?.file_name());
            if folder.join(&name).is_dir() {
                collect(folder, &name, found)?;
            } else {
                found.push(name);
            }
        }
        Ok(())
    }
    ensure!(folder.is_dir(), "{} is no folder", folder.display());
    let mut found = Vec::new();
    collect(folder, Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}
