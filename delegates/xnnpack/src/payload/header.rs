//! Where the parts of a payload lie: a header before the structure, or the structure alone.

use super::incompatible;
use executorch_abi::error::ET_ERROR_INVALID_ARGUMENT;
use executorch_abi::{Error, Result};
use std::ops::Range;

const MAGIC: &[u8; 4] = b"XH00";
const IDENTIFIERS: [&[u8; 4]; 2] = [b"XN00", b"XN01"];

/// Bytes that the header has; a later version may have more.
const HEADER_SIZE: usize = 30;

/// The smallest structure: an offset and its identifier.
const MIN_STRUCTURE: usize = 8;

/// Ranges of a payload's bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Regions {
    /// The structure, which has one of the identifiers.
    pub structure: Range<usize>,
    /// Constants after it, if there is a header.
    pub constants: Option<Range<usize>>,
}

impl Regions {
    /// Reads the header of a payload, if it has one.
    pub fn of(blob: &[u8]) -> Result<Self> {
        let regions = if blob.get(4..8) == Some(MAGIC.as_slice()) {
            Self::of_header(blob)?
        } else {
            Self { structure: 0..blob.len(), constants: None }
        };
        let structure = blob.get(regions.structure.clone()).unwrap_or_default();
        let found = structure.get(4..8).unwrap_or_default();
        if !IDENTIFIERS.iter().any(|identifier| found == identifier.as_slice()) {
            return Err(incompatible(format!(
                "the identifier of an XNNPACK payload is \"{}\" ({} bytes), expected \"XN00\" or \"XN01\": it is truncated, \
                 or of a version that this delegate does not read; export the program with executorch 0.2 to 1.5",
                found.escape_ascii(),
                blob.len(),
            )));
        }
        Ok(regions)
    }

    fn of_header(blob: &[u8]) -> Result<Self> {
        let size = blob.len();
        let bad = |text: String| {
            let text = format!(
                "the header of an XNNPACK payload of {size} bytes {text}: it is truncated or damaged"
            );
            Error::new(ET_ERROR_INVALID_ARGUMENT, text)
        };
        let short = || bad(format!("is cut off, expected {HEADER_SIZE} bytes"));
        let length = usize::from(u16::from_le_bytes(field(blob, 8).ok_or_else(short)?));
        let word = |at| field(blob, at).map(u32::from_le_bytes).map(u64::from).ok_or_else(short);
        let (start, bytes, constants) = (word(10)?, word(14)?, word(18)?);
        let constant_bytes = u64::from_le_bytes(field(blob, 22).ok_or_else(short)?);
        if length < HEADER_SIZE {
            return Err(bad(format!("says that it has {length} bytes, expected at least {HEADER_SIZE}")));
        }
        let range = |what: &str, start: u64, bytes: u64| {
            let end = start.checked_add(bytes).and_then(|end| usize::try_from(end).ok());
            match (usize::try_from(start), end) {
                (Ok(start), Some(end)) if end <= size => Ok(start..end),
                _ => Err(bad(format!("says {what} at {start} of {bytes} bytes"))),
            }
        };
        let structure = range("structure", start, bytes)?;
        let constants = range("constants", constants, constant_bytes)?;
        if structure.start < length || structure.len() < MIN_STRUCTURE {
            return Err(bad(format!(
                "says structure at {start} of {bytes} bytes, expected it after the header's {length} and at least \
                 {MIN_STRUCTURE} long"
            )));
        }
        if constants.start < structure.end {
            return Err(bad(format!(
                "says constants at {}, inside the structure, which ends at {}",
                constants.start, structure.end
            )));
        }
        Ok(Self { structure, constants: Some(constants) })
    }
}

fn field<const N: usize>(blob: &[u8], at: usize) -> Option<[u8; N]> {
    blob.get(at..at + N)?.try_into().ok()
}
