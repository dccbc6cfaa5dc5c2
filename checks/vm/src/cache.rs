//! Finished images, each in a folder whose name says what it was made from.

use crate::Progress;
use anyhow::{Context, Result, ensure};
use executorch_tools::{Lock, digest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file that describes an image; it is written last.
const FACTS: &str = "image.json";
/// The files of an image.
pub const ROOT: &str = "root.squashfs";
pub const KERNEL: &str = "vmlinuz";
pub const INITRD: &str = "initrd";

/// What an image is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The image's name.
    pub name: String,
    /// Debian's code name of the release.
    pub suite: String,
    /// The kernel's name of the processor.
    pub arch: String,
    /// When the mirror's state was published.
    pub release_date: String,
    /// Digest of the mirror's release file.
    pub release_digest: String,
    /// The kernel's version.
    pub kernel: String,
    /// Every Debian package in the image, with its version.
    pub packages: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    facts: Facts,
    /// File to digest.
    files: BTreeMap<String, String>,
}

/// A finished image in the cache.
#[derive(Clone, Debug)]
pub struct Entry {
    dir: PathBuf,
    facts: Facts,
}

impl Entry {
    /// The path of one of the image's files.
    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    /// What the image is made of.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Opens the image in `dir`, and compares the files with their digests.
    pub fn open(dir: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(dir.join(FACTS)).context(FACTS)?;
        let description: Description = serde_json::from_str(&text).context(FACTS)?;
        for file in [ROOT, KERNEL, INITRD] {
            let wanted = description.files.get(file).with_context(|| format!("{FACTS} names no {file}"))?;
            let found = digest::of_file(&dir.join(file)).with_context(|| file.to_owned())?;
            ensure!(&found == wanted, "{file} has the digest {found}, not {wanted}");
        }
        Ok(Self { dir, facts: description.facts })
    }

    /// Describes the files in `dir`, which is a finished image then.
    fn seal(dir: &Path, facts: Facts) -> Result<()> {
        let digest = |file: &str| anyhow::Ok((file.to_owned(), digest::of_file(&dir.join(file))?));
        let files = [ROOT, KERNEL, INITRD].map(digest).into_iter().collect::<Result<_>>()?;
        let text = serde_json::to_string_pretty(&Description { facts, files })?;
        Ok(fs::write(dir.join(FACTS), text)?)
    }
}

/// Returns the image `name` made from `key`. It is made by `build`, which fills a folder, if the cache has it not
/// or not undamaged; who wants the same image meanwhile waits for it.
pub fn get(
    cache: &Path,
    name: &str,
    key: &str,
    progress: Progress<'_>,
    build: impl FnOnce(&Path) -> Result<Facts>,
) -> Result<Entry> {
    let dir = cache.join(format!("{name}-{key}"));
    let _lock = Lock::wait(&cache.join(format!("{name}.lock")))?;
    if dir.exists() {
        match Entry::open(dir.clone()) {
            Ok(entry) => return Ok(entry),
            Err(error) => {
                progress(&format!("{name}: the image in the cache is damaged and made again: {error:#}"));
                fs::remove_dir_all(&dir).with_context(|| format!("cannot remove {}", dir.display()))?;
            }
        }
    }
    let work = cache.join(format!("{name}.part"));
    // Left there by a build that was interrupted.
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    Entry::seal(&work, build(&work)?)?;
    fs::rename(&work, &dir)?;
    Entry::open(dir)
}

/// The newest undamaged image `name` whose key begins with `prefix`.
pub fn newest(cache: &Path, name: &str, prefix: &str) -> Option<Entry> {
    let start = format!("{name}-{prefix}");
    let dirs = fs::read_dir(cache).ok()?.flatten();
    let mut found: Vec<(SystemTime, PathBuf)> = dirs
        .filter(|dir| dir.file_name().to_string_lossy().starts_with(&start))
        .filter_map(|dir| Some((dir.metadata().and_then(|meta| meta.modified()).ok()?, dir.path())))
        .collect();
    found.sort();
    found.into_iter().rev().find_map(|(_, dir)| Entry::open(dir).ok())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn silent(_: &str) {}

    /// Files that no machine boots from.
    pub fn fake(dir: &Path) -> Result<Facts> {
        for file in [ROOT, KERNEL, INITRD] {
            fs::write(dir.join(file), file)?;
        }
        Ok(Facts {
            name: "debian-12".into(),
            suite: "bookworm".into(),
            arch: std::env::consts::ARCH.into(),
            release_date: "today".into(),
            release_digest: "0".into(),
            kernel: "1".into(),
            packages: [("dpkg".into(), "1".into())].into(),
        })
    }

    #[test]
    fn images_are_made_once_for_each_key() {
        let cache = tempfile::tempdir().unwrap();
        let built = Cell::new(0);
        let get = |key: &str| {
            get(cache.path(), "debian-12", key, &silent, |dir| {
                built.set(built.get() + 1);
                fake(dir)
            })
            .unwrap()
        };
        assert_eq!(get("a").facts().packages.len(), 1);
        get("a");
        assert_eq!(built.get(), 1);
        get("b");
        assert_eq!(built.get(), 2);
    }

    #[test]
    fn damaged_images_are_made_again_and_said_to_be_damaged() {
        let cache = tempfile::tempdir().unwrap();
        let get = |progress: Progress<'_>| get(cache.path(), "debian-12", "a", progress, fake).unwrap();
        let dir = cache.path().join("debian-12-a");
        let damages: [&dyn Fn(); 5] = [
            &|| fs::write(dir.join(ROOT), "other").unwrap(),
            &|| fs::remove_file(dir.join(KERNEL)).unwrap(),
            &|| fs::write(dir.join(INITRD), "").unwrap(),
            &|| fs::write(dir.join(FACTS), "{").unwrap(),
            &|| fs::remove_file(dir.join(FACTS)).unwrap(),
        ];
        get(&|line| panic!("{line}"));
        for damage in damages {
            damage();
            assert!(newest(cache.path(), "debian-12", "a").is_none());
            let said = Cell::new(0);
            let entry = get(&|line| {
                assert!(line.contains("damaged"), "{line}");
                said.set(said.get() + 1);
            });
            assert_eq!(said.get(), 1);
            assert_eq!(fs::read_to_string(entry.path(ROOT)).unwrap(), ROOT);
        }
    }

    #[test]
    fn builds_that_fail_leave_nothing_that_looks_finished() {
        let cache = tempfile::tempdir().unwrap();
        let fails = |dir: &Path| {
            fake(dir)?;
            anyhow::bail!("interrupted")
        };
        assert!(get(cache.path(), "debian-12", "a", &silent, fails).is_err());
        assert!(!cache.path().join("debian-12-a").exists());
        assert!(newest(cache.path(), "debian-12", "a").is_none());
        // What it left is in nobody's way.
        assert!(get(cache.path(), "debian-12", "a", &silent, fake).is_ok());
    }

    #[test]
    fn concurrent_preparations_make_one_image() {
        let cache = tempfile::tempdir().unwrap();
        let built = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    get(cache.path(), "debian-12", "a", &silent, |dir| {
                        built.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(50));
                        fake(dir)
                    })
                    .unwrap()
                });
            }
        });
        assert_eq!(built.into_inner(), 1);
    }

    #[test]
    fn without_a_mirror_the_newest_image_of_the_same_recipe_serves() {
        let cache = tempfile::tempdir().unwrap();
        for key in ["r1-s1", "r1-s2", "r2-s1"] {
            get(cache.path(), "debian-12", key, &silent, fake).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let found = newest(cache.path(), "debian-12", "r1-").unwrap();
        assert!(found.path(ROOT).starts_with(cache.path().join("debian-12-r1-s2")));
        assert!(newest(cache.path(), "debian-12", "r3-").is_none());
        assert!(newest(cache.path(), "debian-13", "r1-").is_none());
    }
}
