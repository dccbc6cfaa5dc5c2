//! Prints nanoseconds per element of each operation on each instruction set, for data in the first-level cache.
//! `cargo run --release --example bench`

use std::hint::black_box;
use std::time::Instant;

use executorch_simd::{Isa, Unary, set_isa, unary};

/// The best of many runs, in nanoseconds per element.
fn time(n: usize, mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..30 {
        let start = Instant::now();
        for _ in 0..20 {
            f();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 20.0);
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
}
