//! The functions of `pthreadpool.h`, over the one thread pool of the process.

mod deal;
mod denormals;
mod forms;
mod grid;

pub use forms::*;

use deal::deal;
use denormals::FlushToZero;
use executorch_abi::threadpool::et_threadpool_get_thread_count;
use grid::{Grid, Position};

/// More threads than the pool can have.
const MAX_THREADS: usize = 255;

/// `PTHREADPOOL_FLAG_DISABLE_DENORMALS`.
const DISABLE_DENORMALS: u32 = 1;

/// What XNNPACK takes for a pool: a number of threads, which stays the same.
///
/// XNNPACK sizes memory per thread by that number when it reshapes, and indexes it with thread numbers when it runs.
/// They stay below the number whatever the real pool does in between. Starts no thread and needs none of its own;
/// may be shared by all threads and calls.
#[derive(Debug)]
#[repr(C)]
pub struct Pool {
    threads: usize,
}

/// A pool as C sees it; null stands for the calling thread alone.
#[expect(non_camel_case_types, reason = "the name in pthreadpool.h")]
pub type pthreadpool_t = *mut Pool;

impl Pool {
    /// A pool of `threads` threads, from 1 to 255; 0 takes the present thread count of the process's pool.
    pub fn new(threads: usize) -> Self {
        // SAFETY: may be called at any time, from any thread.
        let wanted = if threads == 0 { unsafe { et_threadpool_get_thread_count() } } else { threads };
        Self { threads: wanted.clamp(1, MAX_THREADS) }
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// For XNNPACK, which only reads it. Valid as long as `self`, wherever that is not moved.
    pub fn as_ptr(&self) -> pthreadpool_t {
        (&raw const *self).cast_mut()
    }
}

/// The number of threads that calls with this pool are made for.
///
/// # Safety
/// `pool` is null or was given by [`Pool::as_ptr`] of a pool that is still there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthreadpool_get_threads_count(pool: pthreadpool_t) -> usize {
    // SAFETY: promised by the caller.
    unsafe { pool.as_ref() }.map_or(1, Pool::threads)
}

/// Runs `body` once for each tile, with the number of a thread that runs nothing else meanwhile.
///
/// # Safety
/// As for [`pthreadpool_get_threads_count`].
unsafe fn run<const D: usize>(
    pool: pthreadpool_t,
    flags: u32,
    grid: &Grid<D>,
    body: impl Fn(usize, &Position<'_, D>) + Sync,
) {
    // SAFETY: promised by the caller.
    let threads = unsafe { pthreadpool_get_threads_count(pool) };
    // Workers compute in the mode of their caller.
    let _mode = FlushToZero::new(flags & DISABLE_DENORMALS != 0);
    deal(threads, grid, &body);
}
