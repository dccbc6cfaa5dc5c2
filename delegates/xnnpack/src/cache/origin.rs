//! Which file mapped memory comes from, and in which state that file is.
//!
//! Weights lie in mapped files. Where a file and its state are known, they stand for the weights' contents, and nothing
//! has to be read to find what was packed from them. Linux tells both: `/proc/self/maps` names what is mapped where, and
//! every change of a file changes its `ctime`, which no program can set.

use super::digest::{Digest, Fields};
use super::state::State;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Longest line of `/proc/self/maps` that is understood: a path and some numbers.
const LONGEST_LINE: u64 = 8192;

/// A part of the address space that is mapped in one piece.
#[derive(Debug, Clone)]
struct Area {
    start: usize,
    end: usize,
    /// Where it starts in its file, and the file's state; nothing if its contents are not known by a file.
    file: Option<(u64, State)>,
}

/// The files behind memory. What was found is kept: ask for memory only while it is mapped.
#[derive(Debug, Default)]
pub struct Origins {
    areas: Mutex<Vec<Area>>,
}

impl Origins {
    /// What identifies the contents of `bytes` without reading them, if they lie in a mapped file that was not changed
    /// lately.
    pub fn identify(&self, bytes: &[u8]) -> Option<Digest> {
        let start = bytes.as_ptr().addr();
        let end = start.checked_add(bytes.len())?;
        let area = self.area(start)?;
        let (offset, state) = area.file.filter(|_| end <= area.end)?;
        let offset = offset.checked_add((start - area.start) as u64)?;
        // Memory past the end of a file is none of its contents.
        if offset.checked_add(bytes.len() as u64)? > state.size() {
            return None;
        }
        let mut fields = Fields::new("bytes of a file");
        state.write(&mut fields);
        Some(fields.number(offset).number(bytes.len() as u64).finish())
    }

    fn area(&self, address: usize) -> Option<Area> {
        let mut areas = self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = areas.iter().find(|area| (area.start..area.end).contains(&address)) {
            return Some(known.clone());
        }
        let found = find_area(address)?;
        areas.push(found.clone());
        Some(found)
    }
}

/// Reads up to the area of an address. Files that were mapped last come early: addresses are given out downwards.
fn find_area(address: usize) -> Option<Area> {
    let mut maps = BufReader::new(File::open("/proc/self/maps").ok()?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if maps.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let Some(area) = Line::parse(line.trim_ascii_end()) else { continue };
        if area.range.contains(&address) {
            return Some(Area { start: area.range.start, end: area.range.end, file: area.file() });
        }
    }
}

/// A line of `/proc/self/maps`: `start-end permissions offset major:minor inode path`.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    range: Range<usize>,
    permissions: &'a str,
    offset: u64,
    device: (u32, u32),
    inode: u64,
    path: &'a [u8],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let end = rest.iter().position(|&b| b == b' ').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after.trim_ascii_start();
            std::str::from_utf8(word).ok()
        };
        let (start, end) = word()?.split_once('-')?;
        let permissions = word()?;
        let offset = u64::from_str_radix(word()?, 16).ok()?;
        let (major, minor) = word()?.split_once(':')?;
        Some(Self {
            range: usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?,
            permissions,
            offset,
            device: (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?),
            inode: word()?.parse().ok()?,
            path: rest,
        })
    }

    /// The file, and where in it the area starts, if the memory can only hold what the file holds.
    fn file(&self) -> Option<(u64, State)> {
        // Whoever can write to a private mapping may have changed it.
        if self.permissions.as_bytes().get(1) != Some(&b'-') || self.path.first() != Some(&b'/') {
            return None;
        }
        let metadata = Path::new(OsStr::from_bytes(self.path)).metadata().ok()?;
        // Another file may have the path by now.
        let device = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
        if !metadata.is_file() || metadata.ino() != self.inode || device != self.device {
            return None;
        }
        let state = State::of(&metadata);
        state.is_settled(SystemTime::now()).then_some((self.offset, state))
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::SETTLED;
    use super::*;
    use memmap2::Mmap;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::time::Duration;

    const PAGE: usize = 4096;

    /// A file of four pages.
    fn new_file(fill: u8) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![fill; 4 * PAGE]).unwrap();
        file
    }

    fn map(file: &tempfile::NamedTempFile) -> Mmap {
        // SAFETY: the tests do not truncate the file.
        unsafe { Mmap::map(file.as_file()) }.unwrap()
    }

    #[test]
    fn lines_are_understood() {
        let line = b"7f0102030000-7f0102034000 r--p 00002000 fd:01 1234                       /a/b c.pte";
        assert_eq!(
            Line::parse(line),
            Some(Line {
                range: 0x7f01_0203_0000..0x7f01_0203_4000,
                permissions: "r--p",
                offset: 0x2000,
                device: (0xfd, 1),
                inode: 1234,
                path: b"/a/b c.pte",
            })
        );
        let anonymous =
            Line::parse(b"7ffd0000-7ffd1000 rw-p 00000000 00:00 0                  [stack]").unwrap();
        assert_eq!(anonymous.file(), None);
        for bad in [
            &b""[..],
            b"1-2",
            b"x-y r--p 0 0:0 0 /",
            b"1-2 r--p 0 0 0 /",
            b"1-2 r--p z 0:0 0 /",
            b"\xff\xff-1 r 0 0:0 0",
        ] {
            assert_eq!(Line::parse(bad), None);
        }
    }

    #[test]
    fn only_mapped_files_are_known() {
        let file = new_file(1);
        let mapped = map(&file);
        assert_eq!(Origins::default().identify(&mapped), None, "the file was changed just now");
        std::thread::sleep(SETTLED + Duration::from_millis(100));

        let origins = Origins::default();
        let whole = origins.identify(&mapped).unwrap();
        let again = map(&file);
        assert_eq!(Origins::default().identify(&again), Some(whole), "another mapping of the same file");
        let parts = [&mapped[..PAGE], &mapped[PAGE..], &mapped[PAGE..2 * PAGE], &mapped[1..PAGE]];
        let parts: Vec<_> = parts.into_iter().map(|part| origins.identify(part).unwrap()).collect();
        for (i, part) in parts.iter().enumerate() {
            assert!(!parts[..i].contains(part) && *part != whole);
        }

        // SAFETY: as above; nobody else maps it for writing.
        let writable = unsafe { memmap2::MmapOptions::new().map_copy(file.as_file()) }.unwrap();
        assert_eq!(Origins::default().identify(&writable), None, "its contents may differ from the file's");
        assert_eq!(Origins::default().identify(&vec![1; PAGE]), None, "no file");

        let state = |file: &tempfile::NamedTempFile| State::of(&file.as_file().metadata().unwrap());
        let before = state(&file);
        file.as_file().write_at(&[2], 0).unwrap();
        assert_ne!(state(&file), before);
        assert_eq!(Origins::default().identify(&again), None, "changed again");

        drop(file);
        assert_eq!(Origins::default().identify(&again), None, "deleted");
    }
}
