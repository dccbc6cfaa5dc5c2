//! Independent pieces of work on the process's thread pool.

use executorch_abi::threadpool::et_parallel_tasks;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

struct Job<'a, T> {
    body: &'a (dyn Fn(usize) -> T + Sync),
    results: &'a [OnceLock<T>],
}

/// `body` of each index below `count`; `None` in place of what failed.
pub fn map<T: Send + Sync>(count: usize, body: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    if count <= 1 {
        return (0..count).map(|index| Some(body(index))).collect();
    }
    let mut results = Vec::new();
    results.resize_with(count, OnceLock::new);
    let job = Job { body: &body, results: &results };
    // SAFETY: the job and its parts live until all tasks are done, which the call waits for. A failure shows as
    // missing results.
    let _ = unsafe { et_parallel_tasks(count, Some(task::<T>), (&raw const job).cast_mut().cast()) };
    results.into_iter().map(OnceLock::into_inner).collect()
}

unsafe extern "C" fn task<T: Send + Sync>(context: *mut c_void, index: usize) {
    // SAFETY: `map` passes a job that outlives the parallel call, and results of this type.
    let job = unsafe { &*context.cast::<Job<'_, T>>() };
    // An unwind must not leave an `extern "C"` function.
    let result = catch_unwind(AssertUnwindSafe(|| (job.body)(index)));
    if let (Ok(result), Some(place)) = (result, job.results.get(index)) {
        let _ = place.set(result);
    }
}
