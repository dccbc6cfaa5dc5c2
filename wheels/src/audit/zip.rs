//! The archive itself, before anything in it is believed: every tool must see the same files in it.
//!
//! The central directory is read here, byte by byte, because libraries hide what matters: names that occur twice, headers
//! that contradict each other, bytes that belong to no file. The contents are then inflated by a library, within limits.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::finding::{Findings, Rule};
use crate::archive::Entry;

/// Most files of a wheel.
const MAX_FILES: usize = 20_000;
/// Largest unpacked size of all files.
const MAX_UNPACKED: u64 = 2 << 30;
/// Largest ratio of unpacked to packed size, for files above [`SMALL`].
const MAX_RATIO: u64 = 100;
/// Files up to this size may be packed at any ratio.
const SMALL: u64 = 1 << 20;

const REBUILD: &str = "pack the wheel again with a plain zip writer";

/// One record of the central directory.
struct Member {
    name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u32,
    unpacked: u32,
    mode: u32,
    offset: usize,
}

/// The files of the archive, or nothing if it cannot be trusted; then `findings` has the reasons.
pub(super) fn read(bytes: &[u8], findings: &mut Findings<'_>) -> Option<Vec<Entry>> {
    let members = match directory(bytes) {
        Ok(members) => members,
        Err(found) => {
            findings.add(Rule::ZipStructure, found, "a plain zip archive and nothing else", REBUILD);
            return None;
        }
    };
    let sound = [
        layout(bytes, &members, findings),
        names(&members, findings),
        kinds(&members, findings),
        sizes(&members, findings),
    ];
    if sound.contains(&false) {
        return None;
    }
    contents(bytes, &members, findings)
}

/// Little-endian reads that know where the bytes end.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads the central directory.
fn directory(bytes: &[u8]) -> Result<Vec<Member>, String> {
    let end = bytes.len().checked_sub(22).ok_or("too few bytes for an archive")?;
    let field = |at: usize| u16_at(bytes, end + at).ok_or("too few bytes for an archive");
    if u32_at(bytes, end) != Some(0x0605_4b50) || field(20)? != 0 {
        return Err(
            "no end record as the last 22 bytes: cut off, or with bytes or a comment behind it".into()
        );
    }
    let (count, size, start) = (field(10)?, u32_at(bytes, end + 12), u32_at(bytes, end + 16));
    if field(4)? != 0 || field(6)? != 0 || field(8)? != count || count == u16::MAX {
        return Err("several disks, or a count of files beyond plain zip".into());
    }
    let (size, start) = (size.unwrap_or(0) as usize, start.unwrap_or(0) as usize);
    if start.checked_add(size) != Some(end) {
        return Err(format!("central directory at {start} with {size} bytes, end record at {end}"));
    }
    let mut members = Vec::with_capacity(count.into());
    let mut at = start;
    while at < end {
        let (member, next) =
            member(&bytes[..end], at).ok_or_else(|| format!("a broken directory record at {at}"))?;
        members.push(member);
        at = next;
    }
    if members.len() != usize::from(count) {
        return Err(format!("{} directory records, the end record says {count}", members.len()));
    }
    Ok(members)
}

fn member(bytes: &[u8], at: usize) -> Option<(Member, usize)> {
    if u32_at(bytes, at)? != 0x0201_4b50 {
        return None;
    }
    let length = |field: usize| u16_at(bytes, at + field).map(usize::from);
    let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
    let text = bytes.get(at + 46..at + 46 + name)?;
    let member = Member {
        name: std::str::from_utf8(text).ok()?.to_owned(),
        flags: u16_at(bytes, at + 8)?,
        method: u16_at(bytes, at + 10)?,
        crc: u32_at(bytes, at + 16)?,
        packed: u32_at(bytes, at + 20)?,
        unpacked: u32_at(bytes, at + 24)?,
        // The upper half holds the mode where Unix wrote the archive.
        mode: if u16_at(bytes, at + 4)? >> 8 == 3 { u32_at(bytes, at + 38)? >> 16 } else { 0 },
        offset: u32_at(bytes, at + 42)? as usize,
    };
    let next = at + 46 + name + extra + comment;
    (next <= bytes.len()).then_some((member, next))
}

/// Files lie one behind the other from the first byte to the directory, and their own headers agree with it.
fn layout(bytes: &[u8], members: &[Member], findings: &mut Findings<'_>) -> bool {
    let mut order: Vec<&Member> = members.iter().collect();
    order.sort_by_key(|member| member.offset);
    let start = bytes.len().checked_sub(6).and_then(|at| u32_at(bytes, at)).unwrap_or(0) as usize;
    let mut expected = 0;
    for (place, member) in order.iter().enumerate() {
        let next = order.get(place + 1).map_or(start, |next| next.offset);
        let found = if member.offset != expected {
            Some(format!("`{}` at byte {}, expected at {expected}", member.name, member.offset))
        } else {
            match local(bytes, member) {
                Some(end) if descriptor(bytes, member, end, next) => None,
                Some(end) => {
                    Some(format!("`{}` ends at byte {end}, the next file starts at {next}", member.name))
                }
                None => Some(format!("`{}`: its own header contradicts the directory", member.name)),
            }
        };
        if let Some(found) = found {
            let allowed = "files one behind the other, each with one truth about it";
            findings.add(Rule::ZipStructure, found, allowed, REBUILD);
            return false;
        }
        expected = next;
    }
    if order.is_empty() {
        findings.add(Rule::ZipStructure, "no file", "the files of a wheel", REBUILD);
    }
    !order.is_empty()
}

/// Where the packed bytes of `member` end, if its own header agrees with the directory.
fn local(bytes: &[u8], member: &Member) -> Option<usize> {
    let at = member.offset;
    let name = usize::from(u16_at(bytes, at + 26)?);
    let extra = usize::from(u16_at(bytes, at + 28)?);
    let later = member.flags & 8 != 0;
    let number = |field: usize, value: u32| {
        u32_at(bytes, at + field).is_some_and(|found| found == value || (later && found == 0))
    };
    let same = u32_at(bytes, at)? == 0x0403_4b50
        && u16_at(bytes, at + 6)? == member.flags
        && u16_at(bytes, at + 8)? == member.method
        && bytes.get(at + 30..at + 30 + name)? == member.name.as_bytes()
        && number(14, member.crc)
        && number(18, member.packed)
        && number(22, member.unpacked);
    same.then(|| (at + 30 + name + extra).checked_add(member.packed as usize))?
}

/// Whether nothing but the data descriptor that the flags announce lies between `end` and `next`.
fn descriptor(bytes: &[u8], member: &Member, end: usize, next: usize) -> bool {
    if member.flags & 8 == 0 {
        return end == next;
    }
    let signature = if u32_at(bytes, end) == Some(0x0807_4b50) { 4 } else { 0 };
    let values = [member.crc, member.packed, member.unpacked];
    let agrees =
        values.iter().enumerate().all(|(i, value)| u32_at(bytes, end + signature + 4 * i) == Some(*value));
    agrees && end + signature + 12 == next
}

fn names(members: &[Member], findings: &mut Findings<'_>) -> bool {
    let mut seen = HashMap::new();
    let mut sound = true;
    for member in members {
        let name = &member.name;
        let path = name.strip_suffix('/').unwrap_or(name);
        let bad = path.split('/').any(|part| part.is_empty() || part == "." || part == "..");
        if bad || name.contains(['\\', ':']) || name.chars().any(char::is_control) {
            let allowed = "relative paths with `/`, without `.`, `..`, drives and control characters";
            findings.add(
                Rule::ZipName,
                format!("{name:?}"),
                allowed,
                "name the file by its path in the wheel",
            );
            sound = false;
        }
        if let Some(other) = seen.insert(path.to_lowercase(), name) {
            let found = format!("{name:?} and {other:?}");
            let mend = "remove one of them: which one is installed depends on the tool";
            findings.add(Rule::ZipDuplicate, found, "each name once, in any case of its letters", mend);
            sound = false;
        }
    }
    sound
}

fn kinds(members: &[Member], findings: &mut Findings<'_>) -> bool {
    let mut sound = true;
    for member in members {
        let name = &member.name;
        // Types of files in Unix modes; zero where the writer gave none.
        if ![0, 0o100_000, 0o040_000].contains(&(member.mode & 0o170_000)) {
            let found = format!("`{name}` with mode {:o}", member.mode);
            findings.add(
                Rule::ZipLink,
                found,
                "plain files and folders",
                "put the file itself into the wheel",
            );
            sound = false;
        }
        if member.flags & 1 != 0 || ![0, 8].contains(&member.method) {
            let found = format!("`{name}` with method {} and flags {:#x}", member.method, member.flags);
            findings.add(Rule::ZipStructure, found, "stored or deflated, not encrypted", REBUILD);
            sound = false;
        }
    }
    sound
}

fn sizes(members: &[Member], findings: &mut Findings<'_>) -> bool {
    let mend = "take out what does not belong into a wheel";
    if members.len() > MAX_FILES {
        let found = format!("{} files", members.len());
        findings.add(Rule::ZipBomb, found, format!("{MAX_FILES} files"), mend);
        return false;
    }
    let total: u64 = members.iter().map(|member| u64::from(member.unpacked)).sum();
    if total > MAX_UNPACKED {
        let found = format!("{total} unpacked bytes");
        findings.add(Rule::ZipBomb, found, format!("{MAX_UNPACKED} bytes"), mend);
        return false;
    }
    let mut sound = true;
    for member in members {
        let (packed, unpacked) = (u64::from(member.packed), u64::from(member.unpacked));
        if unpacked > SMALL && unpacked > packed.saturating_mul(MAX_RATIO) {
            let found = format!("`{}`: {unpacked} bytes from {packed}", member.name);
            findings.add(Rule::ZipBomb, found, format!("a ratio of {MAX_RATIO}"), mend);
            sound = false;
        }
    }
    sound
}

fn contents(bytes: &[u8], members: &[Member], findings: &mut Findings<'_>) -> Option<Vec<Entry>> {
    let mut entries = Vec::with_capacity(members.len());
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok();
    for (index, member) in members.iter().enumerate().filter(|(_, member)| !member.name.ends_with('/')) {
        let mut data = Vec::new();
        let size = u64::from(member.unpacked);
        let read = archive.as_mut().and_then(|archive| {
            let file = archive.by_index(index).ok()?;
            let same = file.name() == member.name;
            file.take(size + 1).read_to_end(&mut data).ok()?;
            same.then_some(())
        });
        if data.len() as u64 > size {
            let found = format!("`{}` unpacks to more than the {size} bytes that it declares", member.name);
            findings.add(Rule::ZipBomb, found, "true sizes", REBUILD);
            return None;
        }
        if read.is_none() || data.len() as u64 != size {
            let found = format!("`{}` cannot be unpacked to what the directory says", member.name);
            findings.add(Rule::ZipStructure, found, "name, size and checksum of the directory", REBUILD);
            return None;
        }
        entries.push(Entry { path: member.name.clone(), data, executable: member.mode & 0o111 != 0 });
    }
    Some(entries)
}
