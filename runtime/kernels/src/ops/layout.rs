//! Copies with another arrangement of the dimensions.

use crate::op::{Context, Table, bad, contiguous, entry, output};
use crate::shape::dimension;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Result, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::permute_copy.out", c"TL>T", permute),
    entry(c"aten::t_copy.out", c"T>T", t),
    entry(c"aten::transpose_copy.int_out", c"TII>T", transpose),
]);

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
    rearrange(args, 2, input, order.get(..dims.len()).unwrap_or_default())
}

fn t(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    match input.rank() {
        0 | 1 => rearrange(args, 1, input, &[0][..input.rank()]),
        2 => rearrange(args, 1, input, &[1, 0]),
        rank => Err(bad(format!("expected at most 2 dimensions, found {rank}"))),
    }
}

fn transpose(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let rank = input.rank();
    let (a, b) = (dimension(args.int(1)?, rank)?, dimension(args.int(2)?, rank)?);
    let mut order: [usize; ET_MAX_RANK] = std::array::from_fn(|i| i);
    order.swap(a, b);
    rearrange(args, 3, input, order.get(..rank).unwrap_or_default())
}

/// Writes `input` with its dimensions in another order; the output is contiguous.
fn rearrange(args: &Args<'_>, out: usize, input: TensorRef<'_>, order: &[usize]) -> Result<()> {
    contiguous(input, "the input")?;
    let rank = order.len();
    let (mut sizes, mut strides) = ([0_i32; ET_MAX_RANK], [0_usize; ET_MAX_RANK]);
    for (i, &d) in order.iter().enumerate() {
        sizes[i] = input.sizes().get(d).copied().unwrap_or(1);
        strides[i] = input.strides().get(d).copied().unwrap_or(1) as usize;
    }
    let (sizes, strides) = (&sizes[..rank], &strides[..rank]);
    let size = input.dtype()?.size();
    let mut out = output(args, out, sizes, &[input])?;
    if out.view().dtype()? != input.dtype()? {
        return Err(bad(format!("the output is {}, the input {}", out.view().dtype()?, input.dtype()?)));
    }
    contiguous(out.view(), "the output")?;
    let (source, target) = (input.bytes()?, out.bytes()?);
    match size {
        1 => gather::<1>(source, target, sizes, strides),
        2 => gather::<2>(source, target, sizes, strides),
        4 => gather::<4>(source, target, sizes, strides),
        8 => gather::<8>(source, target, sizes, strides),
        _ => gather::<16>(source, target, sizes, strides),
    }
    Ok(())
}

/// Fills `target` in order from elements of `N` bytes that lie `strides` elements apart.
fn gather<const N: usize>(source: &[u8], target: &mut [u8], sizes: &[i32], strides: &[usize]) {
    let (source, _) = source.as_chunks::<N>();
    let (target, _) = target.as_chunks_mut::<N>();
    let (Some((&inner, outer)), Some((&step, steps))) = (sizes.split_last(), strides.split_last()) else {
        // A number: one element.
        target.copy_from_slice(source);
        return;
    };
    if inner == 0 {
        return;
    }
    let mut at = [0_i32; ET_MAX_RANK];
    let mut start = 0_usize;
    for row in target.chunks_mut(inner as usize) {
        for (element, from) in row.iter_mut().zip(source.iter().skip(start).step_by(step.max(1))) {
            *element = *from;
        }
        for d in (0..outer.len()).rev() {
            at[d] += 1;
            start += steps[d];
            if at[d] < outer[d] {
                break;
            }
            start -= steps[d] * outer[d] as usize;
            at[d] = 0;
        }
    }
}
