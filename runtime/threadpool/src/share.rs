//! A contiguous part of a call's tasks.
//!
//! A thread begins with the share of its own number and goes on to the others when that is empty. So the same
//! thread gets the same part of a tensor in one operator after another, and finds it in its cache; threads meet
//! on one counter only at the end; and nothing waits for a thread that does not come.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Task counts must not exceed this, so that late takers cannot wrap a counter round.
pub(crate) const MAX_TASKS: usize = isize::MAX as usize;

/// On a cache line of its own. Orderings are relaxed because the slot's door orders everything else.
#[repr(align(64))]
pub(crate) struct Share {
    next: AtomicUsize,
    end: AtomicUsize,
}

impl Share {
    pub(crate) const fn new() -> Self {
        Self { next: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    /// Deals `count` tasks out to `shares` as evenly as possible.
    pub(crate) fn deal(shares: &[Self], count: usize) {
        let (each, extra) = (count / shares.len().max(1), count % shares.len().max(1));
        let mut begin = 0;
        for (i, share) in shares.iter().enumerate() {
            let end = begin + each + usize::from(i < extra);
            share.next.store(begin, Relaxed);
            share.end.store(end, Relaxed);
            begin = end;
        }
    }

    /// Takes a task that nobody else has or gets.
    pub(crate) fn take(&self) -> Option<usize> {
        let end = self.end.load(Relaxed);
        // Looking first leaves the cache line shared once the share is empty.
        if self.next.load(Relaxed) >= end {
            return None;
        }
        let task = self.next.fetch_add(1, Relaxed);
        (task < end).then_some(task)
    }

    /// Drops the tasks that nobody has taken yet.
    pub(crate) fn abandon(&self) {
        self.next.store(MAX_TASKS, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_dealt_once() {
        for parts in 1..=9 {
            let shares: Vec<_> = (0..parts).map(|_| Share::new()).collect();
            for count in 0..50 {
                Share::deal(&shares, count);
                let taken: Vec<usize> =
                    shares.iter().flat_map(|share| std::iter::from_fn(|| share.take())).collect();
                assert_eq!(taken, (0..count).collect::<Vec<_>>(), "{count} tasks in {parts} shares");
            }
        }
    }

    #[test]
    fn abandoned_tasks_are_gone() {
        let share = [Share::new()];
        Share::deal(&share, MAX_TASKS);
        assert_eq!(share[0].take(), Some(0));
        share[0].abandon();
        assert_eq!(share[0].take(), None);
    }
}
