//! The process's thread pool, as the library and as our own kernels ask for it.

use executorch_abi::threadpool::{et_parallel_tasks, et_threadpool_get_thread_count};
use executorch_gemm::Pool;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of threads of the process's pool now; at least 1.
#[inline]
pub fn count() -> usize {
    // SAFETY: the function has no precondition.
    unsafe { et_threadpool_get_thread_count() }
}

/// The process's pool, with the number of threads that scratch memory was measured for.
#[derive(Debug, Clone, Copy)]
pub struct ProcessPool {
    /// The number of threads.
    pub threads: usize,
}

struct Job<'a> {
    body: &'a (dyn Fn(usize) + Sync),
    panicked: AtomicBool,
}

unsafe extern "C" fn task(context: *mut c_void, index: usize) {
    // SAFETY: `run` passes a job that outlives the parallel call.
    let job = unsafe { &*context.cast::<Job<'_>>() };
    // An unwind must not leave an `extern "C"` function.
    if catch_unwind(AssertUnwindSafe(|| (job.body)(index))).is_err() {
        job.panicked.store(true, Ordering::Relaxed);
    }
}

impl Pool for ProcessPool {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        let job = Job { body, panicked: AtomicBool::new(false) };
        // SAFETY: the job lives until all tasks are done, which the call waits for.
        let code = unsafe { et_parallel_tasks(tasks, Some(task), (&raw const job).cast_mut().cast()) };
        // Both are defects of ours; the delegate's guard turns the panic into an error.
        assert!(code == 0 && !job.panicked.load(Ordering::Relaxed), "a parallel task failed");
    }
}
