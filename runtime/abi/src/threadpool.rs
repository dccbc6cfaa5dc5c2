//! The process's one thread pool (`libexecutorch_threadpool.so.1`).
//!
//! Every function may be called from any thread. No thread is started before the first parallel call that
//! needs one. A parallel call inside a parallel call runs serially on its caller.

use crate::error::et_error_t;
use std::ffi::c_void;

/// The body of [`et_parallel_for`]: handles `begin` ≤ i < `end`. Must not unwind.
pub type et_range_body_t = Option<unsafe extern "C" fn(context: *mut c_void, begin: i64, end: i64)>;
/// The body of [`et_parallel_tasks`]: handles one task. Must not unwind.
pub type et_task_body_t = Option<unsafe extern "C" fn(context: *mut c_void, index: usize)>;

unsafe extern "C" {
    /// Runs `body` over `[begin, end)` in chunks of at least `grain` elements and returns when all are done.
    ///
    /// Fails with `ET_ERROR_INVALID_ARGUMENT` if `grain` is not positive, `end` is before `begin` or `body` is
    /// null.
    pub fn et_parallel_for(
        begin: i64,
        end: i64,
        grain: i64,
        body: et_range_body_t,
        context: *mut c_void,
    ) -> et_error_t;

    /// Runs `body` once for each index below `count`, in any order, and returns when all are done.
    /// Threads take the next index as they become free.
    pub fn et_parallel_tasks(count: usize, body: et_task_body_t, context: *mut c_void) -> et_error_t;

    /// The number of threads that take part in a parallel call, the caller included; at least 1.
    pub fn et_threadpool_get_thread_count() -> usize;

    /// Sets the number of threads, at any time; 0 restores the default (CPUs allowed by affinity and cgroup
    /// limits, or the environment variable `ET_NUM_THREADS`).
    pub fn et_threadpool_set_thread_count(count: usize) -> et_error_t;

    /// The calling thread's number within the parallel call that it takes part in; 0 outside of one.
    pub fn et_threadpool_get_thread_num() -> usize;

    /// Until the matching leave, parallel calls of this thread run serially. Nests.
    pub fn et_threadpool_guard_enter();

    /// Ends the innermost guard of this thread; ignored if there is none.
    pub fn et_threadpool_guard_leave();
}
