//! Where packed operands lie: bytes that this process allocated, or that somebody lent (a part of a
//! memory-mapped file), with a header that says what they are.

use crate::error::{Error, Result, product};
use crate::isa::{Element, Isa};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The version of the packed formats. Bytes of another version are refused: pack again.
pub const PACKING_VERSION: u32 = 1;

/// Packed bytes start on, and are a multiple of, lines of this many bytes.
pub const PACKED_ALIGNMENT: usize = 64;

/// Whoever keeps bytes readable: a vector, a memory map.
pub type BytesOwner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Shared read-only bytes: a part of what an owner keeps alive. A clone is cheap and copies no bytes.
#[derive(Clone)]
pub struct PackedBytes {
    owner: BytesOwner,
    range: Range<usize>,
}

impl PackedBytes {
    /// A part of the owner's bytes. Fails if it lies outside of them, or if it does not start on a
    /// multiple of [`PACKED_ALIGNMENT`] in memory.
    pub fn new(owner: BytesOwner, range: Range<usize>) -> Result<Self> {
        let bytes = Self { owner, range };
        let address = bytes.get()?.as_ptr();
        if address.align_offset(PACKED_ALIGNMENT) != 0 {
            return Err(Error::new(format!(
                "packed bytes have to start on a multiple of {PACKED_ALIGNMENT} in memory, but the part \
                 {:?} does not: align it in its file, or copy it",
                bytes.range
            )));
        }
        Ok(bytes)
    }

    /// The bytes, to be written to a file. Fails only if the owner no longer has them.
    pub fn get(&self) -> Result<&[u8]> {
        let all = (*self.owner).as_ref();
        all.get(self.range.clone()).ok_or_else(|| {
            Error::new(format!("packed bytes {:?} lie outside of the {} there are", self.range, all.len()))
        })
    }

    /// Elements of the bytes: `len` of them from byte `start`.
    ///
    /// The owner is asked anew each time, so that one that changes its mind is noticed.
    pub(crate) fn elements<T: Element>(&self, start: usize, len: usize) -> Result<&[T]> {
        let bytes = self.get()?.get(start..).unwrap_or_default();
        let part = len.checked_mul(size_of::<T>()).and_then(|end| bytes.get(..end));
        part.and_then(|part| bytemuck::try_cast_slice(part).ok()).ok_or_else(|| {
            Error::new(format!("packed bytes have no {len} aligned elements from byte {start}"))
        })
    }

    /// A part of these bytes.
    pub(crate) fn part(&self, range: Range<usize>) -> Result<Self> {
        let start = self.range.start.saturating_add(range.start);
        Self::new(Arc::clone(&self.owner), start..start.saturating_add(range.len()))
    }

    /// New bytes of this length, filled by `fill`, which gets zeros.
    pub(crate) fn build(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Self> {
        let room = len
            .checked_add(PACKED_ALIGNMENT)
            .filter(|&room| isize::try_from(room).is_ok())
            .ok_or_else(|| Error::new(format!("{len} packed bytes do not fit the address space")))?;
        let mut bytes = vec![0u8; room];
        let start = bytes.as_ptr().align_offset(PACKED_ALIGNMENT);
        let range = start..start + len;
        fill(&mut bytes[range.clone()])?;
        Self::new(Arc::new(bytes), range)
    }
}

impl fmt::Debug for PackedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedBytes({} bytes)", self.range.len())
    }
}

/// What some packed bytes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Left = 1,
    Right,
    Conv,
    Transposed,
}

/// The first line of packed bytes: everything that reading them relies on, but for their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header([u8; Header::LEN]);

impl Header {
    pub(crate) const LEN: usize = PACKED_ALIGNMENT;
    const MAGIC: [u8; 8] = *b"ETPACKED";

    /// The header of `len` bytes (with the header). `numbers` are all sizes and parameters.
    pub(crate) fn new<T>(kind: Kind, isa: Isa, len: usize, numbers: &[usize]) -> Self {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&Self::MAGIC);
        bytes[8..12].copy_from_slice(&PACKING_VERSION.to_le_bytes());
        bytes[12] = kind as u8;
        bytes[13] = isa.code();
        bytes[14] = size_of::<T>() as u8;
        bytes[16..24].copy_from_slice(&(len as u64).to_le_bytes());
        // FNV-1a: tells shapes apart. It protects from mistakes; wrong values harm nobody.
        let hash = numbers.iter().flat_map(|&n| (n as u64).to_le_bytes());
        let hash = hash.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        bytes[24..32].copy_from_slice(&hash.to_le_bytes());
        Self(bytes)
    }

    fn len(&self) -> u64 {
        let mut len = [0; 8];
        len.copy_from_slice(&self.0[16..24]);
        u64::from_le_bytes(len)
    }

    /// Writes the header, after checking that `to` has the right length and alignment.
    pub(crate) fn write(&self, to: &mut [u8]) -> Result<()> {
        if to.len() as u64 != self.len() || to.as_ptr().align_offset(PACKED_ALIGNMENT) != 0 {
            return Err(Error::new(format!(
                "packing needs {} bytes that start on a multiple of {PACKED_ALIGNMENT}, got {} at {:p}",
                self.len(),
                to.len(),
                to.as_ptr()
            )));
        }
        to[..Self::LEN].copy_from_slice(&self.0);
        Ok(())
    }

    /// Checks that `bytes` are what this header says.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<()> {
        let wrong = |what: String| Err(Error::new(format!("packed bytes {what}: pack again")));
        let Some(found) = bytes.get(..Self::LEN).filter(|_| bytes.len() as u64 == self.len()) else {
            return wrong(format!("should be {} long, but are {}", self.len(), bytes.len()));
        };
        for (range, what) in [
            (0..8, "do not start with the mark of packed operands"),
            (8..12, "are of another version of the format"),
            (12..13, "hold another kind of operand"),
            (13..14, "are for another instruction set"),
            (14..16, "are of another number type"),
            (16..Self::LEN, "are for other sizes or parameters"),
        ] {
            if found[range.clone()] != self.0[range] {
                return wrong(what.into());
            }
        }
        Ok(())
    }
}

/// Bytes of a header and `elements` of type `T`, in whole lines.
pub(crate) fn blob_len<T>(elements: usize) -> Result<usize> {
    let bytes = product("packed operand", &[elements, size_of::<T>()])?;
    bytes
        .checked_add(Header::LEN)
        .and_then(|len| len.checked_next_multiple_of(PACKED_ALIGNMENT))
        .ok_or_else(|| Error::new(format!("{elements} packed elements overflow the address space")))
}

/// The elements after the header of bytes that [`Header::write`] accepted.
pub(crate) fn elements_mut<T: Element>(bytes: &mut [u8]) -> Result<&mut [T]> {
    bytemuck::try_cast_slice_mut(&mut bytes[Header::LEN..])
        .map_err(|_| Error::new("packing needs aligned bytes of whole lines"))
}
