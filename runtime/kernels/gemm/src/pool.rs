//! Threads come from the caller: the [`Pool`] trait, and helpers for splitting work and scratch.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs independent tasks, perhaps at the same time.
pub trait Pool: Sync {
    /// How many tasks may run at the same time (at least 1).
    fn threads(&self) -> usize;

    /// Calls `body(0)`, …, `body(tasks - 1)`, each exactly once, in any order and on any thread,
    /// at most [`Pool::threads`] at a time, and returns after the last has returned.
    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync));
}

/// The pool of one thread: the caller's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Serial;

impl Pool for Serial {
    fn threads(&self) -> usize {
        1
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        for task in 0..tasks {
            body(task);
        }
    }
}

/// Multiply-adds below which a task is not worth handing to another thread: about 2.5 µs of work
/// where a core does 80 G multiply-adds per second, against 1–2 µs for waking a thread.
pub(crate) const GRAIN_MACS: usize = 200_000;

/// More tasks than threads, so that a thread that the system took away does not stall the rest.
pub(crate) const TASKS_PER_THREAD: usize = 3;

/// The work of a product, in multiply-adds: of few rows, it is the reading of B that takes the time.
pub(crate) fn product_work(m: usize, n: usize, k: usize) -> usize {
    m.max(8).saturating_mul(n).saturating_mul(k)
}

/// Threads worth using for `work` multiply-adds.
pub(crate) fn useful_threads(pool: &dyn Pool, work: usize) -> usize {
    (work / GRAIN_MACS).clamp(1, pool.threads().clamp(1, Slots::<f32>::MAX))
}

/// The `index`th of `parts` nearly equal parts of `0..len`.
pub(crate) fn part(len: usize, parts: usize, index: usize) -> Range<usize> {
    let (base, extra) = (len / parts, len % parts);
    let start = index * base + index.min(extra);
    start..start + base + usize::from(index < extra)
}

/// Runs `body` for every task: on the pool when there are several, else here.
pub(crate) fn run(pool: &dyn Pool, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
    if tasks == 1 {
        body(0);
    } else {
        pool.run(tasks, body);
    }
}

/// Equal pieces of one scratch slice, lent to whichever task runs.
pub(crate) struct Slots<'a, T> {
    base: *mut T,
    each: usize,
    /// Bit `i` is set while slot `i` is free.
    free: AtomicU64,
    scratch: PhantomData<&'a mut [T]>,
}

// SAFETY: a slot is reachable only through the `Slot` that holds its bit, so no two threads ever
// touch the same elements.
unsafe impl<T: Send> Sync for Slots<'_, T> {}

impl<'a, T> Slots<'a, T> {
    /// The most slots one set can hold.
    pub(crate) const MAX: usize = 64;

    /// Cuts `scratch` into `count` pieces of `each` elements; it must be long enough.
    pub(crate) fn new(scratch: &'a mut [T], count: usize, each: usize) -> Self {
        assert!(
            (1..=Self::MAX).contains(&count) && count * each <= scratch.len(),
            "scratch was sized for these slots"
        );
        Self {
            base: scratch.as_mut_ptr(),
            each,
            free: AtomicU64::new(u64::MAX >> (64 - count)),
            scratch: PhantomData,
        }
    }

    /// Takes a free slot. A pool that keeps its promise always leaves one; with one that does not,
    /// this waits for another task to end.
    pub(crate) fn take(&self) -> Slot<'_, 'a, T> {
        loop {
            let free = self.free.load(Ordering::Relaxed);
            if free == 0 {
                std::thread::yield_now();
                continue;
            }
            let index = free.trailing_zeros();
            let taken = self.free.compare_exchange_weak(
                free,
                free & !(1 << index),
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                return Slot { slots: self, index };
            }
        }
    }
}

/// One piece of scratch, given back when dropped.
pub(crate) struct Slot<'s, 'a, T> {
    slots: &'s Slots<'a, T>,
    index: u32,
}

impl<T> Slot<'_, '_, T> {
    pub(crate) fn get(&mut self) -> &mut [T] {
        // SAFETY: `new` checked that every slot lies in the scratch slice, and this slot's bit is
        // held, so nobody else has a reference into it.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.slots.base.add(self.index as usize * self.slots.each),
                self.slots.each,
            )
        }
    }
}

impl<T> Drop for Slot<'_, '_, T> {
    fn drop(&mut self) {
        self.slots.free.fetch_or(1 << self.index, Ordering::Release);
    }
}

/// A pointer that tasks share; each task writes only elements that no other task touches.
pub(crate) struct Shared<T>(*mut T);

// SAFETY: the users of `Shared` write disjoint elements from different tasks.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn new(slice: &mut [T]) -> Self {
        Self(slice.as_mut_ptr())
    }

    /// For a pointer that is only read.
    pub(crate) fn from_const(pointer: *const T) -> Self {
        Self(pointer.cast_mut())
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// A pool that really uses threads, made anew for each run.
    pub(crate) struct Threads(pub usize);

    impl Pool for Threads {
        fn threads(&self) -> usize {
            self.0
        }

        fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..self.0 {
                    scope.spawn(|| {
                        loop {
                            let task = next.fetch_add(1, Ordering::Relaxed);
                            if task >= tasks {
                                break;
                            }
                            body(task);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn parts_cover_everything_once() {
        for len in 0..40 {
            for parts in 1..9 {
                let mut next = 0;
                for index in 0..parts {
                    let range = part(len, parts, index);
                    assert_eq!(range.start, next);
                    next = range.end;
                }
                assert_eq!(next, len);
            }
        }
    }

    #[test]
    fn slots_are_never_shared() {
        let mut scratch = vec![0usize; 3 * 8];
        let slots = Slots::new(&mut scratch, 3, 8);
        Threads(3).run(200, &|task| {
            let mut slot = slots.take();
            let piece = slot.get();
            piece.fill(task);
            std::thread::yield_now();
            assert!(piece.iter().all(|&v| v == task));
        });
    }
}
