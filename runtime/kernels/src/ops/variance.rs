//! Variances.

use crate::elements::{Item, items};
use crate::op::{Context, Table, bad, entry, output};
use crate::reduction::{Dims, Reduction, Runs, Target, reduce};
use crate::with_item;
use executorch_abi::{Args, Result, TensorRef};
use executorch_simd::{Real, moments};
use std::marker::PhantomData;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::var.out", c"TlBB>T", var),
    entry(c"aten::var.correction_out", c"TlsB>T", var_correction),
    entry(c"aten::var_mean.correction_out", c"TlsB>TT", var_mean),
]);

/// Means, and sums of squared distances from them.
pub(crate) struct Moments<T>(pub PhantomData<T>);

impl<T: Item<Acc: Real>> Reduction for Moments<T> {
    type Item = T;
    type First = f64;
    type Second = f64;

    fn fold(&self, x: &[T], shape: [usize; 3], mean: &mut [f64], squares: &mut [f64]) {
        moments(x, shape, mean, squares);
    }

    fn merge(&self, mean: &mut f64, squares: &mut f64, more: (f64, f64), [done, count]: [usize; 2]) {
        let (done, count) = (done as f64, count as f64);
        let (share, distance) = (count / (done + count), more.0 - *mean);
        *mean += distance * share;
        *squares += more.1 + distance * distance * done * share;
    }
}

fn var(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let correction = if args.bool(2)? { 1.0 } else { 0.0 };
    variance(context, args, correction, args.bool(3)?, 4, None)
}

fn var_correction(context: &mut Context, args: &Args<'_>) -> Result<()> {
    variance(context, args, correction(args)?, args.bool(3)?, 4, None)
}

fn var_mean(context: &mut Context, args: &Args<'_>) -> Result<()> {
    variance(context, args, correction(args)?, args.bool(3)?, 4, Some(5))
}

fn correction(args: &Args<'_>) -> Result<f64> {
    Ok(args.optional_scalar(2)?.map_or(1.0, |c| c.to_f64()))
}

/// The variance, and the mean if there is an output for it.
fn variance(
    context: &mut Context,
    args: &Args<'_>,
    correction: f64,
    keep: bool,
    out: usize,
    mean_out: Option<usize>,
) -> Result<()> {
    let input = args.tensor(0)?;
    let dims = Dims::listed_or_all(args.optional_ints(1)?, input.rank())?;
    let shape = dims.shape(input.sizes(), keep)?;
    let target = |index| -> Result<Target<'_>> {
        let out = output(args, index, shape.sizes(), &[input])?;
        let dtype = out.view().dtype()?;
        if !crate::number::is_float(dtype) {
            return Err(bad(format!("output {index} is {dtype}, expected a floating-point dtype")));
        }
        Ok(Target::new(out, input, dims))
    };
    let runs = Runs::of(input, dims, 1);
    let mean = context.scratch(runs.outputs())?;
    let squares = context.scratch(runs.outputs())?;
    statistics(context, runs, input, mean, squares)?;
    let divisor = (dims.count(input.sizes()) as f64 - correction).max(0.0);
    for value in squares.iter_mut() {
        *value /= divisor;
    }
    target(out)?.store(squares)?;
    match mean_out {
        Some(index) => target(index)?.store(mean),
        None => Ok(()),
    }
}

/// The means and the sums of squared distances from them.
pub(crate) fn statistics(
    context: &mut Context,
    runs: Runs,
    input: TensorRef<'_>,
    mean: &mut [f64],
    squares: &mut [f64],
) -> Result<()> {
    with_item!(input.dtype()?, float T => {
        reduce(context, runs, &Moments(PhantomData::<T>), items::<T>(input)?, mean, squares)
    })
}
