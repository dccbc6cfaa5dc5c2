//! Layer and group normalisation.

use crate::elements::{Item, Source, items, items_mut, store, writable};
use crate::number::is_float;
use crate::op::{Context, Table, bad, contiguous, entry, output};
use crate::ops::variance::statistics;
use crate::pool::{split_mut, split_two_mut};
use crate::reduction::{Dims, Runs};
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::{Arg, Binary, Element, Float, Number, Real, Unary, binary, layer_norm_row, unary};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::native_layer_norm.out", c"TLttD>TTT", layer_norm),
    entry(c"aten::native_group_norm.out", c"TttIIIID>TTT", group_norm),
]);

/// Elements that are worth a task of their own.
pub(crate) const GRAIN: usize = 16 * 1024;

/// Elements that are converted at a time.
const BLOCK: usize = 1024;

/// What norms are computed in: f32 or f64.
pub(crate) trait Compute: Item + Real + Float + Number + Element<Acc = Self> {}
impl Compute for f32 {}
impl Compute for f64 {}

/// Elements that are read as `C`s.
pub(crate) enum Data<'a, C> {
    /// They are.
    Direct(&'a [C]),
    /// They are converted, a block at a time.
    Converted(Source<'a>),
}

impl<'a, C: Compute> Data<'a, C> {
    /// The elements of a tensor.
    pub(crate) fn of(tensor: TensorRef<'a>) -> Result<Self> {
        if tensor.dtype()? == C::DTYPE {
            return items(tensor).map(Self::Direct);
        }
        Source::of(tensor).map(Self::Converted)
    }

    /// Calls `body` with elements from `at` on, the number of those before them in this call, and the output that
    /// they are for, until `y`, whose elements have the same type as these, is full.
    pub(crate) fn apply(
        &self,
        at: usize,
        y: &mut [u8],
        dtype: Dtype,
        mut body: impl FnMut(Arg<'_, C>, usize, &mut [C]),
    ) {
        match self {
            Self::Direct(x) => {
                let y: &mut [C] = bytemuck::cast_slice_mut(y);
                body(Arg::Slice(&x[at..at + y.len()]), 0, y);
            }
            Self::Converted(x) => {
                let mut block = [C::default(); BLOCK];
                for (i, y) in y.chunks_mut(BLOCK * dtype.size()).enumerate() {
                    let block = &mut block[..y.len() / dtype.size()];
                    x.load(at + i * BLOCK, block);
                    body(Arg::Out, i * BLOCK, block);
                    store(block, dtype, y);
                }
            }
        }
    }
}

/// `y = x * scale + shift`, element by element.
pub(crate) fn scale_and_shift<C: Compute>(
    x: Arg<'_, C>,
    scale: Option<&[C]>,
    shift: Option<&[C]>,
    y: &mut [C],
) {
    // Both operations exist for floats.
    let _ = scale.map(|scale| binary(Binary::Mul, x, Arg::Slice(scale), y));
    let x = if scale.is_some() { Arg::Out } else { x };
    let _ = shift.map(|shift| binary(Binary::Add, x, Arg::Slice(shift), y));
}

/// An affine parameter in the type that is computed in; none if there is none.
pub(crate) fn parameter<'a, C: Item>(
    context: &mut Context,
    tensor: Option<TensorRef<'a>>,
    name: &str,
    count: usize,
) -> Result<Option<&'a [C]>> {
    let Some(tensor) = tensor else { return Ok(None) };
    contiguous(tensor, name)?;
    if tensor.numel() != count {
        return Err(bad(format!("{name} has sizes {:?}, expected {count} elements", tensor.sizes())));
    }
    if tensor.dtype()? == C::DTYPE {
        return items(tensor).map(Some);
    }
    let values = context.scratch(count)?;
    Source::of(tensor)?.load(0, values);
    Ok(Some(values))
}

/// Writes statistics, a number for each row, to an output of some sizes.
pub(crate) fn store_statistics<C: Element>(
    args: &Args<'_>,
    index: usize,
    sizes: &[i32],
    values: &[C],
) -> Result<()> {
    let mut out = output(args, index, sizes, &[])?;
    contiguous(out.view(), "an output of statistics")?;
    let (target, dtype) = writable(&mut out)?;
    store(values, dtype, target);
    Ok(())
}

/// The output of a normalisation, which has the input's shape and dim order and is of floats.
pub(crate) fn like_input<'a>(args: &Args<'a>, index: usize, input: TensorRef<'_>) -> Result<TensorMut<'a>> {
    let out = output(args, index, input.sizes(), &[input])?;
    let (from, to) = (input.dtype()?, out.view().dtype()?);
    if !is_float(from) || to != from {
        return Err(bad(format!(
            "expected an input and an output of one floating-point dtype, found {from} and {to}"
        )));
    }
    if input.dim_order() != out.view().dim_order() {
        return Err(bad(format!(
            "the input has the dim order {:?}, the output {:?}; they should be one",
            input.dim_order(),
            out.view().dim_order()
        )));
    }
    Ok(out)
}

fn layer_norm(context: &mut Context, args: &Args<'_>) -> Result<()> {
    match args.tensor(0)?.dtype()? {
        Dtype::Float64 => layer_norm_in::<f64>(context, args),
        _ => layer_norm_in::<f32>(context, args),
    }
}

fn layer_norm_in<C: Compute>(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, normalized) = (args.tensor(0)?, args.ints(1)?);
    contiguous(input, "the input")?;
    let lead = input.rank().checked_sub(normalized.len());
    let (lead, tail) = lead.map_or((&[][..], &[][..]), |at| input.sizes().split_at(at));
    if normalized.is_empty() || !tail.iter().map(|&s| i64::from(s)).eq(normalized.iter().copied()) {
        return Err(bad(format!(
            "the input has sizes {:?}, whose last ones should be the normalized shape {normalized:?}",
            input.sizes()
        )));
    }
    let length = tail.iter().map(|&s| s as usize).product::<usize>();
    let rows = lead.iter().map(|&s| s as usize).product::<usize>();
    let weight = parameter::<C>(context, args.optional_tensor(2)?, "the weight", length)?;
    let bias = parameter::<C>(context, args.optional_tensor(3)?, "the bias", length)?;
    let eps = args.double(4)?;
    let mut out = like_input(args, 5, input)?;
    let means = context.scratch::<f64>(rows)?;
    let rstds = context.scratch::<f64>(rows)?;
    let grain = GRAIN.div_ceil(length.max(1));
    if length > 0 && out.view().dtype()? == C::DTYPE {
        let (x, y) = (items::<C>(input)?, items_mut::<C>(&mut out)?);
        let stats = context.scratch::<[C; 2]>(rows)?;
        split_two_mut(y, length, stats, 1, grain, |first, y, stats| {
            let x = x[first * length..].chunks(length);
            for ((x, y), stats) in x.zip(y.chunks_mut(length)).zip(stats) {
                *stats = layer_norm_row(x, weight, bias, eps, y).into();
            }
        });
        for ((mean, rstd), stats) in means.iter_mut().zip(rstds.iter_mut()).zip(stats.iter()) {
            [*mean, *rstd] = stats.map(|s| s.cast());
        }
    } else {
        row_statistics(context, input, [rows, length], eps, means, rstds)?;
        let x = Data::<C>::of(input)?;
        let (y, dtype) = writable(&mut out)?;
        let bytes = length * dtype.size();
        split_mut(y, bytes, grain, |first, y| {
            for (row, y) in (first..).zip(y.chunks_mut(bytes)) {
                let (scale, shift) = (rstds[row], -means[row] * rstds[row]);
                x.apply(row * length, y, dtype, |x, at, y| {
                    let n = y.len();
                    unary(Unary::Affine { scale, shift }, x, y);
                    scale_and_shift(
                        Arg::Out,
                        weight.map(|w| &w[at..at + n]),
                        bias.map(|b| &b[at..at + n]),
                        y,
                    );
                });
            }
        });
    }
    // The statistics have the input's shape, with sizes of 1 where it was normalised.
    let (first, last) = (input.rank() - normalized.len(), input.rank());
    let shape = Dims::range(first..last, input.rank()).shape(input.sizes(), true)?;
    store_statistics(args, 6, shape.sizes(), means)?;
    store_statistics(args, 7, shape.sizes(), rstds)
}

/// The mean of each row, and the reciprocal of the root of its variance and `eps`.
fn row_statistics(
    context: &mut Context,
    input: TensorRef<'_>,
    [rows, length]: [usize; 2],
    eps: f64,
    means: &mut [f64],
    rstds: &mut [f64],
) -> Result<()> {
    statistics(context, Runs::rows(rows, length), input, means, rstds)?;
    for value in rstds {
        *value = 1.0 / (*value / length as f64 + eps).sqrt();
    }
    Ok(())
}

/// The sizes of a group norm.
struct Groups {
    batch: usize,
    channels: usize,
    inner: usize,
    groups: usize,
}

impl Groups {
    fn of(input: TensorRef<'_>, args: &Args<'_>) -> Result<Self> {
        let size = |index: usize| -> Result<usize> {
            let value = args.int(index)?;
            usize::try_from(value).map_err(|_| bad(format!("argument {index} is {value}, expected a size")))
        };
        let sizes = Self { batch: size(3)?, channels: size(4)?, inner: size(5)?, groups: size(6)? };
        let Self { batch, channels, inner, groups } = sizes;
        let elements = batch.checked_mul(channels).and_then(|n| n.checked_mul(inner));
        if elements != Some(input.numel()) || input.sizes().get(..2) != Some(&[batch as i32, channels as i32])
        {
            return Err(bad(format!(
                "the input has sizes {:?}, expected {batch} batches of {channels} channels of {inner} elements",
                input.sizes()
            )));
        }
        if groups == 0 || !channels.is_multiple_of(groups) {
            return Err(bad(format!("{channels} channels cannot be divided into {groups} equal groups")));
        }
        Ok(sizes)
    }
}

fn group_norm(context: &mut Context, args: &Args<'_>) -> Result<()> {
    match args.tensor(0)?.dtype()? {
        Dtype::Float64 => group_norm_in::<f64>(context, args),
        _ => group_norm_in::<f32>(context, args),
    }
}

fn group_norm_in<C: Compute>(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    contiguous(input, "the input")?;
    let Groups { batch, channels, inner, groups } = Groups::of(input, args)?;
    let weight = parameter::<C>(context, args.optional_tensor(1)?, "the weight", channels)?;
    let bias = parameter::<C>(context, args.optional_tensor(2)?, "the bias", channels)?;
    let eps = args.double(7)?;
    let mut out = like_input(args, 8, input)?;
    let (rows, each) = (batch * groups, channels / groups);
    let means = context.scratch::<f64>(rows)?;
    let rstds = context.scratch::<f64>(rows)?;
    row_statistics(context, input, [rows, each * inner], eps, means, rstds)?;
    let x = Data::<C>::of(input)?;
    let (y, dtype) = writable(&mut out)?;
    let bytes = inner * dtype.size();
    split_mut(y, bytes, GRAIN.div_ceil(inner.max(1)), |first, y| {
        for (at, y) in (first..).zip(y.chunks_mut(bytes)) {
            let (row, channel) = (at / each, at % channels);
            let scale = rstds[row] * weight.map_or(1.0, |w| w[channel].cast());
            let shift = bias.map_or(0.0, |b| b[channel].cast()) - means[row] * scale;
            x.apply(at * inner, y, dtype, |x, _, y| unary(Unary::Affine { scale, shift }, x, y));
        }
    });
    let sizes = [batch as i32, groups as i32];
    store_statistics(args, 9, &sizes, means)?;
    store_statistics(args, 10, &sizes, rstds)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
