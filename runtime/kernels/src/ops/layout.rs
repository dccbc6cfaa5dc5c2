//! Copies with another arrangement of the dimensions, and of parts of a tensor.

use crate::moves::copy;
use crate::op::{Context, Table, bad, entry, list_output, output};
use crate::shape::{dimension, wrap};
use crate::strided::{Dim, View, slice};
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Result, TensorMut, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::permute_copy.out", c"TL>T", permute),
    entry(c"aten::t_copy.out", c"T>T", t),
    entry(c"aten::transpose_copy.int_out", c"TII>T", transpose),
    entry(c"aten::expand_copy.out", c"TLB>T", expand),
    entry(c"aten::select_copy.int_out", c"TII>T", select),
    entry(c"aten::slice_copy.Tensor_out", c"TIiiI>T", sliced),
    entry(c"aten::narrow_copy.out", c"TIII>T", narrow),
    entry(c"aten::split_copy.Tensor_out", c"TII>X", split),
    entry(c"aten::split_with_sizes_copy.out", c"TLI>X", split_with_sizes),
    entry(c"aten::unbind_copy.int_out", c"TI>X", unbind),
    entry(c"aten::unfold_copy.out", c"TIII>T", unfold),
    entry(c"aten::diagonal_copy.out", c"TIII>T", diagonal),
    entry(c"aten::as_strided_copy.out", c"TLLi>T", as_strided),
]);

/// Copies the part of `input` that `view` names to the output, whose sizes are the view's.
pub(super) fn emit(args: &Args<'_>, out: usize, input: TensorRef<'_>, view: &View) -> Result<()> {
    let mut sizes = [0; ET_MAX_RANK];
    let rank = view.sizes(&mut sizes)?;
    let mut out = output(args, out, sizes.get(..rank).unwrap_or_default(), &[input])?;
    move_to(&mut out, input, view)
}

/// Copies the part of `input` that `view` names to a tensor of the same sizes and dtype.
pub(super) fn move_to(out: &mut TensorMut<'_>, input: TensorRef<'_>, view: &View) -> Result<()> {
    let target = View::of(out.view());
    same_dtype(out, input)?;
    copy(input.bytes()?, view, out.bytes()?, &target, input.dtype()?.size())
}

/// Checks that an output has the input's dtype.
pub(super) fn same_dtype(out: &TensorMut<'_>, input: TensorRef<'_>) -> Result<()> {
    let (found, expected) = (out.view().dtype()?, input.dtype()?);
    if found == expected {
        return Ok(());
    }
    Err(bad(format!("the output is {found}, the input {expected}; they should be one")))
}

fn permute(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, dims) = (args.tensor(0)?, args.ints(1)?);
    if dims.len() != input.rank() {
        return Err(bad(format!("{} dimensions for a tensor of {}", dims.len(), input.rank())));
    }
    let mut order = [0; ET_MAX_RANK];
    let mut seen = [false; ET_MAX_RANK];
    for (place, &dim) in order.iter_mut().zip(dims) {
        *place = dimension(dim, input.rank())?;
        if std::mem::replace(&mut seen[*place], true) {
            return Err(bad(format!("the permutation {dims:?} repeats a dimension")));
        }
    }
    emit(args, 2, input, &View::of(input).permute(order.get(..dims.len()).unwrap_or_default())?)
}

fn t(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    match input.rank() {
        0 | 1 => emit(args, 1, input, &View::of(input)),
        2 => emit(args, 1, input, &View::of(input).permute(&[1, 0])?),
        rank => Err(bad(format!("expected at most 2 dimensions, found {rank}"))),
    }
}

fn transpose(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let rank = input.rank();
    let (a, b) = (dimension(args.int(1)?, rank)?, dimension(args.int(2)?, rank)?);
    let mut order: [usize; ET_MAX_RANK] = std::array::from_fn(|i| i);
    order.swap(a, b);
    emit(args, 3, input, &View::of(input).permute(order.get(..rank).unwrap_or_default())?)
}

fn expand(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, sizes) = (args.tensor(0)?, args.ints(1)?);
    let lead = sizes.len().checked_sub(input.rank());
    let (Some(lead), true) = (lead, sizes.len() <= ET_MAX_RANK) else {
        return Err(bad(format!("the sizes {:?} cannot be expanded to {sizes:?}", input.sizes())));
    };
    let mut dims = [Dim::default(); ET_MAX_RANK];
    for (at, (dim, &size)) in dims.iter_mut().zip(sizes).enumerate() {
        let own = at.checked_sub(lead).and_then(|d| input.sizes().get(d));
        dim.size = match (size, own) {
            (-1, Some(&own)) => own as usize,
            (size, _) => usize::try_from(size).map_err(|_| {
                bad(format!("the size {size} in {sizes:?}; -1 stands for a size that is kept"))
            })?,
        };
    }
    let view = View::of(input).broadcast(dims.get(..sizes.len()).unwrap_or_default())?;
    emit(args, 3, input, &view)
}

/// The dimension that argument `index` names and its size; a tensor without dimensions has none.
pub(super) fn dim_of(args: &Args<'_>, index: usize, input: TensorRef<'_>) -> Result<(usize, usize)> {
    let dim = dimension(args.int(index)?, input.rank())?;
    let size = input.sizes().get(dim).copied();
    let size = size.ok_or_else(|| bad("expected a tensor with dimensions, found one without"))?;
    Ok((dim, size as usize))
}

fn select(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let (dim, size) = dim_of(args, 1, input)?;
    let index = wrap(args.int(2)?, size)?;
    emit(args, 3, input, &View::of(input).select(dim, index)?)
}

/// The part that a dimension, a start, an end and a step from argument `at` on name.
pub(super) fn slice_of(
    args: &Args<'_>,
    at: usize,
    input: TensorRef<'_>,
) -> Result<(usize, usize, usize, isize)> {
    let (dim, size) = dim_of(args, at, input)?;
    let step = args.int(at + 3)?;
    let (first, length) = slice(args.optional_int(at + 1)?, args.optional_int(at + 2)?, step, size)?;
    // With one element or none, the step may be longer than memory.
    let step = if length > 1 { step as isize } else { 1 };
    Ok((dim, first, length, step))
}

fn sliced(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let (dim, first, length, step) = slice_of(args, 1, input)?;
    emit(args, 5, input, &View::of(input).pick(dim, first, length, step)?)
}

fn narrow(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let (dim, size) = dim_of(args, 1, input)?;
    let (start, length) = (args.int(2)?, args.int(3)?);
    let first = if start < 0 { start.saturating_add(size as i64) } else { start };
    let range = usize::try_from(first).ok().zip(usize::try_from(length).ok());
    let range = range.filter(|&(first, length)| first.checked_add(length).is_some_and(|end| end <= size));
    let (first, length) = range
        .ok_or_else(|| bad(format!("start {start} and length {length} exceed dimension {dim}, of {size}")))?;
    emit(args, 4, input, &View::of(input).narrow(dim, first, length)?)
}

/// Copies the part `view` of `input` to output `item` of a list.
fn emit_item(args: &Args<'_>, out: usize, item: usize, input: TensorRef<'_>, view: &View) -> Result<()> {
    let mut sizes = [0; ET_MAX_RANK];
    let rank = view.sizes(&mut sizes)?;
    let mut out = list_output(args, out, item, sizes.get(..rank).unwrap_or_default(), &[input])?;
    move_to(&mut out, input, view)
}

fn expect_outputs(args: &Args<'_>, index: usize, expected: usize) -> Result<()> {
    match args.tensor_count(index)? {
        found if found == expected => Ok(()),
        found => Err(bad(format!("{expected} outputs come out of the input, but the list has {found}"))),
    }
}

fn split(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let (dim, size) = dim_of(args, 2, input)?;
    let length = usize::try_from(args.int(1)?).ok().filter(|&l| l > 0 || size == 0);
    let length = length.ok_or_else(|| bad("the size of a part should be at least 1"))?;
    expect_outputs(args, 3, if size == 0 { 1 } else { size.div_ceil(length) })?;
    for item in 0..args.tensor_count(3)? {
        let first = item * length;
        emit_item(args, 3, item, input, &View::of(input).narrow(dim, first, length.min(size - first))?)?;
    }
    Ok(())
}

fn split_with_sizes(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, lengths) = (args.tensor(0)?, args.ints(1)?);
    let (dim, size) = dim_of(args, 2, input)?;
    expect_outputs(args, 3, lengths.len())?;
    let total = lengths.iter().try_fold(0_usize, |sum, &l| sum.checked_add(usize::try_from(l).ok()?));
    if total != Some(size) {
        return Err(bad(format!(
            "the parts {lengths:?} should add up to {size}, the size of dimension {dim}"
        )));
    }
    let mut first = 0;
    for (item, &length) in lengths.iter().enumerate() {
        emit_item(args, 3, item, input, &View::of(input).narrow(dim, first, length as usize)?)?;
        first += length as usize;
    }
    Ok(())
}

fn unbind(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let (dim, size) = dim_of(args, 1, input)?;
    expect_outputs(args, 2, size)?;
    (0..size).try_for_each(|item| emit_item(args, 2, item, input, &View::of(input).select(dim, item)?))
}

fn unfold(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, step) = (args.tensor(0)?, args.int(3)?);
    let dim = dimension(args.int(1)?, input.rank())?;
    let whole = View::of(input);
    // A tensor without dimensions counts as one element along dimension 0.
    let whole = if input.rank() == 0 { whole.insert(0, Dim { size: 1, step: 1 })? } else { whole };
    let own = whole.dims().get(dim).copied().unwrap_or_default();
    let length = usize::try_from(args.int(2)?).ok().filter(|&l| l <= own.size);
    let by = usize::try_from(step).ok().filter(|&s| s > 0);
    let (Some(length), Some(by)) = (length, by) else {
        let size = args.int(2)?;
        return Err(bad(format!("windows of {size} in steps of {step} along a dimension of {}", own.size)));
    };
    let windows = (own.size - length) / by + 1;
    let by = if windows > 1 { by } else { 1 };
    // The starts of the windows step by `by`; within a window the steps are the dimension's own.
    let starts = Dim { size: windows, step: own.step * by as isize };
    let view = whole
        .insert(dim, starts)?
        .remove(dim + 1)?
        .insert(input.rank().max(1), Dim { size: length, ..own })?;
    // The view starts at element 0 of the dimension and ends at (windows - 1) * by + length <= its size.
    let view = if input.rank() == 0 { view.remove(0)? } else { view };
    emit(args, 4, input, &view)
}

fn diagonal(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, offset) = (args.tensor(0)?, args.int(1)?);
    let (dim1, size1) = dim_of(args, 2, input)?;
    let (dim2, size2) = dim_of(args, 3, input)?;
    if dim1 == dim2 {
        return Err(bad(format!("the diagonal of dimension {dim1} with itself")));
    }
    let by = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let (first1, first2) = if offset < 0 { (by.min(size1), 0) } else { (0, by.min(size2)) };
    let length = (size1 - first1).min(size2 - first2);
    let view = View::of(input).narrow(dim1, first1, length)?.narrow(dim2, first2, length)?;
    let step = |dim: usize| view.dims().get(dim).map_or(0, |d| d.step);
    let both = Dim { size: length, step: step(dim1) + step(dim2) };
    let view = view.remove(dim1.max(dim2))?.remove(dim1.min(dim2))?;
    emit(args, 4, input, &view.insert(input.rank() - 2, both)?)
}

fn as_strided(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, sizes, strides) = (args.tensor(0)?, args.ints(1)?, args.ints(2)?);
    if sizes.len() != strides.len() || sizes.len() > ET_MAX_RANK {
        return Err(bad(format!("{} sizes and {} strides", sizes.len(), strides.len())));
    }
    let mut view = View::point();
    for (at, (&size, &step)) in sizes.iter().zip(strides).enumerate() {
        let dim = usize::try_from(size).ok().zip(isize::try_from(step).ok().filter(|&s| s >= 0));
        let (size, step) = dim.ok_or_else(|| {
            bad(format!("the size {size} with the stride {step}; both should be at least 0"))
        })?;
        view = view.insert(at, Dim { size, step })?;
    }
    let offset = args.optional_int(3)?.unwrap_or(0);
    let offset = isize::try_from(offset).ok().filter(|&o| o >= 0);
    let offset = offset.ok_or_else(|| bad("the storage offset should be at least 0"))?;
    emit(args, 4, input, &view.moved(offset))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
