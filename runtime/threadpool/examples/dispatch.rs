//! Prints what a parallel call costs, in nanoseconds: `cargo run --release --example dispatch [threads]`.

use executorch_threadpool::{parallel_for, parallel_tasks, set_thread_count, thread_count};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire};
use std::thread;
use std::time::{Duration, Instant};

/// The median time of `call`, with `gap` of other work before each.
fn median(rounds: usize, gap: Duration, mut call: impl FnMut()) -> u128 {
    let mut times: Vec<u128> = (0..rounds)
        .map(|_| {
            busy(gap);
            let start = Instant::now();
            call();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times.get(rounds / 2).copied().unwrap_or(0)
}

fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

/// A call in which every thread must take part before any may leave.
fn rendezvous(threads: usize) {
    let arrived = AtomicUsize::new(0);
    let outcome = parallel_tasks(threads, |_| {
        arrived.fetch_add(1, AcqRel);
        while arrived.load(Acquire) < threads {
            spin_loop();
        }
    });
    black_box(outcome).expect("the body does not panic");
}

/// A dependent chain of `steps` operations, about a nanosecond each.
fn compute(steps: u64) {
    let mut x = black_box(1.0f64);
    for _ in 0..steps {
        x = x * 0.999 + 0.001;
    }
    black_box(x);
}

fn main() {
    let asked = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    if let Err(error) = set_thread_count(asked) {
        eprintln!("{error}");
        std::process::exit(2);
    }
    let threads = thread_count();
    println!("{threads} threads; median ns");
    rendezvous(threads);

    let hot = Duration::ZERO;
    let empty = || black_box(parallel_tasks(2, |_| {})).expect("empty");
    println!("{:44} {:>8}", "clock alone", median(20_000, hot, || {}));
    println!("{:44} {:>8}", "2 empty tasks", median(20_000, hot, empty));
    println!(
        "{:44} {:>8}",
        "range of one grain (inline)",
        median(20_000, hot, || black_box(parallel_for(0..100, 1000, |_| {})).expect("empty"))
    );
    for gap in [0, 5, 20, 50] {
        let time = median(10_000, Duration::from_micros(gap), || rendezvous(threads));
        println!("{:44} {time:>8}", format!("all threads meet, {gap} us after the last call"));
    }
    let mut cold: Vec<u128> = (0..200)
        .map(|_| {
            thread::sleep(Duration::from_millis(2));
            let start = Instant::now();
            rendezvous(threads);
            start.elapsed().as_nanos()
        })
        .collect();
    cold.sort_unstable();
    println!("{:44} {:>8}", "all threads meet, workers asleep", cold.get(100).copied().unwrap_or(0));

    for steps in [2_000u64, 5_000, 20_000] {
        let alone = median(2_000, hot, || compute(steps));
        let chunk = steps / (4 * threads as u64);
        let together = median(2_000, hot, || {
            let outcome = parallel_tasks(4 * threads, |_| compute(chunk));
            black_box(outcome).expect("the body does not panic");
        });
        println!(
            "{:44} {together:>8}   {:.2} times as fast",
            format!("{alone} ns of work, shared"),
            alone as f64 / together as f64
        );
    }

    // Callers that compete for the CPUs: total work per second against one thread doing it all.
    for callers in [1usize, 2, 4, 8] {
        let rounds = 2_000;
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let outcome = parallel_tasks(8, |_| compute(1_000));
                        black_box(outcome).expect("the body does not panic");
                    }
                });
            }
        });
        let each = start.elapsed().as_nanos() / (callers * rounds) as u128;
        println!("{:44} {each:>8}", format!("{callers} callers, 8 x 1000 steps, ns per call"));
    }
}
