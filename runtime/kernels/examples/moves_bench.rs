//! How fast the copying engine moves elements: gigabytes a second, read and written, for one thread and two.
//!
//! `cargo run --release -p executorch-kernels --example moves_bench`

#![allow(clippy::unwrap_used, reason = "a tool for developers")]

use executorch_abi::threadpool::et_threadpool_set_thread_count;
use executorch_kernels::moves::copy;
use executorch_kernels::strided::View;
use std::time::{Duration, Instant};
use {executorch_core as _, executorch_threadpool as _};

/// A copy of 4-byte elements to a contiguous tensor.
struct Case {
    name: &'static str,
    sizes: &'static [i32],
    order: &'static [usize],
}

const CASES: &[Case] = &[
    Case { name: "copy", sizes: &[64, 256, 56, 56], order: &[0, 1, 2, 3] },
    Case { name: "to channels last", sizes: &[64, 256, 56, 56], order: &[0, 2, 3, 1] },
    Case { name: "from channels last", sizes: &[64, 56, 56, 256], order: &[0, 3, 1, 2] },
    Case { name: "reversed dimensions", sizes: &[64, 256, 56, 56], order: &[3, 2, 1, 0] },
    Case { name: "picture to channels last", sizes: &[8, 3, 224, 224], order: &[0, 2, 3, 1] },
    Case { name: "picture from channels last", sizes: &[8, 224, 224, 3], order: &[0, 3, 1, 2] },
    Case { name: "transpose", sizes: &[1024, 1024], order: &[1, 0] },
    Case { name: "transpose", sizes: &[1000, 1000], order: &[1, 0] },
    Case { name: "transpose", sizes: &[4096, 4096], order: &[1, 0] },
    Case { name: "attention heads", sizes: &[8, 197, 12, 64], order: &[0, 2, 1, 3] },
    Case { name: "attention keys", sizes: &[8, 12, 197, 64], order: &[0, 1, 3, 2] },
    Case { name: "small", sizes: &[2, 3, 4], order: &[2, 0, 1] },
];

/// The shortest of some runs.
fn best(mut run: impl FnMut()) -> Duration {
    let until = Instant::now() + Duration::from_millis(300);
    let mut best = Duration::MAX;
    while Instant::now() < until {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best
}

fn report(name: &str, shape: &[i32], bytes: usize, mut run: impl FnMut()) {
    let [one, two] = [1, 2].map(|threads| {
        // SAFETY: no other thread uses the pool.
        unsafe { et_threadpool_set_thread_count(threads) };
        best(&mut run)
    });
    let rate = |time: Duration| 2.0 * bytes as f64 / time.as_secs_f64() / 1e9;
    println!("{name:28} {shape:?}: {:.2} and {:.2} GB/s ({:?}, {:?})", rate(one), rate(two), one, two);
}

fn main() {
    for case in CASES {
        let count = case.sizes.iter().product::<i32>() as usize;
        let (from, mut to) = (vec![1_u8; 4 * count], vec![0_u8; 4 * count]);
        let source = View::contiguous(case.sizes).permute(case.order).unwrap();
        let sizes: Vec<i32> = case.order.iter().map(|&d| case.sizes[d]).collect();
        let target = View::contiguous(&sizes);
        report(case.name, case.sizes, 4 * count, || copy(&from, &source, &mut to, &target, 4).unwrap());
    }
    for (outer, parts) in [(64, [128 * 784, 128 * 784]), (4096, [33, 31]), (65536, [3, 1])] {
        let total = parts[0] + parts[1];
        let from = vec![1_u8; (4 * outer * total) as usize];
        let mut to = from.clone();
        let whole = View::contiguous(&[outer, total]);
        report("cat", &[outer, parts[0], parts[1]], from.len(), || {
            let mut first = 0;
            for part in parts {
                let target = whole.narrow(1, first, part as usize).unwrap();
                copy(&from, &View::contiguous(&[outer, part]), &mut to, &target, 4).unwrap();
                first += part as usize;
            }
        });
    }
}
