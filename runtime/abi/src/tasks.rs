//! Parallel calls with closures for bodies.

use crate::error::ET_ERROR_INTERNAL;
use crate::threadpool::et_parallel_tasks;
use crate::{Error, Result};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

struct Job<'a> {
    body: &'a (dyn Fn(usize) + Sync),
    panicked: AtomicBool,
}

unsafe extern "C" fn task(context: *mut c_void, index: usize) {
    // SAFETY: `parallel_tasks` passes a job that outlives the parallel call.
    let job = unsafe { &*context.cast::<Job<'_>>() };
    // An unwind must not leave an `extern "C"` function.
    if catch_unwind(AssertUnwindSafe(|| (job.body)(index))).is_err() {
        job.panicked.store(true, Ordering::Relaxed);
    }
}

/// Calls `body` with each index below `count` on the threads of the process's pool, and returns when all are done. A
/// task that panics does not keep the others from running; the call fails then.
// Inlined, so that only those who call it need a library that defines `et_parallel_tasks`.
#[inline]
pub fn parallel_tasks(count: usize, body: &(dyn Fn(usize) + Sync)) -> Result<()> {
    let job = Job { body, panicked: AtomicBool::new(false) };
    // SAFETY: the job lives until all tasks are done, which the call waits for.
    Error::check(unsafe { et_parallel_tasks(count, Some(task), (&raw const job).cast_mut().cast()) })?;
    if job.panicked.load(Ordering::Relaxed) {
        return Err(Error::new(ET_ERROR_INTERNAL, "a task of a parallel call panicked"));
    }
    Ok(())
}
