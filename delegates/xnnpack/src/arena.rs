//! Memory for values: bytes at a fixed place, aligned for any vector.

use crate::pages::Pages;
use crate::plan::memory::ALIGNMENT;
use executorch_abi::{Error, Result, error::ET_ERROR_MEMORY_ALLOCATION_FAILED};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// From this many bytes on, memory comes in pages of its own.
const LARGE: usize = 1 << 18;

/// Zeroed bytes, aligned to [`ALIGNMENT`].
#[derive(Debug)]
pub struct Arena(Memory);

#[derive(Debug)]
enum Memory {
    Heap(NonNull<u8>, Layout),
    Pages(Pages),
}

// SAFETY: plain memory, owned by this object alone.
unsafe impl Send for Arena {}

impl Arena {
    /// At least `size` bytes; one at least, so that there is always a place to point to.
    pub fn new(size: usize) -> Result<Self> {
        let exhausted = || {
            let text = format!("{size} bytes for values between nodes could not be allocated");
            Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, text)
        };
        if size >= LARGE {
            return Ok(Self(Memory::Pages(Pages::new(size).ok_or_else(exhausted)?)));
        }
        let layout = Layout::from_size_align(size.max(1), ALIGNMENT).map_err(|_| exhausted())?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(exhausted)?;
        Ok(Self(Memory::Heap(start, layout)))
    }

    /// Makes room for `size` bytes. What was there is lost if there was less.
    pub fn reserve(&mut self, size: usize) -> Result<()> {
        if size > self.size() {
            *self = Self::new(size)?;
        }
        Ok(())
    }

    /// The number of bytes.
    pub fn size(&self) -> usize {
        match &self.0 {
            Memory::Heap(_, layout) => layout.size(),
            Memory::Pages(pages) => pages.size(),
        }
    }

    /// The first byte. The memory may be read and written through it as long as the arena is neither dropped nor made
    /// larger.
    pub fn start(&self) -> *mut u8 {
        match &self.0 {
            Memory::Heap(start, _) => start.as_ptr(),
            Memory::Pages(pages) => pages.start(),
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Memory::Heap(start, layout) = self.0 {
            // SAFETY: allocated with this layout, freed once.
            unsafe { dealloc(start.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_when_it_must() {
        let mut arena = Arena::new(0).unwrap();
        assert!(arena.size() > 0 && arena.start().addr().is_multiple_of(ALIGNMENT));
        arena.reserve(100).unwrap();
        assert_eq!(arena.size(), 100);
        let start = arena.start();
        arena.reserve(50).unwrap();
        assert_eq!((arena.size(), arena.start()), (100, start));
        let error = arena.reserve(usize::MAX / 2).unwrap_err();
        assert_eq!(error.code, ET_ERROR_MEMORY_ALLOCATION_FAILED);
        assert_eq!(arena.size(), 100, "as it was");
    }
}
