//! The library runs on the pool's threads and on no others.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use executorch_xnnpack_sys::pool::Pool;
use support::{Graph, random};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn only_the_pool_has_threads() {
    executorch_threadpool::set_thread_count(3).unwrap();
    let before = threads();
    let pool = Pool::new(0);
    let size = 512;
    let mut graph = Graph::new(&[64, size], &[64, size]);
    let filter = graph.constant(&[size, size], &random(1, size * size));
    let bias = graph.constant(&[size], &random(2, size));
    graph.fully_connected(0, filter, bias);
    let mut runtime = graph.runtime(Some(&pool));
    runtime.reshape(&[64, size]);
    assert_eq!(threads(), before, "nothing has run yet");
    runtime.run(&random(3, 64 * size), 64 * size, 200);
    assert_eq!(threads(), before + 2, "a pool of three is the caller and two workers");
}
