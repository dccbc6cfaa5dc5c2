//! Elements in other places of the same picture: reversed, rotated, shuffled, cut to a triangle.

use super::layout::{emit, same_dtype};
use crate::moves::copy;
use crate::op::{Context, Table, bad, contiguous, entry, output};
use crate::pool::split_mut;
use crate::shape::dimension;
use crate::strided::View;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Result, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::flip.out", c"TL>T", flip),
    entry(c"aten::roll.out", c"TLL>T", roll),
    entry(c"aten::tril.out", c"TI>T", tril),
    entry(c"aten::pixel_shuffle.out", c"TI>T", pixel_shuffle),
    entry(c"aten::pixel_unshuffle.out", c"TI>T", pixel_unshuffle),
]);

fn flip(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, dims) = (args.tensor(0)?, args.ints(1)?);
    let mut view = View::of(input);
    let mut seen = [false; ET_MAX_RANK];
    for &dim in dims {
        let dim = dimension(dim, input.rank())?;
        if std::mem::replace(&mut seen[dim], true) {
            return Err(bad(format!("the dimensions {dims:?} repeat one")));
        }
        if let Some(size) = input.sizes().get(dim).map(|&s| s as usize).filter(|&s| s > 0) {
            view = view.pick(dim, size - 1, size, -1)?;
        }
    }
    emit(args, 2, input, &view)
}

fn roll(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, shifts, dims) = (args.tensor(0)?, args.ints(1)?, args.ints(2)?);
    let flat = dims.is_empty();
    if shifts.len() != dims.len().max(1) {
        return Err(bad(format!("{} shifts for {} dimensions", shifts.len(), dims.len())));
    }
    let mut out = output(args, 3, input.sizes(), &[input])?;
    same_dtype(&out, input)?;
    if input.numel() == 0 {
        return Ok(());
    }
    let (mut source, mut target) = (View::of(input), View::of(out.view()));
    if flat {
        contiguous(input, "the input of a roll over all elements")?;
        contiguous(out.view(), "the output of a roll over all elements")?;
        (source, target) = (View::line(input.numel()), View::line(input.numel()));
    }
    // How far each dimension moves; one that is named twice moves twice.
    let mut moved = [0_usize; ET_MAX_RANK];
    for (at, &shift) in shifts.iter().enumerate() {
        let dim = if flat { 0 } else { dimension(dims[at], input.rank())? };
        let size = source.dims().get(dim).map_or(1, |d| d.size);
        moved[dim] = (moved[dim] + shift.rem_euclid(size as i64) as usize) % size;
    }
    let (from, to, size) = (input.bytes()?, out.bytes()?, input.dtype()?.size());
    // The parts in front of and behind the cut in every dimension that moves. No combination is empty.
    let cuts = moved.iter().filter(|&&m| m > 0).count();
    for combination in 0..1_usize << cuts {
        let (mut source, mut target, mut rest) = (source, target, combination);
        for (dim, &by) in moved.iter().enumerate().filter(|(_, m)| **m > 0) {
            let length = source.dims().get(dim).map_or(0, |d| d.size);
            let (first, place, count) =
                if rest & 1 == 0 { (0, by, length - by) } else { (length - by, 0, by) };
            (source, target) = (source.narrow(dim, first, count)?, target.narrow(dim, place, count)?);
            rest >>= 1;
        }
        copy(from, &source, to, &target, size)?;
    }
    Ok(())
}

fn tril(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, diagonal) = (args.tensor(0)?, args.int(1)?);
    let [.., rows, columns] = *input.sizes() else {
        return Err(bad(format!("expected 2 dimensions or more, found sizes {:?}", input.sizes())));
    };
    contiguous(input, "the input")?;
    let mut out = output(args, 2, input.sizes(), &[input])?;
    same_dtype(&out, input)?;
    contiguous(out.view(), "the output")?;
    let (from, to, size) = (input.bytes()?, out.bytes()?, input.dtype()?.size());
    let length = columns as usize * size;
    let grain = (64_usize << 10).div_ceil(length.max(1));
    split_mut(to, length, grain, |first, part| {
        for (i, to) in part.chunks_exact_mut(length).enumerate() {
            let row = (first + i) % rows as usize;
            let kept = diagonal.saturating_add(row as i64 + 1).clamp(0, i64::from(columns)) as usize * size;
            to[..kept].copy_from_slice(&from[(first + i) * length..][..kept]);
            to[kept..].fill(0);
        }
    });
    Ok(())
}

/// The factor of a pixel shuffle, and the dimensions of the input.
fn shuffle_factor<'a>(args: &Args<'a>) -> Result<(TensorRef<'a>, usize, usize)> {
    let (input, factor) = (args.tensor(0)?, args.int(1)?);
    if input.rank() < 3 {
        return Err(bad(format!("expected 3 dimensions or more, found sizes {:?}", input.sizes())));
    }
    let factor = usize::try_from(factor).ok().filter(|&f| f > 0 && f <= i32::MAX as usize);
    let factor = factor.ok_or_else(|| bad("the factor of a pixel shuffle should be at least 1"))?;
    Ok((input, factor, input.rank()))
}

fn pixel_shuffle(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, factor, rank) = shuffle_factor(args)?;
    let (c, h, w) = (rank - 3, rank - 2, rank - 1);
    let channels = input.sizes()[c] as usize;
    let square = factor.saturating_mul(factor);
    if !channels.is_multiple_of(square) {
        return Err(bad(format!("{channels} channels are no multiple of {square}, the factor's square")));
    }
    let mut room = [0; ET_MAX_RANK];
    let sizes = &mut room[..rank];
    sizes.copy_from_slice(input.sizes());
    sizes[c] = (channels / square) as i32;
    for at in [h, w] {
        sizes[at] =
            i32::try_from(sizes[at] as usize * factor).map_err(|_| bad("the picture grows too large"))?;
    }
    // (c, f, f, h, w) of the input are (c, h, f, w, f) of the output.
    let view = View::of(input).split(c, factor)?.split(c, factor)?;
    let mut order: [usize; ET_MAX_RANK + 2] = std::array::from_fn(|i| i);
    order[c + 1..c + 5].copy_from_slice(&[c + 3, c + 1, c + 4, c + 2]);
    let mut out = output(args, 2, sizes, &[input])?;
    same_dtype(&out, input)?;
    let target = View::of(out.view()).split(w, factor)?.split(h, factor)?;
    copy(input.bytes()?, &view.permute(&order[..rank + 2])?, out.bytes()?, &target, input.dtype()?.size())
}

fn pixel_unshuffle(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, factor, rank) = shuffle_factor(args)?;
    let (c, h, w) = (rank - 3, rank - 2, rank - 1);
    let mut room = [0; ET_MAX_RANK];
    let sizes = &mut room[..rank];
    sizes.copy_from_slice(input.sizes());
    for at in [h, w] {
        if !(sizes[at] as usize).is_multiple_of(factor) {
            return Err(bad(format!("sizes {:?}: {} is no multiple of {factor}", input.sizes(), sizes[at])));
        }
        sizes[at] /= factor as i32;
    }
    let channels = (sizes[c] as usize).checked_mul(factor.saturating_mul(factor));
    sizes[c] = channels.and_then(|c| i32::try_from(c).ok()).ok_or_else(|| bad("too many channels"))?;
    let view = View::of(input).split(w, factor)?.split(h, factor)?;
    let mut order: [usize; ET_MAX_RANK + 2] = std::array::from_fn(|i| i);
    // (c, h, f, w, f) of the input are (c, f, f, h, w) of the output.
    order[c + 1..c + 5].copy_from_slice(&[c + 2, c + 4, c + 1, c + 3]);
    let mut out = output(args, 2, sizes, &[input])?;
    same_dtype(&out, input)?;
    let target = View::of(out.view()).split(c, factor)?.split(c, factor)?;
    copy(input.bytes()?, &view.permute(&order[..rank + 2])?, out.bytes()?, &target, input.dtype()?.size())
}
