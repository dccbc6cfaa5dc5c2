//! How much a folder holds: what was not used for longest makes room for what is new.

use super::folder::{PACK, REFERENCE, TEMPORARY};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The environment variable with the most MiB that a folder's packed weights may take.
pub const LIMIT_VARIABLE: &str = "EXECUTORCH_XNNPACK_CACHE_MAX_MB";
const DEFAULT_LIMIT: u64 = 8 << 30;

/// Most references, which are small.
const MOST_REFERENCES: usize = 4096;

/// Who began to write this long ago is gone.
const ABANDONED: Duration = Duration::from_secs(3600);

struct Item {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

impl Item {
    fn new(entry: &DirEntry, metadata: &Metadata) -> Self {
        // Reading sets the time of access once a day even where the file system avoids that.
        let times = [metadata.accessed(), metadata.modified()];
        let used = times.into_iter().flatten().max().unwrap_or(SystemTime::UNIX_EPOCH);
        Self { path: entry.path(), size: metadata.len(), used }
    }
}

fn limit() -> u64 {
    let megabytes: Option<u64> = std::env::var(LIMIT_VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    megabytes.map_or(DEFAULT_LIMIT, |megabytes| megabytes.saturating_mul(1 << 20))
}

/// Makes room for a file of `size` bytes.
pub fn make(folder: &Path, size: u64) -> io::Result<()> {
    make_within(folder, size, limit(), SystemTime::now())
}

fn make_within(folder: &Path, size: u64, limit: u64, now: SystemTime) -> io::Result<()> {
    if size > limit {
        let text =
            format!("{size} bytes are more than {LIMIT_VARIABLE} allows, which is {} MiB", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
    }
    let (mut packs, mut references) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)?.flatten() {
        // Of the link, if it is one.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_file() {
            continue;
        }
        let item = Item::new(&entry, &metadata);
        if item.path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(TEMPORARY)) {
            if now.duration_since(item.used).is_ok_and(|age| age > ABANDONED) {
                remove(&item);
            }
        } else if has_our_name(&item.path, PACK) {
            packs.push(item);
        } else if has_our_name(&item.path, REFERENCE) {
            references.push(item);
        }
    }
    packs.sort_unstable_by_key(|item| item.used);
    let mut total = packs.iter().map(|item| item.size).fold(size, u64::saturating_add);
    for item in packs {
        if total <= limit {
            break;
        }
        total = total.saturating_sub(item.size);
        remove(&item);
    }
    references.sort_unstable_by_key(|item| item.used);
    let surplus = references.len().saturating_sub(MOST_REFERENCES - 1);
    references.iter().take(surplus).for_each(remove);
    Ok(())
}

/// Whether a name is a digest's with this ending: nothing else is ever removed.
fn has_our_name(path: &Path, ending: &str) -> bool {
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    path.extension() == Some(OsStr::new(ending))
        && stem.len() == 64
        && stem.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whoever has it mapped keeps it. A failure (somebody else was faster, or it is not ours) leaves less room.
fn remove(item: &Item) {
    let _ = fs::remove_file(&item.path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, FileTimes};

    fn put(folder: &Path, name: &str, size: u64, age: u64, now: SystemTime) {
        let file = File::create(folder.join(name)).unwrap();
        file.set_len(size).unwrap();
        let time = now - Duration::from_secs(age);
        file.set_times(FileTimes::new().set_accessed(time).set_modified(time)).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_oldest_go_first_and_only_ours() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let pack = |c: char| format!("{}.pack", c.to_string().repeat(64));
        put(folder.path(), &pack('a'), 100, 30, now);
        put(folder.path(), &pack('b'), 100, 20, now);
        put(folder.path(), &pack('c'), 100, 10, now);
        put(folder.path(), "notes.pack", 1000, 100_000, now);
        put(folder.path(), "model.pte", 1000, 100_000, now);
        put(folder.path(), ".writing-abc", 10, 3700, now);
        put(folder.path(), ".writing-def", 10, 10, now);
        fs::create_dir(folder.path().join(pack('d'))).unwrap();
        let others = [".writing-def", "model.pte", "notes.pack"];
        let expect = |packs: &[char]| {
            let mut all: Vec<String> = packs.iter().map(|&c| pack(c)).collect();
            all.extend(others.map(str::to_owned));
            all.sort_unstable();
            assert_eq!(names(folder.path()), all);
        };
        make_within(folder.path(), 50, 350, now).unwrap();
        expect(&['a', 'b', 'c', 'd']);
        make_within(folder.path(), 51, 350, now).unwrap();
        expect(&['b', 'c', 'd']);
        make_within(folder.path(), 350, 350, now).unwrap();
        expect(&['d']);
        let error = make_within(folder.path(), 2 << 20, 1 << 20, now).unwrap_err();
        assert!(error.to_string().contains("1 MiB"), "{error}");
    }

    #[test]
    fn references_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for i in 0..MOST_REFERENCES + 10 {
            put(folder.path(), &format!("{i:064x}.ref"), 1, 10_000 - i as u64, now);
        }
        make_within(folder.path(), 0, 100, now).unwrap();
        let names = names(folder.path());
        assert_eq!(names.len(), MOST_REFERENCES - 1);
        assert_eq!(names[0], format!("{:064x}.ref", 11));
    }
}
