//! Reductions, softmax, norms and layout copies against naive f64 references, contiguous and strided.

use executorch_simd::*;
use half::{bf16, f16};

/// Deterministic values in [-4, 4).
fn values(n: usize) -> Vec<f32> {
    let mut state = 12345u32;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 21) as f32 - 4.0
        })
        .collect()
}

/// The shapes to try: every small row, long rows, and strided ones around the tiles.
fn shapes() -> Vec<[usize; 3]> {
    let mut shapes: Vec<[usize; 3]> = (1..70).map(|n| [2, n, 1]).collect();
    shapes.extend([
        [1, 5000, 1],
        [1, 40_000, 1],
        [3, 4, 5],
        [2, 700, 3],
        [1, 2, 300],
        [2, 3, 256],
        [1, 9, 257],
        [1, 1, 4],
    ]);
    shapes
}

/// Calls `check` with the output's index and the reduced elements.
fn each_column<T: Copy>(x: &[T], [outer, reduce, inner]: [usize; 3], mut check: impl FnMut(usize, Vec<T>)) {
    for o in 0..outer {
        for i in 0..inner {
            check(o * inner + i, (0..reduce).map(|r| x[(o * reduce + r) * inner + i]).collect());
        }
    }
}

fn close(y: f64, exact: f64, scale: f64) -> bool {
    (y - exact).abs() <= scale
}

#[test]
fn sums_means_and_variances() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for shape in shapes() {
            let [outer, reduce, inner] = shape;
            let x = values(outer * reduce * inner);
            let n = outer * inner;
            let (mut s, mut q, mut mean, mut m2) = (vec![0f32; n], vec![0f32; n], vec![0.0; n], vec![0.0; n]);
            sum(Sum::Sum, &x, shape, &mut s);
            sum(Sum::Squares, &x, shape, &mut q);
            moments(&x, shape, &mut mean, &mut m2);
            each_column(&x, shape, |i, column| {
                let column: Vec<f64> = column.into_iter().map(f64::from).collect();
                let exact: f64 = column.iter().sum();
                let size: f64 = column.iter().map(|v| v.abs()).sum();
                let squares: f64 = column.iter().map(|v| v * v).sum();
                assert!(close(s[i].into(), exact, size * 1e-6), "sum {shape:?}: {} {exact}", s[i]);
                assert!(close(q[i].into(), squares, squares * 2e-6), "squares {shape:?}");
                let mu = exact / column.len() as f64;
                let second: f64 = column.iter().map(|v| (v - mu) * (v - mu)).sum();
                assert!(close(mean[i], mu, 4e-6), "mean {shape:?}");
                assert!(close(m2[i], second, second * 5e-6 + 1e-9), "variance {shape:?}: {} {second}", m2[i]);
            });
            // Other types, exactly.
            let ints: Vec<i32> = x.iter().map(|&v| (v * 1e6) as i32).collect();
            let mut total = vec![0i64; n];
            sum(Sum::Sum, &ints, shape, &mut total);
            each_column(&ints, shape, |i, c| assert_eq!(total[i], c.into_iter().map(i64::from).sum::<i64>()));
            let halves: Vec<f16> = x.iter().map(|&v| f16::from_f32(v)).collect();
            sum(Sum::Sum, &halves, shape, &mut s);
            each_column(&halves, shape, |i, c| {
                let exact: f64 = c.iter().map(|v| v.to_f64()).sum();
                assert!(close(s[i].into(), exact, c.len() as f64 * 4e-6));
            });
            let flags: Vec<Bool8> = x.iter().map(|&v| Bool8(u8::from(v > 3.0))).collect();
            sum(Sum::Sum, &flags, shape, &mut total);
            let (mut any, mut all) = (vec![7u8; n], vec![7u8; n]);
            logical(Logical::Any, &flags, shape, &mut any);
            logical(Logical::All, &flags, shape, &mut all);
            each_column(&flags, shape, |i, c| {
                assert_eq!(total[i], c.iter().filter(|v| v.0 != 0).count() as i64);
                assert_eq!(any[i], u8::from(c.iter().any(|v| v.0 != 0)));
                assert_eq!(all[i], u8::from(c.iter().all(|v| v.0 != 0)));
            });
        }
    }
}

#[test]
fn large_offsets_do_not_spoil_the_variance() {
    let x: Vec<f32> = values(10_000).iter().map(|v| v + 10_000.0).collect();
    let (mut mean, mut m2) = ([0.0], [0.0]);
    moments(&x, [1, 10_000, 1], &mut mean, &mut m2);
    let mu = x.iter().map(|&v| f64::from(v)).sum::<f64>() / 1e4;
    let exact: f64 = x.iter().map(|&v| (f64::from(v) - mu).powi(2)).sum();
    assert!(close(m2[0], exact, exact * 1e-5), "{} {exact}", m2[0]);
}

#[test]
fn products() {
    for shape in [[2, 5, 1], [2, 40, 1], [2, 7, 3]] {
        let x: Vec<f64> = values(shape.iter().product()).iter().map(|&v| f64::from(v) / 4.0 + 1.0).collect();
        let mut y = vec![0.0; shape[0] * shape[2]];
        sum(Sum::Product, &x, shape, &mut y);
        each_column(&x, shape, |i, c| {
            let exact: f64 = c.iter().product();
            assert!(close(y[i], exact, exact.abs() * 1e-13));
        });
    }
}

#[test]
fn extremes_and_their_indices() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for shape in shapes() {
            let size: usize = shape.iter().product();
            let mut x: Vec<f32> = values(size).iter().map(|v| v.round()).collect();
            for with_nan in [false, true] {
                if with_nan {
                    for at in [size / 3, size - 1] {
                        x[at] = f32::NAN;
                    }
                }
                let n = shape[0] * shape[2];
                let (mut y, mut at) = (vec![0f32; n], vec![0i64; n]);
                for op in [Extreme::Max, Extreme::Min] {
                    extreme(op, &x, shape, &mut y);
                    arg_extreme(op, &x, shape, &mut at);
                    each_column(&x, shape, |i, c| {
                        let mut best = 0;
                        for (j, v) in c.iter().enumerate() {
                            let better = if op == Extreme::Max { *v > c[best] } else { *v < c[best] };
                            if better || (v.is_nan() && !c[best].is_nan()) {
                                best = j;
                            }
                        }
                        assert_eq!(at[i], best as i64, "{op:?} {shape:?} {isa:?}");
                        assert!(
                            y[i] == c[best] || (y[i].is_nan() && c[best].is_nan()),
                            "{op:?} {shape:?} {isa:?}"
                        );
                    });
                }
            }
            let ints: Vec<u8> = values(size).iter().map(|v| (v * 30.0 + 125.0) as u8).collect();
            let mut y = vec![0u8; shape[0] * shape[2]];
            extreme(Extreme::Min, &ints, shape, &mut y);
            each_column(&ints, shape, |i, c| assert_eq!(Some(y[i]), c.into_iter().min()));
        }
    }
}

#[test]
fn dot_products() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for n in (0..70).chain([1000, 50_000]) {
            let (a, b) = (values(n), values(n + 1));
            let exact: f64 = a.iter().zip(&b[1..]).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            assert!(close(dot(&a, &b[1..]).into(), exact, n as f64 * 5e-6));
            let (a, b): (Vec<_>, Vec<_>) =
                a.iter().zip(&b[1..]).map(|(&a, &b)| (bf16::from_f32(a), bf16::from_f32(b))).unzip();
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| a.to_f64() * b.to_f64()).sum();
            assert!(close(dot(&a, &b).into(), exact, n as f64 * 5e-6));
        }
    }
}

#[test]
fn softmax_and_its_logarithm() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for shape in shapes() {
            let x: Vec<f32> = values(shape.iter().product()).iter().map(|v| v * 20.0).collect();
            let wide: Vec<f64> = x.iter().map(|&v| v.into()).collect();
            let [_, reduce, inner] = shape;
            for log in [false, true] {
                let (mut y, mut y64) = (vec![0f32; x.len()], vec![0f64; x.len()]);
                softmax(log, &x, shape, &mut y);
                softmax(log, &wide, shape, &mut y64);
                each_column(&wide, shape, |i, c| {
                    let max = c.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                    let total: f64 = c.iter().map(|v| (v - max).exp()).sum();
                    for (r, v) in c.iter().enumerate() {
                        let at = ((i / inner) * reduce + r) * inner + i % inner;
                        // The difference from the greatest is rounded, and the exponential magnifies that.
                        let tolerance = 1e-6 + (max - v) * 1.2e-7;
                        let exact = if log { v - max - total.ln() } else { (v - max).exp() / total };
                        assert!(
                            close(
                                y[at].into(),
                                exact,
                                exact.abs() * tolerance + if log { 2e-7 } else { 1e-37 }
                            ),
                            "{shape:?} {isa:?}: {} {exact}",
                            y[at]
                        );
                        assert!(close(
                            y64[at],
                            exact,
                            exact.abs() * 1e-13 + if log { 4e-16 } else { 1e-300 }
                        ));
                    }
                });
            }
        }
        let mut y = [0f32; 3];
        softmax(false, &[f32::NEG_INFINITY, 0.0, 0.0], [1, 3, 1], &mut y);
        assert_eq!(y, [0.0, 0.5, 0.5]);
        softmax(false, &[f32::NAN, 0.0, 0.0], [1, 3, 1], &mut y);
        assert!(y.iter().all(|v| v.is_nan()));
        softmax(false, &[f32::NAN, 0.0, 0.0, 0.0, 1.0, 1.0], [1, 3, 2], &mut [0.0; 6]);
    }
}

#[test]
fn norms_of_rows() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for n in (1..70).chain([768, 5000]) {
            let (x, w, b) = (values(n), values(n + 3), values(n + 5));
            let (w, b) = (&w[3..], &b[5..]);
            let mu = x.iter().map(|&v| f64::from(v)).sum::<f64>() / n as f64;
            let var = x.iter().map(|&v| (f64::from(v) - mu).powi(2)).sum::<f64>() / n as f64;
            let rstd = 1.0 / (var + 1e-5).sqrt();
            let power = x.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / n as f64;
            let mut y = vec![0f32; n];
            for (weight, bias) in [(Some(w), Some(b)), (Some(w), None), (None, Some(b)), (None, None)] {
                let (m, r) = layer_norm_row(&x, weight, bias, 1e-5, &mut y);
                assert!(close(m.into(), mu, 1e-6) && close(r.into(), rstd, rstd * 1e-5));
                for i in 0..n {
                    let exact = (f64::from(x[i]) - mu) * rstd * weight.map_or(1.0, |w| w[i].into())
                        + bias.map_or(0.0, |b| b[i].into());
                    assert!(close(y[i].into(), exact, 2e-5), "{} {exact}, {n}", y[i]);
                }
            }
            rms_norm_row(&x, Some(w), 1e-6, &mut y);
            for i in 0..n {
                let exact = f64::from(x[i]) / (power + 1e-6).sqrt() * f64::from(w[i]);
                assert!(close(y[i].into(), exact, 2e-5));
            }
        }
    }
}

#[test]
fn layout_copies() {
    for (rows, columns) in [(0, 3), (1, 1), (3, 70), (16, 16), (33, 17), (64, 48)] {
        for (more_x, more_y) in [(0, 0), (5, 2)] {
            let (xs, ys) = (columns + more_x, rows + more_y);
            let x: Vec<u16> = (0..rows * xs).map(|i| i as u16).collect();
            let mut y = vec![u16::MAX; columns * ys];
            transpose(&x, xs, rows, columns, &mut y, ys);
            for c in 0..columns {
                for r in 0..ys {
                    assert_eq!(y[c * ys + r], if r < rows { x[r * xs + c] } else { u16::MAX });
                }
            }
            let mut z = vec![u16::MAX; rows * (columns + more_y)];
            copy_rows(&x, xs, rows, columns, &mut z, columns + more_y);
            for r in 0..rows {
                assert_eq!(z[r * (columns + more_y)..][..columns], x[r * xs..][..columns]);
            }
        }
    }
    let mut y = [0u8; 3];
    gather_strided(&[1, 2, 3, 4, 5], 2, &mut y);
    assert_eq!(y, [1, 3, 5]);
    let mut z = [0u8; 5];
    scatter_strided(&y, &mut z, 2);
    assert_eq!(z, [1, 0, 3, 0, 5]);
}

#[test]
#[should_panic(expected = "too short")]
fn transposing_beyond_the_slice_is_refused() {
    transpose(&[0u8; 5], 3, 2, 3, &mut [0; 6], 2);
}
