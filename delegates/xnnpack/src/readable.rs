//! Whether bytes past the end of a buffer can be read.
//!
//! The library's vector loops read up to `XNN_EXTRA_BYTES` past the end of what they work on, and ignore what they get.
//! Memory is mapped in pages, so those bytes are there if the last byte's page goes on that far.

use crate::plan::memory::SLACK;

/// The smallest page of any machine that we run on, in bytes.
const PAGE: usize = 4096;

/// Whether [`SLACK`] bytes after these can be read, as far as can be told.
#[inline]
pub fn past(bytes: &[u8]) -> bool {
    past_address(bytes.as_ptr().addr(), bytes.len())
}

/// [`past`], for `length` bytes at an address.
#[inline]
pub fn past_address(start: usize, length: usize) -> bool {
    // Nothing is known of the page of an empty buffer.
    length > 0 && (start.wrapping_add(length - 1) % PAGE) + SLACK < PAGE
}

/// A copy of bytes, followed by [`SLACK`] readable ones, aligned to 16 bytes.
#[derive(Debug)]
pub struct Copy {
    data: Box<[u128]>,
}

impl Copy {
    /// Copies `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        let blocks = bytes.as_chunks::<16>();
        let whole = blocks.0.iter().map(|block| u128::from_ne_bytes(*block));
        let mut last = [0; 16];
        last.iter_mut().zip(blocks.1).for_each(|(to, from)| *to = *from);
        // The rest of the bytes and what may be read after them: `SLACK` is one block.
        Self { data: whole.chain([u128::from_ne_bytes(last), 0]).collect() }
    }

    /// The first byte.
    pub fn as_ptr(&self) -> *const u8 {
        self.data.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_of_the_last_byte_counts() {
        assert!(past_address(4096, 4080) && !past_address(4096, 4081) && !past_address(4096, 4096));
        assert!(past_address(4096, 4097) && past_address(4095 - 16, 1) && !past_address(4095 - 15, 1));
        assert!(!past(&[]));
    }

    #[test]
    fn a_copy_goes_on() {
        for length in [0, 1, 15, 16, 17, 31, 32, 100] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8 + 1).collect();
            let copy = Copy::new(&bytes);
            let all: Vec<u8> = copy.data.iter().flat_map(|block| block.to_ne_bytes()).collect();
            assert!(all.starts_with(&bytes) && all.len() >= bytes.len() + SLACK);
            assert!(all[bytes.len()..].iter().all(|&b| b == 0));
        }
    }
}
