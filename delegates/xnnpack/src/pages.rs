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
