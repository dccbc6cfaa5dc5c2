//! Independent pieces of work on the process's thread pool.

use crate::threads;
use executorch_abi::parallel_tasks;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// `body` of each index below `count`; `None` in place of what failed. Low indices begin first: with the largest pieces
/// there, threads end at about the same time.
pub fn map<T: Send>(count: usize, body: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    if count <= 1 {
        return (0..count).map(|index| Some(body(index))).collect();
    }
    let mut results: Vec<Mutex<Option<T>>> = Vec::new();
    results.resize_with(count, Mutex::default);
    let next = AtomicUsize::new(0);
    // A failure shows as missing results.
    let _ = parallel_tasks(count.min(threads::count()), &|_| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = results.get(index) else { break };
            let made = body(index);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        }
    });
    results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Starts the pool's threads, which takes them a while, and does not wait for them.
pub fn start() {
    // What cannot be started now fails when it is needed.
    let _ = parallel_tasks(threads::count(), &|_| {});
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_failures_missing() {
        let squares = map(1000, |index| {
            assert!(index != 500, "as a test");
            index * index
        });
        let made = |index: usize| (index != 500).then_some(index * index);
        assert!(
            squares.len() == 1000 && squares.iter().enumerate().all(|(i, s)| s.is_none() || *s == made(i))
        );
        assert_eq!((squares[0], squares[500]), (Some(0), None));
        assert_eq!((map(0, |i| i), map(1, |i| i)), (vec![], vec![Some(0)]));
    }
}
