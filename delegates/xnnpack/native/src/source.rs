//! The source archives: which, and how they are had.

use crate::{SOURCES, mirror};
use anyhow::{Context, Result, bail};
use executorch_tools::command::output;
use executorch_tools::digest::verify;
use executorch_tools::ensure;
use serde::Deserialize;
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

/// Puts all sources below `into`, one folder per project, makes the [`CHANGES`], and returns the folders of their files.
///
/// They are taken from `local` if that is given: the archives, or a folder for each project with what is in its archive,
/// which is not verified here. Else the archives are downloaded into `archives` and kept there.
pub fn unpack(local: Option<&Path>, archives: &Path, into: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let all = sources()?;
    let trees = local.filter(|folder| all.keys().all(|name| folder.join(name).is_dir()));
    let folders = match (trees, local) {
        (Some(trees), _) => copy(&all, trees, into)?,
        (None, Some(folder)) => extract(&all, find(&all, folder)?, into)?,
        (None, None) => extract(&all, download(&all, archives)?, into)?,
    };
    CHANGES.iter().try_for_each(|change| change.apply(&folders))?;
    Ok(folders)
}

/// Puts the sources as their projects published them below `into`, one folder per project, and returns the folders of
/// their files. The archives come from `local`, or are downloaded into `archives`.
pub fn pristine(local: Option<&Path>, archives: &Path, into: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let all = sources()?;
    let files = match local {
        Some(folder) => find(&all, folder)?,
        None => download(&all, archives)?,
    };
    extract(&all, files, into)
}

/// Copies the folders in `trees`, whose files may be read-only.
fn copy(all: &BTreeMap<String, Source>, trees: &Path, into: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut folders = BTreeMap::new();
    for (name, source) in all {
        // As deep as in the archive: names of files may stand in what is compiled.
        let folder = into.join(name).join(&source.inside);
        fs::create_dir_all(&folder)?;
        output(Command::new("cp").args(["-R", "--"]).arg(trees.join(name).join(".")).arg(&folder))?;
        output(Command::new("chmod").args(["-R", "u+w", "--"]).arg(&folder))?;
        folders.insert(name.clone(), folder);
    }
    Ok(folders)
}

/// Unpacks `files`, the archives of `all` in their order.
fn extract(
    all: &BTreeMap<String, Source>,
    files: Vec<PathBuf>,
    into: &Path,
) -> Result<BTreeMap<String, PathBuf>> {
    ensure(&[("xz", "xz-utils")])?;
    let mut folders = BTreeMap::new();
    for ((name, source), file) in all.iter().zip(files) {
        let folder = into.join(name);
        fs::create_dir_all(&folder)?;
        output(Command::new("tar").args(["--no-same-owner", "-xJf"]).arg(&file).arg("-C").arg(&folder))?;
        folders.insert(name.clone(), folder.join(&source.inside));
    }
    Ok(folders)
}

/// The archives in a folder of the user's.
fn find(all: &BTreeMap<String, Source>, folder: &Path) -> Result<Vec<PathBuf>> {
    let files: Vec<_> = all.values().map(|source| folder.join(&source.file)).collect();
    for (file, source) in files.iter().zip(all.values()) {
        if let Err(error) = verify(file, &source.sha256) {
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
        if verify(&file, &source.sha256).is_err() {
            mirror::download(source, &file)
                .and_then(|()| verify(&file, &source.sha256))
                .with_context(|| advice(all))?;
        }
        files.push(file);
    }
    Ok(files)
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
    fn unpacked_sources_are_copied_and_changed() {
        let (trees, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in sources().unwrap().keys() {
            let include = trees.path().join(name).join("include");
            fs::create_dir_all(&include).unwrap();
            let header = include.join("xnnpack.h");
            fs::write(&header, format!("{name}\n{}", CHANGES[0].from)).unwrap();
            fs::set_permissions(header, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
        }
        let folders = unpack(Some(trees.path()), Path::new("none"), into.path()).unwrap();
        assert_eq!(folders.len(), 4);
        let read = |name: &str| fs::read_to_string(folders[name].join("include/xnnpack.h")).unwrap();
        assert_eq!(read("xnnpack"), format!("xnnpack\n{}", CHANGES[0].to));
        assert_eq!(read("fxdiv"), format!("fxdiv\n{}", CHANGES[0].from));
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
