//! Copies that keep the elements in their logical order: other sizes, or none of it changed.

use super::layout::same_dtype;
use crate::moves::{copy, copy_bytes};
use crate::op::{Context, Table, bad, entry, output};
use crate::shape::dimension;
use crate::strided::{Dim, View};
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::view_copy.out", c"TL>T", view),
    entry(c"aten::unsqueeze_copy.out", c"TI>T", unsqueeze),
    entry(c"aten::squeeze_copy.dim_out", c"TI>T", squeeze),
    entry(c"aten::squeeze_copy.dims_out", c"TL>T", squeeze_dims),
    entry(c"aten::alias_copy.out", c"T>T", |_, a| same(a, 1)),
    entry(c"aten::detach_copy.out", c"T>T", |_, a| same(a, 1)),
    entry(c"aten::lift_fresh_copy.out", c"T>T", |_, a| same(a, 1)),
    entry(c"aten::clone.out", c"Ti>T", |_, a| same(a, 2)),
    entry(c"aten::view_as_real_copy.out", c"T>T", view_as_real),
]);

fn same(args: &Args<'_>, out: usize) -> Result<()> {
    let input = args.tensor(0)?;
    reshape(args, out, input, input.sizes())
}

/// Writes the input's elements, in their logical order, to an output of the given sizes. The output may be the input's
/// own memory, where nothing is to be moved.
fn reshape(args: &Args<'_>, index: usize, input: TensorRef<'_>, sizes: &[i32]) -> Result<()> {
    // SAFETY: no data is touched through this view.
    let mut out = unsafe { args.out(index) }?;
    out.resize(sizes).map_err(|e| e.within("the output"))?;
    same_dtype(&out, input)?;
    let alike = input.sizes() == sizes;
    let unmoved = if alike {
        input.dim_order() == out.view().dim_order()
    } else {
        input.is_contiguous() && out.view().is_contiguous()
    };
    if unmoved && out.view().data_ptr() == input.data_ptr() && !input.data_ptr().is_null() {
        return Ok(());
    }
    let mut out = output(args, index, sizes, &[input])?;
    if unmoved {
        copy_bytes(input.bytes()?, out.bytes()?);
        return Ok(());
    }
    let (source, target) = if alike {
        (View::of(input), View::of(out.view()))
    } else if out.view().is_contiguous() {
        // One side's memory is in the logical order, so it has the other side's sizes as well.
        (View::of(input), View::contiguous(input.sizes()))
    } else if input.is_contiguous() {
        (View::contiguous(sizes), View::of(out.view()))
    } else {
        return Err(bad(format!(
            "the input has the dim order {:?}, the output {:?}; one should be contiguous where the sizes change",
            input.dim_order(),
            out.view().dim_order()
        )));
    };
    copy(input.bytes()?, &source, out.bytes()?, &target, input.dtype()?.size())
}

fn view(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, wanted) = (args.tensor(0)?, args.ints(1)?);
    let mut sizes = [0_i32; ET_MAX_RANK];
    let rank = infer(input.numel(), wanted, &mut sizes)?;
    reshape(args, 2, input, sizes.get(..rank).unwrap_or_default())
}

/// The sizes of a view of `numel` elements, one of which may be -1 for what is left; how many there are.
fn infer(numel: usize, wanted: &[i64], sizes: &mut [i32; ET_MAX_RANK]) -> Result<usize> {
    let mismatch = || bad(format!("{numel} elements cannot be viewed with the sizes {wanted:?}"));
    if wanted.len() > ET_MAX_RANK {
        return Err(bad(format!("{} sizes, at most {ET_MAX_RANK}", wanted.len())));
    }
    let (mut known, mut open) = (1_usize, None);
    for (at, (&want, size)) in wanted.iter().zip(sizes.iter_mut()).enumerate() {
        if want == -1 && open.is_none() {
            open = Some(at);
            continue;
        }
        *size = i32::try_from(want).ok().filter(|&s| s >= 0).ok_or_else(mismatch)?;
        known = known.checked_mul(*size as usize).ok_or_else(mismatch)?;
    }
    if let Some(at) = open {
        let rest = numel.checked_div(known).and_then(|r| i32::try_from(r).ok()).ok_or_else(mismatch)?;
        sizes[at] = rest;
        known *= rest as usize;
    }
    if known == numel { Ok(wanted.len()) } else { Err(mismatch()) }
}

fn unsqueeze(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let rank = input.rank() + 1;
    if rank > ET_MAX_RANK {
        return Err(bad(format!(
            "the input has {} dimensions, the most that a tensor may have",
            input.rank()
        )));
    }
    let at = dimension(args.int(1)?, rank)?;
    let mut sizes = [1; ET_MAX_RANK];
    sizes[..at].copy_from_slice(&input.sizes()[..at]);
    sizes[at + 1..rank].copy_from_slice(&input.sizes()[at..]);
    reshape(args, 2, input, &sizes[..rank])
}

fn squeeze(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let dim = args.int(1)?;
    squeezed(args, &[dim])
}

fn squeeze_dims(_: &mut Context, args: &Args<'_>) -> Result<()> {
    squeezed(args, args.ints(1)?)
}

/// Drops the named dimensions that have size 1.
fn squeezed(args: &Args<'_>, dims: &[i64]) -> Result<()> {
    let input = args.tensor(0)?;
    let mut dropped = [false; ET_MAX_RANK];
    for &dim in dims {
        let dim = dimension(dim, input.rank())?;
        dropped[dim] = true;
    }
    let mut sizes = [0; ET_MAX_RANK];
    let mut rank = 0;
    for (&size, &drop) in input.sizes().iter().zip(&dropped) {
        if !(drop && size == 1) {
            sizes[rank] = size;
            rank += 1;
        }
    }
    reshape(args, 2, input, &sizes[..rank])
}

fn view_as_real(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let part = match input.dtype()? {
        Dtype::Complex32 => Dtype::Float16,
        Dtype::Complex64 => Dtype::Float32,
        Dtype::Complex128 => Dtype::Float64,
        other => return Err(bad(format!("expected complex numbers, found {other}"))),
    };
    let rank = input.rank() + 1;
    let mut sizes = [2; ET_MAX_RANK];
    let place = sizes.get_mut(..rank).and_then(|s| s.split_last_mut());
    let (_, place) =
        place.ok_or_else(|| bad(format!("{} dimensions are too many to add one", input.rank())))?;
    place.copy_from_slice(input.sizes());
    let mut out = output(args, 1, &sizes[..rank], &[input])?;
    if out.view().dtype()? != part {
        return Err(bad(format!("the output is {}, expected {part}", out.view().dtype()?)));
    }
    // The two parts lie behind one another in the input; the output may have an order of its own.
    let mut view = View::point();
    for (at, dim) in View::of(input).dims().iter().enumerate() {
        view = view.insert(at, Dim { size: dim.size, step: 2 * dim.step })?;
    }
    let view = view.insert(input.rank(), Dim { size: 2, step: 1 })?;
    let target = View::of(out.view());
    copy(input.bytes()?, &view, out.bytes()?, &target, part.size())
}
