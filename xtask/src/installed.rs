//! Environments with the built wheel in them, and C++ projects that are built against it.

use crate::place::Place;
use crate::wheel;
use anyhow::{Context, Result};
use executorch_tools::command::{output, run, step};
use executorch_tools::{ensure, pip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A virtual environment below the tools folder.
pub struct Environment(PathBuf);

impl Environment {
    /// The environment called `name` with `requirements` from PyPI.
    pub fn new<S: AsRef<str>>(place: &Place, name: &str, requirements: &[S]) -> Result<Self> {
        place.tools.venv(name, requirements).map(Self)
    }

    /// Builds the wheel of `row` and installs it with `--no-index`, if it is not the one that is installed.
    pub fn with_wheel(self, place: &Place, row: &str) -> Result<Self> {
        let path = wheel::build(place, row, &place.root.join("dist"))?;
        let stamp = self.0.join("wheel.stamp");
        let digest = wheel::file_digest(&path)?;
        if fs::read_to_string(&stamp).is_ok_and(|text| text == digest) {
            return Ok(self);
        }
        step(&format!("install the wheel into {}", self.0.display()), || {
            let arguments = ["install", "--quiet", "--no-index", "--force-reinstall"];
            run(pip(&self.0).args(arguments).arg(&path).env_remove("PIP_FIND_LINKS"))?;
            Ok(fs::write(&stamp, digest)?)
        })?;
        Ok(self)
    }

    /// The environment's interpreter, which sees nothing of the source tree.
    pub fn python(&self) -> Command {
        let mut command = Command::new(self.0.join("bin/python"));
        command.env_remove("PYTHONPATH").env_remove("LD_LIBRARY_PATH");
        command
    }

    /// Configures the C++ project in `source` with `find_package` against the installed wheel, and builds it.
    /// `options` are more arguments of cmake.
    pub fn cmake(&self, place: &Place, name: &str, source: &Path, options: &[String]) -> Result<PathBuf> {
        let script = "import importlib.util as u; print(u.find_spec('executorch_runtime').submodule_search_locations[0])";
        let package = output(self.python().args(["-c", script])).context("the wheel is not installed")?;
        ensure(&[("c++", "g++"), ("make", "make")])?;
        let bin = place.tools.cmake()?.join("bin");
        let build = place.target.join("cpp").join(name);
        step(&format!("build {}", source.display()), || {
            output(
                Command::new(bin.join("cmake"))
                    .args(["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-S"])
                    .arg(source)
                    .arg("-B")
                    .arg(&build)
                    .arg(format!("-DCMAKE_MAKE_PROGRAM={}", bin.join("ninja").display()))
                    .arg(format!("-DCMAKE_PREFIX_PATH={}", package.trim()))
                    .args(options),
            )?;
            output(Command::new(bin.join("cmake")).arg("--build").arg(&build))
        })?;
        Ok(build)
    }
}
