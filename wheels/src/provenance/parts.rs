//! What is linked into a wheel besides crates: C libraries, and what the compilers bring along.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::digest::is_sha256;

/// A project's code that is linked in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name, also that of its licence's text in the folder `licenses` of the linked libraries.
    pub name: String,
    /// Version.
    pub version: String,
    /// SPDX expression of its licence.
    pub license: String,
    /// Its source repository.
    pub repository: String,
    /// The archive that its sources come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// SHA-256 of that archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The compilers of a build: `toolchain.json` among the linked libraries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolchain {
    /// Versions by name.
    pub tools: BTreeMap<String, String>,
    /// What they link into every component.
    pub linked: Vec<Part>,
}

/// File name of a [`Toolchain`] among the linked libraries.
pub const TOOLCHAIN: &str = "toolchain.json";

impl Toolchain {
    /// Reads `toolchain.json` from the folder of the linked libraries.
    pub fn load(libs: &Path) -> Result<Self> {
        let path = libs.join(TOOLCHAIN);
        let text = fs::read(&path).with_context(|| {
            format!("{}: who links the libraries writes there which compilers it used", path.display())
        })?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// Writes `toolchain.json` there.
    pub fn save(&self, libs: &Path) -> Result<()> {
        let path = libs.join(TOOLCHAIN);
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(&path, text).with_context(|| path.display().to_string())
    }
}

/// One entry of a component's `native` file (`delegates/xnnpack/native/sources.toml`), as far as it matters here.
#[derive(Deserialize)]
struct Source {
    file: String,
    sha256: String,
    spdx: String,
    repository: String,
}

/// The C libraries that the file at `path` pins.
pub fn native(path: &Path) -> Result<Vec<Part>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> Result<Vec<Part>> {
    let all: BTreeMap<String, Source> = toml::from_str(text)?;
    all.into_iter().map(|(name, source)| part(name, source)).collect()
}

fn part(name: String, source: Source) -> Result<Part> {
    let version = source.file.split_once('_').and_then(|(_, rest)| rest.split_once(".orig."));
    let (version, _) = version
        .with_context(|| format!("{name}: file = \"{}\": expected NAME_VERSION.orig.tar.xz", source.file))?;
    if !is_sha256(&source.sha256) {
        bail!("{name}: sha256 = \"{}\": expected 64 lower-case hexadecimal digits", source.sha256);
    }
    Ok(Part {
        name,
        version: version.to_owned(),
        license: source.spdx,
        repository: source.repository,
        archive: Some(source.file),
        sha256: Some(source.sha256),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_libraries_are_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let parts = native(&root.join("delegates/xnnpack/native/sources.toml")).unwrap();
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["cpuinfo", "fxdiv", "pthreadpool", "xnnpack"]);
        assert_eq!(parts[3].version, "0.0~git20241108.4ea82e5");
        assert_eq!(parts[3].license, "BSD-3-Clause");
    }

    #[test]
    fn mistakes_are_named() {
        let entry = |file: &str, sha256: &str| {
            format!(
                "[a]\nfile = \"{file}\"\nsha256 = \"{sha256}\"\nspdx = \"MIT\"\nrepository = \"https://a\"\n"
            )
        };
        let digest = "0f".repeat(32);
        assert_eq!(parse(&entry("a_1.2.orig.tar.xz", &digest)).unwrap()[0].version, "1.2");
        assert!(parse(&entry("a-1.2.tar.xz", &digest)).unwrap_err().to_string().contains("NAME_VERSION"));
        assert!(parse(&entry("a_1.2.orig.tar.xz", "0F")).unwrap_err().to_string().contains("sha256"));
    }

    #[test]
    fn a_toolchain_is_written_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        assert!(format!("{:#}", Toolchain::load(dir.path()).unwrap_err()).contains("which compilers"));
        let part = Part {
            name: "std".into(),
            version: "1.2.3".into(),
            license: "MIT".into(),
            repository: "https://a".into(),
            archive: None,
            sha256: None,
        };
        let tools = BTreeMap::from([("rustc".to_owned(), "1.2.3".to_owned())]);
        let toolchain = Toolchain { tools, linked: vec![part] };
        toolchain.save(dir.path()).unwrap();
        assert_eq!(Toolchain::load(dir.path()).unwrap(), toolchain);
    }
}
