//! The files of a wheel that are built from crates: `wheels/components.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::row::RUNTIME;

/// All components by name.
pub type Components = BTreeMap<String, Component>;

/// One component; `wheels/components.toml` says what each field means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "documented once, at the head of components.toml")]
pub struct Component {
    #[serde(default = "runtime")]
    pub project: String,
    #[serde(default = "yes")]
    pub built: bool,
    pub package: String,
    pub cargo_file: String,
    pub path: String,
    #[serde(default)]
    pub needs: Vec<String>,
    #[serde(default)]
    pub external: Vec<String>,
    #[serde(default)]
    pub device_code: bool,
    pub exports: Exports,
    #[serde(default = "yes")]
    pub unload: bool,
    #[serde(default)]
    pub registers: bool,
    #[serde(default)]
    pub native: Option<String>,
    #[serde(default)]
    pub cmake: Vec<String>,
}

fn runtime() -> String {
    RUNTIME.into()
}

fn yes() -> bool {
    true
}

/// Which symbols a component may export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exports {
    /// The C ABI: `et_*`, with a symbol version.
    Et,
    /// The C ABI, and the functions that code compiled by AOTInductor calls: `et_*` and `aoti_*`.
    Aoti,
    /// A Python module's entry point: `PyInit_*`.
    Python,
    /// Nothing: the library works through its static initialiser.
    None,
}

impl Exports {
    /// The linker's version script, relative to `wheels/`.
    pub fn version_script(self) -> &'static str {
        match self {
            Self::Et => "exports/et.map",
            Self::Aoti => "exports/aoti.map",
            Self::Python => "exports/python.map",
            Self::None => "exports/none.map",
        }
    }

    /// Whether a symbol may be exported.
    pub fn allows(self, symbol: &str) -> bool {
        match self {
            Self::Et => symbol.starts_with("et_"),
            Self::Aoti => symbol.starts_with("et_") || symbol.starts_with("aoti_"),
            Self::Python => symbol.starts_with("PyInit_"),
            Self::None => false,
        }
    }
}

impl Component {
    /// The file's own name.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The SONAME, which is the file name; extension modules, which nothing links to, have none.
    pub fn soname(&self) -> Option<&str> {
        (self.exports != Exports::Python).then(|| self.file_name())
    }
}

/// Reads `components.toml`.
pub fn load(path: &Path) -> Result<Components> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

/// Reads the text of a `components.toml`.
pub fn parse(text: &str) -> Result<Components> {
    Ok(toml::from_str(text)?)
}
