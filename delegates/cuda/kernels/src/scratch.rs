//! Memory that a call needs for itself, in the order of its stream.

use crate::error::Result;
use executorch_cuda_driver::{StreamRef, memory};
use std::ffi::c_void;

/// Device memory until the stream has done what was put on it before this is dropped.
pub struct Scratch {
    stream: StreamRef,
    data: *mut c_void,
}

impl Scratch {
    /// Allocates `count` elements.
    pub fn new<T>(stream: StreamRef, count: u64) -> Result<Self> {
        // A product that does not fit is as impossible as the largest one that does.
        let bytes = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size_of::<T>());
        Ok(Self { stream, data: memory::allocate_async(stream, bytes)? })
    }

    /// Its address.
    pub fn address(&self) -> *mut c_void {
        self.data
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, and freed once, behind what uses it on the same stream.
        let _ = unsafe { memory::free_async(self.stream, self.data) };
    }
}
