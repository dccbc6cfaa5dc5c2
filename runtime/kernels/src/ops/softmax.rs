//! Softmax and its logarithm.

use crate::elements::{Item, Source, items, items_mut, store, writable};
use crate::number::is_float;
use crate::op::{Context, Table, bad, entry, output};
use crate::pool::split_mut;
use crate::reduction::{Dims, Runs, split_with_scratch};
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::{Real, softmax};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::_softmax.out", c"TIB>T", |c, a| run(c, a, false)),
    entry(c"aten::_log_softmax.out", c"TIB>T", |c, a| run(c, a, true)),
]);

/// Elements that are worth a task of their own.
const GRAIN: usize = 16 * 1024;

fn run(context: &mut Context, args: &Args<'_>, log: bool) -> Result<()> {
    let input = args.tensor(0)?;
    let dims = Dims::one(args.int(1)?, input.rank())?;
    let mut out = output(args, 3, input.sizes(), &[input])?;
    let (from, to) = (input.dtype()?, out.view().dtype()?);
    if !is_float(from) || !is_float(to) {
        return Err(bad(format!("softmax is of floats, to floats; found {from} to {to}")));
    }
    if input.dim_order() != out.view().dim_order() {
        return Err(bad(format!(
            "the input has the dim order {:?}, the output {:?}; they should be one",
            input.dim_order(),
            out.view().dim_order()
        )));
    }
    let shape = Runs::of(input, dims, 1).middle().unwrap_or([1, 1, input.numel()]);
    match (from, to) {
        (Dtype::Float32, Dtype::Float32) => direct::<f32>(log, input, shape, &mut out),
        (Dtype::Float64, Dtype::Float64) => direct::<f64>(log, input, shape, &mut out),
        (Dtype::Float64, _) | (_, Dtype::Float64) => converted::<f64>(context, log, input, shape, &mut out),
        _ => converted::<f32>(context, log, input, shape, &mut out),
    }
}

fn direct<T: Item + Real>(
    log: bool,
    input: TensorRef<'_>,
    [_, reduce, inner]: [usize; 3],
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let (x, y) = (items::<T>(input)?, items_mut::<T>(out)?);
    let slab = reduce * inner;
    split_mut(y, slab, GRAIN.div_ceil(slab.max(1)), |first, y| {
        softmax(log, &x[first * slab..first * slab + y.len()], [y.len() / slab, reduce, inner], y);
    });
    Ok(())
}

/// By way of another type, a slab at a time.
fn converted<C: Item + Real>(
    context: &mut Context,
    log: bool,
    input: TensorRef<'_>,
    [_, reduce, inner]: [usize; 3],
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let x = Source::of(input)?;
    let (y, dtype) = writable(out)?;
    let slab = reduce * inner;
    let bytes = slab * dtype.size();
    let grain = (GRAIN / 2).div_ceil(slab.max(1));
    split_with_scratch(context, y, bytes, grain, 2 * slab, |first, y, scratch: &mut [C]| {
        let (from, to) = scratch.split_at_mut(slab);
        for (i, y) in y.chunks_mut(bytes).enumerate() {
            x.load((first + i) * slab, from);
            softmax(log, from, [1, reduce, inner], to);
            store(to, dtype, y);
        }
    })
}
