//! The container with device code for several architectures, as `executorch-cuda-native` writes it.
//!
//! All numbers are little-endian. A head of 16 bytes: `ETCUDA01`, the number of entries (u32), 0 (u32). Then 24 bytes for each
//! entry: its kind (u32: 1 is PTX, 2 a cubin), its architecture (u32: 90 is compute capability 9.0), its place from the
//! container's start and its length in bytes (u64 each). Then the code: cubins are ELF files as they are, PTX is text with a NUL
//! byte behind it.

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text that the driver compiles, for the architecture and all newer ones.
    Ptx,
    /// Machine code, for the architecture and newer ones of the same major.
    Cubin,
}

/// Code for one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it is.
    pub kind: Kind,
    /// What it is for: 90 is compute capability 9.0.
    pub architecture: u32,
    /// The code.
    pub code: &'a [u8],
}

/// The entries of a container; `None` if it is damaged.
pub fn entries(container: &[u8]) -> Option<Vec<Entry<'_>>> {
    if !container.starts_with(b"ETCUDA01") {
        return None;
    }
    let count = usize::try_from(u32_at(container, 8)?).ok()?;
    (0..count).map(|index| entry(container, 16_usize.checked_add(index.checked_mul(24)?)?)).collect()
}

fn entry(container: &[u8], at: usize) -> Option<Entry<'_>> {
    let kind = match u32_at(container, at)? {
        1 => Kind::Ptx,
        2 => Kind::Cubin,
        _ => return None,
    };
    let (place, length) = (size_at(container, at + 8)?, size_at(container, at + 16)?);
    let code = container.get(place..place.checked_add(length)?)?;
    // The driver finds the end of text by its NUL byte, that of a cubin by its head.
    let whole = match kind {
        Kind::Ptx => code.last() == Some(&0),
        Kind::Cubin => code.starts_with(b"\x7fELF") && code.len() >= 64,
    };
    whole.then_some(Entry { kind, architecture: u32_at(container, at + 4)?, code })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn size_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

/// The best code for a device of compute capability `device` (90 is 9.0): machine code of the same major, not newer, and as new
/// as there is; else PTX that is not newer.
pub fn choose<'a>(entries: &[Entry<'a>], device: u32) -> Option<Entry<'a>> {
    let usable = |entry: &&Entry<'a>| {
        entry.architecture <= device && (entry.kind == Kind::Ptx || entry.architecture / 10 == device / 10)
    };
    entries.iter().filter(usable).max_by_key(|entry| (entry.kind == Kind::Cubin, entry.architecture)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(parts: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut head = b"ETCUDA01".to_vec();
        head.extend((parts.len() as u64).to_le_bytes());
        let mut place = head.len() + 24 * parts.len();
        for (kind, architecture, code) in parts {
            head.extend(kind.to_le_bytes());
            head.extend(architecture.to_le_bytes());
            head.extend((place as u64).to_le_bytes());
            head.extend((code.len() as u64).to_le_bytes());
            place += code.len();
        }
        parts.iter().for_each(|part| head.extend(part.2));
        head
    }

    #[test]
    fn entries_are_read_and_damage_is_seen() {
        let elf = [b"\x7fELF".as_slice(), &[0; 60]].concat();
        let whole = container(&[(2, 80, &elf), (1, 90, b".target sm_90\n\0")]);
        let read = entries(&whole).unwrap();
        assert_eq!(read[0], Entry { kind: Kind::Cubin, architecture: 80, code: &elf });
        assert_eq!(read[1], Entry { kind: Kind::Ptx, architecture: 90, code: b".target sm_90\n\0" });
        for end in 0..whole.len() {
            assert_eq!(entries(&whole[..end]), None, "{end}");
        }
        for (kind, code) in [(3, elf.as_slice()), (1, b"no end"), (2, b"\x7fELF"), (2, b"no file")] {
            assert_eq!(entries(&container(&[(kind, 80, code)])), None);
        }
    }

    #[test]
    fn the_newest_usable_code_is_chosen() {
        let of = |kind, architecture| Entry { kind, architecture, code: b"" };
        let all = [
            of(Kind::Cubin, 80),
            of(Kind::Cubin, 86),
            of(Kind::Cubin, 90),
            of(Kind::Cubin, 100),
            of(Kind::Cubin, 120),
            of(Kind::Ptx, 120),
        ];
        let chosen = |device| choose(&all, device).map(|entry| (entry.kind, entry.architecture));
        assert_eq!(chosen(75), None);
        assert_eq!(chosen(80), Some((Kind::Cubin, 80)));
        assert_eq!(chosen(87), Some((Kind::Cubin, 86)));
        assert_eq!(chosen(90), Some((Kind::Cubin, 90)));
        assert_eq!(chosen(103), Some((Kind::Cubin, 100)));
        assert_eq!(chosen(110), None);
        assert_eq!(chosen(121), Some((Kind::Cubin, 120)));
        assert_eq!(chosen(130), Some((Kind::Ptx, 120)));
    }
}
