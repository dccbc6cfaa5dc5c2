//! A small file with every damage of one kind, as it is read from the folder.

use super::*;
use std::os::unix::fs::FileExt;

/// The file of two small entries, and what is in it.
fn small_file() -> (tempfile::TempDir, Folder, fs::File, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path());
    let entries = [(key("a"), packed(100, 1)), (key("b"), packed(64, 2))];
    folder.write_pack(key("graph"), &entries.each_ref().map(|(key, packed)| (*key, packed))).unwrap();
    let path = directory.path().join(format!("{}.{PACK}", key("graph").to_hex()));
    let whole = fs::read(&path).unwrap();
    assert!(whole.len() <= 8192, "few enough bytes for all that is done to them");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    (directory, folder, file, whole)
}

fn is_used(folder: &Folder) -> bool {
    folder.pack(key("graph"), None).is_some()
}

#[test]
fn every_bit_matters() {
    let (_directory, folder, file, whole) = small_file();
    for (at, &byte) in whole.iter().enumerate() {
        for bit in 0..8 {
            file.write_all_at(&[byte ^ 1 << bit], at as u64).unwrap();
            assert!(!is_used(&folder), "bit {bit} of byte {at}");
        }
        file.write_all_at(&[byte], at as u64).unwrap();
    }
    assert!(is_used(&folder));
}

#[test]
fn every_length_but_the_right_one_is_refused() {
    let (_directory, folder, file, whole) = small_file();
    for length in (0..whole.len()).rev() {
        file.set_len(length as u64).unwrap();
        assert!(!is_used(&folder), "length {length}");
    }
    // The right length, and zeros from some byte on, as a crash of the machine may leave it.
    for length in 0..whole.len() {
        file.set_len(whole.len() as u64).unwrap();
        let rest_is_zero = whole[length..].iter().all(|&byte| byte == 0);
        assert_eq!(is_used(&folder), rest_is_zero, "{length} bytes, then zeros");
        file.write_all_at(&whole[length..=length], length as u64).unwrap();
    }
    for more in 1..=4096 {
        file.set_len((whole.len() + more) as u64).unwrap();
        assert!(!is_used(&folder), "{more} more bytes");
    }
    file.set_len(whole.len() as u64).unwrap();
    assert!(is_used(&folder));
}

/// Files that others make, under the name of ours.
#[test]
fn foreign_files_are_refused() {
    let (directory, folder, file, whole) = small_file();
    let other = tempfile::tempdir().unwrap();
    let other_folder = Folder::new(other.path());
    other_folder.write_pack(key("another graph"), &[]).unwrap();
    other_folder.write_reference(key("graph"), &Reference { graph: key("graph"), whole: None }).unwrap();
    let mut foreign: Vec<Vec<u8>> =
        fs::read_dir(other.path()).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert_eq!(foreign.len(), 2);
    foreign.push(fs::read(std::env::current_exe().unwrap()).unwrap());
    foreign.push([b"ETXNPACK".repeat(whole.len() / 8), Vec::new()].concat());
    // A later version of the format, whose checksum is right.
    foreign.push(forge(&whole, 8, &4_u32.to_le_bytes()));
    foreign.push([&whole[..], &whole[..]].concat());
    for (i, bytes) in foreign.iter().enumerate() {
        file.set_len(0).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        assert!(!is_used(&folder), "foreign file {i}");
    }
    write(&folder, key("graph"));
    check(&folder, key("graph"));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
