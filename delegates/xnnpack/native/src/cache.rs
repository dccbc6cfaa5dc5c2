//! Finished builds, each in a folder whose name says what it was made from.

use crate::{Config, Target, compile, source, wrapper};
use anyhow::{Context, Result};
use executorch_tools::command::step;
use executorch_tools::{Lock, Tools, digest};
use std::fs;
use std::path::{Path, PathBuf};

/// A finished build.
#[derive(Clone, Debug)]
pub struct Library {
    id: String,
    root: PathBuf,
}

impl Library {
    /// The folder that holds the others.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Names everything that decided about the library's bytes: the sources, the compiler, the flags, the machine.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder with `libxnnpack.a`, which holds XNNPACK and cpuinfo. Who links it defines the functions of
    /// `pthreadpool.h`.
    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// The folder with `xnnpack.h` and `pthreadpool.h`.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// The folder with the licences of what was compiled: one text for each project, named after it.
    pub fn licenses(&self) -> PathBuf {
        self.root.join("licenses")
    }
}

/// Returns the library, which is built if it is not in the cache. Takes minutes then; other processes that want the
/// same library wait for it.
pub fn build(config: &Config) -> Result<Library> {
    let name = format!("xnnpack-{}-{}", config.target.arch(), key(config.target, &config.flags)?);
    let root = config.cache.join(&name);
    if !root.is_dir() {
        let _lock = Lock::wait(&config.cache.join(format!("{name}.lock")))?;
        if !root.is_dir() {
            make(config, &config.cache.join(format!("{name}.part")), &root)?;
        }
    }
    Ok(Library { id: name, root })
}

/// Builds in `work`, and puts the result at `root` when it is complete.
fn make(config: &Config, work: &Path, root: &Path) -> Result<()> {
    // Left there by a build that was interrupted.
    if work.exists() {
        fs::remove_dir_all(work)?;
    }
    fs::create_dir_all(work)?;
    let sources = step("unpack XNNPACK", || {
        source::unpack(config.sources.as_deref(), &config.cache.join("archives"), &work.join("sources"))
    })?;
    let library = compile::compile(config, &sources, work)?;
    let result = work.join("result");
    for folder in ["lib", "include", "licenses"] {
        fs::create_dir_all(result.join(folder))?;
    }
    let copy = |from: &Path, to: &Path| {
        fs::copy(from, to).map(drop).with_context(|| format!("cannot copy {}", from.display()))
    };
    copy(&library, &result.join("lib/libxnnpack.a"))?;
    for (project, header) in [("xnnpack", "xnnpack.h"), ("pthreadpool", "pthreadpool.h")] {
        let folder = sources.get(project).with_context(|| format!("{project} is no source"))?;
        copy(&folder.join("include").join(header), &result.join("include").join(header))?;
    }
    for (project, source) in source::sources()? {
        let folder = sources.get(&project).with_context(|| format!("{project} is no source"))?;
        copy(&folder.join(source.license), &result.join("licenses").join(project))?;
    }
    fs::rename(result, root)?;
    fs::remove_dir_all(work).context("cannot remove the files of the build")
}

/// A digest over everything that decides about the bytes of the library.
fn key(target: Target, flags: &str) -> Result<String> {
    let mut texts: Vec<String> = source::sources()?.into_values().map(|source| source.sha256).collect();
    texts.extend(source::CHANGES.iter().map(|change| change.text()));
    texts.extend([Tools::ZIG.into(), wrapper::compiler("zig", "cc", target)]);
    let options = [compile::PROJECT, compile::FLAGS, compile::CXX_FLAGS, compile::machine_flags(target)];
    texts.extend(options.into_iter().chain(compile::DEFINITIONS.iter().copied()).map(str::to_owned));
    if !flags.is_empty() {
        texts.push(flags.into());
    }
    let mut digest = digest::of_texts(texts);
    digest.truncate(16);
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SOURCES;

    #[test]
    fn targets_have_builds_of_their_own() {
        assert_ne!(key(Target::X86_64, "").unwrap(), key(Target::Aarch64, "").unwrap());
        assert_eq!(key(Target::X86_64, "").unwrap(), key(Target::X86_64, "").unwrap());
    }

    #[test]
    fn flags_have_builds_of_their_own() {
        assert_ne!(key(Target::X86_64, "").unwrap(), key(Target::X86_64, "-fsanitize=address").unwrap());
    }

    #[test]
    fn a_build_that_fails_leaves_nothing_that_looks_finished() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            target: Target::X86_64,
            cache: dir.path().join("cache"),
            tools: Tools::new(dir.path().join("tools")),
            sources: Some(dir.path().join("empty")),
            flags: String::new(),
        };
        for _ in 0..2 {
            let error = format!("{:#}", build(&config).unwrap_err());
            assert!(error.contains(SOURCES), "{error}");
        }
        let name = format!("xnnpack-x86_64-{}", key(Target::X86_64, "").unwrap());
        assert!(!config.cache.join(name).exists());
    }

    #[test]
    fn what_is_in_the_cache_is_not_built() {
        let dir = tempfile::tempdir().unwrap();
        let name = format!("xnnpack-x86_64-{}", key(Target::X86_64, "").unwrap());
        fs::create_dir_all(dir.path().join(&name)).unwrap();
        let config = Config {
            target: Target::X86_64,
            cache: dir.path().to_owned(),
            tools: Tools::new(dir.path().join("tools")),
            sources: Some(dir.path().join("empty")),
            flags: String::new(),
        };
        assert_eq!(build(&config).unwrap().lib(), dir.path().join(name).join("lib"));
        assert!(!config.tools.dir().exists());
    }
}
