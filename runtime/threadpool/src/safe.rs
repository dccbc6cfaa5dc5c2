//! The pool for Rust code that links this crate.

use crate::config::{self, MAX_THREADS};
use crate::local;
use crate::pool;
use crate::share::MAX_TASKS;
use crate::slot::{TaskFn, Work};
use crate::split::Split;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// Why a parallel call, or a setting, failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The body panicked (after which tasks not yet begun are skipped), or it forked and this is the child.
    Internal,
    /// An argument is out of range; the text says which, and what is expected.
    InvalidArgument(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internal => f.write_str("the body of a parallel call panicked or forked"),
            Self::InvalidArgument(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}

/// Runs `body` on consecutive parts of `range`, each of at least `grain` elements, on several threads, and
/// returns when all are done. See [`crate::abi::et_parallel_for`].
pub fn parallel_for<F>(range: Range<i64>, grain: i64, body: F) -> Result<(), Error>
where
    F: Fn(Range<i64>) + Sync,
{
    unsafe extern "C-unwind" fn call<F: Fn(Range<i64>)>(body: *mut c_void, begin: i64, end: i64) {
        // SAFETY: the context is the closure that `parallel_for` holds until all chunks are done.
        let body = unsafe { &*body.cast::<F>().cast_const() };
        body(begin..end);
    }
    // SAFETY: `call::<F>` accepts a pointer to an `F`; `F` is `Sync`, so any thread may call it.
    unsafe { range_call(range, grain, call::<F>, (&raw const body).cast_mut().cast()) }
}

/// Runs `body` once for each index below `count` on several threads and returns when all are done.
/// See [`crate::abi::et_parallel_tasks`].
pub fn parallel_tasks<F>(count: usize, body: F) -> Result<(), Error>
where
    F: Fn(usize) + Sync,
{
    unsafe extern "C-unwind" fn call<F: Fn(usize)>(body: *mut c_void, index: usize) {
        // SAFETY: the context is the closure that `parallel_tasks` holds until all tasks are done.
        let body = unsafe { &*body.cast::<F>().cast_const() };
        body(index);
    }
    // SAFETY: `call::<F>` accepts a pointer to an `F`; `F` is `Sync`, so any thread may call it.
    unsafe { task_call(count, call::<F>, (&raw const body).cast_mut().cast()) }
}

/// The number of threads that take part in a parallel call, the caller included; at least 1.
pub fn thread_count() -> usize {
    config::count() as usize
}

/// Sets the number of threads for calls that begin from now on; 0 restores the default.
pub fn set_thread_count(count: usize) -> Result<(), Error> {
    const { assert!(MAX_THREADS == 255, "the message below names the limit") };
    if !config::set_count(count) {
        return Err(Error::InvalidArgument("thread count: expected 0 (default) to 255"));
    }
    pool::count_changed();
    Ok(())
}

/// The calling thread's number within the parallel call that it takes part in; 0 outside of one.
pub fn thread_num() -> usize {
    local::thread_num() as usize
}

/// While it lives, parallel calls of this thread run on this thread alone.
pub struct SerialGuard {
    /// It belongs to the thread that made it.
    _not_send: PhantomData<*const ()>,
}

impl SerialGuard {
    /// Opens a guard. Guards nest.
    pub fn new() -> Self {
        local::guard_enter();
        Self { _not_send: PhantomData }
    }
}

impl Default for SerialGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SerialGuard {
    fn drop(&mut self) {
        local::guard_leave();
    }
}

/// What a range call runs for each chunk.
pub(crate) type RangeFn = unsafe extern "C-unwind" fn(context: *mut c_void, begin: i64, end: i64);

/// # Safety
/// The body must accept the context and every part of the range, from any thread, until this returns.
pub(crate) unsafe fn range_call(
    range: Range<i64>,
    grain: i64,
    body: RangeFn,
    context: *mut c_void,
) -> Result<(), Error> {
    struct Chunks {
        split: Split,
        body: RangeFn,
        context: *mut c_void,
    }
    unsafe extern "C-unwind" fn call(chunks: *mut c_void, index: usize) {
        // SAFETY: the context is the local below, which lives until all chunks are done.
        let chunks = unsafe { &*chunks.cast::<Chunks>().cast_const() };
        let (begin, end) = chunks.split.chunk(index);
        // SAFETY: the caller of `range_call` vouches for body and context.
        unsafe { (chunks.body)(chunks.context, begin, end) };
    }

    if grain <= 0 {
        return Err(Error::InvalidArgument("grain: expected a positive number of elements"));
    }
    if range.end < range.start {
        return Err(Error::InvalidArgument("range: expected an end that is not before its begin"));
    }
    if range.is_empty() {
        return Ok(());
    }
    let threads = if local::must_be_serial() { 1 } else { config::count() };
    let split = Split::new(range.start, range.end, grain, threads);
    let chunks = Chunks { split, body, context };
    let work = Work { body: call, context: (&raw const chunks).cast_mut().cast() };
    // SAFETY: `call` accepts a pointer to `chunks` and each index below its number of chunks.
    unsafe { pool::run(work, split.chunks()) }.map_err(|pool::Failed| Error::Internal)
}

/// # Safety
/// The body must accept the context and every index below `count`, from any thread, until this returns.
pub(crate) unsafe fn task_call(count: usize, body: TaskFn, context: *mut c_void) -> Result<(), Error> {
    if count > MAX_TASKS {
        return Err(Error::InvalidArgument("task count: expected at most isize::MAX"));
    }
    // SAFETY: as the caller promises.
    unsafe { pool::run(Work { body, context }, count) }.map_err(|pool::Failed| Error::Internal)
}
