//! The exported C functions. The C headers and the crate `executorch-abi` declare them.
//!
//! All may be called from any thread, also in the child of a `fork`. A body must not throw C++ exceptions: a
//! Rust panic is caught and reported, a foreign exception ends the process.

use crate::safe::{self, Error};
use std::ffi::c_void;

const OK: u32 = 0;
const INTERNAL: u32 = 1;
const INVALID_ARGUMENT: u32 = 0x12;

/// Handles the elements `begin` ≤ i < `end`. Declared as non-unwinding in C; tolerated here if it panics.
pub type RangeBody = Option<unsafe extern "C-unwind" fn(context: *mut c_void, begin: i64, end: i64)>;
/// Handles one task. Declared as non-unwinding in C; tolerated here if it panics.
pub type TaskBody = Option<unsafe extern "C-unwind" fn(context: *mut c_void, index: usize)>;

fn code(result: Result<(), Error>) -> u32 {
    match result {
        Ok(()) => OK,
        Err(Error::Internal) => INTERNAL,
        Err(Error::InvalidArgument(_)) => INVALID_ARGUMENT,
    }
}

/// Runs `body` over `[begin, end)` in chunks of at least `grain` elements and returns when all are done.
///
/// A range shorter than two grains is one chunk, run on the caller. Each element is handled once; chunks run in
/// any order and on any thread, the caller's included. Inside another parallel call or a guard the whole range
/// is one chunk on the caller.
///
/// Returns 0; `InvalidArgument` (0x12) if `grain` is not positive, `end` is before `begin` or `body` is null;
/// `Internal` (1) if the body panicked, after which chunks that had not begun are skipped.
///
/// # Safety
/// `body` must be callable with `context` from any thread until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_parallel_for(
    begin: i64,
    end: i64,
    grain: i64,
    body: RangeBody,
    context: *mut c_void,
) -> u32 {
    let Some(body) = body else {
        return INVALID_ARGUMENT;
    };
    // SAFETY: as the caller promises.
    code(unsafe { safe::range_call(begin..end, grain, body, context) })
}

/// Runs `body` once for each index below `count`, in any order, and returns when all are done. Threads take
/// further indices as they become free.
///
/// Returns 0; `InvalidArgument` (0x12) if `body` is null or `count` above `PTRDIFF_MAX`; `Internal` (1) if the
/// body panicked, after which tasks that had not begun are skipped.
///
/// # Safety
/// `body` must be callable with `context` from any thread until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_parallel_tasks(count: usize, body: TaskBody, context: *mut c_void) -> u32 {
    let Some(body) = body else {
        return INVALID_ARGUMENT;
    };
    // SAFETY: as the caller promises.
    code(unsafe { safe::task_call(count, body, context) })
}

/// The number of threads that take part in a parallel call, the caller included; at least 1. Starts no thread,
/// and is the same inside a guard or a parallel call.
#[unsafe(no_mangle)]
pub extern "C" fn et_threadpool_get_thread_count() -> usize {
    safe::thread_count()
}

/// Sets the number of threads for calls that begin from now on; 0 restores the default.
/// Returns 0, or `InvalidArgument` (0x12) if `count` is above 255; nothing has changed then.
#[unsafe(no_mangle)]
pub extern "C" fn et_threadpool_set_thread_count(count: usize) -> u32 {
    code(safe::set_thread_count(count))
}

/// The calling thread's number within the parallel call that it takes part in: below the thread count that
/// held when the call began, and no other thread's within that call. 0 outside of a call.
#[unsafe(no_mangle)]
pub extern "C" fn et_threadpool_get_thread_num() -> usize {
    safe::thread_num()
}

/// Until the matching leave, parallel calls of this thread run on this thread alone. Nests.
#[unsafe(no_mangle)]
pub extern "C" fn et_threadpool_guard_enter() {
    crate::local::guard_enter();
}

/// Ends the innermost guard of this thread; ignored if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn et_threadpool_guard_leave() {
    crate::local::guard_leave();
}
