//! The rows of the release matrix: `wheels/rows.toml`.

mod check;
mod matrix;
#[cfg(test)]
mod tests;

pub use matrix::{Ci, ci, table};

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::component::{Component, Components};
use crate::tag::Tag;

/// The distribution that brings the runtime.
pub const RUNTIME: &str = "executorch-runtime";

/// The key of [`Row::allowed_skips`] whose checks may be skipped on every image.
pub const ANY_IMAGE: &str = "any";

/// All rows by name.
pub type Rows = BTreeMap<String, Row>;

/// One row; `wheels/rows.toml` says what each field means.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "documented once, at the head of rows.toml")]
pub struct Row {
    /// The row's key in the file.
    #[serde(skip_deserializing)]
    pub name: String,
    #[serde(default = "runtime")]
    pub project: String,
    pub system: System,
    pub platform: String,
    pub glibc: String,
    pub python: String,
    pub label: String,
    pub index: String,
    pub components: Vec<String>,
    pub dependencies: Vec<String>,
    #[serde(default)]
    pub external: BTreeMap<String, String>,
    pub gate_images: Vec<String>,
    #[serde(default)]
    pub allowed_skips: BTreeMap<String, Vec<String>>,
    pub publish: bool,
    #[serde(default)]
    pub withheld: String,
    pub cuda: Option<Cuda>,
    pub tested: Tested,
    pub budget: BTreeMap<String, u64>,
}

fn runtime() -> String {
    RUNTIME.into()
}

/// What a row has of CUDA.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "documented once, at the head of rows.toml")]
pub struct Cuda {
    pub version: String,
    #[serde(default)]
    pub architectures: Vec<u32>,
    #[serde(default)]
    pub ptx: u32,
}

/// The versions that a row is pinned to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "documented once, at the head of rows.toml")]
pub struct Tested {
    pub executorch: String,
    pub torch: String,
    pub numpy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensorrt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jetpack: Option<String>,
}

/// Machines that rows exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum System {
    /// 64-bit Intel and AMD.
    #[serde(rename = "x86_64-linux")]
    X86_64,
    /// 64-bit Arm.
    #[serde(rename = "aarch64-linux")]
    Aarch64,
}

impl System {
    /// Rust's target triple.
    pub fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.arch())
    }

    /// The machine's name in Rust and zig target triples and in platform tags.
    pub fn arch(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The machine whose name in platform tags is `arch`.
    pub fn from_arch(arch: &str) -> Option<Self> {
        [Self::X86_64, Self::Aarch64].into_iter().find(|system| system.arch() == arch)
    }

    /// `e_machine` of its ELF files.
    pub fn machine(self) -> u16 {
        match self {
            Self::X86_64 => object::elf::EM_X86_64,
            Self::Aarch64 => object::elf::EM_AARCH64,
        }
    }
}

impl Row {
    /// The wheel's tag.
    pub fn tag(&self) -> Tag {
        Tag { python: self.python.clone(), abi: "abi3".into(), platform: self.platform.clone() }
    }

    /// The folder of the wheel's package in `site-packages`.
    pub fn package(&self) -> String {
        crate::tag::normalize(&self.project)
    }

    /// `cp310` as `3.10`.
    pub fn requires_python(&self) -> Result<String> {
        Ok(format!("3.{}", self.python_minor()?))
    }

    /// `cp310` as 10.
    pub fn python_minor(&self) -> Result<u32> {
        let minor = self.python.strip_prefix("cp3").and_then(|minor| minor.parse().ok());
        minor.with_context(|| format!("python = \"{}\": expected a tag such as cp310", self.python))
    }

    /// `Requires-Dist` of the wheel with `version`, which has the row's label.
    pub fn requirements(&self, version: &str) -> Vec<String> {
        self.dependencies.iter().map(|dependency| dependency.replace("{version}", version)).collect()
    }

    /// Components of the row that are declared but not built yet.
    pub fn unbuilt<'a>(&'a self, components: &Components) -> Vec<&'a str> {
        let unbuilt = |name: &&String| components.get(*name).is_some_and(|component| !component.built);
        self.components.iter().filter(unbuilt).map(String::as_str).collect()
    }

    /// Fails if the row has components that are not built yet.
    pub fn require_built(&self, components: &Components) -> Result<()> {
        let unbuilt = self.unbuilt(components);
        if unbuilt.is_empty() {
            return Ok(());
        }
        bail!(
            "row `{}` has no wheel yet: {} {} declared in wheels/components.toml but not built; build the crate, and take \
             `built = false` away there",
            self.name,
            unbuilt.join(", "),
            if unbuilt.len() == 1 { "is" } else { "are" }
        )
    }

    /// Checks that the gate may skip on `image`: ids, or `group.*`.
    pub fn skips(&self, image: &str) -> Vec<String> {
        [ANY_IMAGE, image].iter().filter_map(|key| self.allowed_skips.get(*key)).flatten().cloned().collect()
    }

    /// The libraries of [`Row::external`] that `component` links to, each with its folder.
    fn external<'a>(&'a self, component: &'a Component) -> impl Iterator<Item = (&'a str, &'a str)> {
        component.external.iter().filter_map(|stem| {
            let found = self.external.iter().find(|(library, _)| stem_of(library) == stem);
            found.map(|(library, folder)| (library.as_str(), folder.as_str()))
        })
    }

    /// The RUNPATH of `component`: where its siblings are, then the folders of other wheels that its libraries come from.
    pub fn runpath(&self, component: &Component) -> Option<String> {
        let depth = component.path.matches('/').count();
        let mut entries = Vec::new();
        if !component.needs.is_empty() || !component.external.is_empty() {
            entries.push(if component.path.starts_with("lib/") {
                "$ORIGIN".into()
            } else {
                "$ORIGIN/lib".into()
            });
        }
        for (_, folder) in self.external(component).filter(|(_, folder)| *folder != SYSTEM_FOLDER) {
            let entry = format!("$ORIGIN/{}{folder}", "../".repeat(depth + 1));
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        (!entries.is_empty()).then(|| entries.join(":"))
    }
}

/// The folder of [`Row::external`] for libraries that the system's loader finds by itself.
pub const SYSTEM_FOLDER: &str = "system";

/// `libcudart.so.13` as `libcudart`.
pub fn stem_of(library: &str) -> &str {
    library.split_once(".so").map_or(library, |(stem, _)| stem)
}

/// Reads and checks `rows.toml`.
pub fn load(path: &Path, components: &Components) -> Result<Rows> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text, components).with_context(|| path.display().to_string())
}

/// Reads and checks the text of a `rows.toml`.
pub fn parse(text: &str, components: &Components) -> Result<Rows> {
    let mut rows: Rows = toml::from_str(text)?;
    for (name, row) in &mut rows {
        row.name.clone_from(name);
        check::row(row, components).with_context(|| format!("row `{name}`"))?;
    }
    check::matrix(&rows)?;
    Ok(rows)
}

/// The row called `name`, or an error that lists the rows.
pub fn find<'a>(rows: &'a Rows, name: &str) -> Result<&'a Row> {
    rows.get(name).with_context(|| {
        let names: Vec<&str> = rows.keys().map(String::as_str).collect();
        format!("no row `{name}`: rows.toml has {}", names.join(", "))
    })
}
