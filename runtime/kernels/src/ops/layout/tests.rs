//! Operators that move elements, in every memory order of their tensors, and what they refuse. That they are right in
//! the contiguous order is what the committed programs show.

use crate::testing::{Tensor, call, ints, tensors};
use executorch_abi::Dtype;
use executorch_abi::value::et_value_t;
use std::ptr;

/// The orders that a tensor of some dimensions is tried in, the contiguous one first.
fn orders(rank: usize) -> Vec<Vec<u8>> {
    let contiguous: Vec<u8> = (0..rank as u8).collect();
    let reversed = contiguous.iter().rev().copied().collect();
    let mut orders = vec![contiguous, reversed];
    if rank == 4 {
        orders.push(vec![0, 2, 3, 1]);
    }
    orders
}

/// What fills the input number `input`.
fn value(input: usize, i: usize) -> f64 {
    ((i * 7 + input * 31) % 101) as f64
}

/// Calls an operator with its inputs and output in every order, and compares with the contiguous one.
fn in_every_order(
    name: &str,
    inputs: &[&[i32]],
    out: &[i32],
    args: impl Fn(&mut [Tensor]) -> Vec<et_value_t>,
) {
    let dtype = Dtype::Float32;
    let mut expected = None;
    for out_order in orders(out.len()) {
        for order in 0..3 {
            let tensor = |(i, sizes): (usize, &&[i32])| {
                let orders = orders(sizes.len());
                Tensor::new(dtype, sizes, &orders[order % orders.len()], |at| value(i, at))
            };
            let mut given: Vec<Tensor> = inputs.iter().enumerate().map(tensor).collect();
            let mut out = Tensor::new(dtype, out, &out_order, |_| -1.0);
            let mut args = args(&mut given);
            args.push((&mut out).into());
            call(name, &mut args).unwrap_or_else(|e| panic!("{name} {order} {out_order:?}: {e}"));
            let found = out.values();
            let expected = expected.get_or_insert_with(|| found.clone());
            assert_eq!(&found, expected, "{name}: inputs in order {order}, output in {out_order:?}");
        }
    }
}

const X: &[i32] = &[2, 3, 4, 5];

#[test]
fn parts_and_permutations() {
    let int = et_value_t::int;
    in_every_order("aten::permute_copy.out", &[X], &[3, 2, 5, 4], |t| {
        vec![(&mut t[0]).into(), ints(&[1, 0, 3, 2])]
    });
    in_every_order("aten::transpose_copy.int_out", &[X], &[2, 5, 4, 3], |t| {
        vec![(&mut t[0]).into(), int(1), int(3)]
    });
    in_every_order("aten::expand_copy.out", &[&[2, 1, 4, 5]], &[2, 3, 4, 5], |t| {
        vec![(&mut t[0]).into(), ints(&[-1, 3, 4, -1]), et_value_t::bool(false)]
    });
    in_every_order("aten::select_copy.int_out", &[X], &[2, 3, 5], |t| {
        vec![(&mut t[0]).into(), int(2), int(-3)]
    });
    in_every_order("aten::slice_copy.Tensor_out", &[X], &[2, 3, 2, 5], |t| {
        vec![(&mut t[0]).into(), int(2), int(1), int(4), int(2)]
    });
    in_every_order("aten::narrow_copy.out", &[X], &[2, 2, 4, 5], |t| {
        vec![(&mut t[0]).into(), int(1), int(-2), int(2)]
    });
    in_every_order("aten::unfold_copy.out", &[X], &[2, 3, 2, 5, 2], |t| {
        vec![(&mut t[0]).into(), int(2), int(2), int(2)]
    });
    in_every_order("aten::diagonal_copy.out", &[X], &[2, 5, 3], |t| {
        vec![(&mut t[0]).into(), int(-1), int(2), int(1)]
    });
    in_every_order("aten::flip.out", &[X], X, |t| vec![(&mut t[0]).into(), ints(&[1, -1])]);
    in_every_order("aten::roll.out", &[X], X, |t| {
        vec![(&mut t[0]).into(), ints(&[1, -2, 3]), ints(&[1, 3, 1])]
    });
    in_every_order("aten::pixel_shuffle.out", &[&[2, 4, 3, 5]], &[2, 1, 6, 10], |t| {
        vec![(&mut t[0]).into(), int(2)]
    });
    in_every_order("aten::pixel_unshuffle.out", &[&[2, 1, 6, 10]], &[2, 4, 3, 5], |t| {
        vec![(&mut t[0]).into(), int(2)]
    });
    in_every_order("aten::clone.out", &[X], X, |t| vec![(&mut t[0]).into(), et_value_t::NONE]);
    in_every_order("aten::alias_copy.out", &[X], X, |t| vec![(&mut t[0]).into()]);
}

#[test]
fn joins_pads_and_partial_writes() {
    let int = et_value_t::int;
    in_every_order("aten::cat.out", &[X, &[2, 1, 4, 5]], &[2, 4, 4, 5], |t| {
        let list = Box::leak(Box::new([t[0].raw(), t[1].raw()]));
        vec![tensors(list), int(1)]
    });
    in_every_order("aten::stack.out", &[X, X], &[2, 3, 4, 2, 5], |t| {
        let list = Box::leak(Box::new([t[0].raw(), t[1].raw()]));
        vec![tensors(list), int(-2)]
    });
    in_every_order("aten::repeat.out", &[X], &[2, 6, 4, 15], |t| {
        vec![(&mut t[0]).into(), ints(&[1, 2, 1, 3])]
    });
    in_every_order("aten::constant_pad_nd.out", &[X], &[2, 4, 3, 8], |t| {
        vec![(&mut t[0]).into(), ints(&[1, 2, -2, 1, 1, 0]), et_value_t::double(0.5)]
    });
    for name in ["aten::reflection_pad2d.out", "aten::replication_pad2d.out"] {
        in_every_order(name, &[X], &[2, 3, 7, 10], |t| vec![(&mut t[0]).into(), ints(&[4, 1, 0, 3])]);
    }
    in_every_order("aten::slice_scatter.out", &[X, &[2, 3, 2, 5]], X, |t| {
        let [a, b] = t else { panic!() };
        vec![a.into(), b.into(), int(2), int(0), int(3), int(2)]
    });
    in_every_order("aten::select_scatter.out", &[X, &[2, 3, 5]], X, |t| {
        let [a, b] = t else { panic!() };
        vec![a.into(), b.into(), int(2), int(1)]
    });
    in_every_order("aten::copy.out", &[X, &[3, 1, 5]], X, |t| {
        let [a, b] = t else { panic!() };
        vec![a.into(), b.into(), et_value_t::bool(false)]
    });
}

#[test]
fn a_reshape_reads_in_the_logical_order() {
    for order in orders(4) {
        let mut x = Tensor::new(Dtype::Int16, X, &order, |i| i as f64);
        let mut out = Tensor::contiguous(Dtype::Int16, &[6, 20], |_| 0.0);
        call("aten::view_copy.out", &mut [(&mut x).into(), ints(&[6, -1]), (&mut out).into()]).unwrap();
        assert_eq!(out.values(), (0..120).map(f64::from).collect::<Vec<_>>());
        let mut flat = Tensor::contiguous(Dtype::Int16, &[120], |i| i as f64);
        let mut back = Tensor::new(Dtype::Int16, X, &order, |_| 0.0);
        call("aten::view_copy.out", &mut [(&mut flat).into(), ints(&[2, 3, 4, 5]), (&mut back).into()])
            .unwrap();
        assert_eq!(back.values(), x.values());
    }
}

#[test]
fn the_output_of_a_view_may_be_its_input() {
    let mut x = Tensor::contiguous(Dtype::Int32, &[2, 3], |i| i as f64);
    let value = et_value_t::from(&mut x);
    call("aten::clone.out", &mut [value, et_value_t::NONE, value]).unwrap();
    call("aten::copy_", &mut [value, value, et_value_t::bool(false), value]).unwrap();
    assert_eq!(x.values(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let error = call("aten::flip.out", &mut [value, ints(&[0]), value]).unwrap_err();
    assert!(error.message.contains("overlaps"), "{error}");
}

#[test]
fn bad_arguments_are_refused() {
    let int = et_value_t::int;
    let refuses = |name: &str, out: &[i32], args: &dyn Fn(et_value_t) -> Vec<et_value_t>, why: &str| {
        let mut x = Tensor::contiguous(Dtype::Float32, &[2, 3, 4], |i| i as f64);
        let mut out = Tensor::contiguous(Dtype::Float32, out, |_| 0.0);
        let mut args = args((&mut x).into());
        args.push((&mut out).into());
        let error = call(name, &mut args).expect_err(name);
        assert!(error.message.contains(why), "{name}: {error}");
    };
    let x = [2, 3, 4];
    refuses("aten::permute_copy.out", &x, &|t| vec![t, ints(&[0, 1])], "2 dimensions for a tensor of 3");
    refuses("aten::permute_copy.out", &x, &|t| vec![t, ints(&[0, 1, 1])], "repeats");
    refuses("aten::permute_copy.out", &x, &|t| vec![t, ints(&[0, 1, 3])], "dimension 3");
    refuses("aten::t_copy.out", &x, &|t| vec![t], "at most 2");
    refuses("aten::view_copy.out", &x, &|t| vec![t, ints(&[5, -1])], "24 elements");
    refuses("aten::view_copy.out", &x, &|t| vec![t, ints(&[-1, -1])], "24 elements");
    refuses("aten::view_copy.out", &x, &|t| vec![t, ints(&[i64::MAX, 2])], "24 elements");
    refuses("aten::select_copy.int_out", &[2, 3], &|t| vec![t, int(2), int(4)], "index 4");
    refuses("aten::select_copy.int_out", &[2, 3], &|t| vec![t, int(2), int(-5)], "index -5");
    refuses("aten::slice_copy.Tensor_out", &x, &|t| vec![t, int(0), int(0), int(2), int(0)], "step");
    refuses("aten::narrow_copy.out", &x, &|t| vec![t, int(0), int(1), int(2)], "exceed");
    refuses("aten::narrow_copy.out", &x, &|t| vec![t, int(0), int(1), int(i64::MAX)], "exceed");
    refuses(
        "aten::expand_copy.out",
        &x,
        &|t| vec![t, ints(&[2, 3, 8]), et_value_t::bool(false)],
        "broadcast",
    );
    refuses("aten::expand_copy.out", &x, &|t| vec![t, ints(&[-1, 2, 3, 4]), et_value_t::bool(false)], "-1");
    refuses("aten::unfold_copy.out", &x, &|t| vec![t, int(2), int(5), int(1)], "windows of 5");
    refuses("aten::diagonal_copy.out", &x, &|t| vec![t, int(0), int(1), int(-2)], "with itself");
    refuses(
        "aten::as_strided_copy.out",
        &[5, 5],
        &|t| vec![t, ints(&[5, 5]), ints(&[5, 1]), int(0)],
        "reaches",
    );
    refuses(
        "aten::as_strided_copy.out",
        &[2],
        &|t| vec![t, ints(&[2]), ints(&[i64::MAX]), int(0)],
        "reaches",
    );
    refuses(
        "aten::as_strided_copy.out",
        &[2],
        &|t| vec![t, ints(&[2]), ints(&[1]), int(i64::MAX)],
        "reaches",
    );
    refuses("aten::as_strided_copy.out", &[2], &|t| vec![t, ints(&[2]), ints(&[-1]), int(3)], "at least 0");
    refuses("aten::roll.out", &x, &|t| vec![t, ints(&[1, 2]), ints(&[0])], "shifts");
    refuses("aten::repeat.out", &x, &|t| vec![t, ints(&[2, 2])], "2 repeats");
    refuses("aten::repeat.out", &x, &|t| vec![t, ints(&[1, i64::MAX, 1])], "repeats");
    refuses("aten::pixel_shuffle.out", &x, &|t| vec![t, int(2)], "multiple of 4");
    refuses("aten::constant_pad_nd.out", &x, &|t| vec![t, ints(&[1]), int(0)], "padding");
    refuses("aten::constant_pad_nd.out", &x, &|t| vec![t, ints(&[-3, -3]), int(0)], "padding");
    refuses("aten::reflection_pad1d.out", &x, &|t| vec![t, ints(&[4, 0])], "0 to 3");
    refuses("aten::replication_pad1d.out", &x, &|t| vec![t, ints(&[-1, 0])], "padding");
    refuses("aten::full.out", &x, &|_| vec![ints(&[2, -3]), int(0)], "size -3");
    refuses("aten::arange.start_out", &x, &|_| vec![int(0), int(5), int(0)], "range");
    refuses("aten::arange.start_out", &x, &|_| vec![int(0), int(5), int(-1)], "range");
    refuses("aten::cat.out", &x, &|_| vec![tensors(&[]), int(0)], "empty list");
    refuses("aten::cat.out", &x, &|_| vec![tensors(&[ptr::null_mut()]), int(0)], "missing");
    // An output of a size that the result has not.
    refuses("aten::clone.out", &[2, 3], &|t| vec![t, et_value_t::NONE], "the output");
}

#[test]
fn numbers_that_a_dtype_does_not_hold_are_refused() {
    let full = |dtype: Dtype, value: et_value_t| {
        let mut out = Tensor::contiguous(dtype, &[2], |_| 0.0);
        call("aten::full.out", &mut [ints(&[2]), value, (&mut out).into()]).map(|()| out.values())
    };
    assert!(full(Dtype::UInt8, et_value_t::int(256)).is_err());
    assert!(full(Dtype::Int8, et_value_t::int(-129)).is_err());
    assert!(full(Dtype::Int32, et_value_t::double(f64::NAN)).is_err());
    assert_eq!(full(Dtype::UInt8, et_value_t::int(-1)).unwrap(), [255.0; 2]);
    assert_eq!(full(Dtype::Int8, et_value_t::double(-128.9)).unwrap(), [-128.0; 2]);
    assert!(full(Dtype::Float16, et_value_t::double(-65505.0)).is_err());
    assert!(full(Dtype::Float32, et_value_t::double(1e39)).is_err());
    assert_eq!(full(Dtype::Float16, et_value_t::double(f64::INFINITY)).unwrap(), [f64::INFINITY; 2]);
    assert_eq!(full(Dtype::BFloat16, et_value_t::int(1 << 40)).unwrap(), [(1_u64 << 40) as f64; 2]);
    assert_eq!(full(Dtype::Bool, et_value_t::double(0.5)).unwrap(), [1.0; 2]);
}
