//! f32 functions against f64 references, on every instruction set that this machine has.

use executorch_simd::{Isa, Unary, set_isa, unary, unary_in_place};

/// The distance of `y` from `exact` in units in the last place of f32 at `exact`.
fn ulps(y: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if y == rounded || (y.is_nan() && exact.is_nan()) {
        return if y == 0.0 && exact == 0.0 && y.is_sign_negative() != exact.is_sign_negative() {
            99.0
        } else {
            0.0
        };
    }
    if !y.is_finite() || !rounded.is_finite() {
        // An overflow that the reference only just misses, or makes, is one unit.
        let (a, b) = (y.clamp(-f32::MAX, f32::MAX), rounded.clamp(-f32::MAX, f32::MAX));
        return if a == b { 1.0 } else { f64::INFINITY };
    }
    let exponent = exact.abs().log2().floor().max(-126.0);
    (f64::from(y) - exact).abs() / (exponent - 23.0).exp2()
}

/// All exponents and both signs, a sample of mantissas, and every special value.
fn arguments() -> Vec<f32> {
    let mut x: Vec<f32> = (0..=u32::MAX / 3571).map(|i| f32::from_bits(i * 3571)).collect();
    x.extend([
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN,
        1e-45,
        -1e-45,
    ]);
    x.extend([
        f32::MIN_POSITIVE,
        f32::EPSILON,
        0.5,
        88.72284,
        -87.33655,
        -103.97208,
        0.93,
        3.95,
        14.6,
        -14.6,
    ]);
    // The interval where most functions bend, densely.
    x.extend((-400_000..400_000).map(|i| i as f32 * 5e-5));
    x
}

fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

fn gelu_tanh(x: f64) -> f64 {
    let beta = (2.0 / std::f64::consts::PI).sqrt();
    x * sigmoid(2.0 * beta * (x + 0.044_715 * x * x * x))
}

fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { -0.0 } else { 0.5 * x * libm::erfc(-x / 2f64.sqrt()) }
}

type Reference = fn(f64) -> f64;

#[test]
fn every_function_is_accurate_over_all_arguments() {
    let cases: &[(Unary, Reference, f64)] = &[
        (Unary::Exp, f64::exp, 1.5),
        (Unary::Expm1, f64::exp_m1, 2.0),
        (Unary::Log, f64::ln, 2.0),
        (Unary::Log1p, f64::ln_1p, 2.5),
        (Unary::Log2, f64::log2, 2.5),
        (Unary::Log10, f64::log10, 2.5),
        (Unary::Tanh, f64::tanh, 3.0),
        (Unary::Sigmoid, sigmoid, 2.5),
        (
            Unary::Silu,
            |x| {
                if x == f64::NEG_INFINITY { -0.0 } else { x * sigmoid(x) }
            },
            3.0,
        ),
        (Unary::Erf, libm::erf, 2.5),
        (Unary::Gelu, gelu, 7.0),
        (Unary::Sin, f64::sin, 2.0),
        (Unary::Cos, f64::cos, 2.0),
        (Unary::Tan, f64::tan, 2.0),
        (Unary::Asin, f64::asin, 2.0),
        (Unary::Acos, f64::acos, 2.0),
        (Unary::Atan, f64::atan, 2.0),
        (Unary::Sinh, f64::sinh, 2.0),
        (Unary::Cosh, f64::cosh, 2.0),
        (Unary::Asinh, f64::asinh, 1.0),
        (Unary::Acosh, f64::acosh, 1.0),
        (Unary::Atanh, f64::atanh, 1.0),
        (Unary::Sqrt, f64::sqrt, 0.51),
        (Unary::Rsqrt, |x| 1.0 / x.sqrt(), 1.6),
        (Unary::Reciprocal, |x| 1.0 / x, 0.51),
        (Unary::Square, |x| x * x, 0.51),
        (Unary::Abs, f64::abs, 0.0),
        (Unary::Neg, |x| -x, 0.0),
        (Unary::Ceil, f64::ceil, 0.0),
        (Unary::Floor, f64::floor, 0.0),
        (Unary::Trunc, f64::trunc, 0.0),
        (Unary::Round, f64::round_ties_even, 0.0),
        (
            Unary::Sign,
            |x| {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            },
            0.0,
        ),
        (Unary::Relu, |x| if x < 0.0 { 0.0 } else { x }, 0.0),
        (Unary::Clamp { min: -2.0, max: 3.0 }, |x| x.clamp(-2.0, 3.0), 0.0),
        (Unary::LeakyRelu { slope: 0.25 }, |x| if x > 0.0 { x } else { 0.25 * x }, 0.51),
        (
            Unary::Elu { alpha: 1.5, scale: 2.0, input_scale: 0.5 },
            |x| {
                if x > 0.0 { 2.0 * x } else { 3.0 * (0.5 * x).exp_m1() }
            },
            3.0,
        ),
        (Unary::Hardsigmoid, |x| (f64::from(x as f32 + 3.0)).clamp(0.0, 6.0) / 6.0, 2.0),
    ];
    let x = arguments();
    let mut y = vec![0.0; x.len()];
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for (op, reference, bound) in cases {
            unary(*op, &x[..], &mut y);
            let (at, worst) = x
                .iter()
                .zip(&y)
                .map(|(&x, &y)| (x, ulps(y, reference(f64::from(x)))))
                .fold((0.0, 0.0), |worst, this| if this.1 > worst.1 { this } else { worst });
            println!("{:8} {op:?}: {worst:.2} ulp at {at:e}", isa.name());
            assert!(worst <= *bound, "{op:?} on {isa:?}: {worst} ulp at {at:e}, allowed {bound}");
        }
    }
}

/// The formula amplifies errors of its argument in the negative tail, so the bound there is on x times epsilon.
#[test]
fn gelu_tanh_is_accurate_where_it_is_well_conditioned() {
    let x = arguments();
    let mut y = vec![0.0; x.len()];
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        unary(Unary::GeluTanh, &x[..], &mut y);
        for (&x, &y) in x.iter().zip(&y) {
            let exact = if x == f32::NEG_INFINITY { 0.0 } else { gelu_tanh(f64::from(x)) };
            let close = (f64::from(y) - exact).abs() <= 1e-7 * f64::from(x.abs().min(10.0));
            assert!(close || ulps(y, exact) <= 4.0, "{isa:?}: {x:e} gives {y:e}, not {exact:e}");
        }
    }
}

#[test]
fn every_length_and_offset_gives_the_same_elements() {
    let x: Vec<f32> = (0..80).map(|i| (i as f32 - 40.0) * 0.3).collect();
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for op in [Unary::Exp, Unary::Sin, Unary::Relu, Unary::Gelu] {
            let whole: Vec<f32> = x
                .iter()
                .map(|&x| {
                    let mut y = [f32::NAN];
                    unary(op, &[x][..], &mut y);
                    y[0]
                })
                .collect();
            for length in 0..70 {
                for offset in 0..3 {
                    let mut y = vec![7.0; length + 4];
                    unary(op, &x[offset..offset + length], &mut y[1..1 + length]);
                    assert_eq!(
                        y[1..1 + length],
                        whole[offset..offset + length],
                        "{op:?}, length {length}, on {isa:?}"
                    );
                    assert_eq!(
                        (y[0], &y[1 + length..]),
                        (7.0, &[7.0; 3][..]),
                        "{op:?} wrote outside its slice"
                    );
                    let mut z = x[offset..offset + length].to_vec();
                    unary_in_place(op, &mut z);
                    assert_eq!(
                        z,
                        whole[offset..offset + length],
                        "{op:?} in place, length {length}, on {isa:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn long_slices_work_in_place() {
    let x: Vec<f32> = (0..5000).map(|i| i as f32 * 1e3).collect();
    let (mut y, mut z) = (vec![0.0; x.len()], x.clone());
    unary(Unary::Sin, &x[..], &mut y);
    unary_in_place(Unary::Sin, &mut z);
    assert_eq!(y, z);
}

#[test]
#[should_panic(expected = "differ in length")]
fn lengths_have_to_be_equal() {
    unary(Unary::Exp, &[1.0f32, 2.0][..], &mut [0.0]);
}

#[test]
fn logit_inverts_sigmoid_and_clamps() {
    let mut y = [0.0f32; 4];
    unary(Unary::Logit { eps: Some(0.25) }, &[0.0, 0.5, 0.9, 1.0][..], &mut y);
    assert_eq!(y[1], 0.0);
    assert!((y[0] + 3f32.ln()).abs() < 1e-6 && (y[3] - 3f32.ln()).abs() < 1e-6 && y[2] == y[3]);
    unary(Unary::Logit { eps: None }, &[0.0, 0.5, 2.0, 1.0][..], &mut y);
    assert_eq!((y[0], y[1], y[3]), (f32::NEG_INFINITY, 0.0, f32::INFINITY));
    assert!(y[2].is_nan());
}
