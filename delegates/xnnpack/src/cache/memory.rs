//! Where packed weights lie.

use super::disk::Mapped;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What packed weights start at a multiple of: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// Bytes that can be read past the end of packed weights: kernels load whole vectors.
pub const SLACK: usize = 128;

/// Memory to pack into, zeroed, at a multiple of [`ALIGNMENT`].
pub struct Room {
    bytes: Vec<u8>,
    range: Range<usize>,
}

impl Room {
    /// Room for `len` bytes, or nothing if there is no memory.
    pub fn new(len: usize) -> Option<Self> {
        let size = len.checked_add(ALIGNMENT + SLACK)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).ok()?;
        bytes.resize(size, 0);
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Some(Self { bytes, range: start..start.checked_add(len)? })
    }

    /// The room. It stays where it is.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.range.clone()).unwrap_or_default()
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.bytes.as_ptr().addr() + self.range.start
    }

    /// What was written to it.
    pub fn into_packed(self) -> Packed {
        Packed(Storage::Memory(self))
    }
}

/// Packed weights: they start at a multiple of [`ALIGNMENT`], never change, and stay where they are; [`SLACK`] more
/// bytes can be read.
pub struct Packed(Storage);

enum Storage {
    Memory(Room),
    File(Arc<Mapped>, Range<usize>),
}

impl Packed {
    /// A part of a file, which has been checked.
    pub(super) fn in_file(file: Arc<Mapped>, range: Range<usize>) -> Self {
        Self(Storage::File(file, range))
    }

    /// Whether other processes share the memory.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0, Storage::File(..))
    }
}

impl AsRef<[u8]> for Packed {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Storage::Memory(room) => room.bytes.get(room.range.clone()),
            Storage::File(file, range) => file.bytes().get(range.clone()),
        }
        .unwrap_or_default()
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Packed({} bytes, {})",
            self.as_ref().len(),
            if self.is_mapped() { "in a file" } else { "in memory" }
        )
    }
}
