//! Running sums.

use crate::elements::{Item, Source, items, items_mut, store, writable};
use crate::number::is_float;
use crate::op::{Context, Table, bad, entry, output};
use crate::pool::split_mut;
use crate::reduction::{Dims, Runs};
use crate::with_item;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::{Accumulator, Bool8};

/// What this family registers.
pub static TABLE: Table = Table::new(&[entry(c"aten::cumsum.out", c"TIi>T", cumsum)]);

/// Elements that are worth a task of their own.
const GRAIN: usize = 16 * 1024;
/// Elements that are converted at a time.
const BLOCK: usize = 512;

fn cumsum(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let dims = Dims::one(args.int(1)?, input.rank())?;
    let mut out = output(args, 3, input.sizes(), &[input])?;
    let (from, to) = (input.dtype()?, out.view().dtype()?);
    if let Some(asked) = args.optional_int(2)?
        && asked != i64::from(to as i8)
    {
        return Err(bad(format!("the dtype argument is {asked}, but the output is {to} ({})", to as i8)));
    }
    if input.dim_order() != out.view().dim_order() {
        return Err(bad(format!(
            "the input has the dim order {:?}, the output {:?}; they should be one",
            input.dim_order(),
            out.view().dim_order()
        )));
    }
    let shape = Runs::of(input, dims, 1).middle().unwrap_or([1, 1, input.numel()]);
    if from == to && shape[2] == 1 {
        return match to {
            Dtype::Bool => direct::<Bool8, i64>(input, shape[1], &mut out),
            to if is_float(to) => with_item!(to, float T => direct::<T, f64>(input, shape[1], &mut out)),
            to => with_item!(to, integer T => direct::<T, i64>(input, shape[1], &mut out)),
        };
    }
    let (y, dtype) = writable(&mut out)?;
    if is_float(to) || (is_float(from) && to == Dtype::Bool) {
        scan::<f64>(input, shape, y, dtype)
    } else {
        scan::<i64>(input, shape, y, dtype)
    }
}

/// Rows of the result's type.
fn direct<T: Item, A: Accumulator>(
    input: TensorRef<'_>,
    length: usize,
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let x = items::<T>(input)?;
    split_mut(items_mut::<T>(out)?, length, GRAIN.div_ceil(length.max(1)), |first, y| {
        for (x, y) in x[first * length..].chunks(length).zip(y.chunks_mut(length)) {
            let mut total = A::default();
            for (&x, y) in x.iter().zip(y) {
                total = total.plus(x.cast());
                *y = total.cast();
            }
        }
    });
    Ok(())
}

/// Sums in `A`, to which the elements are converted first, as PyTorch does.
fn scan<A: Accumulator>(input: TensorRef<'_>, shape: [usize; 3], y: &mut [u8], dtype: Dtype) -> Result<()> {
    let x = Source::of(input)?;
    let [_, reduce, inner] = shape;
    let (slab, size) = (reduce * inner, dtype.size());
    split_mut(y, slab * size, GRAIN.div_ceil(slab.max(1)), |first, y| {
        for (at, y) in (first..).zip(y.chunks_mut(slab * size)) {
            if inner == 1 {
                row::<A>(&x, at * slab, y, dtype);
            } else {
                columns::<A>(&x, at * slab, inner, y, dtype);
            }
        }
    });
    Ok(())
}

fn row<A: Accumulator>(x: &Source<'_>, at: usize, y: &mut [u8], dtype: Dtype) {
    let (mut block, mut total) = ([A::default(); BLOCK], A::default());
    for (i, y) in y.chunks_mut(BLOCK * dtype.size()).enumerate() {
        let block = &mut block[..y.len() / dtype.size()];
        x.load(at + i * BLOCK, block);
        for value in block.iter_mut() {
            total = total.plus(*value);
            *value = total;
        }
        store(block, dtype, y);
    }
}

fn columns<A: Accumulator>(x: &Source<'_>, at: usize, inner: usize, y: &mut [u8], dtype: Dtype) {
    let size = dtype.size();
    for first in (0..inner).step_by(BLOCK) {
        let width = BLOCK.min(inner - first);
        let (mut block, mut totals) = ([A::default(); BLOCK], [A::default(); BLOCK]);
        let (block, totals) = (&mut block[..width], &mut totals[..width]);
        for (r, y) in y.chunks_mut(inner * size).enumerate() {
            x.load(at + r * inner + first, block);
            for (total, &value) in totals.iter_mut().zip(block.iter()) {
                *total = total.plus(value);
            }
            store(totals, dtype, &mut y[first * size..(first + width) * size]);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use crate::testing::{Tensor, call};
    use executorch_abi::Dtype::{self, *};
    use executorch_abi::value::et_value_t;

    fn cumsum(
        from: Dtype,
        to: Dtype,
        sizes: &[i32],
        order: &[u8],
        dim: i64,
        value: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let mut input = Tensor::new(from, sizes, order, value);
        let mut out = Tensor::new(to, sizes, order, |_| 0.0);
        let dtype = et_value_t::int(to as i64);
        call("aten::cumsum.out", &mut [(&mut input).into(), et_value_t::int(dim), dtype, (&mut out).into()])
            .unwrap();
        out.values()
    }

    #[test]
    fn sums_run_along_any_dimension() {
        let value = |i: usize| ((i * 13) % 11) as f64 - 5.0;
        for order in [[0, 1, 2], [2, 0, 1]] {
            for (dim, stride) in [(0, 1200), (1, 2), (-1, 1)] {
                let got = cumsum(Float32, Float32, &[3, 600, 2], &order, dim, value);
                let size = [3, 600, 2][(dim + 3) as usize % 3];
                for (i, &got) in got.iter().enumerate() {
                    let want: f64 = (0..=i / stride % size).map(|back| value(i - back * stride)).sum();
                    assert_eq!(got, want, "{order:?} {dim} {i}");
                }
            }
        }
    }

    #[test]
    fn elements_become_the_results_type_first() {
        assert_eq!(cumsum(Float32, Int64, &[3], &[0], 0, |_| 1.9), [1.0, 2.0, 3.0]);
        assert_eq!(cumsum(Bool, Int64, &[3], &[0], 0, |_| 1.0), [1.0, 2.0, 3.0]);
        assert_eq!(cumsum(Int8, Int8, &[3], &[0], 0, |_| 100.0), [100.0, -56.0, 44.0]);
        assert_eq!(cumsum(Float16, Float32, &[3], &[0], 0, |_| 65504.0), [65504.0, 131_008.0, 196_512.0]);
        assert_eq!(cumsum(Float32, Float32, &[], &[], -1, |_| 3.0), [3.0]);
    }
}
