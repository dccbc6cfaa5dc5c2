//! Callers and the workers that help them are together no more than the pool's threads.

mod support;

use executorch_threadpool::{parallel_for, parallel_tasks};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::sync::{Barrier, Mutex};
use std::thread::{self, Scope, ScopedJoinHandle, ThreadId};
use std::time::Duration;
use support::{Threads, forget_callers};

/// A call of two tasks by another thread, in the middle of its work until dropped.
struct Busy<'scope> {
    state: &'scope State,
    thread: Option<ScopedJoinHandle<'scope, bool>>,
}

#[derive(Default)]
struct State {
    running: AtomicUsize,
    end: AtomicBool,
}

impl<'scope> Busy<'scope> {
    /// Returns when `running` of its tasks are.
    fn start(scope: &'scope Scope<'scope, '_>, state: &'scope State, running: usize) -> Self {
        let thread = scope.spawn(|| {
            let on = threads_of(2, || {
                state.running.fetch_add(1, Release);
                while !state.end.load(Acquire) {
                    thread::yield_now();
                }
            });
            on == myself()
        });
        while state.running.load(Acquire) < running {
            thread::yield_now();
        }
        Self { state, thread: Some(thread) }
    }

    /// Lets it end. Returns whether its thread did all the work.
    fn was_alone(mut self) -> bool {
        self.state.end.store(true, Release);
        self.thread.take().and_then(|thread| thread.join().ok()).expect("no body panics")
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.state.end.store(true, Release);
    }
}

/// The threads that take part in a call of `count` tasks.
fn threads_of(count: usize, body: impl Fn() + Sync) -> HashSet<ThreadId> {
    let threads = Mutex::new(HashSet::new());
    parallel_tasks(count, |_| {
        threads.lock().expect("no body panics").insert(thread::current().id());
        body();
    })
    .expect("no body panics");
    threads.into_inner().expect("no body panics")
}

/// Long enough for a worker to come if there is one that may.
fn nap() {
    thread::sleep(Duration::from_micros(200));
}

fn myself() -> HashSet<ThreadId> {
    HashSet::from([thread::current().id()])
}

/// Returns only if as many threads work together.
fn meet(threads: usize) {
    let all = Barrier::new(threads);
    parallel_tasks(threads, |_| {
        all.wait();
    })
    .expect("no body panics");
}

#[test]
fn as_many_callers_as_threads_work_alone() {
    let _threads = Threads::exactly(3);
    let (first, second) = (State::default(), State::default());
    thread::scope(|scope| {
        let first = Busy::start(scope, &first, 2);
        // Its caller, a worker, and this one are three.
        let second = Busy::start(scope, &second, 1);
        assert_eq!(threads_of(20, nap), myself(), "three callers");
        assert!(second.was_alone(), "nobody may help the second caller");
        assert!(!first.was_alone(), "the first one had a worker");
    });
    forget_callers();
    meet(3);
}

#[test]
fn workers_come_back_when_another_caller_is_gone() {
    let _threads = Threads::exactly(2);
    for _ in 0..5 {
        let (begun, end) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                // One after another: none of them is the reason by itself.
                while !end.load(Acquire) {
                    parallel_tasks(2, |_| begun.store(true, Release)).unwrap();
                }
            });
            while !begun.load(Acquire) {
                thread::yield_now();
            }
            for _ in 0..20 {
                parallel_tasks(2, |_| nap()).unwrap();
            }
            end.store(true, Release);
        });
        forget_callers();
        meet(2);
    }
}

#[test]
fn callers_share_the_workers() {
    let _threads = Threads::exactly(5);
    let other = State::default();
    thread::scope(|scope| {
        let other = Busy::start(scope, &other, 2);
        meet(3);
        assert!(threads_of(50, nap).len() <= 3, "two threads belong to the other caller");
        assert!(!other.was_alone());
    });
    forget_callers();
    meet(5);
}

#[test]
fn calls_inside_a_call_without_help_are_one_chunk() {
    let _threads = Threads::exactly(2);
    let other = State::default();
    thread::scope(|scope| {
        let _other = Busy::start(scope, &other, 2);
        let chunks = AtomicUsize::new(0);
        parallel_tasks(2, |_| {
            parallel_for(0..1_000_000, 1, |part| {
                assert_eq!(part, 0..1_000_000);
                chunks.fetch_add(1, Release);
            })
            .unwrap();
        })
        .unwrap();
        assert_eq!(chunks.load(Acquire), 2);
    });
}
