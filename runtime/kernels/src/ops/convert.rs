//! Copies that change the dtype or the memory order, and copies into a tensor.

use crate::elements::items;
use crate::moves::{copy, copy_bytes};
use crate::op::{Context, Table, bad, entry, impure, output};
use crate::pool::split_mut;
use crate::strided::View;
use crate::with_item;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::convert;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::_to_copy.out", c"TBi>T", |c, a| converted(c, a, 3)),
    entry(c"dim_order_ops::_to_dim_order_copy.out", c"TBl>T", |c, a| ordered(c, a, false)),
    entry(c"dim_order_ops::_clone_dim_order.out", c"TBl>T", |c, a| ordered(c, a, true)),
    entry(c"aten::copy.out", c"TTB>T", copy_out),
    impure(c"aten::copy_", c"TTB>", copy_in_place),
]);

/// Elements that a thread converts at least.
const GRAIN: usize = 1 << 15;

/// Converts a tensor's elements, in memory order, to elements of `dtype`.
fn convert_items(input: TensorRef<'_>, dtype: Dtype, to: &mut [u8]) -> Result<()> {
    with_item!(input.dtype()?, any S => {
        let from = items::<S>(input)?;
        with_item!(dtype, any D => {
            let to = bytemuck::try_cast_slice_mut::<u8, D>(to);
            let to = to.map_err(|_| bad(format!("the output's data is not aligned for {dtype}")))?;
            split_mut(to, 64, GRAIN / 64, |at, part| convert(&from[at * 64..][..part.len()], part));
            Ok(())
        })
    })
}

/// A tensor's elements as `dtype`, in memory order: its own memory, or scratch.
pub(super) fn as_dtype<'a>(context: &mut Context, input: TensorRef<'a>, dtype: Dtype) -> Result<&'a [u8]> {
    if input.dtype()? == dtype {
        return input.bytes();
    }
    let to: &'static mut [u8] = context.scratch(input.numel() * dtype.size())?;
    if !to.is_empty() {
        convert_items(input, dtype, to)?;
    }
    Ok(to)
}

/// Writes the elements of `input`, repeated to the sizes of `out`, with the dtype and in the memory order of `out`.
pub(super) fn transfer(context: &mut Context, out: &mut TensorMut<'_>, input: TensorRef<'_>) -> Result<()> {
    let dtype = out.view().dtype()?;
    let target = View::of(out.view());
    if out.view().sizes() == input.sizes() && out.view().dim_order() == input.dim_order() {
        if input.dtype()? == dtype {
            copy_bytes(input.bytes()?, out.bytes()?);
        } else if input.numel() > 0 {
            convert_items(input, dtype, out.bytes()?)?;
        }
        return Ok(());
    }
    let source = View::of(input).broadcast(target.dims())?;
    copy(as_dtype(context, input, dtype)?, &source, out.bytes()?, &target, dtype.size())
}

fn converted(context: &mut Context, args: &Args<'_>, out: usize) -> Result<()> {
    let input = args.tensor(0)?;
    transfer(context, &mut output(args, out, input.sizes(), &[input])?, input)
}

/// A copy in the order that argument 2 names, or else in the input's own.
fn ordered(context: &mut Context, args: &Args<'_>, same_dtype: bool) -> Result<()> {
    let input = args.tensor(0)?;
    let mut out = output(args, 3, input.sizes(), &[input])?;
    let found = out.view().dim_order();
    let as_asked = match args.optional_ints(2)? {
        Some(order) => {
            order.len() == found.len() && order.iter().zip(found).all(|(&a, &b)| a == i64::from(b))
        }
        None => input.dim_order() == found,
    };
    if !as_asked {
        let asked = args.optional_ints(2)?;
        return Err(bad(format!(
            "the output has the dim order {found:?}, but {asked:?} is asked for (none: the input's, {:?})",
            input.dim_order()
        )));
    }
    if same_dtype {
        super::layout::same_dtype(&out, input)?;
    }
    transfer(context, &mut out, input)
}

fn copy_out(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (shape, source) = (args.tensor(0)?, args.tensor(1)?);
    let mut out = output(args, 3, shape.sizes(), &[shape, source])?;
    super::layout::same_dtype(&out, shape)?;
    transfer(context, &mut out, source)
}

fn copy_in_place(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (tensor, source) = (args.tensor(0)?, args.tensor(1)?);
    let unmoved = tensor.data_ptr() == source.data_ptr() && tensor.dtype()? == source.dtype()?;
    if unmoved && tensor.sizes() == source.sizes() && tensor.dim_order() == source.dim_order() {
        return Ok(());
    }
    transfer(context, &mut output(args, 0, tensor.sizes(), &[source])?, source)
}
