//! The process's thread pool as `executorch-gemm` asks for one.

use executorch_abi::threadpool::{et_parallel_tasks, et_threadpool_get_thread_count};
use executorch_gemm::Pool;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The pool of `libexecutorch_threadpool.so.1`.
#[derive(Debug, Clone, Copy)]
pub struct ProcessPool {
    threads: usize,
}

impl ProcessPool {
    /// The pool, with the number of threads that it has now: scratch is measured and used with one number, even if
    /// another thread changes it in between.
    pub fn now() -> Self {
        // SAFETY: the function has no precondition.
        Self { threads: unsafe { et_threadpool_get_thread_count() } }
    }
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
        // Both are bugs of ours; the operator's guard turns the panic into an error.
        assert!(code == 0 && !job.panicked.load(Ordering::Relaxed), "a parallel task failed");
    }
}
