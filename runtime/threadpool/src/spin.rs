//! Bounded busy-waiting.

use std::hint;
use std::time::{Duration, Instant};

/// How long a thread watches for work, or for the last worker of its call, before it sleeps.
///
/// About what a sleep and a wake-up cost together, which bounds the loss at twice the optimum whatever the gap
/// between calls turns out to be. Longer than the serial stretches between the operators of a network.
pub(crate) const BUDGET: Duration = Duration::from_micros(60);

/// Checks between two readings of the clock.
const CHECKS_PER_READING: u32 = 16;

/// One stretch of idleness, which may be interrupted by things that turn out not to concern the thread.
#[derive(Default)]
pub(crate) struct Spin {
    deadline: Option<Instant>,
}

impl Spin {
    /// Starts a new stretch with a full budget.
    pub(crate) fn reset(&mut self) {
        self.deadline = None;
    }

    /// Waits until `done` (and returns true) or the budget of this stretch is used up (and returns false).
    pub(crate) fn until(&mut self, done: impl Fn() -> bool) -> bool {
        loop {
            for _ in 0..CHECKS_PER_READING {
                if done() {
                    return true;
                }
                hint::spin_loop();
            }
            let now = Instant::now();
            match self.deadline {
                None => self.deadline = Some(now + BUDGET),
                Some(deadline) if now >= deadline => return done(),
                Some(_) => {}
            }
        }
    }
}
