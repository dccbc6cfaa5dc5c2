//! Tensors put together: joined, repeated, written into a part of another.

use super::convert::{as_dtype, transfer};
use super::layout::{dim_of, same_dtype, slice_of};
use crate::elements::{items, plain_mut};
use crate::moves::copy;
use crate::number::can_cast;
use crate::op::{Context, Table, apart, bad, entry, output};
use crate::shape::{dimension, wrap};
use crate::strided::{Dim, View};
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::cat.out", c"XI>T", cat),
    entry(c"aten::stack.out", c"XI>T", stack),
    entry(c"aten::repeat.out", c"TL>T", repeat),
    entry(c"aten::repeat_interleave.Tensor_out", c"Ti>T", repeat_interleave),
    entry(c"aten::slice_scatter.out", c"TTIiiI>T", slice_scatter),
    entry(c"aten::select_scatter.out", c"TTII>T", select_scatter),
]);

/// The tensors of the list that is argument 0.
fn list<'a>(args: &Args<'a>) -> Result<impl Iterator<Item = Result<TensorRef<'a>>> + Clone> {
    let args = *args;
    Ok((0..args.tensor_count(0)?).map(move |item| {
        args.tensor_item(0, item)?.ok_or_else(|| bad(format!("tensor {item} of the list is missing")))
    }))
}

/// Writes a tensor to a part of the output, converted to its dtype.
fn put(context: &mut Context, out: &mut TensorMut<'_>, target: &View, input: TensorRef<'_>) -> Result<()> {
    let dtype = out.view().dtype()?;
    copy(as_dtype(context, input, dtype)?, &View::of(input), out.bytes()?, target, dtype.size())
}

/// Checks that the output may hold every tensor of the list, and shares memory with none.
fn admits(args: &Args<'_>, out: &TensorMut<'_>) -> Result<()> {
    let dtype = out.view().dtype()?;
    for input in list(args)? {
        let input = input?;
        if input.dtype()? != dtype {
            can_cast(input.dtype()?, dtype)?;
        }
        apart(out, &[input])?;
    }
    Ok(())
}

fn cat(context: &mut Context, args: &Args<'_>) -> Result<()> {
    // PyTorch leaves out empty tensors of one dimension, whatever the shape of the others.
    let counts = |t: &Result<TensorRef<'_>>| t.as_ref().is_ok_and(|t| t.rank() != 1 || t.numel() > 0);
    let first = list(args)?.find(counts).or_else(|| list(args).ok()?.next());
    let first = first.ok_or_else(|| bad("expected at least one tensor, found an empty list"))??;
    let (dim, _) = dim_of(args, 1, first)?;
    let mut room = [0; ET_MAX_RANK];
    let sizes = &mut room[..first.rank()];
    sizes.copy_from_slice(first.sizes());
    let mut total = 0_i32;
    for input in list(args)?.filter(counts) {
        let input = input?;
        let alike = |(d, (a, b)): (usize, (&i32, &i32))| d == dim || a == b;
        if input.rank() != first.rank() || !input.sizes().iter().zip(first.sizes()).enumerate().all(alike) {
            let (a, b) = (first.sizes(), input.sizes());
            return Err(bad(format!("sizes {a:?} and {b:?} should be equal except in dimension {dim}")));
        }
        total =
            total.checked_add(input.sizes()[dim]).ok_or_else(|| bad("the joined dimension is too long"))?;
    }
    sizes[dim] = total;
    let mut out = output(args, 2, sizes, &[])?;
    admits(args, &out)?;
    let whole = View::of(out.view());
    let mut at = 0;
    for input in list(args)?.filter(counts) {
        let input = input?;
        let length = input.sizes()[dim] as usize;
        put(context, &mut out, &whole.narrow(dim, at, length)?, input)?;
        at += length;
    }
    Ok(())
}

fn stack(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let count = args.tensor_count(0)?;
    let first =
        list(args)?.next().ok_or_else(|| bad("expected at least one tensor, found an empty list"))??;
    let rank = first.rank() + 1;
    if rank > ET_MAX_RANK {
        return Err(bad(format!(
            "the inputs have {} dimensions, the most that a tensor may have",
            first.rank()
        )));
    }
    let dim = dimension(args.int(1)?, rank)?;
    let mut room = [0; ET_MAX_RANK];
    room[..dim].copy_from_slice(&first.sizes()[..dim]);
    room[dim] = i32::try_from(count).map_err(|_| bad("too many tensors"))?;
    room[dim + 1..rank].copy_from_slice(&first.sizes()[dim..]);
    let mut out = output(args, 2, &room[..rank], &[])?;
    admits(args, &out)?;
    let whole = View::of(out.view());
    for (item, input) in list(args)?.enumerate() {
        put(context, &mut out, &whole.select(dim, item)?, input?)?;
    }
    Ok(())
}

fn repeat(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, times) = (args.tensor(0)?, args.ints(1)?);
    let lead = times.len().checked_sub(input.rank()).filter(|_| times.len() <= ET_MAX_RANK);
    let lead = lead.ok_or_else(|| {
        bad(format!(
            "{} repeats for a tensor of {} dimensions, of at most {ET_MAX_RANK}",
            times.len(),
            input.rank()
        ))
    })?;
    let own = |at: usize| at.checked_sub(lead).and_then(|d| View::of(input).dims().get(d).copied());
    let mut sizes = [0; ET_MAX_RANK];
    let mut source = View::point();
    for (at, (size, &times)) in sizes.iter_mut().zip(times).enumerate() {
        let dim = own(at).unwrap_or(Dim { size: 1, step: 0 });
        let product = usize::try_from(times).ok().and_then(|t| t.checked_mul(dim.size));
        let product = product.and_then(|p| i32::try_from(p).ok());
        *size = product.ok_or_else(|| bad(format!("{times} repeats of a dimension of {}", dim.size)))?;
        source = source.insert(2 * at, Dim { size: times as usize, step: 0 })?.insert(2 * at + 1, dim)?;
    }
    let mut out = output(args, 2, &sizes[..times.len()], &[input])?;
    same_dtype(&out, input)?;
    if out.view().numel() == 0 {
        return Ok(());
    }
    let mut target = View::of(out.view());
    for at in (0..times.len()).rev() {
        target = target.split(at, own(at).map_or(1, |d| d.size))?;
    }
    copy(input.bytes()?, &source, out.bytes()?, &target, input.dtype()?.size())
}

fn repeat_interleave(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let repeats = args.tensor(0)?;
    if repeats.rank() != 1 {
        return Err(bad(format!("expected one dimension, found sizes {:?}", repeats.sizes())));
    }
    match repeats.dtype()? {
        Dtype::Int32 => interleave::<i32>(args, repeats, |i| i as i32),
        Dtype::Int64 => interleave::<i64>(args, repeats, |i| i as i64),
        other => Err(bad(format!("expected repeats of int32 or int64, found {other}"))),
    }
}

fn interleave<T: crate::elements::Item + Into<i64>>(
    args: &Args<'_>,
    repeats: TensorRef<'_>,
    index: impl Fn(usize) -> T,
) -> Result<()> {
    let counts = items::<T>(repeats)?;
    let mut total = 0_i64;
    for &count in counts {
        let count = count.into();
        if count < 0 {
            return Err(bad(format!("repeats should be at least 0, found {count}")));
        }
        total = total.saturating_add(count);
    }
    if args.optional_int(1)?.is_some_and(|expected| expected != total) {
        return Err(bad(format!(
            "the repeats add up to {total}, the output size is {:?}",
            args.optional_int(1)?
        )));
    }
    let size = i32::try_from(total).map_err(|_| bad(format!("{total} elements are too many")))?;
    let mut out = output(args, 2, &[size], &[repeats])?;
    same_dtype(&out, repeats)?;
    let mut rest = plain_mut::<T>(&mut out)?;
    for (i, &count) in counts.iter().enumerate() {
        let (part, after) = rest.split_at_mut(count.into() as usize);
        part.fill(index(i));
        rest = after;
    }
    Ok(())
}

/// The input with `source` written to the part of it that `part` names.
fn scattered(
    context: &mut Context,
    args: &Args<'_>,
    out: usize,
    part: impl Fn(View) -> Result<View>,
) -> Result<()> {
    let (input, source) = (args.tensor(0)?, args.tensor(1)?);
    let mut sizes = [0; ET_MAX_RANK];
    let rank = part(View::of(input))?.sizes(&mut sizes)?;
    if source.sizes() != &sizes[..rank] {
        return Err(bad(format!(
            "the source has the sizes {:?}, expected {:?}",
            source.sizes(),
            &sizes[..rank]
        )));
    }
    let mut out = output(args, out, input.sizes(), &[input, source])?;
    same_dtype(&out, input)?;
    transfer(context, &mut out, input)?;
    let target = part(View::of(out.view()))?;
    put(context, &mut out, &target, source)
}

fn slice_scatter(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (dim, first, length, step) = slice_of(args, 2, args.tensor(0)?)?;
    scattered(context, args, 6, |view| view.pick(dim, first, length, step))
}

fn select_scatter(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (dim, size) = dim_of(args, 2, args.tensor(0)?)?;
    let index = wrap(args.int(3)?, size)?;
    scattered(context, args, 4, |view| view.select(dim, index))
}
