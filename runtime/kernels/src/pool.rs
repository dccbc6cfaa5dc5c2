//! The process's thread pool: as `executorch-gemm` asks for one, and loops over parts of an output.

use executorch_abi::parallel_tasks;
use executorch_abi::threadpool::et_threadpool_get_thread_count;
use executorch_gemm::Pool;
use std::ops::Range;

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

impl Pool for ProcessPool {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        // A failure is a bug of ours; the operator's guard turns the panic into an error.
        assert!(parallel_tasks(tasks, body).is_ok(), "a parallel task failed");
    }
}

/// A pointer that tasks share, each to write a part of its own.
struct Shared<T>(*mut T);

// SAFETY: the tasks get disjoint parts, and `T: Send` lets another thread write one.
unsafe impl<T: Send> Sync for Shared<T> {}

/// How many parts `units` are split in, so that each has `grain` or more.
fn parts(units: usize, grain: usize) -> usize {
    let most = units / grain.max(1);
    // A few for each thread, so that one that starts late holds up little.
    if most <= 1 { 1 } else { most.min(4 * ProcessPool::now().threads) }
}

/// Calls `body` on the pool's threads with parts of `0..count` of at least `grain`.
pub fn ranges(count: usize, grain: usize, body: impl Fn(Range<usize>) + Sync) {
    let tasks = parts(count, grain);
    if tasks == 1 {
        return body(0..count);
    }
    ProcessPool::now().run(tasks, &|i| body(count * i / tasks..count * (i + 1) / tasks));
}

/// Splits `out` into parts of whole units (of `unit` elements; the last may be short), at least `grain` units each, and
/// calls `body` on the pool's threads with the number of a part's first unit and the part.
pub fn split_mut<T: Send>(out: &mut [T], unit: usize, grain: usize, body: impl Fn(usize, &mut [T]) + Sync) {
    split_two_mut(out, unit, &mut [(); 0], 0, grain, |at, part, _| body(at, part));
}

/// [`split_mut`] with a second output that has `other_unit` elements for each unit of the first.
///
/// # Panics
/// If the second output is too short.
pub fn split_two_mut<T: Send, U: Send>(
    out: &mut [T],
    unit: usize,
    other: &mut [U],
    other_unit: usize,
    grain: usize,
    body: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) {
    if out.is_empty() {
        return;
    }
    let unit = unit.max(1);
    let (length, count) = (out.len(), out.len().div_ceil(unit));
    assert!(count * other_unit <= other.len(), "the second output is too short");
    let (first, second) = (Shared(out.as_mut_ptr()), Shared(other.as_mut_ptr()));
    let (first, second) = (&first, &second);
    ranges(count, grain, move |range| {
        let (begin, end) = (range.start * unit, (range.end * unit).min(length));
        // SAFETY: the ranges of the tasks are disjoint and within both outputs, which outlive the call.
        let (part, other) = unsafe {
            (
                std::slice::from_raw_parts_mut(first.0.add(begin), end - begin),
                std::slice::from_raw_parts_mut(
                    second.0.add(range.start * other_unit),
                    range.len() * other_unit,
                ),
            )
        };
        body(range.start, part, other);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_once() {
        let (mut out, mut rows) = (vec![0_usize; 1003], vec![0_usize; 101]);
        split_two_mut(&mut out, 10, &mut rows, 1, 3, |first, part, rows| {
            for (i, value) in part.iter_mut().enumerate() {
                *value += 1 + first * 10 + i;
            }
            for (i, row) in rows.iter_mut().enumerate() {
                *row += 1 + first + i;
            }
        });
        assert!(out.iter().enumerate().all(|(i, &v)| v == i + 1));
        assert!(rows.iter().enumerate().all(|(i, &v)| v == i + 1));
        split_mut(&mut [0_u8; 0], 4, 1, |_, _| panic!("nothing to do"));
    }
}
