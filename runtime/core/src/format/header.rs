//! The headers that stand before a file's FlatBuffers structure.

use super::invalid;
use executorch_abi::error::*;
use executorch_abi::program::ET_HEADER_MIN_BYTES;
use executorch_abi::{Error, Result};

const PROGRAM_MAGIC: &[u8; 4] = b"eh00";
const PROGRAM_IDENTIFIER: &[u8; 4] = b"ET12";
const FLAT_TENSOR_MAGIC: &[u8; 4] = b"FH01";
const FLAT_TENSOR_IDENTIFIER: &[u8; 4] = b"FT01";

/// What a file's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderStatus {
    /// A program that this runtime reads.
    Compatible,
    /// A program of another format version.
    Incompatible,
    /// No program.
    NotPresent,
    /// Too few bytes were given.
    ShortData,
}

/// Where the parts of a `.pte` lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramHeader {
    /// Bytes of the structure, from the file's start.
    pub program_size: u64,
    /// Where segments start; 0 if there are none.
    pub segment_base: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl HeaderStatus {
    /// Looks at the first [`ET_HEADER_MIN_BYTES`] of a file.
    pub fn of(head: &[u8]) -> Self {
        match head.get(4..8) {
            _ if head.len() < ET_HEADER_MIN_BYTES => Self::ShortData,
            Some(found) if found == PROGRAM_IDENTIFIER => Self::Compatible,
            Some(found) if found.starts_with(b"ET") => Self::Incompatible,
            _ => Self::NotPresent,
        }
    }
}

impl ProgramHeader {
    /// Reads the header of a file of `file_size` bytes from its first bytes.
    pub fn parse(head: &[u8], file_size: u64) -> Result<Self> {
        let found = head.get(4..8).unwrap_or_default();
        if found != PROGRAM_IDENTIFIER {
            let found = found.escape_ascii();
            return Err(invalid(format!(
                "the file identifier at byte 4 is \"{found}\", expected \"ET12\": this is not an ExecuTorch program, \
                 or one of a version that this runtime does not read; export it with executorch 0.2 or later"
            )));
        }
        if head.get(8..12) != Some(PROGRAM_MAGIC) {
            return Ok(Self { program_size: file_size, segment_base: 0 });
        }
        let short = || invalid("the extended header is cut off: the file is truncated");
        let length = u32_at(head, 12).ok_or_else(short)?;
        if length < 24 {
            return Err(invalid(format!("the extended header says {length} bytes, expected at least 24")));
        }
        let program_size = u64_at(head, 16).ok_or_else(short)?;
        let segment_base = u64_at(head, 24).ok_or_else(short)?;
        let segment_size = if length >= 32 { u64_at(head, 32).ok_or_else(short)? } else { 0 };
        if program_size > file_size {
            return Err(truncated("structure", program_size, file_size));
        }
        if segment_base != 0 && segment_base < program_size {
            return Err(invalid(format!(
                "segments start at {segment_base}, inside the structure of {program_size} bytes"
            )));
        }
        let end = segment_base
            .checked_add(segment_size)
            .ok_or_else(|| invalid(format!("segments at {segment_base} of {segment_size} bytes overflow")))?;
        if end > file_size {
            return Err(truncated("segment data", end, file_size));
        }
        Ok(Self { program_size, segment_base })
    }
}

/// Where the parts of a `.ptd` lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatTensorHeader {
    /// Bytes of header and structure, from the file's start.
    pub structure_size: u64,
    /// Where segments start.
    pub segment_base: u64,
    /// Bytes of all segments.
    pub segment_size: u64,
}

impl FlatTensorHeader {
    /// Reads the header of a file of `file_size` bytes from its first bytes.
    pub fn parse(head: &[u8], file_size: u64) -> Result<Self> {
        let bad = |text: String| Error::new(ET_ERROR_INVALID_EXTERNAL_DATA, text);
        let found = head.get(4..8).unwrap_or_default();
        if found != FLAT_TENSOR_IDENTIFIER || head.get(8..12) != Some(FLAT_TENSOR_MAGIC) {
            let found = found.escape_ascii();
            return Err(bad(format!(
                "the file identifier at byte 4 is \"{found}\", expected \"FT01\" and its header: this is not a .ptd file"
            )));
        }
        let short = || bad("the header is cut off: the file is truncated".into());
        let length = u32_at(head, 12).ok_or_else(short)?;
        if length < 40 {
            return Err(bad(format!("the header says {length} bytes, expected at least 40")));
        }
        let at = |at| u64_at(head, at).ok_or_else(short);
        let (offset, size, segment_base, segment_size) = (at(16)?, at(24)?, at(32)?, at(40)?);
        let structure_size = offset.checked_add(size).filter(|&end| end <= file_size);
        let segment_end = segment_base.checked_add(segment_size).filter(|&end| end <= file_size);
        match (structure_size, segment_end) {
            (Some(structure_size), Some(_)) => Ok(Self { structure_size, segment_base, segment_size }),
            _ => Err(bad(format!(
                "the header says structure at {offset} of {size} bytes and segments at {segment_base} of \
                 {segment_size} bytes, but the file has {file_size} bytes: it is truncated or damaged"
            ))),
        }
    }
}

fn truncated(what: &str, end: u64, size: u64) -> Error {
    invalid(format!("the {what} ends at byte {end}, but the file has {size} bytes: it is truncated"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(length: u32, program: u64, base: u64, data: u64) -> Vec<u8> {
        let mut bytes = b"\0\0\0\0ET12eh00".to_vec();
        bytes.extend(length.to_le_bytes());
        for word in [program, base, data] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.resize(ET_HEADER_MIN_BYTES, 0);
        bytes
    }

    #[test]
    fn reads_both_header_lengths() {
        let expected = ProgramHeader { program_size: 100, segment_base: 128 };
        assert_eq!(ProgramHeader::parse(&head(32, 100, 128, 72), 200), Ok(expected));
        assert_eq!(ProgramHeader::parse(&head(24, 100, 128, u64::MAX), 200), Ok(expected));
    }

    #[test]
    fn refuses_what_does_not_fit() {
        for (length, program, base, data) in [
            (23, 100, 128, 72),
            (32, 201, 0, 0),
            (32, 100, 128, 73),
            (32, 100, 64, 0),
            (32, 100, u64::MAX, 2),
        ] {
            let error = ProgramHeader::parse(&head(length, program, base, data), 200).unwrap_err();
            assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM, "{error}");
        }
    }

    #[test]
    fn tells_statuses_apart() {
        assert_eq!(HeaderStatus::of(&head(32, 1, 0, 0)), HeaderStatus::Compatible);
        assert_eq!(HeaderStatus::of(&head(32, 1, 0, 0)[..63]), HeaderStatus::ShortData);
        let mut other = head(32, 1, 0, 0);
        other[6] = b'9';
        assert_eq!(HeaderStatus::of(&other), HeaderStatus::Incompatible);
        other[4] = b'X';
        assert_eq!(HeaderStatus::of(&other), HeaderStatus::NotPresent);
    }
}
