//! Elements that a mask chooses.

use super::convert::transfer;
use super::layout::same_dtype;
use crate::elements::{items, items_mut};
use crate::op::{Context, Table, apart, bad, contiguous, entry, output};
use crate::shape::Shape;
use crate::strided::{View, offset_of};
use crate::with_item;
use executorch_abi::{Args, Dtype, Result, TensorRef};
use executorch_simd::{Bool8, Element};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::masked_select.out", c"TT>T", masked_select),
    entry(c"aten::masked_scatter.out", c"TTT>T", masked_scatter),
    entry(c"aten::nonzero.out", c"T>T", nonzero),
]);

/// The places of a tensor's elements that a mask chooses, in the order of the shape that both are repeated to.
fn chosen<'a>(
    tensor: &View,
    mask: TensorRef<'a>,
    shape: &Shape,
) -> Result<impl Iterator<Item = usize> + Clone + use<'a>> {
    if !matches!(mask.dtype()?, Dtype::Bool) {
        return Err(bad(format!("the mask should be bool, found {}", mask.dtype()?)));
    }
    let order = View::contiguous(shape.sizes());
    let values = items::<Bool8>(mask)?;
    let (places, masked) = (tensor.broadcast(order.dims())?, View::of(mask).broadcast(order.dims())?);
    let plain = [places, masked].map(|view| view.dims() == order.dims());
    let at = move |view: &View, plain: bool, i| if plain { i } else { offset_of(view.dims(), i) as usize };
    let is_chosen = move |&i: &usize| values[at(&masked, plain[1], i)].is_true();
    Ok((0..order.count()).filter(is_chosen).map(move |i| at(&places, plain[0], i)))
}

fn masked_select(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, mask) = (args.tensor(0)?, args.tensor(1)?);
    let shape = Shape::broadcast(input.sizes(), mask.sizes())?;
    let places = chosen(&View::of(input), mask, &shape)?;
    let count = i32::try_from(places.clone().count()).map_err(|_| bad("too many elements are chosen"))?;
    let mut out = output(args, 2, &[count], &[input, mask])?;
    same_dtype(&out, input)?;
    let (from, to, size) = (input.bytes()?, out.bytes()?, input.dtype()?.size());
    for (to, at) in to.chunks_exact_mut(size).zip(places) {
        to.copy_from_slice(&from[at * size..][..size]);
    }
    Ok(())
}

fn masked_scatter(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, mask, source) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let shape = Shape::broadcast(input.sizes(), mask.sizes())?;
    let mut out = output(args, 3, shape.sizes(), &[input, mask])?;
    apart(&out, &[source])?;
    same_dtype(&out, input)?;
    same_dtype(&out, source).map_err(|e| e.within("the source"))?;
    contiguous(source, "the source")?;
    transfer(context, &mut out, input)?;
    let places = chosen(&View::of(out.view()), mask, &shape)?;
    let (from, to, size) = (source.bytes()?, out.bytes()?, source.dtype()?.size());
    let mut values = from.chunks_exact(size);
    for at in places {
        let value = values.next();
        let value = value.ok_or_else(|| {
            bad(format!("the mask chooses more elements than the source's {}", source.numel()))
        })?;
        to[at * size..][..size].copy_from_slice(value);
    }
    Ok(())
}

fn nonzero(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    with_item!(input.dtype()?, any T => {
        let values = items::<T>(input)?;
        let (view, order) = (View::of(input), View::contiguous(input.sizes()));
        let plain = view.dims() == order.dims();
        let at = |i| if plain { i } else { offset_of(view.dims(), i) as usize };
        let count = values.iter().filter(|v| v.is_true()).count();
        let count = i32::try_from(count).map_err(|_| bad("too many elements are not zero"))?;
        let rank = input.rank();
        let mut out = output(args, 1, &[count, rank as i32], &[input])?;
        contiguous(out.view(), "the output")?;
        let found = (0..values.len()).filter(|&i| values[at(i)].is_true());
        for (row, flat) in items_mut::<i64>(&mut out)?.chunks_exact_mut(rank.max(1)).zip(found) {
            let mut rest = flat;
            for (index, &size) in row.iter_mut().zip(input.sizes()).rev() {
                *index = (rest % size as usize) as i64;
                rest /= size as usize;
            }
        }
        Ok(())
    })
}
