//! Bytes of the runtime that a delegate owns.

use executorch_abi::loader::et_buffer_t;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// The bytes that the exporter made for the delegate. Large ones lie in the file's mapping and take memory as they are
/// read; dropping them gives that back.
pub type Payload<'m> = Buffer<'m>;

/// Bytes, given back to the runtime when dropped. They are there as long as the method, `'m`, at most.
///
/// They start at an address that is a multiple of 16 if they come from a segment of the file, at any address if not.
pub struct Buffer<'m> {
    raw: et_buffer_t,
    life: PhantomData<&'m [u8]>,
}

// SAFETY: the bytes are not written while the buffer lives, and `free` may run on any thread.
unsafe impl Send for Buffer<'_> {}
// SAFETY: as above.
unsafe impl Sync for Buffer<'_> {}

impl Buffer<'_> {
    /// Takes a buffer over.
    ///
    /// # Safety
    /// `raw` is a valid buffer during `'m`, or until it is freed if that comes first; nobody else frees it.
    pub(crate) unsafe fn new(raw: et_buffer_t) -> Self {
        Self { raw, life: PhantomData }
    }
}

impl Deref for Buffer<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.raw.size == 0 || self.raw.data.is_null() {
            return &[];
        }
        // SAFETY: the contract of `new`: the bytes are there until `drop`.
        unsafe { std::slice::from_raw_parts(self.raw.data.cast(), self.raw.size) }
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        if let Some(free) = self.raw.free {
            // SAFETY: the buffer is owned, so this is the one call of `free`.
            unsafe { free(self.raw.context, self.raw.data, self.raw.size) }
        }
    }
}

impl fmt::Debug for Buffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}
