//! Prints nanoseconds per element of each operation on each instruction set, for data in the first-level cache.
//! `cargo run --release --example bench`

use std::hint::black_box;
use std::time::Instant;

use executorch_simd::*;
use half::{bf16, f16};

/// The best of many runs, in nanoseconds per element.
fn time(n: usize, mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let repeats = if n > 1 << 16 { 1 } else { 20 };
    for _ in 0..30 {
        let start = Instant::now();
        for _ in 0..repeats {
            f();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / repeats as f64);
    }
    best / n as f64
}

fn report(name: &str, n: usize, mut f: impl FnMut()) {
    print!("{name:28}");
    for isa in Isa::supported() {
        set_isa(isa);
        print!(" {:>9.3}", time(n, &mut f));
    }
    println!();
}

fn main() {
    print!("{:28}", "ns per element");
    for isa in Isa::supported() {
        print!(" {:>9}", isa.name());
    }
    println!();
    const N: usize = 2048;
    let x: Vec<f32> = (0..N).map(|i| (i as f32 / N as f32 - 0.3) * 8.0).collect();
    let mut y = vec![0.0f32; N];
    for op in [
        Unary::Relu,
        Unary::Abs,
        Unary::Clamp { min: -1.0, max: 1.0 },
        Unary::Round,
        Unary::Sqrt,
        Unary::Rsqrt,
        Unary::Exp,
        Unary::Expm1,
        Unary::Log,
        Unary::Log1p,
        Unary::Log2,
        Unary::Log10,
        Unary::Sin,
        Unary::Cos,
        Unary::Tanh,
        Unary::Sigmoid,
        Unary::Silu,
        Unary::Erf,
        Unary::Gelu,
        Unary::GeluTanh,
        Unary::Hardswish,
        Unary::Tan,
        Unary::Elu { alpha: 1.0, scale: 1.0, input_scale: 1.0 },
    ] {
        report(&format!("{op:?}"), N, || unary(op, black_box(&x[..]), black_box(&mut y)));
    }
    let b: Vec<f32> = x.iter().map(|v| v + 1.25).collect();
    for op in [Binary::Add, Binary::Mul, Binary::Div, Binary::Max, Binary::Pow, Binary::Fmod] {
        let mut run = |a: Arg<f32>, b: Arg<f32>| {
            let done = binary(op, black_box(a), black_box(b), black_box(&mut y));
            assert!(done.is_ok());
        };
        report(&format!("{op:?}"), N, || run(Arg::Slice(&x), Arg::Slice(&b)));
        report(&format!("{op:?} scalar"), N, || run(Arg::Slice(&x), Arg::Scalar(1.5)));
        report(&format!("{op:?} in place"), N, || run(Arg::Out, Arg::Scalar(1.0)));
    }
    let mut flags = vec![0u8; N];
    report("Lt", N, || compare(Compare::Lt, Arg::Slice(black_box(&x)), Arg::Slice(&b), &mut flags));
    let mut halves = vec![f16::ZERO; N];
    report("f32 to f16", N, || convert(black_box(&x), black_box(&mut halves)));
    report("f16 to f32", N, || convert(black_box(&halves), black_box(&mut y)));
    let mut brains = vec![bf16::ZERO; N];
    report("f32 to bf16", N, || convert(black_box(&x), black_box(&mut brains)));
    report("bf16 to f32", N, || convert(black_box(&brains), black_box(&mut y)));
    let mut longs = vec![0i64; N];
    report("f32 to i64", N, || convert(black_box(&x), black_box(&mut longs)));
    let mut one = [0f32];
    report("sum", N, || sum(Sum::Sum, black_box(&x), [1, N, 1], black_box(&mut one)));
    report("max", N, || extreme(Extreme::Max, black_box(&x), [1, N, 1], black_box(&mut one)));
    report("argmax", N, || arg_extreme(Extreme::Max, black_box(&x), [1, N, 1], black_box(&mut [0])));
    let mut columns = vec![0f32; 64];
    report("sum of columns", N, || sum(Sum::Sum, black_box(&x), [1, N / 64, 64], black_box(&mut columns)));
    report("dot", N, || {
        black_box(dot(black_box(&x), black_box(&b)));
    });
    report("softmax", N, || softmax(false, black_box(&x), [1, N, 1], black_box(&mut y)));
    report("softmax of columns", N, || softmax(false, black_box(&x), [1, N / 64, 64], black_box(&mut y)));
    report("log_softmax", N, || softmax(true, black_box(&x), [1, N, 1], black_box(&mut y)));
    report("layer_norm", N, || {
        black_box(layer_norm_row(black_box(&x), Some(&b), Some(&b), 1e-5, black_box(&mut y)));
    });
    report("transpose 32 x 64", N, || transpose(black_box(&x), 64, 32, 64, black_box(&mut y), 32));

    println!("\nns per call with 8 elements");
    let mut small = [0f32; 8];
    report("Relu", 1, || unary(Unary::Relu, black_box(&x[..8]), black_box(&mut small)));
    report("Exp", 1, || unary(Unary::Exp, black_box(&x[..8]), black_box(&mut small)));
    report("Add", 1, || {
        black_box(binary(
            Binary::Add,
            black_box(Arg::Slice(&x[..8])),
            Arg::Slice(&b[..8]),
            black_box(&mut small),
        ))
        .ok();
    });
    report("Add scalar", 1, || {
        black_box(binary(
            Binary::Add,
            black_box(Arg::Slice(&x[..8])),
            Arg::Scalar(2.0),
            black_box(&mut small),
        ))
        .ok();
    });
    report("softmax", 1, || softmax(false, black_box(&x[..8]), [1, 8, 1], black_box(&mut small)));

    println!("\nns per element with 4 Mi elements");
    const LARGE: usize = 4 << 20;
    let (p, mut q) = (vec![1.5f32; LARGE], vec![0f32; LARGE]);
    report("copy_from_slice", LARGE, || black_box(&mut q).copy_from_slice(black_box(&p)));
    report("Relu", LARGE, || unary(Unary::Relu, black_box(&p[..]), black_box(&mut q)));
    report("Add scalar", LARGE, || {
        black_box(binary(Binary::Add, black_box(Arg::Slice(&p)), Arg::Scalar(2.0), black_box(&mut q))).ok();
    });
    report("Gelu", LARGE, || unary(Unary::Gelu, black_box(&p[..]), black_box(&mut q)));
}
