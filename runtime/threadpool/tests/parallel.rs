//! What a parallel call promises, from many threads at once.

use executorch_threadpool::abi::{et_parallel_for, et_parallel_tasks};
use executorch_threadpool::{
    Error, MAX_THREADS, SerialGuard, parallel_for, parallel_tasks, set_thread_count, thread_count, thread_num,
};
use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Rounds for a test that looks for rare interleavings.
const ROUNDS: usize = if cfg!(miri) { 3 } else { 2000 };

/// Holds the process-wide thread count at a value while a test depends on it.
struct Threads(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Threads {
    fn exactly(count: usize) -> Self {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        set_thread_count(count).expect("a valid count");
        assert_eq!(thread_count(), count);
        Self(lock)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        set_thread_count(0).expect("a valid count");
    }
}

fn counters(n: usize) -> Vec<AtomicU32> {
    (0..n).map(|_| AtomicU32::new(0)).collect()
}

fn assert_all_once(hits: &[AtomicU32], what: &str) {
    for (i, hit) in hits.iter().enumerate() {
        assert_eq!(hit.load(Relaxed), 1, "{what}: index {i}");
    }
}

#[test]
fn tasks_run_exactly_once() {
    for threads in [1, 2, 3, 8, 70] {
        let _threads = Threads::exactly(if cfg!(miri) { threads.min(3) } else { threads });
        for count in [0, 1, 2, 3, 5, 8, 63, 64, 65, 1000] {
            let hits = counters(count);
            parallel_tasks(count, |i| {
                hits[i].fetch_add(1, Relaxed);
            })
            .unwrap();
            assert_all_once(&hits, &format!("{count} tasks, {threads} threads"));
        }
    }
}

#[test]
fn ranges_are_covered_exactly_once() {
    for threads in [1, 2, 5] {
        let _threads = Threads::exactly(threads);
        for length in [0i64, 1, 2, 7, 64, 257, 1000] {
            for grain in [1, 3, 64, 1000, i64::MAX] {
                let hits = counters(length as usize);
                parallel_for(-5..length - 5, grain, |part| {
                    assert!(part.end - part.start >= grain.min(length));
                    for i in part {
                        hits[(i + 5) as usize].fetch_add(1, Relaxed);
                    }
                })
                .unwrap();
                assert_all_once(&hits, &format!("{length} elements, grain {grain}, {threads} threads"));
            }
        }
    }
}

#[test]
fn writes_of_the_body_are_seen_after_the_call() {
    let _threads = Threads::exactly(4);
    for round in 0..ROUNDS {
        let mut data = vec![0usize; 64];
        let base = data.as_mut_ptr() as usize;
        parallel_tasks(64, |i| {
            // SAFETY: every task writes an element of its own.
            unsafe { *ptr::with_exposed_provenance_mut::<usize>(base).add(i) = i + round };
        })
        .unwrap();
        assert!(data.iter().enumerate().all(|(i, &value)| value == i + round));
    }
}

#[test]
fn two_tasks_run_at_the_same_time() {
    let _threads = Threads::exactly(2);
    for _ in 0..ROUNDS.min(200) {
        // Would never return if one thread ran both.
        let both = Barrier::new(2);
        parallel_tasks(2, |_| {
            both.wait();
        })
        .unwrap();
    }
}

#[test]
fn threads_have_distinct_numbers_below_the_count() {
    let _threads = Threads::exactly(4);
    for _ in 0..ROUNDS.min(200) {
        let all = Barrier::new(4);
        let numbers = Mutex::new(HashSet::new());
        parallel_tasks(4, |_| {
            all.wait();
            numbers.lock().unwrap().insert(thread_num());
        })
        .unwrap();
        assert_eq!(numbers.into_inner().unwrap(), HashSet::from([0, 1, 2, 3]));
    }
    assert_eq!(thread_num(), 0);
}

#[test]
fn nested_calls_run_on_their_caller() {
    let _threads = Threads::exactly(4);
    let hits = counters(8 * 100);
    parallel_tasks(8, |outer| {
        let (thread, number) = (thread::current().id(), thread_num());
        parallel_for(0..100, 1, |part| {
            assert_eq!(part, 0..100, "one chunk");
            for inner in part {
                assert_eq!((thread::current().id(), thread_num()), (thread, number));
                hits[outer * 100 + inner as usize].fetch_add(1, Relaxed);
            }
        })
        .unwrap();
    })
    .unwrap();
    assert_all_once(&hits, "nested");
}

#[test]
fn concurrent_callers_are_all_served() {
    for threads in [1, 2, 4] {
        let _threads = Threads::exactly(threads);
        thread::scope(|scope| {
            for caller in 0..24 {
                scope.spawn(move || {
                    for round in 0..ROUNDS / 10 + 1 {
                        let count = (caller * 7 + round) % 50;
                        let hits = counters(count);
                        parallel_tasks(count, |i| {
                            assert!(thread_num() < threads);
                            hits[i].fetch_add(1, Relaxed);
                        })
                        .unwrap();
                        assert_all_once(&hits, "concurrent");
                    }
                });
            }
        });
    }
}

#[test]
fn the_count_may_change_while_others_work() {
    let _threads = Threads::exactly(2);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let hits = counters(40);
                        parallel_tasks(40, |i| {
                            assert!(thread_num() < 6);
                            hits[i].fetch_add(1, Relaxed);
                        })
                        .unwrap();
                        assert_all_once(&hits, "count changes");
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            for count in [1, 6, 2, 5, 3].into_iter().cycle() {
                set_thread_count(count).unwrap();
                if done.load(Relaxed) {
                    break;
                }
                thread::yield_now();
            }
        });
        for caller in callers {
            let outcome = caller.join();
            done.store(true, Relaxed);
            outcome.unwrap();
        }
    });
}

#[test]
fn a_count_that_grows_again_brings_threads_back() {
    for count in [4, 1, 3, 2, 4] {
        let _threads = Threads::exactly(count);
        let all = Barrier::new(count);
        parallel_tasks(count, |_| {
            all.wait();
        })
        .unwrap();
    }
}

#[test]
fn settings_are_checked() {
    let threads = Threads::exactly(3);
    assert!(matches!(set_thread_count(MAX_THREADS + 1), Err(Error::InvalidArgument(_))));
    assert!(matches!(set_thread_count(usize::MAX), Err(Error::InvalidArgument(_))));
    assert_eq!(thread_count(), 3, "unchanged after an error");
    set_thread_count(MAX_THREADS).unwrap();
    assert_eq!(thread_count(), MAX_THREADS);
    drop(threads);
}

#[test]
fn a_guard_keeps_calls_on_their_thread() {
    let _threads = Threads::exactly(4);
    let me = thread::current().id();
    let outer = SerialGuard::new();
    let inner = SerialGuard::new();
    assert_eq!(thread_count(), 4, "the guard does not change the count");
    let chunks = AtomicUsize::new(0);
    let check = |_: std::ops::Range<i64>| {
        assert_eq!(thread::current().id(), me);
        chunks.fetch_add(1, Relaxed);
    };
    parallel_for(0..1_000_000, 1, check).unwrap();
    drop(inner);
    parallel_for(0..1_000_000, 1, check).unwrap();
    assert_eq!(chunks.load(Relaxed), 2, "one chunk each");
    drop(outer);
    let all = Barrier::new(4);
    parallel_tasks(4, |_| {
        all.wait();
    })
    .unwrap();
    // A leave too many is ignored.
    executorch_threadpool::abi::et_threadpool_guard_leave();
    parallel_tasks(4, |_| {
        all.wait();
    })
    .unwrap();
}

#[test]
fn a_panic_is_reported_after_all_have_finished() {
    for threads in [1, 4] {
        let _threads = Threads::exactly(threads);
        for bad in [0, 1, 50, 99] {
            let running = AtomicUsize::new(0);
            let outcome = parallel_tasks(100, |i| {
                running.fetch_add(1, Relaxed);
                if i == bad {
                    running.fetch_sub(1, Relaxed);
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                running.fetch_sub(1, Relaxed);
            });
            assert_eq!(outcome, Err(Error::Internal), "task {bad} of {threads} threads");
            assert_eq!(running.load(Relaxed), 0);
        }
        // The pool is as good as before.
        let hits = counters(100);
        parallel_tasks(100, |i| {
            hits[i].fetch_add(1, Relaxed);
        })
        .unwrap();
        assert_all_once(&hits, "after a panic");
    }
}

#[test]
fn the_c_functions_check_their_arguments() {
    unsafe extern "C-unwind" fn range(_: *mut c_void, _: i64, _: i64) {}
    unsafe extern "C-unwind" fn task(_: *mut c_void, _: usize) {}
    unsafe extern "C-unwind" fn bad_task(_: *mut c_void, _: usize) {
        std::panic::resume_unwind(Box::new(()));
    }
    let none = ptr::null_mut();
    // SAFETY: the bodies ignore their arguments.
    unsafe {
        assert_eq!(et_parallel_for(0, 10, 1, Some(range), none), 0);
        assert_eq!(et_parallel_for(5, 5, 1, Some(range), none), 0);
        assert_eq!(et_parallel_for(0, 10, 0, Some(range), none), 0x12);
        assert_eq!(et_parallel_for(0, 10, -4, Some(range), none), 0x12);
        assert_eq!(et_parallel_for(10, 0, 1, Some(range), none), 0x12);
        assert_eq!(et_parallel_for(0, 10, 1, None, none), 0x12);
        assert_eq!(et_parallel_for(i64::MIN, i64::MAX, 1, Some(range), none), 0);
        assert_eq!(et_parallel_tasks(10, Some(task), none), 0);
        assert_eq!(et_parallel_tasks(0, Some(task), none), 0);
        assert_eq!(et_parallel_tasks(10, None, none), 0x12);
        assert_eq!(et_parallel_tasks(usize::MAX, Some(task), none), 0x12);
        assert_eq!(et_parallel_tasks(10, Some(bad_task), none), 1);
    }
}

#[test]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn every_thread_computes_in_the_callers_mode() {
    const FLUSH_TO_ZERO: u32 = 1 << 15;
    fn control() -> u32 {
        let mut mxcsr = 0u32;
        // SAFETY: stores the control register to a local.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack)) };
        mxcsr
    }
    fn set_control(mxcsr: u32) {
        // SAFETY: the values used below differ from the thread's own in one defined bit.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack)) };
    }
    let _threads = Threads::exactly(3);
    let usual = control();
    for flush in [FLUSH_TO_ZERO, 0, FLUSH_TO_ZERO, 0] {
        set_control(usual | flush);
        let all = Barrier::new(3);
        let wrong = AtomicUsize::new(0);
        let outcome = parallel_tasks(3, |_| {
            all.wait();
            wrong.fetch_add(usize::from(control() & FLUSH_TO_ZERO != flush), Relaxed);
        });
        set_control(usual);
        outcome.unwrap();
        assert_eq!(wrong.load(Relaxed), 0);
    }
}
