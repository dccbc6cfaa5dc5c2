//! Reading and writing the rows that index tensors name.

use super::convert::transfer;
use super::layout::same_dtype;
use super::selection::Selection;
use crate::elements::{Item, plain_mut};
use crate::moves::copy;
use crate::op::{Context, Table, bad, contiguous, entry, impure, output};
use crate::pool::split_mut;
use crate::shape::dimension;
use crate::strided::{Dim, View};
use crate::with_item;
use executorch_abi::{Args, Result, TensorMut, TensorRef};
use executorch_simd::{Accumulator, Element};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::index.Tensor_out", c"TY>T", index),
    entry(c"aten::index_select.out", c"TIT>T", index_select),
    entry(c"aten::embedding.out", c"TTIBB>T", embedding),
    entry(c"aten::index_put.out", c"TYTB>T", index_put),
    impure(c"aten::index_put_", c"TYTB>", index_put_in_place),
]);

/// Bytes that a thread copies at least.
const GRAIN: usize = 64 << 10;

/// Copies the selected rows of `input` to the output.
fn take(args: &Args<'_>, out: usize, input: TensorRef<'_>, selection: &Selection<'_>) -> Result<()> {
    let mut out = output(args, out, selection.sizes(), &[input])?;
    same_dtype(&out, input)?;
    contiguous(out.view(), "the output")?;
    let (from, to, size) = (input.bytes()?, out.bytes()?, input.dtype()?.size());
    let row = selection.run() * size;
    let grain = GRAIN.div_ceil(row.max(1)).min(1 << 13);
    split_mut(to, row, grain, |first, part| match row {
        1 => take_units::<1>(selection, from, first, part, size),
        2 => take_units::<2>(selection, from, first, part, size),
        4 => take_units::<4>(selection, from, first, part, size),
        8 => take_units::<8>(selection, from, first, part, size),
        _ => selection.each(first, part.chunks_exact_mut(row), |at, to| {
            to.copy_from_slice(&from[at * size..][..row]);
        }),
    });
    Ok(())
}

/// Copies rows of `N` bytes.
fn take_units<const N: usize>(
    selection: &Selection<'_>,
    from: &[u8],
    first: usize,
    part: &mut [u8],
    size: usize,
) {
    selection.each(first, part.as_chunks_mut::<N>().0.iter_mut(), |at, to| {
        to.copy_from_slice(&from[at * size..][..N]);
    });
}

fn index(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    match Selection::of_list(context, args, 1, View::of(input))? {
        Some(selection) => take(args, 2, input, &selection),
        None => {
            let mut out = output(args, 2, input.sizes(), &[input])?;
            same_dtype(&out, input)?;
            transfer(context, &mut out, input)
        }
    }
}

fn index_select(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, index) = (args.tensor(0)?, args.tensor(2)?);
    if index.rank() > 1 {
        return Err(bad(format!("the index should have one dimension, found sizes {:?}", index.sizes())));
    }
    let dim = dimension(args.int(1)?, input.rank())?;
    let whole = View::of(input);
    if input.rank() == 0 {
        // One element, which every index of one element names: the result has no dimensions either.
        if index.numel() != 1 {
            return Err(bad(format!("{} indices of a tensor without dimensions", index.numel())));
        }
        let whole = whole.insert(0, Dim { size: 1, step: 1 })?;
        let selection = Selection::along(context, &whole, 0, index, &[])?;
        return take(args, 3, input, &selection);
    }
    let count = [i32::try_from(index.numel()).map_err(|_| bad("too many indices"))?];
    take(args, 3, input, &Selection::along(context, &whole, dim, index, &count)?)
}

fn embedding(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (weight, indices) = (args.tensor(0)?, args.tensor(1)?);
    if weight.rank() != 2 {
        return Err(bad(format!("the weight should have 2 dimensions, found sizes {:?}", weight.sizes())));
    }
    let selection = Selection::along(context, &View::of(weight), 0, indices, indices.sizes())?;
    take(args, 5, weight, &selection)
}

fn index_put(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, values) = (args.tensor(0)?, args.tensor(2)?);
    let mut out = output(args, 4, input.sizes(), &[input, values])?;
    same_dtype(&out, input)?;
    transfer(context, &mut out, input)?;
    put(context, args, &mut out)
}

fn index_put_in_place(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let sizes = args.tensor(0)?.sizes();
    let mut out = output(args, 0, sizes, &[args.tensor(2)?])?;
    put(context, args, &mut out)
}

/// Writes the values of argument 2, or adds them, to the rows that the indices of argument 1 name.
fn put(context: &mut Context, args: &Args<'_>, out: &mut TensorMut<'_>) -> Result<()> {
    let (values, accumulate) = (args.tensor(2)?, args.bool(3)?);
    let dtype = out.view().dtype()?;
    if values.dtype()? != dtype {
        return Err(bad(format!(
            "the values are {}, the tensor is {dtype}; they should be one",
            values.dtype()?
        )));
    }
    let whole = View::of(out.view());
    let selection = match Selection::of_list(context, args, 1, whole)? {
        Some(selection) => selection,
        None => Selection::all(&whole)?,
    };
    let shape = View::contiguous(selection.sizes());
    let source = View::of(values).broadcast(shape.dims())?;
    let size = dtype.size();
    let values: &[u8] = if values.is_contiguous() && values.sizes() == selection.sizes() {
        values.bytes()?
    } else {
        let place: &'static mut [u8] = context.scratch(shape.count() * size)?;
        copy(values.bytes()?, &source, place, &shape, size)?;
        place
    };
    if accumulate {
        with_item!(dtype, any T => {
            let to = plain_mut::<T>(out)?;
            let values = bytemuck::try_cast_slice::<u8, T>(values);
            let values = values.map_err(|_| bad(format!("the values' data is not aligned for {dtype}")))?;
            add_rows(&selection, values, to);
            Ok(())
        })
    } else {
        let (to, row) = (out.bytes()?, selection.run() * size);
        selection.each(0, values.chunks_exact(row.max(1)), |at, from| {
            to[at * size..][..row].copy_from_slice(from);
        });
        Ok(())
    }
}

fn add_rows<T: Item>(selection: &Selection<'_>, values: &[T], to: &mut [T]) {
    let row = selection.run();
    selection.each(0, values.chunks_exact(row.max(1)), |at, from| {
        for (to, &value) in to[at..][..row].iter_mut().zip(from) {
            *to = to.acc().plus(value.acc()).cast();
        }
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
