//! Bounded busy-waiting.

use std::hint;
use std::time::{Duration, Instant};

/// How long a thread watches for work, or for the last worker of its call, before it sleeps.
///
/// About what a sleep and a wake-up cost together, which bounds the loss at twice the optimum whatever the gap
/// between calls turns out to be. Longer than most serial stretches between the operators of a network.
const BUDGET: Duration = Duration::from_micros(60);

/// How long instead after a sleep that was shorter than this: calls then come at gaps that watching can bridge,
/// as when a program runs one inference after another. One longer sleep brings the short budget back.
const BRIDGING_BUDGET: Duration = Duration::from_micros(500);

/// Checks between two readings of the clock.
const CHECKS_PER_READING: u32 = 16;

/// One stretch of idleness, which may be interrupted by things that turn out not to concern the thread.
pub(crate) struct Spin {
    budget: Duration,
    deadline: Option<Instant>,
}

impl Spin {
    pub(crate) fn new() -> Self {
        Self { budget: BUDGET, deadline: None }
    }

    /// Starts a new stretch after some work.
    pub(crate) fn worked(&mut self) {
        self.deadline = None;
    }

    /// Starts a new stretch after a sleep.
    pub(crate) fn slept(&mut self, time: Duration) {
        self.deadline = None;
        self.budget = if time < BRIDGING_BUDGET { BRIDGING_BUDGET } else { BUDGET };
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
                None => self.deadline = Some(now + self.budget),
                Some(deadline) if now >= deadline => return done(),
                Some(_) => {}
            }
        }
    }
}
