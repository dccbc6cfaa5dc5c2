//! Which thread makes its calls in a slot, and whether it is at it.
//!
//! A program that runs an inference makes one call after another and computes between them. It is busy all the time,
//! and a worker that helped somebody else meanwhile would take the CPU from it. So a caller keeps its slot for a
//! while after a call, and counts as busy.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// How long after its last call a caller counts as busy, in nanoseconds.
///
/// Longer than most stretches without a parallel call within an inference, and between one inference and the next.
/// It is also how long the callers that go on are left without help when one has stopped.
const STAY: u64 = 200_000;

/// The last caller in a slot. Orderings are relaxed: a wrong guess costs speed and nothing else.
pub(crate) struct Tenant {
    /// What [`local::identity`](crate::local::identity) gave it; 0 if there was none yet.
    thread: AtomicUsize,
    /// When its last call ended, on [`clock::now`](crate::clock::now); 0 if none has.
    left: AtomicU64,
}

impl Tenant {
    pub(crate) const fn new() -> Self {
        Self { thread: AtomicUsize::new(0), left: AtomicU64::new(0) }
    }

    /// Whether the slot is this thread's.
    pub(crate) fn is(&self, thread: usize) -> bool {
        self.thread.load(Relaxed) == thread
    }

    /// Gives the slot to this thread, which owns its door.
    pub(crate) fn move_in(&self, thread: usize) {
        self.thread.store(thread, Relaxed);
    }

    /// Notes the end of a call.
    pub(crate) fn leave(&self, now: u64) {
        self.left.store(now, Relaxed);
    }

    /// Whether the last call ended so recently that another one must be expected. Reads the clock only if there
    /// was a call.
    pub(crate) fn stays(&self, now: impl FnOnce() -> u64) -> bool {
        let left = self.left.load(Relaxed);
        left != 0 && now().saturating_sub(left) < STAY
    }

    /// Forgets the thread, which does not exist in a forked child.
    pub(crate) fn reset(&self) {
        self.thread.store(0, Relaxed);
        self.left.store(0, Relaxed);
    }
}

/// What is in use of the pool's threads when a call begins.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// Busy callers, the one that begins included.
    pub(crate) callers: u32,
    /// Workers that help the others, or are about to.
    pub(crate) workers: u32,
}

/// How many workers may help a call that begins.
///
/// Callers and workers are together no more than `threads`, and callers get about the same number each.
pub(crate) fn helpers(threads: u32, taken: Taken) -> u32 {
    let workers = threads.saturating_sub(taken.callers);
    workers.div_ceil(taken.callers.max(1)).min(workers.saturating_sub(taken.workers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_stays_for_a_while() {
        let tenant = Tenant::new();
        assert!(!tenant.is(8));
        assert!(!tenant.stays(|| panic!("nobody was here: no need to know the time")));
        tenant.move_in(8);
        tenant.leave(1_000);
        assert!(tenant.is(8) && !tenant.is(16));
        assert!(tenant.stays(|| 1_000));
        assert!(tenant.stays(|| 999), "noted by another thread just now");
        assert!(tenant.stays(|| 1_000 + STAY - 1));
        assert!(!tenant.stays(|| 1_000 + STAY));
        assert!(tenant.is(8), "comes back to the same slot");
        tenant.reset();
        assert!(!tenant.is(8));
        assert!(!tenant.stays(|| 1_000));
    }

    #[test]
    fn callers_and_helpers_fit_the_threads() {
        let at_first = |callers| Taken { callers, workers: 0 };
        assert_eq!(helpers(8, at_first(1)), 7, "alone, with everybody");
        assert_eq!(helpers(2, at_first(2)), 0);
        assert_eq!(helpers(2, at_first(5)), 0, "more callers than threads");
        for threads in 1..40 {
            for callers in 1..=threads {
                let mut taken = at_first(callers);
                let got: Vec<u32> = (0..callers)
                    .map(|_| {
                        let more = helpers(threads, taken);
                        taken.workers += more;
                        more
                    })
                    .collect();
                assert_eq!(callers + taken.workers, threads, "no CPU is left idle, and none is shared");
                let fair = (threads - callers).div_ceil(callers);
                assert!(got.iter().all(|&more| more <= fair), "{threads} threads, {got:?}");
            }
        }
    }
}
