//! The thread pool as the library knows it.

use executorch_xnnpack_sys::pool::{Pool, pthreadpool_t};
use std::ptr::NonNull;

/// A number of threads of the process's pool, by which the library divides its work.
#[derive(Debug)]
pub struct Threads {
    /// Its own allocation, since runtimes keep its address.
    pool: NonNull<Pool>,
    count: usize,
}

// SAFETY: the object is a number; one thread at a time uses it.
unsafe impl Send for Threads {}
// SAFETY: without `&mut` it is only read.
unsafe impl Sync for Threads {}

impl Threads {
    /// Some threads; none is started.
    pub fn new(count: usize) -> Self {
        Self { pool: NonNull::from(Box::leak(Box::new(Pool::new(count)))), count }
    }

    /// Their number.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Changes their number. Every runtime on them has to be reshaped before it runs again.
    pub fn set_count(&mut self, count: usize) {
        // SAFETY: allocated by `new`. Runtimes read it while they are driven, which `&mut self` excludes: they are
        // driven by the instance that owns both.
        unsafe { self.pool.write(Pool::new(count)) };
        self.count = count;
    }

    /// For the library, valid as long as this object.
    pub fn as_ptr(&self) -> pthreadpool_t {
        self.pool.as_ptr()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once, after the runtimes that use it.
        drop(unsafe { Box::from_raw(self.pool.as_ptr()) });
    }
}
