//! The process's thread pool, as the library and as our own kernels ask for it.

use executorch_abi::parallel_tasks;
use executorch_abi::threadpool::et_threadpool_get_thread_count;
use executorch_gemm::Pool;

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

impl Pool for ProcessPool {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        // A failure is a defect of ours; the delegate's guard turns the panic into an error.
        assert!(parallel_tasks(tasks, body).is_ok(), "a parallel task failed");
    }
}
