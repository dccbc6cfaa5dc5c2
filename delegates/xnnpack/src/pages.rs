//! Zeroed memory from the system, in pages.
//!
//! Memory costs most when it is touched first: a fault for each page, and in a virtual machine whose host takes free memory
//! back, another one on the host. One call for many pages ([`Pages::populate`]) saves a part of it. Huge pages would save
//! more, and cost ten times as much where the host has to find 2 MiB for each: they are left to the system's own time
//! ([`Pages::keep`]).

use memmap2::{Advice, MmapOptions, MmapRaw};
use std::ops::Range;

/// Zeroed memory of its own pages, at a fixed place.
#[derive(Debug)]
pub struct Pages(MmapRaw);

impl Pages {
    /// At least `size` bytes, or nothing if there is no memory.
    pub fn new(size: usize) -> Option<Self> {
        MmapOptions::new().len(size.max(1)).map_anon().ok().map(|map| Self(MmapRaw::from(map)))
    }

    /// The first byte. All may be read and written through it as long as this object lives.
    pub fn start(&self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// Number of bytes.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// Takes the pages of these bytes from the system at once, which costs less than a fault for each. They are about to be
    /// filled by one thread: for several, faults cost less.
    pub fn populate(&self, bytes: Range<usize>) {
        // Best effort: systems before Linux 5.14 refuse it.
        let _ = self.0.advise_range(Advice::PopulateWrite, bytes.start, bytes.len());
    }

    /// To be called when all bytes are written, and will be read for long: the system may bring them together in huge pages
    /// when it has time.
    pub fn keep(&self) {
        // Advice: small pages do as well.
        let _ = self.0.advise(Advice::HugePage);
    }
}

/// Brings the pages of constants in at once, if the system can: one call costs less than a fault for each few of them.
pub fn read_ahead(bytes: &[u8]) {
    // SAFETY: asks for the system's page size.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    let skipped = bytes.as_ptr().addr().next_multiple_of(page) - bytes.as_ptr().addr();
    let size = bytes.len().saturating_sub(skipped) / page * page;
    if size > 0 {
        let start = bytes.as_ptr().wrapping_add(skipped).cast_mut();
        // Best effort: systems before Linux 5.14 refuse it.
        // SAFETY: whole pages within the slice, which are only read.
        unsafe { libc::madvise(start.cast(), size, libc::MADV_POPULATE_READ) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeroed_and_as_many_as_asked_for() {
        for size in [0, 1, 5000, 4 << 20] {
            let pages = Pages::new(size).unwrap();
            assert_eq!(pages.size(), size.max(1));
            pages.populate(0..size / 2);
            pages.populate(size / 3..size);
            // SAFETY: the memory is there, and nobody else has it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(pages.start(), pages.size()) };
            assert!(bytes.iter().all(|&b| b == 0));
            bytes.fill(1);
            pages.populate(0..size);
            pages.keep();
            assert!(bytes.iter().all(|&b| b == 1), "nothing is changed");
        }
        assert!(Pages::new(usize::MAX / 2).is_none());
    }
}
