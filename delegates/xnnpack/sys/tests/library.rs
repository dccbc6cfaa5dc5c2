//! The library, called through the declarations, against references in f64.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

extern crate executorch_threadpool as _;

mod support;

use executorch_xnnpack_sys::pool::Pool;
use executorch_xnnpack_sys::{initialize, status_name, xnn_status};
use support::{Graph, random};

/// `input * filterᵀ + bias` in f64.
fn product(input: &[f32], filter: &[f64], bias: &[f32], depth: usize) -> Vec<f64> {
    let rows = input.chunks(depth);
    rows.flat_map(|row| {
        filter.chunks(depth).zip(bias).map(|(column, &bias)| {
            let terms = row.iter().zip(column).map(|(&a, &b)| f64::from(a) * b);
            terms.sum::<f64>() + f64::from(bias)
        })
    })
    .collect()
}

/// Root mean square.
fn rms(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(|value| value * value).sum::<f64>() / count).sqrt()
}

/// The error's root mean square, relative to that of the expected values.
fn error(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let errors = found.iter().zip(expected).map(|(&found, expected)| f64::from(found) - expected);
    rms(errors) / rms(expected.iter().copied())
}

#[test]
fn linear_f32() {
    let (depth, columns) = (1024, 1024);
    let (filter, bias) = (random(1, depth * columns), random(2, columns));
    let exact: Vec<f64> = filter.iter().map(|&value| value.into()).collect();
    let pool = Pool::new(2);
    for pool in [None, Some(&pool)] {
        let mut graph = Graph::new(&[64, depth], &[64, columns]);
        let filter = graph.constant(&[columns, depth], &filter);
        let bias_id = graph.constant(&[columns], &bias);
        graph.fully_connected(0, filter, bias_id);
        let mut runtime = graph.runtime(pool);
        for rows in [64, 3, 100] {
            assert_eq!(runtime.reshape(&[rows, depth]), [rows, columns]);
            let input = random(3 + rows as u64, rows * depth);
            let found = runtime.run(&input, rows * columns, 1);
            let error = error(&found, &product(&input, &exact, &bias, depth));
            assert!(error < 2e-6, "{rows} rows: {error}");
        }
    }
}

#[test]
fn linear_of_int8_weights_and_dynamic_int8_input() {
    let (depth, columns) = (512, 300);
    let mut random_bytes = fastrand::Rng::with_seed(5);
    let filter: Vec<i8> = (0..depth * columns).map(|_| random_bytes.i8(-127..=127)).collect();
    let scales: Vec<f32> = (0..columns).map(|column| 1e-3 * (1.0 + column as f32 / 100.0)).collect();
    let bias = random(6, columns);
    let exact: Vec<f64> = filter
        .chunks(depth)
        .zip(&scales)
        .flat_map(|(row, &scale)| row.iter().map(move |&value| f64::from(value) * f64::from(scale)))
        .collect();
    let pool = Pool::new(2);
    for pool in [None, Some(&pool)] {
        let mut graph = Graph::new(&[64, depth], &[64, columns]);
        let input = graph.quantized_input(&[64, depth]);
        let filter = graph.quantized_rows([columns, depth], &filter, &scales);
        let bias_id = graph.constant(&[columns], &bias);
        graph.fully_connected(input, filter, bias_id);
        let mut runtime = graph.runtime(pool);
        for rows in [64, 1, 7] {
            assert_eq!(runtime.reshape(&[rows, depth]), [rows, columns]);
            let input = random(7 + rows as u64, rows * depth);
            let found = runtime.run(&input, rows * columns, 1);
            // Inputs are rounded to steps of 2/255: 0.0023 on average, of 0.58.
            let error = error(&found, &product(&input, &exact, &bias, depth));
            assert!((1e-4..8e-3).contains(&error), "{rows} rows: {error}");
        }
    }
}

#[test]
fn convolution_f32() {
    let (channels, size) = (24, 17);
    let (filter, bias) = (random(8, channels * 9 * channels), random(9, channels));
    let input = random(10, size * size * channels);
    let mut expected = Vec::new();
    for (y, x) in (0..size * size).map(|at| (at / size, at % size)) {
        for (kernel, &bias) in filter.chunks(9 * channels).zip(&bias) {
            let mut sum = f64::from(bias);
            for (tap, weights) in kernel.chunks(channels).enumerate() {
                let (row, column) = ((y + tap / 3).wrapping_sub(1), (x + tap % 3).wrapping_sub(1));
                if row < size && column < size {
                    let pixel = &input[(row * size + column) * channels..][..channels];
                    sum += pixel.iter().zip(weights).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
                }
            }
            expected.push(sum);
        }
    }
    let pool = Pool::new(3);
    let shape = [1, size, size, channels];
    let mut graph = Graph::new(&shape, &shape);
    let filter = graph.constant(&[channels, 3, 3, channels], &filter);
    let bias = graph.constant(&[channels], &bias);
    graph.convolution(channels, filter, bias);
    let mut runtime = graph.runtime(Some(&pool));
    assert_eq!(runtime.reshape(&shape), shape);
    let error = error(&runtime.run(&input, expected.len(), 1), &expected);
    assert!(error < 2e-6, "{error}");
}

#[test]
fn initializing_again_is_harmless_and_statuses_have_names() {
    assert_eq!(initialize(), Ok(()));
    assert_eq!(initialize(), Ok(()));
    assert_eq!(status_name(xnn_status::xnn_status_out_of_memory), "out of memory");
    assert_eq!(status_name(xnn_status(99)), "unknown status");
}
