//! Zeroed memory from the system.
//!
//! Memory costs most when it is touched first: a fault for each page. Large pieces lie in huge pages where the system has
//! them, which takes a fault for each 2 MiB.

use memmap2::{Advice, MmapOptions, MmapRaw};

/// A huge page.
pub const HUGE: usize = 2 << 20;

/// Zeroed memory of its own pages, at a fixed place.
#[derive(Debug)]
pub struct Pages(MmapRaw);

impl Pages {
    /// At least `size` bytes, or nothing if there is no memory.
    pub fn new(size: usize) -> Option<Self> {
        let map = MmapOptions::new().len(size.max(1)).map_anon().ok()?;
        if size >= HUGE {
            // Advice: small pages do as well.
            let _ = map.advise(Advice::HugePage);
        }
        Some(Self(MmapRaw::from(map)))
    }

    /// The first byte. All may be read and written through it as long as this object lives.
    pub fn start(&self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// Number of bytes.
    pub fn size(&self) -> usize {
        self.0.len()
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
