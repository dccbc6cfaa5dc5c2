//! Batch normalisation.

use crate::elements::{Source, store, writable};
use crate::op::{Context, Table, bad, contiguous, entry, impure};
use crate::ops::norm::{Compute, Data, GRAIN, like_input, parameter, scale_and_shift, store_statistics};
use crate::ops::variance::statistics;
use crate::pool::split_mut;
use crate::reduction::{Dims, Runs};
use executorch_abi::{Args, Dtype, Result, TensorRef};
use executorch_simd::{Unary, unary};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::_native_batch_norm_legit_no_training.out", c"TttTTDD>TTT", no_training),
    impure(c"aten::_native_batch_norm_legit.out", c"TttTTBDD>TTT", legit),
    entry(c"aten::_native_batch_norm_legit.no_stats_out", c"TttBDD>TTT", no_stats),
]);

/// Where the statistics come from.
enum Statistics {
    /// Arguments 3 and 4.
    Given,
    /// The batch; those of the arguments are moved towards them by the momentum.
    Moving(f64),
    /// The batch.
    Own,
}

fn no_training(context: &mut Context, args: &Args<'_>) -> Result<()> {
    batch_norm(context, args, Statistics::Given, args.double(6)?, 7)
}

fn legit(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let statistics = if args.bool(5)? { Statistics::Moving(args.double(6)?) } else { Statistics::Given };
    batch_norm(context, args, statistics, args.double(7)?, 8)
}

fn no_stats(context: &mut Context, args: &Args<'_>) -> Result<()> {
    if !args.bool(3)? {
        return Err(bad(
            "without training there must be running statistics; use the overload that takes them",
        ));
    }
    batch_norm(context, args, Statistics::Own, args.double(5)?, 6)
}

fn batch_norm(context: &mut Context, args: &Args<'_>, from: Statistics, eps: f64, out: usize) -> Result<()> {
    match args.tensor(0)?.dtype()? {
        Dtype::Float64 => batch_norm_in::<f64>(context, args, from, eps, out),
        _ => batch_norm_in::<f32>(context, args, from, eps, out),
    }
}

fn batch_norm_in<C: Compute>(
    context: &mut Context,
    args: &Args<'_>,
    from: Statistics,
    eps: f64,
    index: usize,
) -> Result<()> {
    let input = args.tensor(0)?;
    if input.rank() < 2 {
        return Err(bad(format!("the input has sizes {:?}, expected a batch and channels", input.sizes())));
    }
    let channels = Dims::range(1..2, input.rank());
    let count = channels.count(input.sizes());
    let weight = parameter::<f64>(context, args.optional_tensor(1)?, "the weight", count)?;
    let bias = parameter::<f64>(context, args.optional_tensor(2)?, "the bias", count)?;
    let own = matches!(from, Statistics::Moving(_) | Statistics::Own);
    let (mean, rstd) = (context.scratch::<f64>(count)?, context.scratch::<f64>(count)?);
    if own {
        batch_statistics(context, args, input, &from, mean, rstd)?;
    } else {
        load_statistics(args.tensor(3)?, "the running mean", mean)?;
        load_statistics(args.tensor(4)?, "the running variance", rstd)?;
    }
    for value in rstd.iter_mut() {
        *value = 1.0 / (*value + eps).sqrt();
    }
    let of = |channel: usize| {
        let scale = rstd[channel] * weight.map_or(1.0, |w| w[channel]);
        [scale, bias.map_or(0.0, |b| b[channel]) - mean[channel] * scale]
    };
    let mut out = like_input(args, index, input)?;
    let x = Data::<C>::of(input)?;
    let (y, dtype) = writable(&mut out)?;
    let size = dtype.size();
    let [_, _, inner] = Runs::of(input, channels, 1).middle().unwrap_or([1, 1, input.numel()]);
    if inner > 1 {
        split_mut(y, inner * size, GRAIN.div_ceil(inner), |first, y| {
            for (at, y) in (first..).zip(y.chunks_mut(inner * size)) {
                let [scale, shift] = of(at % count);
                x.apply(at * inner, y, dtype, |x, _, y| unary(Unary::Affine { scale, shift }, x, y));
            }
        });
    } else if count > 0 {
        // The channels are innermost: a few rows of factors, to do more at a time.
        let length = count * TILE.div_ceil(count);
        let (scales, shifts) = (context.scratch::<C>(length)?, context.scratch::<C>(length)?);
        for (at, (scale, shift)) in scales.iter_mut().zip(shifts.iter_mut()).enumerate() {
            [*scale, *shift] = of(at % count).map(C::of_f64);
        }
        split_mut(y, length * size, GRAIN.div_ceil(length), |first, y| {
            for (at, y) in (first..).zip(y.chunks_mut(length * size)) {
                x.apply(at * length, y, dtype, |x, at, y| {
                    let part = at..at + y.len();
                    scale_and_shift(x, Some(&scales[part.clone()]), Some(&shifts[part]), y);
                });
            }
        });
    }
    if !own {
        store_statistics::<f64>(args, index + 1, &[0], &[])?;
        return store_statistics::<f64>(args, index + 2, &[0], &[]);
    }
    store_statistics(args, index + 1, &[count as i32], mean)?;
    store_statistics(args, index + 2, &[count as i32], rstd)
}

/// Elements of the repeated factors of channels.
const TILE: usize = 512;

/// The mean and the variance of each channel of the batch; moves the running ones towards them.
fn batch_statistics(
    context: &mut Context,
    args: &Args<'_>,
    input: TensorRef<'_>,
    from: &Statistics,
    mean: &mut [f64],
    variance: &mut [f64],
) -> Result<()> {
    let dims = Dims::range(1..2, input.rank()).others();
    let n = dims.count(input.sizes()) as f64;
    statistics(context, Runs::of(input, dims, 1), input, mean, variance)?;
    if let Statistics::Moving(momentum) = *from {
        let moved = context.scratch::<f64>(mean.len())?;
        move_towards(args, 3, moved, mean.iter().copied(), momentum)?;
        move_towards(args, 4, moved, variance.iter().map(|v| v / (n - 1.0)), momentum)?;
    }
    for value in variance {
        *value /= n;
    }
    Ok(())
}

fn load_statistics(tensor: TensorRef<'_>, name: &str, to: &mut [f64]) -> Result<()> {
    contiguous(tensor, name)?;
    if tensor.numel() != to.len() {
        return Err(bad(format!("{name} has sizes {:?}, expected {} channels", tensor.sizes(), to.len())));
    }
    Source::of(tensor)?.load(0, to);
    Ok(())
}

/// Moves running statistics, argument `index`, towards those of a batch.
fn move_towards(
    args: &Args<'_>,
    index: usize,
    moved: &mut [f64],
    values: impl Iterator<Item = f64>,
    momentum: f64,
) -> Result<()> {
    load_statistics(args.tensor(index)?, "a running statistic", moved)?;
    for (old, new) in moved.iter_mut().zip(values) {
        *old += momentum * (new - *old);
    }
    // SAFETY: the view that was read above is gone.
    let mut running = unsafe { args.out(index) }?;
    let (target, dtype) = writable(&mut running)?;
    store(moved, dtype, target);
    Ok(())
}
