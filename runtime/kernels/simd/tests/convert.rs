//! Conversions: f16 and bf16 exhaustively, the rest by PyTorch's rules.

use executorch_simd::{Arg, Bool8, Isa, UnaryInt, convert, set_isa, unary_int};
use half::{bf16, f16};

#[test]
fn every_f16_and_bf16_converts_to_f32_and_back() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        let x: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let (mut y, mut z) = (vec![0f32; x.len()], vec![f16::ZERO; x.len()]);
        convert(&x, &mut y);
        convert(&y, &mut z);
        for i in 0..x.len() {
            assert!(
                y[i].to_bits() == x[i].to_f32().to_bits() || (y[i].is_nan() && x[i].is_nan()),
                "{:?}",
                x[i]
            );
            assert!(z[i].to_bits() == x[i].to_bits() || (z[i].is_nan() && x[i].is_nan()), "{:?}", x[i]);
        }
        let x: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
        let (mut y, mut z) = (vec![0f32; x.len()], vec![bf16::ZERO; x.len()]);
        convert(&x, &mut y);
        convert(&y, &mut z);
        for i in 0..x.len() {
            assert!(
                y[i].to_bits() == x[i].to_f32().to_bits() || (y[i].is_nan() && x[i].is_nan()),
                "{:?}",
                x[i]
            );
            assert!(z[i].to_bits() == x[i].to_bits() || (z[i].is_nan() && x[i].is_nan()), "{:?}", x[i]);
        }
    }
}

/// Every value halfway between two numbers of the type, its neighbours, and a sample of everything else.
#[test]
fn f32_is_rounded_to_the_nearest_even_f16_and_bf16() {
    let mut x: Vec<f32> = (0..u32::MAX / 1237).map(|i| f32::from_bits(i * 1237)).collect();
    for bits in 0..0x7c00u16 {
        let (a, b) = (f16::from_bits(bits).to_f64(), f16::from_bits(bits + 1).to_f64());
        let middle = if b.is_finite() { ((a + b) / 2.0) as f32 } else { 65520.0 };
        x.extend([middle, middle.next_up(), middle.next_down(), -middle]);
    }
    for high in 0..0x7f80u32 {
        let middle = (high << 16) | 0x8000;
        x.extend([middle, middle + 1, middle - 1].map(f32::from_bits));
    }
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        let mut y = vec![f16::ZERO; x.len()];
        convert(&x, &mut y);
        for (&x, &y) in x.iter().zip(&y) {
            let exact = f16::from_f32(x);
            assert!(
                y.to_bits() == exact.to_bits() || (y.is_nan() && exact.is_nan()),
                "{x:e}: {y:?}, not {exact:?}"
            );
        }
        let mut y = vec![bf16::ZERO; x.len()];
        convert(&x, &mut y);
        for (&x, &y) in x.iter().zip(&y) {
            let exact = bf16::from_f32(x);
            assert!(
                y.to_bits() == exact.to_bits() || (y.is_nan() && exact.is_nan()),
                "{x:e}: {y:?}, not {exact:?}"
            );
        }
    }
}

fn to<S: executorch_simd::Element, D: executorch_simd::Element>(x: &[S]) -> Vec<D> {
    let mut y = vec![D::default(); x.len()];
    convert(x, &mut y);
    y
}

#[test]
fn the_rules_of_pytorch_hold() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        let x: Vec<f32> = (0..70).map(|i| i as f32 * 1.9 - 60.0).collect();
        for n in 0..70 {
            let x = &x[n..];
            assert_eq!(to::<f32, i8>(x), x.iter().map(|&v| v as i8).collect::<Vec<_>>());
            assert_eq!(to::<f32, i32>(x), x.iter().map(|&v| v as i32).collect::<Vec<_>>());
            assert_eq!(to::<f32, i64>(x), x.iter().map(|&v| v as i64).collect::<Vec<_>>());
            assert_eq!(to::<f32, f64>(x), x.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
            assert_eq!(to::<f32, f32>(x), x);
        }
        assert_eq!(to::<f32, u8>(&[-1.0, 255.9, 256.0, 0.9]), [255, 255, 0, 0]);
        assert_eq!(to::<i64, u8>(&[-1, 256, 511]), [255, 0, 255]);
        assert_eq!(to::<i64, i32>(&[1 << 32 | 5, -7]), [5, -7]);
        assert_eq!(to::<i64, f64>(&[1 << 53, i64::MIN]), [2f64.powi(53), -(2f64.powi(63))]);
        assert_eq!(to::<f32, Bool8>(&[0.0, -0.0, 1e-45, f32::NAN]), [0, 0, 1, 1].map(Bool8));
        assert_eq!(to::<f16, Bool8>(&[f16::NEG_ZERO, f16::from_bits(1)]), [0, 1].map(Bool8));
        assert_eq!(to::<i64, Bool8>(&[0, 1 << 40]), [0, 1].map(Bool8));
        assert_eq!(to::<Bool8, f32>(&[Bool8(0), Bool8(1), Bool8(7)]), [0.0, 1.0, 1.0]);
        assert_eq!(to::<i64, f16>(&[2049, -3]), [f16::from_f32(2048.0), f16::from_f32(-3.0)]);
        assert_eq!(to::<f64, bf16>(&[1.5, 1e300]), [bf16::from_f32(1.5), bf16::INFINITY]);
        // Out of range is defined, if not specified.
        let _ = to::<f32, i64>(&[f32::NAN, f32::INFINITY, -1e30]);
        let _ = to::<f64, i16>(&[f64::NAN, f64::INFINITY, -1e300]);
    }
}

#[test]
fn integer_functions() {
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        let x: Vec<i8> = (i8::MIN..=i8::MAX).collect();
        let mut y = vec![0i8; 256];
        type Case = (UnaryInt<i8>, fn(i8) -> i8);
        let cases: [Case; 6] = [
            (UnaryInt::Abs, i8::wrapping_abs),
            (UnaryInt::Neg, i8::wrapping_neg),
            (UnaryInt::Sign, i8::signum),
            (UnaryInt::Relu, |x| if x < 0 { 0 } else { x }),
            (UnaryInt::BitNot, |x| -1 - x),
            (UnaryInt::Clamp { min: -5, max: 9 }, |x| x.clamp(-5, 9)),
        ];
        for (op, reference) in cases {
            unary_int(op, Arg::Slice(&x), &mut y);
            assert!(x.iter().zip(&y).all(|(&x, &y)| y == reference(x)), "{op:?}");
        }
    }
}
