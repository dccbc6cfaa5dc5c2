//! A run of nodes that is long enough to be prepared in parts by several threads gives the results that it gives whole.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

extern crate executorch_core as _;

use common::made::*;
use common::random::Random;
use common::run::run;
use executorch_abi::error::ET_OK;
use executorch_abi::threadpool::et_threadpool_set_thread_count;
use executorch_backend_xnnpack::plan::choice::{Choice, Mode};
use executorch_backend_xnnpack::plan::{Executor, Plan};

const ROWS: usize = 3;
const WIDTH: usize = 512;
const LAYERS: usize = 8;
const SCALE: f32 = 0.5;

/// Where layer `layer` takes its channel `to` from: any bijection, another one for each layer.
fn from(layer: usize, to: usize) -> usize {
    (to * (2 * layer + 3) + layer) % WIDTH
}

/// Layers of 8-bit integers, which only the library runs, each of which reorders its channels.
fn reordering() -> Made {
    let dims = [ROWS as u32, WIDTH as u32];
    let mut made = Made { storage: Storage::Region, ..Made::new() };
    let x = made.input(fp32(), &dims);
    let mut last = made.internal(qint8(SCALE, 0), &dims);
    made.node(node::unary(Kind::XNNConvert, x, last));
    for layer in 0..LAYERS {
        let mut weights = vec![0_u8; WIDTH * WIDTH];
        for to in 0..WIDTH {
            weights[to * WIDTH + from(layer, to)] = 64;
        }
        let one_64th = per_channel(Datatype::QCINT8, &[1.0 / 64.0; WIDTH], 0);
        let filter = made.constant_bytes(one_64th, &[WIDTH as u32; 2], &weights);
        let next = made.internal(qint8(SCALE, 0), &dims);
        made.node(node::fully_connected(last, filter, None, next));
        last = next;
    }
    let y = made.output(fp32(), &dims);
    made.node(node::unary(Kind::XNNConvert, last, y));
    made
}

#[test]
fn parts_do_what_the_whole_does() {
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let made = reordering();
    let graph = made.read().unwrap();
    let parts = |threads| {
        let plan = Plan::new(&graph, &Choice { mode: Mode::Auto }, threads);
        assert!(plan.segments.iter().all(|segment| segment.executor == Executor::Library));
        plan.segments.len()
    };
    assert_eq!((parts(1), parts(4)), (1, 4));

    let mut random = Random::new(3);
    let mut input: Vec<f32> = (0..ROWS * WIDTH).map(|_| (random.below(256) as f32 - 128.0) * SCALE).collect();
    let mut expected = input.clone();
    for layer in 0..LAYERS {
        let before = expected.clone();
        for (to, value) in expected.iter_mut().enumerate() {
            *value = before[to / WIDTH * WIDTH + from(layer, to % WIDTH)];
        }
    }
    let payload = made.bytes();
    for threads in [1, 2, 4] {
        // SAFETY: always callable.
        assert_eq!(unsafe { et_threadpool_set_thread_count(threads) }, ET_OK);
        for sharing in 0..3 {
            assert!(
                run(&payload, "auto", sharing, [ROWS, WIDTH], &mut input) == expected,
                "{threads} threads, sharing {sharing}"
            );
        }
    }
}
