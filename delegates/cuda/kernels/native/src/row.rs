//! What a row of the release matrix wants, and its container.

use crate::{Container, Kind, Nvrtc, fetch, nvrtc, source};
use anyhow::{Context, Result, bail};
use executorch_tools::command::step;
use executorch_tools::{Lock, Tools, digest};
use std::fs;
use std::path::{Path, PathBuf};

/// Environment variable of builds for a row: the version of CUDA, such as `12.6`.
pub const VERSION: &str = "EXECUTORCH_CUDA_VERSION";
/// Environment variable of builds for a row: the architectures to compile for, such as `80 86 89 90`.
pub const ARCHITECTURES: &str = "EXECUTORCH_CUDA_ARCHITECTURES";
/// Environment variable of builds for a row: the architecture of the PTX, such as `90`.
pub const PTX: &str = "EXECUTORCH_CUDA_PTX";
/// Environment variable: the folder that keeps finished builds, as XNNPACK's; else `native` in cargo's target folder.
pub const CACHE: &str = "EXECUTORCH_NATIVE_CACHE";

/// The architectures of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The version of CUDA, such as `12.6`.
    pub version: String,
    /// What machine code is made for: 90 is compute capability 9.0.
    pub architectures: Vec<u32>,
    /// What PTX is made for.
    pub ptx: u32,
}

impl Row {
    /// The row of the build's environment. None if there is none: builds for development hold no device code.
    pub fn from_environment() -> Result<Option<Self>> {
        let Some(version) = variable(VERSION) else { return Ok(None) };
        let number = |text: &str| {
            text.parse::<u32>().with_context(|| format!("`{text}` is no architecture such as 90"))
        };
        let needed =
            |name: &str| variable(name).with_context(|| format!("{VERSION} is set, but {name} is not"));
        let architectures =
            needed(ARCHITECTURES)?.split_whitespace().map(number).collect::<Result<Vec<_>>>()?;
        if architectures.is_empty() {
            bail!("{ARCHITECTURES} names no architecture");
        }
        Ok(Some(Self { version, architectures, ptx: number(&needed(PTX)?)? }))
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Where things are kept.
#[derive(Debug, Clone)]
pub struct Config {
    /// Finished containers, and compilers.
    pub cache: PathBuf,
    /// Where a Python is, or will be installed.
    pub tools: Tools,
    /// A folder with NVRTC; if none, it is downloaded.
    pub nvrtc: Option<PathBuf>,
}

impl Config {
    /// The configuration for a cargo target folder, changed by the variables [`CACHE`] and [`crate::NVRTC`].
    pub fn from_environment(target_folder: &Path) -> Self {
        let cache = variable(CACHE).map_or_else(|| target_folder.join("native"), PathBuf::from);
        let tools = Tools::new(target_folder.join("tools"));
        Self { cache, tools, nvrtc: variable(fetch::NVRTC).map(PathBuf::from) }
    }

    /// The configuration of a build script, whose output lies in cargo's target folder.
    pub fn from_build_script() -> Result<Self> {
        let out =
            PathBuf::from(std::env::var("OUT_DIR").context("OUT_DIR is not set: this is no build script")?);
        // Cargo marks its target folder; build scripts are not told where it is.
        let folder = out
            .ancestors()
            .find(|folder| folder.join("CACHEDIR.TAG").is_file())
            .with_context(|| format!("no folder above {} is a cargo target folder", out.display()))?;
        Ok(Self::from_environment(folder))
    }
}

/// The file with the row's container, which is compiled if it is not in the cache.
pub fn build(row: &Row, config: &Config) -> Result<PathBuf> {
    let name = format!("cuda-kernels-{}-{}", row.version, key(row, config)?);
    let file = config.cache.join(format!("{name}.bin"));
    if file.is_file() {
        return Ok(file);
    }
    let _lock = Lock::wait(&config.cache.join(format!("{name}.lock")))?;
    if !file.is_file() {
        let part = config.cache.join(format!("{name}.part"));
        fs::write(&part, compile(row, config)?)?;
        fs::rename(part, &file)?;
    }
    Ok(file)
}

fn compile(row: &Row, config: &Config) -> Result<Vec<u8>> {
    let folder = match &config.nvrtc {
        Some(folder) => folder.clone(),
        None => fetch::download(&fetch::pin(&row.version)?, &config.cache, &config.tools)?,
    };
    let nvrtc = Nvrtc::load(&folder, &row.version)?;
    let (major, minor) = nvrtc.version();
    if format!("{major}.{minor}") != row.version {
        bail!("NVRTC in {} is {major}.{minor}, expected {}", folder.display(), row.version);
    }
    let mut container = Container::default();
    for &architecture in &row.architectures {
        let code = step(&format!("compile CUDA kernels for {architecture}"), || nvrtc.cubin(architecture))?;
        container.add(Kind::Cubin, architecture, code)?;
    }
    container.add(Kind::Ptx, row.ptx, nvrtc.ptx(row.ptx)?)?;
    Ok(container.to_bytes())
}

/// A digest over everything that decides about the container's bytes.
fn key(row: &Row, config: &Config) -> Result<String> {
    let compiler = match &config.nvrtc {
        Some(folder) => folder.to_string_lossy().into_owned(),
        None => fetch::pin(&row.version)?.version,
    };
    let row = format!("{row:?}");
    let mut texts: Vec<&str> = Vec::new();
    for (name, text) in source::INCLUDED.iter().chain([&source::PROGRAM]) {
        texts.extend([*name, *text]);
    }
    texts.extend(nvrtc::OPTIONS);
    texts.extend([&compiler, &row, include_str!("container.rs")]);
    let mut digest = digest::of_texts(texts);
    digest.truncate(20);
    Ok(digest)
}
