//! What tests in one process need in order not to disturb each other.

use executorch_threadpool::{set_thread_count, thread_count};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Holds the process-wide thread count at a value while a test depends on it.
pub struct Threads(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Threads {
    /// Waits for the other tests to end, and for the pool not to expect calls of theirs any more.
    pub fn exactly(count: usize) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = Self(lock);
        set_thread_count(count).expect("a valid count");
        assert_eq!(thread_count(), count);
        forget_callers();
        threads
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        set_thread_count(0).expect("a valid count");
    }
}

/// Sleeps for longer than the pool expects calls of a thread that made one.
pub fn forget_callers() {
    thread::sleep(Duration::from_millis(5));
}
