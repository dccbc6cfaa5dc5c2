//! Measures the library: `cargo run --release -p executorch-xnnpack-sys --example speed`.

extern crate executorch_threadpool as _;

#[path = "../tests/support/mod.rs"]
mod support;

use executorch_xnnpack_sys::pool::Pool;
use std::time::Instant;
use support::{Graph, Runtime, random};

const SIZE: usize = 1024;
const ROWS: usize = 64;

fn main() {
    for threads in [1, 2] {
        let pool = Pool::new(threads);
        let pool = Some(&pool);

        let mut graph = Graph::new(&[ROWS, SIZE], &[ROWS, SIZE]);
        let filter = graph.constant(&[SIZE, SIZE], &random(1, SIZE * SIZE));
        let bias = graph.constant(&[SIZE], &random(2, SIZE));
        graph.fully_connected(0, filter, bias);
        measure("f32 64x1024x1024", threads, graph.runtime(pool), &[ROWS, SIZE], ROWS * SIZE * SIZE);

        let mut graph = Graph::new(&[ROWS, SIZE], &[ROWS, SIZE]);
        let input = graph.quantized_input(&[ROWS, SIZE]);
        let weights: Vec<i8> = random(1, SIZE * SIZE).iter().map(|value| (value * 127.0) as i8).collect();
        let filter = graph.quantized_rows([SIZE, SIZE], &weights, &vec![0.01; SIZE]);
        let bias = graph.constant(&[SIZE], &random(2, SIZE));
        graph.fully_connected(input, filter, bias);
        measure("qd8-qc8w 64x1024x1024", threads, graph.runtime(pool), &[ROWS, SIZE], ROWS * SIZE * SIZE);

        let (channels, side) = (64, 56);
        let shape = [1, side, side, channels];
        let mut graph = Graph::new(&shape, &shape);
        let filter = graph.constant(&[channels, 3, 3, channels], &random(1, 9 * channels * channels));
        let bias = graph.constant(&[channels], &random(2, channels));
        graph.convolution(channels, filter, bias);
        let work = side * side * 9 * channels * channels;
        measure("f32 3x3 convolution, 64 channels, 56x56", threads, graph.runtime(pool), &shape, work);
    }
}

/// Prints the best and the median speed of many runs, each of `work` multiply-adds.
fn measure(name: &str, threads: usize, mut runtime: Runtime, input: &[usize], work: usize) {
    let count = runtime.reshape(input).iter().product();
    let data = random(3, input.iter().product());
    runtime.run(&data, count, 20);
    let mut times: Vec<f64> = (0..100)
        .map(|_| {
            let start = Instant::now();
            runtime.run(&data, count, 10);
            start.elapsed().as_secs_f64() / 10.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let speed = |time: f64| 2.0 * work as f64 / time / 1e9;
    println!(
        "{name}, {threads} threads: best {:.0}, median {:.0} GFLOP/s",
        speed(times[0]),
        speed(times[50])
    );
}
