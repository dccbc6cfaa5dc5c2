//! Norms against their definitions.

use crate::testing::{Tensor, call, ints};
use executorch_abi::Dtype::{self, *};
use executorch_abi::value::et_value_t;

/// A list of integers that lives on.
fn list(items: &[i64]) -> et_value_t {
    ints(items.to_vec().leak())
}

const NONE: et_value_t = et_value_t::NONE;

fn value(i: usize) -> f64 {
    // Exact in f16 and bf16.
    ((i * 37) % 29) as f64 / 4.0 - 2.0
}

/// Mean and variance.
fn moments(group: &[f64]) -> [f64; 2] {
    let n = group.len() as f64;
    let mean = group.iter().sum::<f64>() / n;
    [mean, group.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n]
}

fn assert_close(found: &[f64], expected: &[f64], error: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let wrong =
        found.iter().zip(expected).find(|(a, b)| (**a - **b).abs() > error * (1.0 + b.abs()) || a.is_nan());
    assert!(wrong.is_none(), "{what}: {wrong:?}");
}

fn error_of(dtype: Dtype) -> f64 {
    match dtype {
        Float64 => 1e-12,
        Float32 => 2e-6,
        Float16 => 2e-3,
        _ => 1e-2,
    }
}

const FLOATS: [Dtype; 4] = [Float32, Float64, Float16, BFloat16];

#[test]
fn layer_norm_of_long_rows() {
    let (rows, n) = (40, 1500);
    for dtype in FLOATS {
        for (has_weight, has_bias) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut x = Tensor::contiguous(dtype, &[rows, 3, n / 3], value);
            let mut w = Tensor::contiguous(dtype, &[3, n / 3], |i| value(i + 5));
            let mut b = Tensor::contiguous(dtype, &[3, n / 3], |i| value(i + 11));
            let mut outs = [&[rows, 3, n / 3][..], &[rows, 1, 1], &[rows, 1, 1]]
                .map(|sizes| Tensor::contiguous(dtype, sizes, |_| 0.0));
            let weight = if has_weight { (&mut w).into() } else { NONE };
            let bias = if has_bias { (&mut b).into() } else { NONE };
            let mut args =
                vec![(&mut x).into(), list(&[3, i64::from(n / 3)]), weight, bias, et_value_t::double(1e-3)];
            args.extend(outs.iter_mut().map(et_value_t::from));
            call("aten::native_layer_norm.out", &mut args).unwrap();
            let (x, w, b) = (x.values(), w.values(), b.values());
            let stats: Vec<[f64; 2]> = x.chunks(n as usize).map(moments).collect();
            let rstd = |row: usize| 1.0 / (stats[row][1] + 1e-3).sqrt();
            let want: Vec<f64> = (0..x.len())
                .map(|i| {
                    let (row, at) = (i / n as usize, i % n as usize);
                    let y = (x[i] - stats[row][0]) * rstd(row);
                    y * if has_weight { w[at] } else { 1.0 } + if has_bias { b[at] } else { 0.0 }
                })
                .collect();
            let what = format!("{dtype} {has_weight} {has_bias}");
            assert_close(&outs[0].values(), &want, error_of(dtype), &what);
            let means: Vec<f64> = stats.iter().map(|s| s[0]).collect();
            assert_close(&outs[1].values(), &means, error_of(dtype), &what);
            let rstds: Vec<f64> = (0..rows as usize).map(rstd).collect();
            assert_close(&outs[2].values(), &rstds, error_of(dtype), &what);
        }
    }
}

#[test]
fn layer_norm_explains_a_wrong_shape() {
    let mut x = Tensor::contiguous(Float32, &[2, 3], value);
    let mut outs = [&[2, 3][..], &[2, 1], &[2, 1]].map(|sizes| Tensor::contiguous(Float32, sizes, |_| 0.0));
    let mut w = Tensor::contiguous(Float32, &[2], value);
    for (shape, weight, expected) in [(4, false, "[4]"), (3, true, "the weight has sizes [2], expected 3")] {
        let weight = if weight { (&mut w).into() } else { NONE };
        let mut args = vec![(&mut x).into(), list(&[shape]), weight, NONE, et_value_t::double(1e-5)];
        args.extend(outs.iter_mut().map(et_value_t::from));
        let error = call("aten::native_layer_norm.out", &mut args).unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
}

#[test]
fn group_norm_of_every_type() {
    let (batch, channels, inner, groups) = (3_usize, 6_usize, 1100_usize, 2_usize);
    for dtype in FLOATS {
        let mut x = Tensor::contiguous(dtype, &[3, 6, 1100], value);
        let mut w = Tensor::contiguous(dtype, &[6], |i| value(i + 5));
        let mut b = Tensor::contiguous(dtype, &[6], |i| value(i + 11));
        let mut outs =
            [&[3, 6, 1100][..], &[3, 2], &[3, 2]].map(|sizes| Tensor::contiguous(dtype, sizes, |_| 0.0));
        let mut args = vec![(&mut x).into(), (&mut w).into(), (&mut b).into()];
        args.extend([batch, channels, inner, groups].map(|n| et_value_t::int(n as i64)));
        args.push(et_value_t::double(1e-3));
        args.extend(outs.iter_mut().map(et_value_t::from));
        call("aten::native_group_norm.out", &mut args).unwrap();
        let (x, w, b) = (x.values(), w.values(), b.values());
        let stats: Vec<[f64; 2]> = x.chunks(channels / groups * inner).map(moments).collect();
        let want: Vec<f64> = (0..x.len())
            .map(|i| {
                let ([mean, variance], channel) =
                    (stats[i / (channels / groups * inner)], i / inner % channels);
                (x[i] - mean) / (variance + 1e-3).sqrt() * w[channel] + b[channel]
            })
            .collect();
        assert_close(&outs[0].values(), &want, 2.0 * error_of(dtype), &dtype.to_string());
        let means: Vec<f64> = stats.iter().map(|s| s[0]).collect();
        assert_close(&outs[1].values(), &means, error_of(dtype), &dtype.to_string());
    }
}

/// The values of each channel of a row-major batch.
fn channel(x: &[f64], sizes: &[i32], channel: usize) -> Vec<f64> {
    let inner: i32 = sizes[2..].iter().product();
    let of = |i: usize| i / inner as usize % sizes[1] as usize;
    x.iter().enumerate().filter(|(i, _)| of(*i) == channel).map(|(_, v)| *v).collect()
}

#[test]
fn batch_norm_in_every_order() {
    for (sizes, orders) in [
        (&[2, 5, 40, 30][..], &[&[0, 1, 2, 3][..], &[0, 2, 3, 1], &[1, 0, 2, 3]][..]),
        (&[7, 700], &[&[0, 1], &[1, 0]]),
        (&[4, 1, 9], &[&[0, 1, 2]]),
    ] {
        for (order, dtype) in orders.iter().flat_map(|o| FLOATS.map(|d| (o, d))) {
            let channels = sizes[1];
            let mut x = Tensor::new(dtype, sizes, order, value);
            let parameter = |at: usize| Tensor::contiguous(dtype, &[channels], move |i| value(i + at));
            let (mut w, mut b, mut mean) = (parameter(3), parameter(8), parameter(1));
            let mut var = Tensor::contiguous(dtype, &[channels], |i| value(i).abs() + 0.5);
            let mut y = Tensor::new(dtype, sizes, order, |_| 0.0);
            let mut none = [0, 0].map(|_| Tensor::contiguous(dtype, &[0], |_| 0.0));
            let mut args: Vec<et_value_t> =
                [&mut x, &mut w, &mut b, &mut mean, &mut var].map(Into::into).into();
            args.extend([et_value_t::double(0.1), et_value_t::double(1e-3), (&mut y).into()]);
            args.extend(none.iter_mut().map(et_value_t::from));
            call("aten::_native_batch_norm_legit_no_training.out", &mut args).unwrap();
            let (x, w, b, mean, var) = (x.values(), w.values(), b.values(), mean.values(), var.values());
            let inner: i32 = sizes[2..].iter().product();
            let of = |i: usize| i / inner as usize % channels as usize;
            let want: Vec<f64> = (0..x.len())
                .map(|i| (x[i] - mean[of(i)]) / (var[of(i)] + 1e-3).sqrt() * w[of(i)] + b[of(i)])
                .collect();
            assert_close(&y.values(), &want, 2.0 * error_of(dtype), &format!("{sizes:?} {order:?} {dtype}"));
        }
    }
}

#[test]
fn training_moves_the_running_statistics() {
    let sizes = [3, 4, 5, 2];
    for order in [[0, 1, 2, 3], [0, 2, 3, 1]] {
        let mut x = Tensor::new(Float32, &sizes, &order, value);
        let mut mean = Tensor::contiguous(Float32, &[4], |i| i as f64);
        let mut var = Tensor::contiguous(Float32, &[4], |i| 1.0 + i as f64);
        let mut y = Tensor::new(Float32, &sizes, &order, |_| 0.0);
        let mut saved = [0, 0].map(|_| Tensor::contiguous(Float32, &[4], |_| 0.0));
        let mut args = vec![(&mut x).into(), NONE, NONE, (&mut mean).into(), (&mut var).into()];
        args.extend([
            et_value_t::bool(true),
            et_value_t::double(0.25),
            et_value_t::double(1e-3),
            (&mut y).into(),
        ]);
        args.extend(saved.iter_mut().map(et_value_t::from));
        call("aten::_native_batch_norm_legit.out", &mut args).unwrap();
        let stats: Vec<[f64; 2]> = (0..4).map(|c| moments(&channel(&x.values(), &sizes, c))).collect();
        let n = 30.0;
        let moved = |old: f64, new: f64| old + 0.25 * (new - old);
        let each = |f: &dyn Fn(usize) -> f64| (0..4).map(f).collect::<Vec<f64>>();
        assert_close(&mean.values(), &each(&|c| moved(c as f64, stats[c][0])), 1e-6, "running mean");
        let unbiased = |c: usize| stats[c][1] * n / (n - 1.0);
        assert_close(&var.values(), &each(&|c| moved(1.0 + c as f64, unbiased(c))), 1e-6, "running variance");
        assert_close(&saved[0].values(), &each(&|c| stats[c][0]), 1e-6, "mean");
        assert_close(&saved[1].values(), &each(&|c| 1.0 / (stats[c][1] + 1e-3).sqrt()), 1e-6, "rstd");
        for (c, [mean, variance]) in stats.iter().enumerate() {
            let want: Vec<f64> = channel(&x.values(), &sizes, c)
                .iter()
                .map(|v| (v - mean) / (variance + 1e-3).sqrt())
                .collect();
            assert_close(&channel(&y.values(), &sizes, c), &want, 2e-6, "result");
        }
    }
}
