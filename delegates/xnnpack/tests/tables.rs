//! Functions of 8-bit numbers: every number gives what the function and the two quantizations around it say.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

extern crate executorch_core as _;

use common::made::*;
use common::run::run;

const ROWS: usize = 4;
const COLUMNS: usize = 64;
const DIMS: [u32; 2] = [ROWS as u32, COLUMNS as u32];

/// Scale and zero point.
type Affine = (f32, i32);

/// A function of real numbers.
type Function = fn(f64) -> f64;

/// An input that is quantized to every number, the function of each, and its quantized result as floats.
fn program(kind: Kind, from: Affine, to: Affine) -> Made {
    let mut made = Made::new();
    let x = made.input(fp32(), &DIMS);
    let taken = made.internal(qint8(from.0, from.1), &DIMS);
    made.node(node::unary(Kind::XNNConvert, x, taken));
    let (before, after) = (made.internal(fp32(), &DIMS), made.internal(fp32(), &DIMS));
    made.node(node::unary(Kind::XNNConvert, taken, before));
    made.node(match kind {
        Kind::XNNELU => node::elu(0.75, before, after),
        _ => node::unary(kind, before, after),
    });
    let result = made.internal(qint8(to.0, to.1), &DIMS);
    made.node(node::unary(Kind::XNNConvert, after, result));
    let y = made.output(fp32(), &DIMS);
    made.node(node::unary(Kind::XNNConvert, result, y));
    made
}

/// Gauss's error function, by its series, which is exact enough for the arguments here.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn every_number_gives_its_functions_result() {
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let functions: [(Kind, Function); 6] = [
        (Kind::XNNHardswish, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0),
        (Kind::XNNSigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (Kind::XNNTanh, f64::tanh),
        (Kind::XNNExp, f64::exp),
        (Kind::XNNGelu, |x| x / 2.0 * (1.0 + erf(x / 2.0_f64.sqrt()))),
        (Kind::XNNELU, |x| if x > 0.0 { x } else { 0.75 * (x.exp() - 1.0) }),
    ];
    for (kind, function) in functions {
        for (from, to) in
            [((0.037, -3), (0.0123, 5)), ((0.0511, 17), (0.049, -100)), ((0.02, -128), (0.011, 0))]
        {
            let real = |q: i32, (scale, zero): Affine| f64::from(q - zero) * f64::from(scale);
            let mut input: Vec<f32> = (-128..128).map(|q| real(q, from) as f32).collect();
            let payload = program(kind, from, to).bytes();
            let output = run(&payload, "auto", 0, [ROWS, COLUMNS], &mut input);
            for (q, &found) in (-128..128).zip(&output) {
                let exact = function(real(q, from)) / f64::from(to.0) + f64::from(to.1);
                let expected = exact.round().clamp(-128.0, 127.0);
                let found = f64::from(found) / f64::from(to.0) + f64::from(to.1);
                // Between two steps, floats of 32 bits may take either.
                let is_between = (exact - exact.floor() - 0.5).abs() < 1e-3;
                let off = if is_between { 1.01 } else { 0.01 };
                assert!(
                    (found - expected).abs() < off,
                    "{kind:?} of {q} {from:?} is {found}, not {expected} {to:?}"
                );
            }
        }
    }
}
