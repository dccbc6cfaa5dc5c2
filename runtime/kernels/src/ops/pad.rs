//! Padding: with a value, by reflection, by repeating the border.

use super::fill::Stored;
use super::layout::same_dtype;
use crate::moves::{copy, fill};
use crate::op::{Context, Table, bad, entry, output};
use crate::strided::View;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Result, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::constant_pad_nd.out", c"TLS>T", constant),
    entry(c"aten::reflection_pad1d.out", c"TL>T", |_, a| border::<1>(a, Border::Reflected)),
    entry(c"aten::reflection_pad2d.out", c"TL>T", |_, a| border::<2>(a, Border::Reflected)),
    entry(c"aten::reflection_pad3d.out", c"TL>T", |_, a| border::<3>(a, Border::Reflected)),
    entry(c"aten::replication_pad1d.out", c"TL>T", |_, a| border::<1>(a, Border::Repeated)),
    entry(c"aten::replication_pad2d.out", c"TL>T", |_, a| border::<2>(a, Border::Repeated)),
    entry(c"aten::replication_pad3d.out", c"TL>T", |_, a| border::<3>(a, Border::Repeated)),
]);

/// What is added at both ends of each dimension; `padding` lists pairs, the last dimension first.
fn ends(input: TensorRef<'_>, padding: &[i64]) -> Result<[[i64; 2]; ET_MAX_RANK]> {
    if !padding.len().is_multiple_of(2) || padding.len() / 2 > input.rank() {
        return Err(bad(format!("the padding {padding:?} of a tensor with {} dimensions", input.rank())));
    }
    let mut ends = [[0; 2]; ET_MAX_RANK];
    let last_first = ends[..input.rank()].iter_mut().rev();
    for (end, pair) in last_first.zip(padding.as_chunks::<2>().0) {
        *end = *pair;
    }
    Ok(ends)
}

/// The sizes with the ends added.
fn padded(input: TensorRef<'_>, ends: &[[i64; 2]]) -> Result<[i32; ET_MAX_RANK]> {
    let mut sizes = [0; ET_MAX_RANK];
    for (size, (&own, &[left, right])) in sizes.iter_mut().zip(input.sizes().iter().zip(ends)) {
        let total = i64::from(own).checked_add(left).and_then(|s| s.checked_add(right));
        let fits = total.and_then(|t| i32::try_from(t).ok()).filter(|&t| t >= 0);
        *size = fits.ok_or_else(|| bad(format!("the padding {left} and {right} of a dimension of {own}")))?;
    }
    Ok(sizes)
}

fn constant(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let ends = ends(input, args.ints(1)?)?;
    let sizes = padded(input, &ends)?;
    let mut out = output(args, 3, &sizes[..input.rank()], &[input])?;
    same_dtype(&out, input)?;
    let value = Stored::new(args.scalar(2)?, input.dtype()?)?;
    let (mut source, mut target) = (View::of(input), View::of(out.view()));
    let to = out.bytes()?;
    for (dim, (&[left, right], &own)) in ends.iter().zip(input.sizes()).enumerate() {
        // Of the dimensions before this one, the padding is written already.
        let size = sizes[dim] as usize;
        let before = usize::try_from(left).unwrap_or(0).min(size);
        let after = usize::try_from(right).unwrap_or(0).min(size - before);
        let kept = size - before - after;
        for (first, length) in [(0, before), (size - after, after)] {
            fill(value.bytes(), to, &target.narrow(dim, first, length)?)?;
        }
        target = target.narrow(dim, before, kept)?;
        // A negative end is cut off.
        let cut = usize::try_from(-left).unwrap_or(0).min(own as usize);
        source = source.narrow(dim, cut, kept)?;
    }
    copy(input.bytes()?, &source, to, &target, input.dtype()?.size())
}

/// What stands beyond the borders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Border {
    Reflected,
    Repeated,
}

fn border<const D: usize>(args: &Args<'_>, border: Border) -> Result<()> {
    let (input, padding) = (args.tensor(0)?, args.ints(1)?);
    let rank = input.rank();
    if padding.len() != 2 * D || !(D + 1..=D + 2).contains(&rank) {
        return Err(bad(format!(
            "expected {} or {} dimensions and {} paddings, found sizes {:?} and {padding:?}",
            D + 1,
            D + 2,
            2 * D,
            input.sizes()
        )));
    }
    let ends = ends(input, padding)?;
    for (&size, end) in input.sizes().iter().zip(&ends).skip(rank - D) {
        let most = if border == Border::Reflected { i64::from(size) - 1 } else { i64::MAX };
        if end.iter().any(|e| !(0..=most).contains(e)) || size == 0 {
            return Err(bad(format!("the padding {end:?} of a dimension of {size}; expected 0 to {most}")));
        }
    }
    let sizes = padded(input, &ends)?;
    let mut out = output(args, 2, &sizes[..rank], &[input])?;
    same_dtype(&out, input)?;
    let (source, target) = (View::of(input), View::of(out.view()));
    let (from, to, size) = (input.bytes()?, out.bytes()?, input.dtype()?.size());
    // In each padded dimension, what comes before the input, the input, and what comes after it.
    for combination in 0..3_usize.pow(D as u32) {
        let (mut source, mut target, mut rest) = (source, target, combination);
        for (dim, (&own, end)) in input.sizes().iter().zip(&ends).enumerate().skip(rank - D) {
            let (own, [left, right]) = (own as usize, end.map(|e| e as usize));
            (source, target) = match (rest % 3, border) {
                (0, _) => (source, target.narrow(dim, left, own)?),
                (1, Border::Reflected) => (source.pick(dim, left, left, -1)?, target.narrow(dim, 0, left)?),
                (1, Border::Repeated) => (source.pick(dim, 0, left, 0)?, target.narrow(dim, 0, left)?),
                (_, Border::Reflected) => {
                    let first = own.saturating_sub(2);
                    (source.pick(dim, first, right, -1)?, target.narrow(dim, left + own, right)?)
                }
                (_, Border::Repeated) => {
                    (source.pick(dim, own - 1, right, 0)?, target.narrow(dim, left + own, right)?)
                }
            };
            rest /= 3;
        }
        copy(from, &source, to, &target, size)?;
    }
    Ok(())
}
