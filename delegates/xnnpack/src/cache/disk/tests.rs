//! Files as others may leave them.

mod damage;

use super::super::digest::Digest;
use super::super::memory::{Packed, Supply};
use super::folder::{Folder, PACK, TEMPORARY};
use super::format::{self, Reference};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn key(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

fn packed(len: usize, seed: usize) -> Packed {
    let mut room = Supply::new(0).room(len).unwrap();
    room.bytes_mut().iter_mut().enumerate().for_each(|(i, b)| *b = (((i + 1) * (seed + 7)) >> 3) as u8);
    room.into_packed()
}

/// Some entries of odd sizes, one of them empty.
fn entries() -> Vec<(Digest, Packed)> {
    let sizes = [1000, 0, 64, 600_000, 1];
    sizes.into_iter().enumerate().map(|(i, size)| (key(&i.to_string()), packed(size, i))).collect()
}

fn write(folder: &Folder, graph: Digest) {
    let entries = entries();
    let entries: Vec<_> = entries.iter().map(|(key, packed)| (*key, packed)).collect();
    folder.write_pack(graph, &entries).unwrap();
}

fn check(folder: &Folder, graph: Digest) {
    let pack = folder.pack(graph, None).unwrap();
    for (key, expected) in entries() {
        assert!(pack.contains(&key));
        let found = pack.get(&key).unwrap();
        assert!(found.is_mapped());
        assert_eq!(found.as_ref(), expected.as_ref());
        assert!(found.as_ref().as_ptr().addr().is_multiple_of(64));
    }
    assert_eq!(pack.entries().count(), 5);
    assert!(pack.get(&key("missing")).is_none() && !pack.contains(&key("missing")));
}

/// A folder with the file of one graph, and that file's path.
fn one_file() -> (tempfile::TempDir, Folder, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path().join("a/b"));
    write(&folder, key("graph"));
    let path = directory.path().join("a/b").join(format!("{}.{PACK}", key("graph").to_hex()));
    (directory, folder, path)
}

#[test]
fn what_was_written_is_read() {
    let (_directory, folder, path) = one_file();
    check(&folder, key("graph"));
    let metadata = path.metadata().unwrap();
    assert_eq!(metadata.mode() & 0o133, 0, "nobody else may write, nobody runs it");
    assert_eq!(metadata.size() % 4096, 0);
    assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o077, 0);
    assert!(folder.pack(key("another graph"), None).is_none());

    // Mapped weights outlive their file.
    let pack = folder.pack(key("graph"), None).unwrap();
    let weights = pack.get(&key("3")).unwrap();
    drop(pack);
    fs::remove_file(&path).unwrap();
    assert_eq!(weights.as_ref(), entries()[3].1.as_ref());

    folder.write_pack(key("nothing"), &[]).unwrap();
    assert_eq!(folder.pack(key("nothing"), None).unwrap().entries().count(), 0);
}

#[test]
fn references_are_read() {
    let (directory, folder, _) = one_file();
    let reference = Reference { graph: key("graph"), whole: Some(key("state")) };
    folder.write_reference(key("source"), &reference).unwrap();
    assert_eq!(folder.reference(key("source")), Some(reference));
    assert_eq!(folder.reference(key("other")), None);
    let path = directory.path().join("a/b").join(format!("{}.ref", key("source").to_hex()));
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(format::read_reference(&damaged, key("source")).is_err(), "byte {at}");
        assert!(format::read_reference(&whole[..at], key("source")).is_err(), "length {at}");
    }
    for bad in [[&whole[..], &[0]].concat(), Vec::new(), vec![0; whole.len()], vec![0; 1 << 20]] {
        fs::write(&path, bad).unwrap();
        assert_eq!(folder.reference(key("source")), None);
    }
    fs::copy(&path, path.with_file_name(format!("{}.ref", key("other").to_hex()))).unwrap();
    assert_eq!(folder.reference(key("other")), None, "one under another name");
}

#[test]
fn damage_anywhere_is_found() {
    let (_directory, folder, path) = one_file();
    let whole = fs::read(&path).unwrap();
    assert!(format::read_pack(&whole, key("graph"), true).is_ok());
    let data_start = u64::from_le_bytes(whole[24..32].try_into().unwrap()) as usize;
    let mut damaged = whole.clone();
    let places = (0..data_start).chain((data_start..whole.len()).step_by(997)).chain([whole.len() - 1]);
    for at in places {
        damaged[at] ^= 1 << (at % 8);
        assert!(format::read_pack(&damaged, key("graph"), true).is_err(), "byte {at}");
        damaged[at] = whole[at];
    }
    for length in (0..data_start + 100).chain((data_start..whole.len()).step_by(9973)) {
        assert!(format::read_pack(&whole[..length], key("graph"), true).is_err(), "length {length}");
    }
    // As an unfinished copy leaves it: the right length, and zeros from somewhere on.
    for from in [0, 1, 63, 96, 500, data_start, data_start + 5000, whole.len() - 5000] {
        let mut torn = whole.clone();
        torn[from..].fill(0);
        assert!(format::read_pack(&torn, key("graph"), true).is_err(), "zeros from byte {from}");
    }
    for bad in
        [Vec::new(), vec![0; whole.len()], b"not packed weights".to_vec(), [&whole[..], &[0; 4096]].concat()]
    {
        fs::write(&path, bad).unwrap();
        assert!(folder.pack(key("graph"), None).is_none());
        write(&folder, key("graph"));
        check(&folder, key("graph"));
    }
    let other = path.with_file_name(format!("{}.{PACK}", key("other").to_hex()));
    fs::copy(&path, other).unwrap();
    assert!(folder.pack(key("other"), None).is_none(), "one under another name");
}

/// Changes a field and makes the checksum right, as no accident does.
fn forge(whole: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut forged = whole.to_vec();
    forged[at..at + bytes.len()].copy_from_slice(bytes);
    let start = (u64::from_le_bytes(forged[24..32].try_into().unwrap()) as usize).clamp(96, forged.len());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&forged[..64]).update(&forged[96..start]);
    let sum = *hasher.finalize().as_bytes();
    forged[64..96].copy_from_slice(&sum);
    forged
}

#[test]
fn forged_files_lead_nowhere_else() {
    let (_directory, _, path) = one_file();
    let whole = fs::read(&path).unwrap();
    assert_eq!(forge(&whole, 0, b""), whole);
    let numbers = [
        0,
        1,
        63,
        64,
        95,
        4095,
        4096,
        whole.len() as u64 - 1,
        whole.len() as u64,
        u64::MAX - 63,
        u64::MAX,
        1 << 63,
    ];
    for at in [8, 12, 16, 24, 96 + 32, 96 + 40, 96 + 48 + 32, 96 + 48 + 40] {
        for number in numbers {
            let field = &number.to_le_bytes()[..if at < 16 { 4 } else { 8 }];
            let forged = forge(&whole, at, field);
            if forged == whole {
                continue;
            }
            // Either refused, or still within the data.
            if let Ok(index) = format::read_pack(&forged, key("graph"), true) {
                for range in index.values() {
                    assert!(range.start >= 4096 && range.end + 128 <= whole.len(), "{range:?}");
                    assert!(range.start.is_multiple_of(64));
                }
            }
        }
    }
}

#[test]
fn mutants_are_refused() {
    let (_directory, _, path) = one_file();
    let whole = fs::read(&path).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..2000 {
        let mut mutant = whole.clone();
        for _ in 0..=random(3) {
            // Half of them in the header and the index.
            let reach = if random(2) == 0 { 400 } else { mutant.len() };
            let at = random(reach.min(mutant.len()).max(1));
            match random(5) {
                0 => mutant[at] ^= 1 << random(8),
                1 => mutant.truncate(at.max(1)),
                2 => drop(mutant.splice(at..at, std::iter::repeat_n(random(256) as u8, random(5000)))),
                3 => drop(mutant.drain(at..(at + random(5000)).min(mutant.len()))),
                _ => {
                    let end = (at + random(64)).min(mutant.len());
                    mutant[at..end].fill(random(256) as u8);
                }
            }
            if mutant.is_empty() {
                mutant.push(0);
            }
        }
        if mutant != whole {
            assert!(format::read_pack(&mutant, key("graph"), true).is_err(), "round {round}");
        }
    }
}

#[test]
fn things_that_are_no_files_are_left_alone() {
    let (directory, folder, path) = one_file();
    let aside = directory.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    symlink(&aside, &path).unwrap();
    assert!(folder.pack(key("graph"), None).is_none(), "a link, even to a good file");
    write(&folder, key("graph"));
    check(&folder, key("graph"));
    assert!(!path.symlink_metadata().unwrap().is_symlink(), "the link was replaced, not followed");

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(folder.pack(key("graph"), None).is_none());
    assert!(folder.write_pack(key("graph"), &[]).is_err(), "a folder is in its place");
    let left = fs::read_dir(path.parent().unwrap()).unwrap();
    assert!(!left.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(TEMPORARY)));

    fs::remove_dir(&path).unwrap();
    pipe(&path);
    assert!(folder.pack(key("graph"), None).is_none(), "a pipe, which nobody writes to");
    write(&folder, key("graph"));
    check(&folder, key("graph"));
}

#[test]
fn references_that_are_no_files_are_left_alone() {
    let (directory, folder, path) = one_file();
    let source = key("source");
    let reference = Reference { graph: key("graph"), whole: None };
    let path = path.with_file_name(format!("{}.ref", source.to_hex()));
    let found = || folder.reference(source);
    folder.write_reference(source, &reference).unwrap();
    let aside = directory.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    symlink(&aside, &path).unwrap();
    assert_eq!(found(), None, "a link, even to a good file");
    folder.write_reference(source, &reference).unwrap();
    assert_eq!(found(), Some(reference));
    assert!(!path.symlink_metadata().unwrap().is_symlink());

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(found(), None);
    assert!(folder.write_reference(source, &reference).is_err());
    fs::remove_dir(&path).unwrap();
    pipe(&path);
    assert_eq!(found(), None);
    folder.write_reference(source, &reference).unwrap();
    assert_eq!(found(), Some(reference));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2, "nothing else is left");
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_others_can_write_is_not_trusted() {
    let (_directory, folder, path) = one_file();
    for (mode, trusted) in
        [(0o644, true), (0o600, true), (0o664, false), (0o646, false), (0o666, false), (0o444, true)]
    {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(folder.pack(key("graph"), None).is_some(), trusted, "mode {mode:o}");
    }
    // Only root can give files away, and only others cannot read what they may not.
    let user = path.metadata().unwrap().uid();
    if user == 0 {
        chown(&path, Some(12345), None).unwrap();
        assert!(folder.pack(key("graph"), None).is_none(), "somebody else's file");
    } else {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        assert!(folder.pack(key("graph"), None).is_none(), "unreadable");
    }
    write(&folder, key("graph"));
    check(&folder, key("graph"));
}

#[test]
fn folders_that_cannot_be() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.as_path(), &file.join("below"), Path::new("/proc/none/such")] {
        let folder = Folder::new(path);
        assert!(folder.pack(key("graph"), None).is_none());
        assert!(folder.reference(key("graph")).is_none());
        let error = folder.write_pack(key("graph"), &[]).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Other, "{error}");
        assert!(
            folder.write_reference(key("graph"), &Reference { graph: key("graph"), whole: None }).is_err()
        );
    }
}

const FOLDER_FOR_CHILDREN: &str = "ET_TEST_CACHE_FOLDER";

/// A child of `processes_write_at_once`: writes and reads the same two files over and over.
#[test]
fn child_that_writes() {
    let Some(folder) = std::env::var_os(FOLDER_FOR_CHILDREN).map(Folder::new) else { return };
    for round in 0..40 {
        let graph = key(if round % 2 == 0 { "even" } else { "odd" });
        write(&folder, graph);
        check(&folder, graph);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn processes_write_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let name = "cache::disk::tests::child_that_writes";
    let mut children: Vec<_> = (0..3)
        .map(|_| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(FOLDER_FOR_CHILDREN, directory.path())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran its test");
    }
    let folder = Folder::new(directory.path());
    check(&folder, key("even"));
    check(&folder, key("odd"));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing else is left");
}
