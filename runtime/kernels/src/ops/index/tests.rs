//! Indexing, scattering and masks against PyTorch's results for `x = torch.arange(24.).view(2, 3, 4)`, with `x` in
//! several memory orders.

use crate::testing::{Tensor, call, ints, tensors};
use executorch_abi::Dtype;
use executorch_abi::value::et_value_t;
use std::ptr;

const F: Dtype = Dtype::Float32;
const X: &[i32] = &[2, 3, 4];
const ORDERS: [[u8; 3]; 3] = [[0, 1, 2], [2, 1, 0], [1, 2, 0]];

fn x(order: &[u8]) -> Tensor {
    Tensor::new(F, X, order, |i| i as f64)
}

fn numbers(dtype: Dtype, sizes: &[i32], list: &[i32]) -> Tensor {
    Tensor::contiguous(dtype, sizes, |i| list[i].into())
}

fn index(sizes: &[i32], list: &[i32]) -> Option<Tensor> {
    Some(numbers(Dtype::Int64, sizes, list))
}

fn mask(sizes: &[i32], list: &[i32]) -> Option<Tensor> {
    Some(numbers(Dtype::Bool, sizes, list))
}

fn pointers(list: &mut [Option<Tensor>]) -> Vec<*mut executorch_abi::tensor::et_tensor_t> {
    list.iter_mut().map(|t| t.as_mut().map_or(ptr::null_mut(), Tensor::raw)).collect()
}

fn takes(mut indices: Vec<Option<Tensor>>, sizes: &[i32], expected: &[i32]) {
    for order in ORDERS {
        let mut out = Tensor::contiguous(F, sizes, |_| -1.0);
        let list = pointers(&mut indices);
        let mut x = x(&order);
        let args = &mut [(&mut x).into(), tensors(&list), (&mut out).into()];
        call("aten::index.Tensor_out", args).unwrap();
        assert_eq!(out.values(), expected.iter().map(|&v| v.into()).collect::<Vec<f64>>());
    }
}

#[test]
fn taking_rows() {
    let rows: Vec<i32> = (12..24).chain(0..12).collect();
    takes(vec![index(&[2], &[1, -2])], X, &rows);
    let middle = [8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15];
    takes(vec![None, index(&[2], &[2, 0])], &[2, 2, 4], &middle);
    let last = [0, 3, 2, 2, 4, 7, 6, 6, 8, 11, 10, 10, 12, 15, 14, 14, 16, 19, 18, 18, 20, 23, 22, 22];
    takes(vec![None, None, index(&[2, 2], &[0, -1, 2, 2])], &[2, 3, 2, 2], &last);
    let apart = [3, 7, 11, 12, 16, 20];
    takes(vec![index(&[2], &[0, 1]), None, index(&[2], &[3, 0])], &[2, 3], &apart);
    let repeated = [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 16, 17, 18, 19];
    takes(vec![index(&[2, 1], &[0, 1]), index(&[3], &[2, 0, 1])], &[2, 3, 4], &repeated);
    takes(vec![index(&[0], &[])], &[0, 3, 4], &[]);
    takes(vec![None, None], X, &(0..24).collect::<Vec<_>>());
}

#[test]
fn taking_what_masks_choose() {
    let pairs = [0, 1, 2, 3, 8, 9, 10, 11, 20, 21, 22, 23];
    takes(vec![mask(&[2, 3], &[1, 0, 1, 0, 0, 1])], &[3, 4], &pairs);
    let middle = [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23];
    takes(vec![None, mask(&[3], &[1, 0, 1])], &[2, 2, 4], &middle);
    let apart = [1, 5, 9, 14, 18, 22];
    takes(vec![mask(&[2], &[1, 1]), None, index(&[2], &[1, 2])], &[2, 3], &apart);
    // One chosen element serves all indices.
    let one = [20, 21, 22, 23, 12, 13, 14, 15, 16, 17, 18, 19];
    takes(vec![mask(&[2], &[0, 1]), index(&[3], &[2, 0, 1])], &[3, 4], &one);
    let last = [1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22];
    takes(vec![None, None, mask(&[4], &[0, 1, 1, 0])], &[2, 3, 2], &last);
    takes(vec![mask(&[2], &[0, 0])], &[0, 3, 4], &[]);
}

/// Puts values; `expected` lists the places that change.
fn puts(
    mut indices: Vec<Option<Tensor>>,
    (sizes, list): (&[i32], &[i32]),
    accumulate: bool,
    expected: &[(usize, i32)],
) {
    let mut whole: Vec<f64> = (0..24).map(f64::from).collect();
    for &(at, value) in expected {
        whole[at] = value.into();
    }
    for order in ORDERS {
        let mut values = numbers(F, sizes, list);
        let list = pointers(&mut indices);
        let (mut x, mut out) = (x(&order), Tensor::new(F, X, &[1, 0, 2], |_| -1.0));
        let common = [(&mut x).into(), tensors(&list), (&mut values).into(), et_value_t::bool(accumulate)];
        let [a, b, c, d] = common;
        call("aten::index_put.out", &mut [a, b, c, d, (&mut out).into()]).unwrap();
        assert_eq!(out.values(), whole);
        call("aten::index_put_", &mut [a, b, c, d, a]).unwrap();
        assert_eq!(x.values(), whole);
    }
}

#[test]
fn putting_rows() {
    let rows = || vec![index(&[3], &[0, 0, 1]), index(&[3], &[1, 1, 2])];
    let put = [(4, 5), (5, 6), (6, 7), (7, 8), (20, 5), (21, 6), (22, 7), (23, 8)];
    puts(rows(), (&[4], &[5, 6, 7, 8]), false, &put);
    let added = [(4, 14), (5, 17), (6, 20), (7, 23), (20, 25), (21, 27), (22, 29), (23, 31)];
    puts(rows(), (&[4], &[5, 6, 7, 8]), true, &added);
    let last: Vec<_> = (0..6)
        .flat_map(|row| [(4 * row + 1, -1 - row as i32 % 3), (4 * row + 3, -1 - row as i32 % 3)])
        .collect();
    puts(vec![None, None, index(&[2], &[3, 1])], (&[3, 1], &[-1, -2, -3]), false, &last);
    let apart = [(15, -1), (19, -2), (23, -3), (0, -4), (4, -5), (8, -6)];
    let indices = vec![index(&[2], &[1, 0]), None, index(&[2], &[3, 0])];
    puts(indices, (&[2, 3], &[-1, -2, -3, -4, -5, -6]), false, &apart);
    let masked: Vec<_> = (0..4).chain(8..12).chain(20..24).map(|at| (at, 9)).collect();
    puts(vec![mask(&[2, 3], &[1, 0, 1, 0, 0, 1])], (&[], &[9]), false, &masked);
    puts(vec![index(&[0], &[])], (&[0, 3, 4], &[]), false, &[]);
}

#[test]
fn gathering_and_scattering() {
    for order in ORDERS {
        let (mut t, mut out) = (x(&order), Tensor::contiguous(F, &[1, 2, 2], |_| -1.0));
        let mut at = numbers(Dtype::Int64, &[1, 2, 2], &[2, 0, 1, 1]);
        let no = et_value_t::bool(false);
        let int = et_value_t::int;
        call("aten::gather.out", &mut [(&mut t).into(), int(1), (&mut at).into(), no, (&mut out).into()])
            .unwrap();
        assert_eq!(out.values(), [8.0, 1.0, 4.0, 5.0]);

        let mut source = Tensor::new(F, X, &order, |i| -(i as f64));
        let mut out = Tensor::new(F, X, &[2, 0, 1], |_| -1.0);
        let mut at = numbers(Dtype::Int64, &[2, 2, 1], &[3, 0, 1, 1]);
        let args = &mut [(&mut t).into(), int(2), (&mut at).into(), (&mut source).into(), (&mut out).into()];
        call("aten::scatter.src_out", args).unwrap();
        let mut expected: Vec<f64> = (0..24).map(f64::from).collect();
        for (place, value) in [(3, 0.0), (4, -4.0), (13, -12.0), (17, -16.0)] {
            expected[place] = value;
        }
        assert_eq!(out.values(), expected);

        let mut source = x(&order);
        let mut at = numbers(Dtype::Int32, &[1, 2, 4], &[1, 1, 0, 0, 1, 0, 1, 0]);
        let args = &mut [(&mut t).into(), int(0), (&mut at).into(), (&mut source).into(), (&mut out).into()];
        call("aten::scatter_add.out", args).unwrap();
        let mut expected: Vec<f64> = (0..24).map(f64::from).collect();
        for (i, row) in [1, 1, 0, 0, 1, 0, 1, 0].into_iter().enumerate() {
            expected[12 * row + i] += i as f64;
        }
        assert_eq!(out.values(), expected);
    }
}

#[test]
fn choosing_with_masks() {
    for order in ORDERS {
        let mut t = x(&order);
        let mut chosen = numbers(Dtype::Bool, &[4], &[1, 0, 0, 1]);
        let mut out = Tensor::contiguous(F, &[12], |_| -1.0);
        call("aten::masked_select.out", &mut [(&mut t).into(), (&mut chosen).into(), (&mut out).into()])
            .unwrap();
        assert_eq!(out.values(), [0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23].map(f64::from));

        let mut chosen = numbers(Dtype::Bool, &[3, 1], &[1, 0, 1]);
        let mut source = Tensor::contiguous(F, &[17], |i| 100.0 + i as f64);
        let mut out = Tensor::new(F, X, &order, |_| -1.0);
        let args = &mut [(&mut t).into(), (&mut chosen).into(), (&mut source).into(), (&mut out).into()];
        call("aten::masked_scatter.out", args).unwrap();
        let expected: Vec<f64> = (0..24)
            .map(|i| {
                if i / 4 % 3 == 1 {
                    f64::from(i)
                } else {
                    100.0 + f64::from(i % 4 + [0, 0, 4, 8, 0, 12][i as usize / 4])
                }
            })
            .collect();
        assert_eq!(out.values(), expected);
        let mut short = Tensor::contiguous(F, &[15], |i| i as f64);
        let args = &mut [(&mut t).into(), (&mut chosen).into(), (&mut short).into(), (&mut out).into()];
        assert!(call("aten::masked_scatter.out", args).unwrap_err().message.contains("15"));

        let mut fives = Tensor::new(F, X, &order, |i| f64::from(i % 5 == 0));
        let mut out = Tensor::contiguous(Dtype::Int64, &[5, 3], |_| -1.0);
        call("aten::nonzero.out", &mut [(&mut fives).into(), (&mut out).into()]).unwrap();
        assert_eq!(out.values(), [0, 0, 0, 0, 1, 1, 0, 2, 2, 1, 0, 3, 1, 2, 0].map(f64::from));
    }
}

#[test]
fn bad_indices_are_refused() {
    let take = |mut indices: Vec<Option<Tensor>>, sizes: &[i32]| {
        let list = pointers(&mut indices);
        let mut out = Tensor::contiguous(F, sizes, |_| -1.0);
        let mut x = x(&[0, 1, 2]);
        let args = &mut [(&mut x).into(), tensors(&list), (&mut out).into()];
        call("aten::index.Tensor_out", args).unwrap_err().message
    };
    assert!(take(vec![index(&[1], &[2])], &[1, 3, 4]).contains("index 2 is out of range for 2"));
    assert!(take(vec![index(&[1], &[-3])], &[1, 3, 4]).contains("index -3"));
    assert!(take(vec![index(&[1], &[i32::MIN])], &[1, 3, 4]).contains("out of range"));
    assert!(take(vec![index(&[2], &[0, 0]), index(&[3], &[0, 0, 0])], &[3, 4]).contains("broadcast"));
    assert!(take(vec![mask(&[3], &[1, 1, 1])], &[3, 3, 4]).contains("mask"));
    assert!(take(vec![mask(&[], &[1])], &[1, 3, 4]).contains("mask"));
    assert!(take(vec![None, None, None, index(&[1], &[0])], &[1]).contains("3 dimensions"));
    assert!(take(vec![Some(numbers(F, &[1], &[0]))], &[1, 3, 4]).contains("int64"));

    let int = et_value_t::int;
    let along = |name: &str, index: i32| {
        let (mut t, mut at) = (x(&[0, 1, 2]), numbers(Dtype::Int64, &[1, 1, 1], &[index]));
        let mut out = Tensor::contiguous(F, &[1, 1, 1], |_| -1.0);
        let args =
            &mut [(&mut t).into(), int(1), (&mut at).into(), et_value_t::bool(false), (&mut out).into()];
        call(name, args).unwrap_err().message
    };
    assert!(along("aten::gather.out", 3).contains("index 3"));
    assert!(along("aten::gather.out", -1).contains("index -1"));
    let (mut t, mut at) = (Tensor::contiguous(F, &[3, 2], |_| 0.0), numbers(Dtype::Int64, &[1], &[3]));
    let mut out = Tensor::contiguous(F, &[1, 2], |_| -1.0);
    let no = et_value_t::bool(false);
    let args = &mut [(&mut t).into(), (&mut at).into(), int(-1), no, no, (&mut out).into()];
    assert!(call("aten::embedding.out", args).unwrap_err().message.contains("index 3"));
    let args = &mut [(&mut t).into(), int(0), (&mut at).into(), (&mut out).into()];
    assert!(call("aten::index_select.out", args).unwrap_err().message.contains("index 3"));
    let args = &mut [(&mut t).into(), ints(&[0]), (&mut out).into()];
    assert!(call("aten::permute_copy.out", args).is_err());
}
