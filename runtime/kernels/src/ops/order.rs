//! Selection by order.

use crate::elements::{Item, items, items_mut};
use crate::op::{Context, Table, bad, entry, output};
use crate::pool::split_mut;
use crate::reduction::{Dims, Runs, split_with_scratch};
use crate::shape::Shape;
use crate::with_item;
use bytemuck::Pod;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::{Bool8, Element};
use half::{bf16, f16};

/// What this family registers.
pub static TABLE: Table = Table::new(&[entry(c"aten::topk.values", c"TIIBB>TT", topk)]);

/// Elements that are worth a task of their own.
const GRAIN: usize = 4 * 1024;

/// An element type whose values can be ordered along with their places by comparing unsigned numbers.
trait Ordered: Item {
    /// Holds a key and a place.
    type Packed: Pod + Ord + Send;
    /// The value and its place, such that the packed numbers ascend as the values do, and among equal values as the
    /// places do; with `descending`, as the values descend. NaN counts as the greatest value, as in PyTorch.
    fn pack(self, place: usize, descending: bool) -> Self::Packed;
    /// The place.
    fn place(packed: Self::Packed) -> usize;
}

macro_rules! ordered {
    ($($t:ty: $packed:ty, $bits:literal, $unsigned:ty, |$v:ident| $key:expr;)*) => {$(
        impl Ordered for $t {
            type Packed = $packed;
            #[inline]
            fn pack(self, place: usize, descending: bool) -> $packed {
                let $v = self;
                let key: $unsigned = $key;
                let key = if descending { !key } else { key };
                <$packed>::from(key) << $bits | place as $packed
            }
            #[inline]
            fn place(packed: $packed) -> usize {
                (packed & ((1 << $bits) - 1)) as usize
            }
        }
    )*};
}
ordered! {
    Bool8: u64, 32, u32, |v| u32::from(v.is_true());
    u8: u64, 32, u32, |v| v.into();
    i8: u64, 32, u32, |v| i32::from(v) as u32 ^ 1 << 31;
    i16: u64, 32, u32, |v| i32::from(v) as u32 ^ 1 << 31;
    i32: u64, 32, u32, |v| v as u32 ^ 1 << 31;
    i64: u128, 64, u64, |v| v as u64 ^ 1 << 63;
    f16: u64, 32, u32, |v| key32(v.acc());
    bf16: u64, 32, u32, |v| key32(v.acc());
    f32: u64, 32, u32, |v| key32(v);
    f64: u128, 64, u64, |v| key64(v);
}

/// A number that ascends as floats do.
#[inline]
fn key32(v: f32) -> u32 {
    if v.is_nan() {
        return u32::MAX;
    }
    // Adding 0 makes one zero of two.
    let bits = (v + 0.0).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// [`key32`] of f64.
#[inline]
fn key64(v: f64) -> u64 {
    if v.is_nan() {
        return u64::MAX;
    }
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn topk(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, k) = (args.tensor(0)?, args.int(1)?);
    let dims = Dims::one(args.int(2)?, input.rank())?;
    // The results are ordered in any case: what `sorted` false allows, nobody misses.
    let largest = args.bool(3)?;
    let length = dims.count(input.sizes());
    let k = usize::try_from(k).ok().filter(|&k| k <= length).ok_or_else(|| {
        bad(format!("k is {k}, expected 0 to {length}, the size of the dimension of {:?}", input.sizes()))
    })?;
    let mut sizes = [0; ET_MAX_RANK];
    for (d, (place, &size)) in sizes.iter_mut().zip(input.sizes()).enumerate() {
        *place = if dims.contains(d) { k as i32 } else { size };
    }
    let shape = Shape::new(&sizes[..input.rank()])?;
    let mut values = output(args, 5, shape.sizes(), &[input])?;
    let mut places = output(args, 6, shape.sizes(), &[input])?;
    for out in [values.view(), places.view()] {
        if out.dim_order() != input.dim_order() {
            return Err(bad("the outputs should have the input's dim order"));
        }
    }
    let (dtype, found) = (input.dtype()?, values.view().dtype()?);
    if found != dtype || places.view().dtype()? != Dtype::Int64 {
        return Err(bad(format!(
            "the outputs are {found} and {}, expected {dtype} and int64",
            places.view().dtype()?
        )));
    }
    let [_, _, inner] = Runs::of(input, dims, 1).middle().unwrap_or([1, 1, input.numel()]);
    // A dimension of one element is no run: every element is one of its own.
    let inner = if length == 1 { 1 } else { inner };
    let select = Select { length, inner, k, largest };
    with_item!(dtype, any T => select.run::<T>(context, input, &mut values, &mut places))
}

/// The sizes of a selection of `k` of `length` elements.
struct Select {
    length: usize,
    inner: usize,
    k: usize,
    largest: bool,
}

impl Select {
    fn run<T: Ordered>(
        &self,
        context: &mut Context,
        input: TensorRef<'_>,
        values: &mut TensorMut<'_>,
        places: &mut TensorMut<'_>,
    ) -> Result<()> {
        let &Self { length, inner, k, largest } = self;
        let (x, values, places) = (items::<T>(input)?, items_mut::<T>(values)?, items_mut::<i64>(places)?);
        if k == 0 || x.is_empty() {
            return Ok(());
        }
        let (from, to) = (length * inner, k * inner);
        // Room for the best ones so far and for as many that may be better.
        let room = length.min(2 * k + 64);
        split_with_scratch(context, places, to, GRAIN.div_ceil(from), room, |first, places, best| {
            for (at, places) in (first..).zip(places.chunks_mut(to)) {
                let x = &x[at * from..(at + 1) * from];
                for i in 0..inner {
                    let row = x.iter().skip(i).step_by(inner);
                    let best = select(row.enumerate().map(|(place, v)| v.pack(place, largest)), k, best);
                    for (j, &packed) in best.iter().enumerate() {
                        places[j * inner + i] = T::place(packed) as i64;
                    }
                }
            }
        })?;
        let places = &*places;
        split_mut(values, to, crate::reduction::GRAIN.div_ceil(to), |first, values| {
            for (at, values) in (first..).zip(values.chunks_mut(to)) {
                for (j, (value, &place)) in values.iter_mut().zip(&places[at * to..]).enumerate() {
                    *value = x[at * from + place as usize * inner + j % inner];
                }
            }
        });
        Ok(())
    }
}

/// The `k` least of some values, in order; `best` has room for all of them, or for more than `k`.
fn select<P: Ord + Copy>(values: impl Iterator<Item = P>, k: usize, best: &mut [P]) -> &[P] {
    let (mut filled, mut bound) = (0, None);
    for value in values {
        if bound.is_some_and(|bound| value > bound) {
            continue;
        }
        if filled == best.len() {
            best.select_nth_unstable(k - 1);
            filled = k;
            bound = Some(best[k - 1]);
            if value > best[k - 1] {
                continue;
            }
        }
        best[filled] = value;
        filled += 1;
    }
    let best = &mut best[..filled];
    if k < filled {
        best.select_nth_unstable(k - 1);
    }
    best[..k].sort_unstable();
    &best[..k]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use crate::testing::{Tensor, call};
    use executorch_abi::Dtype::{self, *};
    use executorch_abi::value::et_value_t;

    fn topk(
        dtype: Dtype,
        sizes: &[i32],
        k: i64,
        dim: i64,
        largest: bool,
        value: impl Fn(usize) -> f64,
    ) -> [Vec<f64>; 2] {
        let mut out_sizes = sizes.to_vec();
        if let Some(size) = out_sizes.get_mut(((dim + sizes.len() as i64) as usize) % sizes.len().max(1)) {
            *size = k as i32;
        }
        let mut input = Tensor::contiguous(dtype, sizes, value);
        let mut values = Tensor::contiguous(dtype, &out_sizes, |_| 0.0);
        let mut places = Tensor::contiguous(Int64, &out_sizes, |_| 0.0);
        let (k, dim, yes) = (et_value_t::int(k), et_value_t::int(dim), et_value_t::bool(true));
        let outs = [(&mut values).into(), (&mut places).into()];
        call(
            "aten::topk.values",
            &mut [(&mut input).into(), k, dim, et_value_t::bool(largest), yes, outs[0], outs[1]],
        )
        .unwrap();
        [values.values(), places.values()]
    }

    #[test]
    fn order_is_by_value_then_place_with_nan_on_top() {
        let row = [1.0, f64::NAN, -0.0, 3.0, 0.0, f64::INFINITY, 3.0, f64::NEG_INFINITY];
        for dtype in [Float32, Float64, Float16, BFloat16] {
            assert_eq!(
                topk(dtype, &[8], 8, 0, true, |i| row[i])[1],
                [1.0, 5.0, 3.0, 6.0, 0.0, 2.0, 4.0, 7.0]
            );
            assert_eq!(topk(dtype, &[8], 4, -1, false, |i| row[i])[1], [7.0, 2.0, 4.0, 0.0]);
        }
        let ints = [3.0, -5.0, 100.0, 0.0, -128.0];
        for dtype in [Int8, Int16, Int32, Int64] {
            let [values, places] = topk(dtype, &[5], 3, 0, true, |i| ints[i]);
            assert_eq!((values, places), (vec![100.0, 3.0, 0.0], vec![2.0, 0.0, 3.0]));
        }
        assert_eq!(topk(UInt8, &[3], 1, 0, true, |i| [1.0, 200.0, 3.0][i])[0], [200.0]);
        assert_eq!(topk(Float32, &[], 1, -1, true, |_| 4.0), [[4.0], [0.0]]);
        assert_eq!(topk(Float32, &[3, 1], 1, 1, true, |i| i as f64), [[0.0, 1.0, 2.0], [0.0; 3]]);
        assert_eq!(topk(Float32, &[2, 3], 0, 1, true, |i| i as f64), [[0.0; 0]; 2]);
    }

    #[test]
    fn any_dimension_of_many_rows() {
        let (sizes, value) = ([40, 50, 30], |i: usize| ((i * 7919) % 60013) as f64);
        let [values, places] = topk(Float32, &sizes, 7, 1, true, value);
        for (o, i) in (0..40).flat_map(|o| (0..30).map(move |i| (o, i))) {
            let mut row: Vec<(f64, f64)> =
                (0..50).map(|r| (value((o * 50 + r) * 30 + i), r as f64)).collect();
            row.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (j, want) in row.iter().take(7).enumerate() {
                assert_eq!((values[(o * 7 + j) * 30 + i], places[(o * 7 + j) * 30 + i]), *want);
            }
        }
    }
}
