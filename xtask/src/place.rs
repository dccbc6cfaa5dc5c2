//! Where things lie.

use anyhow::{Context, Result};
use executorch_tools::Tools;
use executorch_xnnpack_native::{Config, Target};
use std::path::{Path, PathBuf};

/// A source tree, its build folder, and the tools that were installed for it.
#[derive(Clone)]
pub struct Place {
    /// The repository.
    pub root: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// Virtual environments of tools.
    pub tools: Tools,
    /// C libraries that were built.
    pub native: PathBuf,
}

impl Place {
    /// The place that this program was built from.
    pub fn here() -> Result<Self> {
        let manifest =
            std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).parent().context("xtask lies in no workspace")?.to_owned();
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
        let tools = Tools::new(target.join("tools"));
        let native = executorch_xnnpack_native::cache(&target);
        Ok(Self { root, target, tools, native })
    }

    /// How the XNNPACK C library is built here.
    pub fn xnnpack(&self, target: Target) -> Config {
        Config {
            cache: self.native.clone(),
            tools: self.tools.clone(),
            ..Config::from_environment(target, &self.target)
        }
    }
}
