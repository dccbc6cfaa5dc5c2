//! What is built, and where things are kept.

use anyhow::{Context, Result, bail};
use executorch_tools::Tools;
use std::path::{Path, PathBuf};

/// Environment variable: a folder that holds the source archives, or a folder for each project with what is in its
/// archive, so that nothing is downloaded.
pub const SOURCES: &str = "EXECUTORCH_XNNPACK_SOURCES";
/// Environment variable: the folder that keeps finished builds, instead of `native` in cargo's target folder.
/// It may be shared by any number of source trees.
pub const CACHE: &str = "EXECUTORCH_NATIVE_CACHE";
/// Environment variable: more flags for each compilation, such as those of a sanitizer. Builds with other flags are other
/// builds: they lie side by side in the cache.
pub const FLAGS: &str = "EXECUTORCH_XNNPACK_FLAGS";

/// The machine that the library runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Target {
    /// The target of cargo's name for an architecture (`CARGO_CFG_TARGET_ARCH`), on Linux with glibc.
    pub fn from_arch(arch: &str) -> Result<Self> {
        match arch {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => bail!("XNNPACK is built for x86_64 and aarch64, not for {other}"),
        }
    }

    /// Cargo's name for the architecture, which is also the kernel's.
    pub fn arch(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// zig's target, with the oldest glibc that the library runs on.
    pub fn triple(self) -> String {
        format!("{}-linux-gnu.2.28", self.arch())
    }
}

/// The folder for finished builds: what [`CACHE`] says, or one in cargo's target folder.
pub fn cache(target_folder: &Path) -> PathBuf {
    folder(CACHE).unwrap_or_else(|| target_folder.join("native"))
}

/// The folder that a variable of the environment names.
fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// What to build, and where.
#[derive(Clone, Debug)]
pub struct Config {
    /// The machine that the library runs on.
    pub target: Target,
    /// Where finished builds are kept.
    pub cache: PathBuf,
    /// Where zig, cmake and ninja are, or will be installed.
    pub tools: Tools,
    /// A folder with the source archives; if none, they are downloaded.
    pub sources: Option<PathBuf>,
    /// More flags for each compilation; empty as a rule.
    pub flags: String,
}

impl Config {
    /// The configuration for a cargo target folder, changed by the variables [`SOURCES`], [`CACHE`] and [`FLAGS`].
    pub fn from_environment(target: Target, target_folder: &Path) -> Self {
        let tools = Tools::new(target_folder.join("tools"));
        let flags = std::env::var(FLAGS).unwrap_or_default();
        Self { target, cache: cache(target_folder), tools, sources: folder(SOURCES), flags }
    }

    /// The configuration of a build script.
    ///
    /// Fails outside of a build script, and for a target that the library is not built for.
    pub fn from_build_script() -> Result<Self> {
        let variable = |name: &str| {
            std::env::var(name).with_context(|| format!("{name} is not set: this is no build script"))
        };
        let (os, env) = (variable("CARGO_CFG_TARGET_OS")?, variable("CARGO_CFG_TARGET_ENV")?);
        if (os.as_str(), env.as_str()) != ("linux", "gnu") {
            bail!("XNNPACK is built for Linux with glibc, not for {os} {env}");
        }
        let target = Target::from_arch(&variable("CARGO_CFG_TARGET_ARCH")?)?;
        let out = PathBuf::from(variable("OUT_DIR")?);
        // Cargo marks its target folder; build scripts are not told where it is.
        let folder = out
            .ancestors()
            .find(|folder| folder.join("CACHEDIR.TAG").is_file())
            .with_context(|| format!("no folder above {} is a cargo target folder", out.display()))?;
        Ok(Self::from_environment(target, folder))
    }
}
