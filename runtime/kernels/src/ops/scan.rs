//! Running sums.

use crate::elements::{Source, store, writable};
use crate::number::is_float;
use crate::op::{Context, Table, bad, entry, output};
use crate::pool::split_mut;
use crate::reduction::{Dims, Runs};
use executorch_abi::{Args, Dtype, Result, TensorRef};
use executorch_simd::Accumulator;

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
    let (y, dtype) = writable(&mut out)?;
    if is_float(to) || (is_float(from) && to == Dtype::Bool) {
        scan::<f64>(input, shape, y, dtype)
    } else {
        scan::<i64>(input, shape, y, dtype)
    }
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
