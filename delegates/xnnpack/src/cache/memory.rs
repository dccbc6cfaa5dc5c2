//! Where packed weights lie.

use super::disk::Mapped;
use crate::pages::Pages;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// What packed weights start at a multiple of: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// Bytes that can be read past the end of packed weights: kernels load whole vectors.
pub const SLACK: usize = 128;

/// Most memory that weights have in common. Whoever keeps small weights alive keeps as much at most.
const PIECE: usize = 4 << 20;

/// Room of as many bytes has its pages taken from the system at once: with less, the call is not worth it, and what is
/// larger may be filled by several threads.
const POPULATED: Range<usize> = (16 << 10)..PIECE;

/// From this many bytes on, packed weights may be brought together in huge pages.
const HUGE: usize = 2 << 20;

/// Gives room to pack into, in pieces that small weights share: so they lie in few pages.
#[derive(Debug)]
pub struct Supply {
    /// The size of pieces.
    size: usize,
    /// The last piece, and how much of it is given away.
    piece: Mutex<Option<(Arc<Pages>, usize)>>,
}

impl Supply {
    /// For weights of about `expected` bytes in all. Takes no memory yet.
    pub fn new(expected: usize) -> Self {
        // Somewhat more: packed weights are padded.
        let size = expected.saturating_add(expected / 8).clamp(1 << 16, PIECE);
        Self { size, piece: Mutex::new(None) }
    }

    /// Room for `len` bytes, or nothing if there is no memory.
    pub fn room(&self, len: usize) -> Option<Room> {
        let room = self.place(len)?;
        if POPULATED.contains(&len) {
            room.pages.populate(room.start..room.start + len);
        }
        Some(room)
    }

    fn place(&self, len: usize) -> Option<Room> {
        let size = len.checked_add(SLACK)?.checked_next_multiple_of(ALIGNMENT)?;
        if size > self.size / 2 {
            return Some(Room { pages: Arc::new(Pages::new(size)?), start: 0, len });
        }
        let mut piece = self.piece.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((pages, used)) = &mut *piece
            && size <= pages.size() - *used
        {
            let start = *used;
            *used += size;
            return Some(Room { pages: Arc::clone(pages), start, len });
        }
        let pages = Arc::new(Pages::new(self.size)?);
        *piece = Some((Arc::clone(&pages), size));
        Some(Room { pages, start: 0, len })
    }
}

/// Memory to pack into: zeroed, at a multiple of [`ALIGNMENT`], [`SLACK`] bytes after it. Nobody else has a part of it.
#[derive(Debug)]
pub struct Room {
    pages: Arc<Pages>,
    start: usize,
    len: usize,
}

impl Room {
    /// Where it begins. It stays there.
    pub fn start(&self) -> *mut u8 {
        // Within the pages: `Supply` saw to that.
        self.pages.start().wrapping_add(self.start)
    }

    /// The bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `Supply` gives a range within the pages to one room only, so that these bytes are borrowed only
        // through it, and they were zeroed by the system.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }

    /// What was written to it.
    pub fn into_packed(self) -> Packed {
        if self.len >= HUGE {
            self.pages.keep();
        }
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
            Storage::Memory(room) => room.bytes(),
            Storage::File(file, range) => file.bytes().get(range.clone()).unwrap_or_default(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_apart() {
        let supply = Supply::new(1 << 20);
        let sizes = [0, 1, 63, 64, 65, 100_000, 400_000, 500_000, 600_000, 5 << 20, 1000];
        let mut rooms: Vec<Room> = sizes.iter().map(|&size| supply.room(size).unwrap()).collect();
        for (i, room) in rooms.iter_mut().enumerate() {
            assert!(room.start().addr().is_multiple_of(ALIGNMENT));
            assert_eq!(room.bytes_mut().len(), sizes[i]);
            assert!(room.bytes_mut().iter().all(|&b| b == 0), "zeroed");
            room.bytes_mut().fill(i as u8 + 1);
        }
        for (i, room) in rooms.iter().enumerate() {
            assert!(room.bytes().iter().all(|&b| b == i as u8 + 1), "nobody else wrote to it");
            assert!(room.start + room.len + SLACK <= room.pages.size(), "there is slack");
        }
        assert!(Arc::ptr_eq(&rooms[0].pages, &rooms[5].pages));
        assert!(supply.room(usize::MAX).is_none() && supply.room(usize::MAX / 2).is_none());
    }

    #[test]
    fn pieces_go_with_their_last_user() {
        let supply = Supply::new(1000);
        let (first, second) = (supply.room(100).unwrap(), supply.room(100).unwrap());
        let pages = Arc::downgrade(&first.pages);
        drop((supply, first));
        assert!(pages.upgrade().is_some());
        drop(second.into_packed());
        assert!(pages.upgrade().is_none());
    }
}
