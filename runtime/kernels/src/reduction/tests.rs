//! Reductions against loops over row-major numbers.

use crate::testing::{Tensor, call, ints};
use executorch_abi::Dtype::{self, *};
use executorch_abi::value::et_value_t;

/// A list of integers that lives on.
fn list(items: &[i64]) -> et_value_t {
    ints(items.to_vec().leak())
}

fn keep(yes: bool) -> et_value_t {
    et_value_t::bool(yes)
}

/// The results of `f` on what each element of the results is made of, in row-major order.
fn naive(values: &[f64], sizes: &[i32], dims: &[i64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let is_reduced = |d: usize| dims.iter().any(|&r| (r + sizes.len() as i64) as usize % sizes.len() == d);
    let mut groups: Vec<(Vec<usize>, Vec<f64>)> = Vec::new();
    let count: usize =
        sizes.iter().zip(0..).filter(|(_, d)| !is_reduced(*d)).map(|(s, _)| *s as usize).product();
    for (i, &value) in values.iter().enumerate() {
        let (mut rest, mut index) = (i, vec![0; sizes.len()]);
        for d in (0..sizes.len()).rev() {
            index[d] = if is_reduced(d) { 0 } else { rest % sizes[d] as usize };
            rest /= sizes[d] as usize;
        }
        match groups.iter_mut().find(|(at, _)| *at == index) {
            Some((_, group)) => group.push(value),
            None => groups.push((index, vec![value])),
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    groups.resize(count, (vec![], vec![]));
    groups.iter().map(|(_, group)| f(group)).collect()
}

fn reduced_sizes(sizes: &[i32], dims: &[i64], keep: bool) -> Vec<i32> {
    let is_reduced = |d: usize| dims.iter().any(|&r| r as usize == d);
    let size = |d: usize| if is_reduced(d) { 1 } else { sizes[d] };
    (0..sizes.len()).filter(|&d| keep || !is_reduced(d)).map(size).collect()
}

fn orders(rank: u8) -> Vec<Vec<u8>> {
    if rank == 0 {
        return vec![vec![]];
    }
    let shorter = orders(rank - 1);
    let insert = |order: &Vec<u8>, at: usize| {
        let mut order = order.clone();
        order.insert(at, rank - 1);
        order
    };
    shorter.iter().flat_map(|order| (0..rank as usize).map(|at| insert(order, at))).collect()
}

fn sum(group: &[f64]) -> f64 {
    group.iter().sum()
}

fn mean(group: &[f64]) -> f64 {
    sum(group) / group.len() as f64
}

fn variance(group: &[f64]) -> f64 {
    let mean = mean(group);
    group.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (group.len() as f64 - 1.0).max(0.0)
}

fn largest(group: &[f64]) -> f64 {
    group.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    let close =
        |a: &f64, b: &f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 2e-6 * (1.0 + b.abs());
    assert!(found.len() == expected.len(), "{what}: {} results, not {}", found.len(), expected.len());
    let wrong = found.iter().zip(expected).find(|(a, b)| !close(a, b));
    assert!(wrong.is_none(), "{what}: {wrong:?}");
}

#[test]
fn every_order_and_set_of_dimensions() {
    let sizes = [2, 3, 4, 3];
    let value = |i: usize| ((i * 37) % 23) as f64 - 9.0;
    for order in orders(4) {
        for mask in 0..16_u32 {
            let dims: Vec<i64> = (0..4).filter(|d| mask >> d & 1 != 0).map(i64::from).collect();
            // An empty list means all of them.
            let reduced: Vec<i64> = if mask == 0 { (0..4).collect() } else { dims.clone() };
            for keeps in [false, true] {
                let out_sizes = reduced_sizes(&sizes, &reduced, keeps);
                let mut input = Tensor::new(Float32, &sizes, &order, value);
                let what = format!("{order:?} {dims:?} {keeps}");
                let mut check =
                    |name: &str, mut out: Tensor, extra: Option<et_value_t>, f: fn(&[f64]) -> f64| {
                        let mut args = vec![(&mut input).into(), list(&dims), keep(keeps)];
                        args.extend(extra);
                        args.push((&mut out).into());
                        call(name, &mut args).unwrap();
                        assert_close(
                            &out.values(),
                            &naive(&input.values(), &sizes, &reduced, f),
                            &format!("{name} {what}"),
                        );
                    };
                let plain = || Tensor::contiguous(Float32, &out_sizes, |_| 0.0);
                check("aten::sum.IntList_out", plain(), Some(et_value_t::NONE), sum);
                check("aten::amax.out", plain(), None, largest);
                if keeps {
                    let same = Tensor::new(Float32, &out_sizes, &order, |_| 0.0);
                    check("aten::mean.out", same, Some(et_value_t::NONE), mean);
                }
                let (mut var, mut mean_out) = (plain(), plain());
                let mut args = [
                    (&mut input).into(),
                    list(&dims),
                    et_value_t::NONE,
                    keep(keeps),
                    (&mut var).into(),
                    (&mut mean_out).into(),
                ];
                call("aten::var_mean.correction_out", &mut args).unwrap();
                assert_close(&var.values(), &naive(&input.values(), &sizes, &reduced, variance), &what);
                assert_close(&mean_out.values(), &naive(&input.values(), &sizes, &reduced, mean), &what);
            }
        }
    }
}

#[test]
fn long_reductions_in_parts() {
    for (sizes, dim) in [
        (vec![300_000], 0),
        (vec![3, 140_000], 1),
        (vec![140_001, 3], 0),
        (vec![50, 70, 40], 1),
        (vec![2, 70_001, 2], 1),
    ] {
        let value = |i: usize| ((i * 7919) % 1009) as f64 / 8.0 - 50.0;
        let mut input = Tensor::contiguous(Float32, &sizes, value);
        let out_sizes = reduced_sizes(&sizes, &[dim], false);
        let values = input.values();
        let out = |dtype: Dtype| Tensor::contiguous(dtype, &out_sizes, |_| 0.0);
        let what = format!("{sizes:?}");
        // Elements are in groups of the outer, then the inner index: few enough to look for.
        let (outer, inner) = (
            sizes[..dim as usize].iter().product::<i32>() as usize,
            sizes[dim as usize + 1..].iter().product::<i32>() as usize,
        );
        let reduce = sizes[dim as usize] as usize;
        let group = |at: usize| -> Vec<f64> {
            (0..reduce).map(|r| values[(at / inner * reduce + r) * inner + at % inner]).collect()
        };
        let expected =
            |f: &dyn Fn(&[f64]) -> f64| -> Vec<f64> { (0..outer * inner).map(|at| f(&group(at))).collect() };
        let mut sums = out(Float32);
        call(
            "aten::sum.IntList_out",
            &mut [(&mut input).into(), list(&[dim]), keep(false), et_value_t::NONE, (&mut sums).into()],
        )
        .unwrap();
        assert_close(&sums.values(), &expected(&sum), &what);
        let mut variances = out(Float64);
        call(
            "aten::var.out",
            &mut [(&mut input).into(), list(&[dim]), keep(true), keep(false), (&mut variances).into()],
        )
        .unwrap();
        assert_close(&variances.values(), &expected(&variance), &what);
        let (mut greatest, mut places) = (out(Float32), out(Int64));
        let mut args = [
            (&mut input).into(),
            et_value_t::int(dim),
            keep(false),
            (&mut greatest).into(),
            (&mut places).into(),
        ];
        call("aten::max.dim_max", &mut args).unwrap();
        assert_close(&greatest.values(), &expected(&largest), &what);
        let first = |g: &[f64]| g.iter().position(|&v| v == largest(g)).unwrap() as f64;
        assert_close(&places.values(), &expected(&|g| first(g)), &what);
    }
}

#[test]
fn nan_wins_wherever_it_is() {
    let n = 200_000;
    for at in [0, 77, 131_071, n - 1] {
        let mut input =
            Tensor::contiguous(Float32, &[n], |i| if i as i32 == at { f64::NAN } else { (i % 100) as f64 });
        for name in ["aten::amax.out", "aten::amin.out"] {
            let mut out = Tensor::contiguous(Float32, &[], |_| 0.0);
            call(name, &mut [(&mut input).into(), list(&[]), keep(false), (&mut out).into()]).unwrap();
            assert!(out.values()[0].is_nan());
        }
        for name in ["aten::argmax.out", "aten::argmin.out"] {
            let mut out = Tensor::contiguous(Int64, &[], |_| 0.0);
            call(name, &mut [(&mut input).into(), et_value_t::NONE, keep(false), (&mut out).into()]).unwrap();
            assert_eq!(out.values(), [f64::from(at)]);
        }
    }
}

#[test]
fn places_are_those_of_the_dimensions_order() {
    // Equal elements: the first one in row-major order counts, wherever memory has it.
    let value = |i: usize| f64::from(u8::from(matches!(i, 2 | 3)));
    for order in [[0, 1], [1, 0]] {
        let mut input = Tensor::new(Int32, &[2, 3], &order, value);
        let mut out = Tensor::contiguous(Int64, &[], |_| 0.0);
        call(
            "aten::argmax.out",
            &mut [(&mut input).into(), et_value_t::NONE, keep(false), (&mut out).into()],
        )
        .unwrap();
        assert_eq!(out.values(), [2.0], "{order:?}");
    }
}

/// Sums or multiplies all elements with a dtype argument.
fn total(name: &str, from: Dtype, to: Dtype, values: &[f64]) -> f64 {
    let mut input = Tensor::contiguous(from, &[values.len() as i32], |i| values[i]);
    let mut out = Tensor::contiguous(to, &[], |_| 0.0);
    let dtype = et_value_t::int(to as i64);
    let mut args = match name {
        "aten::prod.out" => vec![(&mut input).into(), dtype],
        _ => vec![(&mut input).into(), et_value_t::NONE, keep(false), dtype],
    };
    args.push((&mut out).into());
    call(name, &mut args).unwrap();
    out.values()[0]
}

#[test]
fn sums_are_made_in_the_results_type() {
    let sum = |from, to, values: &[f64]| total("aten::sum.IntList_out", from, to, values);
    assert_eq!(sum(UInt8, Int64, &[200.0; 10]), 2000.0);
    assert_eq!(sum(Int8, Int8, &[100.0, 100.0]), -56.0);
    assert_eq!(sum(Float32, Int64, &[1.9, 1.9, -0.9]), 2.0);
    assert_eq!(sum(Float32, Bool, &[0.0, 0.5]), 1.0);
    assert_eq!(sum(Int64, Float32, &[9e18, 9e18, 9e18]), f64::from(2.7e19_f32));
    assert_eq!(sum(Bool, Float16, &[1.0; 5]), 5.0);
    // In f32 the small ones would be lost.
    let mut values = vec![1.0; 1000];
    values[0] = 16_777_216.0;
    assert_eq!(sum(Float32, Float64, &values), 16_778_215.0);
    assert_eq!(sum(Float16, Float32, &[65504.0; 4]), 262_016.0);
    assert_eq!(total("aten::prod.out", Int32, Float64, &[1e9; 4]), 1e36);
    assert_eq!(total("aten::prod.out", BFloat16, BFloat16, &[2.0; 7]), 128.0);
}

#[test]
fn nothing_sums_to_zero_and_has_no_extreme() {
    let mut empty = Tensor::contiguous(Float32, &[2, 0], |_| 0.0);
    let mut out = Tensor::contiguous(Float32, &[2], |_| 7.0);
    let sum = &mut [(&mut empty).into(), list(&[1]), keep(false), et_value_t::NONE, (&mut out).into()];
    call("aten::sum.IntList_out", sum).unwrap();
    assert_eq!(out.values(), [0.0; 2]);
    let mean = &mut [(&mut empty).into(), list(&[1]), keep(false), et_value_t::NONE, (&mut out).into()];
    call("aten::mean.out", mean).unwrap();
    assert!(out.values().iter().all(|v| v.is_nan()));
    let error =
        call("aten::amax.out", &mut [(&mut empty).into(), list(&[1]), keep(false), (&mut out).into()])
            .unwrap_err();
    assert!(error.message.contains("[2, 0]"), "{error}");
    let mut places = Tensor::contiguous(Int64, &[2], |_| 0.0);
    let argmax = &mut [(&mut empty).into(), et_value_t::int(1), keep(false), (&mut places).into()];
    assert!(call("aten::argmax.out", argmax).is_err());
    // No result needs an element.
    let mut none = Tensor::contiguous(Float32, &[0], |_| 0.0);
    call("aten::amax.out", &mut [(&mut empty).into(), list(&[0]), keep(false), (&mut none).into()]).unwrap();
}

#[test]
fn variance_without_degrees_of_freedom_is_not_a_number() {
    for (n, correction, expected) in [(1, 1, f64::NAN), (2, 3, f64::INFINITY), (2, 0, 0.25)] {
        let mut input = Tensor::contiguous(Float32, &[n], |i| i as f64);
        let mut out = Tensor::contiguous(Float32, &[], |_| 0.0);
        let mut args = [
            (&mut input).into(),
            et_value_t::NONE,
            et_value_t::int(correction),
            keep(false),
            (&mut out).into(),
        ];
        call("aten::var.correction_out", &mut args).unwrap();
        assert_close(&out.values(), &[expected], "variance");
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let mut input = Tensor::contiguous(Float32, &[2, 3], |i| i as f64);
    let mut floats = Tensor::contiguous(Float32, &[2], |_| 0.0);
    let mut ints = Tensor::contiguous(Int32, &[2], |_| 0.0);
    let mut error = |name: &str, out: &mut Tensor, dims: &[i64]| {
        let mut args = vec![(&mut input).into(), list(dims), keep(false)];
        if name != "aten::amax.out" {
            args.push(et_value_t::NONE);
        }
        args.push(out.into());
        call(name, &mut args).unwrap_err().message
    };
    assert!(error("aten::sum.IntList_out", &mut floats, &[1, -1]).contains("twice"));
    assert!(error("aten::sum.IntList_out", &mut floats, &[2]).contains("dimension 2"));
    assert!(error("aten::mean.out", &mut ints, &[1]).contains("int32"));
    assert!(error("aten::amax.out", &mut ints, &[1]).contains("expected the input's dtype"));
    let asked = &mut [
        (&mut input).into(),
        list(&[1]),
        keep(false),
        et_value_t::int(Float64 as i64),
        (&mut floats).into(),
    ];
    assert!(call("aten::sum.IntList_out", asked).unwrap_err().message.contains("the output is float32"));
}

#[test]
fn any_of_no_dimensions_is_of_each_element() {
    let mut input = Tensor::contiguous(Float32, &[2, 2], |i| [0.0, f64::NAN, -0.0, 2.0][i]);
    let mut out = Tensor::contiguous(Bool, &[2, 2], |_| 1.0);
    call("aten::any.dims_out", &mut [(&mut input).into(), list(&[]), keep(false), (&mut out).into()])
        .unwrap();
    assert_eq!(out.values(), [0.0, 1.0, 0.0, 1.0]);
    let mut one = Tensor::contiguous(Bool, &[], |_| 0.0);
    call("aten::any.dims_out", &mut [(&mut input).into(), et_value_t::NONE, keep(false), (&mut one).into()])
        .unwrap();
    assert_eq!(one.values(), [1.0]);
}
