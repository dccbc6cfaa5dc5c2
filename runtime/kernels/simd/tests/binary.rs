//! Operations on two operands against scalar references, in every shape and on every instruction set.

use executorch_simd::{
    Arg, Binary, Compare, Error, Isa, Number, Unary, add_scaled, add_scaled_via, binary, binary_via, compare,
    compare_via, set_isa, unary_via,
};
use half::{bf16, f16};

/// Runs `op` in all shapes of operands and checks each element with `check(a, b, result)`.
fn all_shapes<T: Number + std::fmt::Debug>(op: Binary, a: &[T], b: &[T], check: impl Fn(T, T, T) -> bool) {
    let n = a.len();
    let expect = |a: T, b: T, y: T, shape: &str| {
        assert!(check(a, b, y), "{op:?} of {a:?} and {b:?}, {shape}, gave {y:?}");
    };
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        let mut y = vec![T::default(); n];
        let run = |a: Arg<T>, b: Arg<T>, y: &mut [T]| match binary(op, a, b, y) {
            Ok(()) | Err(Error::DivisionByZero) => (),
            Err(e) => panic!("{e}"),
        };
        run(a.into(), b.into(), &mut y);
        (0..n).for_each(|i| expect(a[i], b[i], y[i], "slice and slice"));
        for &s in &b[..n.min(24)] {
            run(a.into(), Arg::Scalar(s), &mut y);
            (0..n).for_each(|i| expect(a[i], s, y[i], "slice and scalar"));
            run(Arg::Scalar(s), b.into(), &mut y);
            (0..n).for_each(|i| expect(s, b[i], y[i], "scalar and slice"));
        }
        y.copy_from_slice(a);
        run(Arg::Out, b.into(), &mut y);
        (0..n).for_each(|i| expect(a[i], b[i], y[i], "in place left"));
        y.copy_from_slice(b);
        run(a.into(), Arg::Out, &mut y);
        (0..n).for_each(|i| expect(a[i], b[i], y[i], "in place right"));
    }
}

/// Every pair of some values, so that tails and long slices both occur.
fn pairs<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn python_remainder(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

#[test]
fn f32_operations() {
    let values = [
        0.0f32,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        3.0,
        7.25,
        -7.25,
        1e30,
        -1e30,
        1e-40,
        1e-3,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        2.0,
        -3.0,
        100.0,
        0.1,
        0.3,
        -0.7,
        12345.67,
        33.0,
        -9.5,
    ];
    let (a, b) = pairs(&values);
    all_shapes(Binary::Add, &a, &b, |a, b, y| same((a + b).into(), y.into()));
    all_shapes(Binary::Sub, &a, &b, |a, b, y| same((a - b).into(), y.into()));
    all_shapes(Binary::Mul, &a, &b, |a, b, y| same((a * b).into(), y.into()));
    all_shapes(Binary::Div, &a, &b, |a, b, y| same((a / b).into(), y.into()));
    all_shapes(Binary::DivTrunc, &a, &b, |a, b, y| same((a / b).trunc().into(), y.into()));
    all_shapes(Binary::Fmod, &a, &b, |a, b, y| same((a % b).into(), y.into()));
    all_shapes(Binary::Remainder, &a, &b, |a, b, y| {
        let exact = python_remainder(a.into(), b.into()) as f32;
        same(exact.into(), y.into()) || (exact - y).abs() <= exact.abs() * 1e-6
    });
    all_shapes(
        Binary::Max,
        &a,
        &b,
        |a, b, y| {
            if a.is_nan() || b.is_nan() { y.is_nan() } else { y == a.max(b) }
        },
    );
    all_shapes(
        Binary::Min,
        &a,
        &b,
        |a, b, y| {
            if a.is_nan() || b.is_nan() { y.is_nan() } else { y == a.min(b) }
        },
    );
    all_shapes(Binary::Atan2, &a, &b, |a, b, y| same(a.atan2(b).into(), y.into()));
    all_shapes(Binary::DivFloor, &a, &b, |a, b, y| {
        let exact = (f64::from(a) / f64::from(b)).floor() as f32;
        // Infinite quotients follow a / b; near 2²⁴ and above an integer is as good as its neighbour.
        let infinite = b == 0.0 || a.is_infinite() || b.is_infinite() || exact.is_infinite();
        infinite || same(exact.into(), y.into()) || (y - exact).abs() <= exact.abs() * 1e-6
    });
    all_shapes(Binary::Pow, &a, &b, |a, b, y| {
        let exact = f64::from(a).powf(b.into());
        let root = a == f32::NEG_INFINITY && b.abs() == 0.5 && y.is_nan();
        root || same(f64::from(exact as f32), y.into())
            || (f64::from(y) - exact).abs() <= exact.abs() * 2.4e-7 + 3e-45
    });
}

#[test]
fn pow_is_accurate_over_wide_ranges() {
    let a: Vec<f32> = (1..40_000u32).map(|i| f32::from_bits(i.wrapping_mul(53_000) & 0x7f7f_ffff)).collect();
    let b: Vec<f32> = (1..40_000).map(|i| (i as f32 * 0.37).sin() * 4.0).collect();
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        let mut y = vec![0.0f32; a.len()];
        binary(Binary::Pow, a[..].into(), b[..].into(), &mut y).expect("pow exists for f32");
        for i in 0..a.len() {
            let exact = f64::from(a[i]).powf(b[i].into());
            let error = (f64::from(y[i]) - exact).abs();
            assert!(
                f64::from(y[i]) == f64::from(exact as f32) || error <= exact.abs() * 6.1e-8 + 8e-46,
                "{} to the {} gave {} on {isa:?}",
                a[i],
                b[i],
                y[i]
            );
        }
    }
}

macro_rules! integers {
    ($($name:ident: $t:ty;)*) => { $(
        #[test]
        fn $name() {
            let values: Vec<$t> = [0i64, 1, 2, 3, 5, 7, 11, 31, 63, 64, 100, -1, -2, -3, -7, -128, i64::MIN, i64::MAX, 255, 77]
                .iter().map(|&v| v as $t).chain([<$t>::MIN, <$t>::MAX]).collect();
            let (a, b) = pairs(&values);
            let wide = |v: $t| i128::from(v);
            all_shapes(Binary::Add, &a, &b, |a, b, y| y == (wide(a) + wide(b)) as $t);
            all_shapes(Binary::Sub, &a, &b, |a, b, y| y == (wide(a) - wide(b)) as $t);
            all_shapes(Binary::Mul, &a, &b, |a, b, y| y == (wide(a) * wide(b)) as $t);
            all_shapes(Binary::DivTrunc, &a, &b, |a, b, y| b == 0 || y == (wide(a) / wide(b)) as $t);
            all_shapes(Binary::DivFloor, &a, &b, |a, b, y| {
                // q b + m = a, where m is smaller than b and has its sign. The one quotient that does not fit wraps.
                b == 0 || {
                    let m = (wide(a) % wide(b) + wide(b)) % wide(b);
                    y == ((wide(a) - m) / wide(b)) as $t
                }
            });
            all_shapes(Binary::Fmod, &a, &b, |a, b, y| b == 0 || wide(y) == wide(a) % wide(b));
            all_shapes(Binary::Remainder, &a, &b, |a, b, y| {
                b == 0 || wide(y) == ((wide(a) % wide(b)) + wide(b)) % wide(b)
            });
            all_shapes(Binary::Max, &a, &b, |a, b, y| y == a.max(b));
            all_shapes(Binary::Min, &a, &b, |a, b, y| y == a.min(b));
            all_shapes(Binary::BitAnd, &a, &b, |a, b, y| y == a & b);
            all_shapes(Binary::BitOr, &a, &b, |a, b, y| y == a | b);
            all_shapes(Binary::BitXor, &a, &b, |a, b, y| y == a ^ b);
            let width = i128::from(<$t>::BITS);
            all_shapes(Binary::Shl, &a, &b, |a, b, y| {
                y == if (0..width).contains(&wide(b)) { (wide(a) << wide(b)) as $t } else { 0 }
            });
            all_shapes(Binary::Shr, &a, &b, |a, b, y| {
                wide(y) == if (0..width).contains(&wide(b)) { wide(a) >> wide(b) } else if wide(a) < 0 { -1 } else { 0 }
            });
            all_shapes(Binary::Pow, &a, &b, |a, b, y| match wide(b) {
                ..0 => y == match wide(a) { 1 => 1, -1 => if b & 1 == 0 { 1 } else { a }, _ => 0 },
                n @ 0..=300 => y == (0..n).fold(1, |p: $t, _| p.wrapping_mul(a)),
                _ => true,
            });
            let mut y = vec![0 as $t; 3];
            assert_eq!(binary(Binary::Div, Arg::Scalar(3), [1, 0, 2][..].into(), &mut y), Err(Error::DivisionByZero));
            assert_eq!(y, [3, 0, 1]);
            assert_eq!(binary(Binary::Div, [1, 0, 2][..].into(), Arg::Scalar(1), &mut y), Ok(()));
            assert_eq!(
                binary(Binary::Atan2, Arg::Out, Arg::Out, &mut y),
                Err(Error::Undefined(Binary::Atan2, stringify!($t)))
            );
            add_scaled([1, 2, 3][..].into(), [1, 1, 2][..].into(), 5, &mut y);
            assert_eq!(y, [6, 7, 13]);
        }
    )* };
}
integers! { u8_operations: u8; i8_operations: i8; i16_operations: i16; i32_operations: i32; i64_operations: i64; }

#[test]
fn comparisons() {
    let (a, b) = pairs(&[0.0f32, -0.0, 1.5, -1.5, f32::NAN, f32::INFINITY, 3.0, 4.0, 5.0]);
    type Case = (Compare, fn(f32, f32) -> bool);
    let cases: [Case; 9] = [
        (Compare::Eq, |a, b| a == b),
        (Compare::Ne, |a, b| a != b),
        (Compare::Lt, |a, b| a < b),
        (Compare::Le, |a, b| a <= b),
        (Compare::Gt, |a, b| a > b),
        (Compare::Ge, |a, b| a >= b),
        (Compare::And, |a, b| a != 0.0 && b != 0.0),
        (Compare::Or, |a, b| a != 0.0 || b != 0.0),
        (Compare::Xor, |a, b| (a != 0.0) != (b != 0.0)),
    ];
    for isa in Isa::supported() {
        assert!(set_isa(isa));
        for (op, reference) in cases {
            let mut y = vec![9u8; a.len()];
            compare(op, a[..].into(), b[..].into(), &mut y);
            (0..a.len()).for_each(|i| assert_eq!(y[i], u8::from(reference(a[i], b[i])), "{op:?}"));
            compare(op, a[..].into(), Arg::Scalar(1.5), &mut y);
            (0..a.len())
                .for_each(|i| assert_eq!(y[i], u8::from(reference(a[i], 1.5)), "{op:?} with a scalar"));
        }
        let long: Vec<i64> = (0..3000).collect();
        let mut y = vec![9u8; 3000];
        compare(Compare::Ge, long[..].into(), Arg::Scalar(1500), &mut y);
        assert_eq!(y.iter().map(|&v| u64::from(v)).sum::<u64>(), 1500);
    }
}

#[test]
fn every_length_and_long_slices() {
    for n in (0..70).chain([1023, 1024, 1025, 5000]) {
        let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut y = vec![1.0f32; n];
        add_scaled(Arg::Out, a[..].into(), 2.0, &mut y);
        assert!(y.iter().enumerate().all(|(i, &v)| v == 1.0 + 2.0 * i as f32));
        binary(Binary::Mul, Arg::Out, Arg::Scalar(2.0), &mut y).expect("mul exists for f32");
        assert!(y.iter().enumerate().all(|(i, &v)| v == 2.0 + 4.0 * i as f32));
    }
}

#[test]
fn operands_of_other_types_are_converted() {
    for n in (0..70).chain([511, 512, 513, 2000]) {
        let x: Vec<f16> = (0..n).map(|i| f16::from_f32((i % 37) as f32 * 0.1 - 2.0)).collect();
        let ints: Vec<i32> = (0..n as i32).map(|i| i % 23 - 11).collect();
        let mut y = vec![f16::ZERO; n];
        unary_via::<f32, _, _>(Unary::Exp, Arg::Slice(&x), &mut y);
        let close =
            |y: f32, exact: f32, bits: i32| (y - exact).abs() <= exact.abs() * 2f32.powi(-bits) + 1e-7;
        assert!(x.iter().zip(&y).all(|(x, y)| close(y.to_f32(), x.to_f32().exp(), 10)));
        y.copy_from_slice(&x);
        unary_via::<f32, f16, _>(Unary::Exp, Arg::Out, &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| close(y.to_f32(), x.to_f32().exp(), 10)));
        let mut wide = vec![0f32; n];
        unary_via::<f32, _, _>(Unary::Tanh, Arg::Slice(&ints), &mut wide);
        assert!(ints.iter().zip(&wide).all(|(&x, &y)| close(y, (x as f32).tanh(), 21)));
        let mut mixed = vec![bf16::ZERO; n];
        assert_eq!(
            binary_via::<f32, _, _, _>(Binary::Mul, Arg::Slice(&x), Arg::Slice(&ints), &mut mixed),
            Ok(())
        );
        assert!((0..n).all(|i| mixed[i] == bf16::from_f32(x[i].to_f32() * ints[i] as f32)));
        add_scaled_via::<f32, bf16, _, _>(Arg::Out, Arg::Scalar(2i64), 0.5, &mut mixed);
        assert!((0..n).all(|i| {
            mixed[i] == bf16::from_f32(bf16::from_f32(x[i].to_f32() * ints[i] as f32).to_f32() + 1.0)
        }));
        let mut flags = vec![7u8; n];
        compare_via::<f32, _, _>(Compare::Lt, Arg::Slice(&x), Arg::Slice(&ints), &mut flags);
        assert!((0..n).all(|i| flags[i] == u8::from(x[i].to_f32() < ints[i] as f32)));
        let mut longs = vec![0i64; n];
        let divided =
            binary_via::<i64, _, _, _>(Binary::DivFloor, Arg::Scalar(100u8), Arg::Slice(&ints), &mut longs);
        assert_eq!(divided, if n > 11 { Err(Error::DivisionByZero) } else { Ok(()) });
        assert!((0..n).all(|i| ints[i] == 0 || longs[i] == (100.0 / f64::from(ints[i])).floor() as i64));
    }
    let undefined =
        binary_via::<f32, _, _, _>(Binary::BitOr, Arg::Scalar(1u8), Arg::Scalar(f16::ONE), &mut [0u8; 2]);
    assert_eq!(undefined, Err(Error::Undefined(Binary::BitOr, "f32")));
}
