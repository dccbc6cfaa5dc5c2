use crate::testing::{Tensor, call};
use executorch_abi::Dtype::{self, *};
use executorch_abi::value::et_value_t;

/// Small whole numbers, which all dtypes hold and whose sums and products bfloat16 holds.
fn number(seed: usize) -> impl Fn(usize) -> f64 {
    move |i| ((i * 7 + seed * 5 + i / 3) % 9) as f64 + 1.0
}

/// The place in an input of `sizes` of the element that the broadcast to `shape` puts at place `i`.
fn source(mut i: usize, shape: &[i32], sizes: &[i32]) -> usize {
    let (mut at, mut stride) = (0, 1);
    for (k, &size) in shape.iter().rev().enumerate() {
        let index = i % size as usize;
        i /= size as usize;
        if let Some(&own) = sizes.len().checked_sub(k + 1).and_then(|d| sizes.get(d)) {
            at += if own == 1 { 0 } else { index * stride };
            stride *= own as usize;
        }
    }
    at
}

struct Case {
    shape: Vec<i32>,
    a: Tensor,
    b: Tensor,
    out: Tensor,
    expected: Vec<f64>,
}

fn case(dtypes: [Dtype; 3], a: (&[i32], &[u8]), b: (&[i32], &[u8]), out: (&[i32], &[u8])) -> Case {
    let count = out.0.iter().product::<i32>() as usize;
    let sum = |i| number(1)(source(i, out.0, a.0)) + number(2)(source(i, out.0, b.0));
    Case {
        shape: out.0.to_vec(),
        a: Tensor::new(dtypes[0], a.0, a.1, number(1)),
        b: Tensor::new(dtypes[1], b.0, b.1, number(2)),
        out: Tensor::new(dtypes[2], out.0, out.1, |_| 99.0),
        expected: (0..count).map(sum).collect(),
    }
}

impl Case {
    fn add(mut self) {
        let mut args =
            [(&mut self.a).into(), (&mut self.b).into(), et_value_t::int(1), (&mut self.out).into()];
        call("aten::add.out", &mut args).unwrap();
        assert_eq!(self.out.values(), self.expected, "{:?}", self.shape);
    }
}

#[test]
fn every_pair_of_dtypes_adds() {
    let dtypes = [UInt8, Int8, Int16, Int32, Int64, Float16, BFloat16, Float32, Float64];
    for a in dtypes {
        for b in dtypes {
            let out = crate::number::promote(a, b).unwrap();
            case([a, b, out], (&[5, 33], &[0, 1]), (&[33], &[0]), (&[5, 33], &[0, 1])).add();
        }
    }
}

#[test]
fn any_orders_of_dimensions_meet() {
    let orders: [&[u8]; 3] = [&[0, 1, 2, 3], &[0, 2, 3, 1], &[3, 1, 0, 2]];
    // Rows that are shorter and longer than what is computed on its own.
    for sizes in [[2, 3, 4, 5], [2, 24, 5, 40]] {
        let [n, c, h, w] = sizes;
        for a in orders {
            for b in orders {
                for out in orders {
                    let out = (&sizes[..], out);
                    case([Float32; 3], (&sizes, a), (&sizes, b), out).add();
                    case([Int32, Int64, Int64], (&sizes, a), (&sizes, b), out).add();
                    case([Float32; 3], (&sizes, a), (&[n, 1, h, 1], b), out).add();
                    case([Float32, Float64, Float64], (&[1, c, 1, w], a), (&[n, 1, h, 1], b), out).add();
                    case([Float32; 3], (&sizes, a), (&[c, 1, 1], &[0, 1, 2]), out).add();
                }
            }
        }
    }
}

#[test]
fn threads_share_an_output() {
    for dtypes in [[Float32; 3], [Float16, Float32, Float32], [Int8; 3]] {
        let sizes: [i32; 3] = [7, 101, 301];
        let order: &[u8] = &[0, 1, 2];
        case(dtypes, (&sizes, order), (&sizes, order), (&sizes, order)).add();
        case(dtypes, (&sizes, order), (&[101, 1], &[0, 1]), (&sizes, order)).add();
        case(dtypes, (&sizes, &[2, 0, 1]), (&[7, 1, 301], order), (&sizes, order)).add();
        case(dtypes, (&[], &[]), (&sizes, order), (&sizes, order)).add();
    }
}

/// Why an operator of tensors alone refuses tensors of these dtypes and sizes.
fn refusal(name: &str, dtypes: &[Dtype], sizes: &[&[i32]]) -> String {
    let mut tensors: Vec<Tensor> =
        dtypes.iter().zip(sizes).map(|(&d, s)| Tensor::contiguous(d, s, number(0))).collect();
    let mut args: Vec<et_value_t> = tensors.iter_mut().map(et_value_t::from).collect();
    call(name, &mut args).unwrap_err().message
}

#[test]
fn bad_arguments_are_refused_with_reasons() {
    let four: &[i32] = &[4];
    let message = refusal("aten::mul.out", &[Float32; 3], &[four, &[3], four]);
    assert!(message.contains("[4]") && message.contains("[3]"), "{message}");
    let message = refusal("aten::mul.out", &[Float32, Float32, Int64], &[four; 3]);
    assert!(message.contains("float32") && message.contains("int64"), "{message}");
    let message = refusal("aten::bitwise_and.Tensor_out", &[Float32; 3], &[four; 3]);
    assert!(message.contains("integers"), "{message}");
    let message = refusal("aten::where.self_out", &[Float32; 4], &[four; 4]);
    assert!(message.contains("expected bool"), "{message}");
    let message = refusal("aten::neg.out", &[Bool; 2], &[four; 2]);
    assert!(message.contains("found bool"), "{message}");
    let message = refusal("aten::gelu.out", &[Float32; 2], &[four; 2]);
    assert!(message.contains("string"), "{message}");
    let message = refusal("aten::abs.out", &[UInt8; 2], &[four, &[5]]);
    assert!(message.contains("output"), "{message}");
}

#[test]
fn integers_divided_by_zero_are_an_error() {
    for name in ["aten::floor_divide.out", "aten::remainder.Tensor_out", "aten::fmod.Tensor_out"] {
        let mut a = Tensor::contiguous(Int32, &[40_000], number(0));
        // The zero is in the last thread's part.
        let mut b = Tensor::contiguous(Int32, &[40_000], |i| if i == 39_999 { 0.0 } else { 2.0 });
        let mut out = Tensor::contiguous(Int32, &[40_000], |_| 0.0);
        let error = call(name, &mut [(&mut a).into(), (&mut b).into(), (&mut out).into()]).unwrap_err();
        assert!(error.message.contains("division by zero"), "{error}");
    }
}

#[test]
fn numbers_are_compared_as_the_tensor_s_dtype_holds_them() {
    let mut out = Tensor::contiguous(Bool, &[2], |_| 0.0);
    // 0.1 is no half float, but the tensor's element was made of it.
    let mut a = Tensor::contiguous(Float16, &[2], |i| 0.1 + i as f64);
    call("aten::eq.Scalar_out", &mut [(&mut a).into(), et_value_t::double(0.1), (&mut out).into()]).unwrap();
    assert_eq!(out.values(), [1.0, 0.0]);
}

#[test]
fn glu_halves_any_dimension_of_any_order() {
    let sizes: [i32; 3] = [4, 6, 10];
    for order in [[0, 1, 2], [2, 0, 1]] {
        for dim in 0..3 {
            let mut half = sizes;
            half[dim] /= 2;
            let value = |i: usize| (i % 17) as f64 / 4.0 - 2.0;
            let mut a = Tensor::new(Float64, &sizes, &order, value);
            let mut out = Tensor::new(Float64, &half, &order, |_| 0.0);
            let mut args = [(&mut a).into(), et_value_t::int(dim as i64 - 3), (&mut out).into()];
            call("aten::glu.out", &mut args).unwrap();
            let inner: usize = sizes[dim + 1..].iter().product::<i32>() as usize;
            let (own, own_half) = (sizes[dim] as usize, half[dim] as usize);
            for (i, found) in out.values().into_iter().enumerate() {
                let first = i / (inner * own_half) * inner * own + i % (inner * own_half);
                let expected = value(first) / (1.0 + (-value(first + inner * own_half)).exp());
                assert!((found - expected).abs() < 1e-12, "{order:?} {dim} {i}: {found} {expected}");
            }
        }
    }
}

#[test]
fn numbers_that_a_dtype_cannot_hold_count_as_they_are() {
    for (dtype, far) in [(UInt8, 300), (Int32, 5_000_000_000)] {
        let mut a = Tensor::contiguous(dtype, &[50], |i| (i * 5) as f64);
        let expected = a.values();
        let mut out = Tensor::contiguous(dtype, &[50], |_| 1.0);
        let far_number = et_value_t::int(far);
        call("aten::remainder.Scalar_out", &mut [(&mut a).into(), far_number, (&mut out).into()]).unwrap();
        assert_eq!(out.values(), expected, "{dtype}");
        let mut args = [(&mut a).into(), et_value_t::int(-far), far_number, (&mut out).into()];
        call("aten::clamp.out", &mut args).unwrap();
        assert_eq!(out.values(), expected, "{dtype}");
        let mut equal = Tensor::contiguous(Bool, &[50], |_| 1.0);
        // 300 is 44 as a byte, which is no multiple of 5; 5e9 is 705032704.
        call("aten::eq.Scalar_out", &mut [(&mut a).into(), far_number, (&mut equal).into()]).unwrap();
        assert_eq!(equal.values(), [0.0; 50], "{dtype}");
    }
}

#[test]
fn bools_are_computed_as_truths() {
    let (a, b) = ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]);
    for (name, expected) in [
        ("aten::logical_xor.out", [0.0, 1.0, 1.0, 0.0]),
        ("aten::bitwise_or.Tensor_out", [0.0, 1.0, 1.0, 1.0]),
        ("aten::mul.out", [0.0, 0.0, 0.0, 1.0]),
        ("aten::maximum.out", [0.0, 1.0, 1.0, 1.0]),
        ("aten::lt.Tensor_out", [0.0, 1.0, 0.0, 0.0]),
    ] {
        for dtype in [Bool, Float16, Int64] {
            let mut a = Tensor::contiguous(Bool, &[4], |i| a[i]);
            let mut b = Tensor::contiguous(Bool, &[4], |i| b[i]);
            let mut out = Tensor::contiguous(dtype, &[4], |_| 9.0);
            call(name, &mut [(&mut a).into(), (&mut b).into(), (&mut out).into()]).unwrap();
            assert_eq!(out.values(), expected, "{name} to {dtype}");
        }
    }
}
