//! The source archives: which, and how they are had.

use crate::{SOURCES, mirror};
use anyhow::{Context, Result, bail};
use executorch_tools::apt;
use executorch_tools::command::output;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One archive; `sources.toml` says what each field means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "documented once, at the head of sources.toml")]
pub struct Source {
    pub file: String,
    pub path: String,
    pub sha256: String,
    pub inside: String,
    pub license: String,
    pub spdx: String,
    pub repository: String,
}

/// A place of the sources that is wrong, and what should stand there.
pub struct Change {
    project: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

impl Change {
    /// The whole change, for the name of a build.
    pub fn text(&self) -> String {
        [self.project, self.file, self.from, self.to].join("\0")
    }

    fn apply(&self, folders: &BTreeMap<String, PathBuf>) -> Result<()> {
        let folder = folders.get(self.project).with_context(|| format!("{} is no source", self.project))?;
        let file = folder.join(self.file);
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        if text.matches(self.from).count() != 1 {
            bail!("{} should hold {:?} once", file.display(), self.from);
        }
        fs::write(&file, text.replacen(self.from, self.to, 1)).with_context(|| file.display().to_string())
    }
}

/// What is changed in the sources before they are compiled.
pub const CHANGES: &[Change] = &[
    // The kernels for dynamically quantised rows work on as many rows as fit their registers, and read the parameters
    // of rows that are not there: up to 13 with AVX-512 and GFNI, 15 with AMX. With 10 of them, what lay in memory
    // behind came into the last row's results.
    Change {
        project: "xnnpack",
        file: "include/xnnpack.h",
        from: "#define XNN_EXTRA_QUANTIZATION_PARAMS 10\n",
        to: "#define XNN_EXTRA_QUANTIZATION_PARAMS 15\n",
    },
];

/// The archives by project.
pub fn sources() -> Result<BTreeMap<String, Source>> {
    toml::from_str(include_str!("../sources.toml")).context("sources.toml")
}

/// Unpacks all archives below `into`, one folder per project, makes the [`CHANGES`], and returns the folders of their files.
///
/// They are taken from `local` if that is given, else downloaded into `archives` and kept there.
pub fn unpack(local: Option<&Path>, archives: &Path, into: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let all = sources()?;
    let files = match local {
        Some(folder) => find(&all, folder)?,
        None => download(&all, archives)?,
    };
    if Command::new("xz").arg("--version").output().is_err() {
        apt(&["xz-utils"])?;
    }
    let mut folders = BTreeMap::new();
    for ((name, source), file) in all.into_iter().zip(files) {
        let folder = into.join(&name);
        fs::create_dir_all(&folder)?;
        output(Command::new("tar").args(["--no-same-owner", "-xJf"]).arg(&file).arg("-C").arg(&folder))?;
        folders.insert(name, folder.join(&source.inside));
    }
    CHANGES.iter().try_for_each(|change| change.apply(&folders))?;
    Ok(folders)
}

/// The archives in a folder of the user's.
fn find(all: &BTreeMap<String, Source>, folder: &Path) -> Result<Vec<PathBuf>> {
    let files: Vec<_> = all.values().map(|source| folder.join(&source.file)).collect();
    for (file, source) in files.iter().zip(all.values()) {
        if let Err(error) = verify(file, source) {
            bail!("{SOURCES} is {}, but {error:#}\n{}", folder.display(), advice(all));
        }
    }
    Ok(files)
}

/// The archives from a Debian mirror, those that are not in `archives` yet.
fn download(all: &BTreeMap<String, Source>, archives: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(archives)?;
    let mut files = Vec::new();
    for source in all.values() {
        let file = archives.join(&source.file);
        if verify(&file, source).is_err() {
            mirror::download(source, &file)
                .and_then(|()| verify(&file, source))
                .with_context(|| advice(all))?;
        }
        files.push(file);
    }
    Ok(files)
}

/// Fails unless `file` is the pinned archive.
fn verify(file: &Path, source: &Source) -> Result<()> {
    let data = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let found: String = Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect();
    if found != source.sha256 {
        bail!("{} has the sha256 {found}, expected {}", file.display(), source.sha256);
    }
    Ok(())
}

/// What to do when the archives cannot be had.
fn advice(all: &BTreeMap<String, Source>) -> String {
    let mut text = format!(
        "XNNPACK's sources are missing. Put these files of the Debian archive into a folder, and name it in the \
         environment variable {SOURCES}:"
    );
    for source in all.values() {
        text.push_str(&format!("\n  {}/{}  sha256 {}", source.path, source.file, source.sha256));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_complete() {
        let all = sources().unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["cpuinfo", "fxdiv", "pthreadpool", "xnnpack"]);
        for source in all.values() {
            assert!(source.sha256.len() == 64 && source.sha256.bytes().all(|b| b.is_ascii_hexdigit()));
            assert!(!source.file.contains('/') && source.path.starts_with("pool/"));
        }
    }

    #[test]
    fn a_missing_or_wrong_archive_ends_in_advice() {
        let dir = tempfile::tempdir().unwrap();
        let unpack = || format!("{:#}", unpack(Some(dir.path()), dir.path(), dir.path()).unwrap_err());
        let all = sources().unwrap();
        let missing = unpack();
        assert!(missing.contains("cannot read") && missing.contains(SOURCES), "{missing}");
        for source in all.values() {
            assert!(missing.contains(&source.file) && missing.contains(&source.sha256), "{missing}");
            fs::write(dir.path().join(&source.file), "something else").unwrap();
        }
        let wrong = unpack();
        assert!(wrong.contains("has the sha256") && wrong.contains(SOURCES), "{wrong}");
    }
}
