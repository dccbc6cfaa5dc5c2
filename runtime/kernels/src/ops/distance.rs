//! Distances between rows.

use crate::elements::{Source, items, items_mut, store, writable};
use crate::number::is_float;
use crate::op::{Context, Table, bad, contiguous, entry, output};
use crate::ops::norm::Compute;
use crate::pool::split_mut;
use crate::shape::Shape;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::_cdist_forward.out", c"TTDi>T", cdist),
    entry(c"aten::_pdist_forward.out", c"TD>T", pdist),
]);

/// Operations on elements that are worth a task of their own.
const GRAIN: usize = 32 * 1024;

/// The p of a p-norm.
#[derive(Clone, Copy)]
enum Norm {
    /// The number of coordinates that differ.
    Zero,
    One,
    Two,
    /// The greatest difference.
    Infinity,
    Other(f64),
}

impl Norm {
    fn of(p: f64) -> Result<Self> {
        Ok(match p {
            0.0 => Self::Zero,
            1.0 => Self::One,
            2.0 => Self::Two,
            f64::INFINITY => Self::Infinity,
            p if p > 0.0 => Self::Other(p),
            p => return Err(bad(format!("p is {p}, expected 0 or a positive number"))),
        })
    }

    /// The norm of `a - b`.
    fn distance<C: Compute>(self, a: &[C], b: &[C]) -> C {
        let abs = |d: C| if d < C::default() { C::default() - d } else { d };
        let add = |x: C, y: C| x + y;
        let is_nan = |x: C| x.partial_cmp(&x).is_none();
        match self {
            Self::Zero => fold(a, b, |d| if d == C::default() { C::default() } else { C::ONE }, add),
            Self::One => fold(a, b, abs, add),
            Self::Two => C::of_f64(fold(a, b, |d| d * d, add).cast::<f64>().sqrt()),
            // A NaN stays: it is not below anything.
            Self::Infinity => fold(a, b, abs, |x, y| if is_nan(x) || y < x { x } else { y }),
            Self::Other(p) => {
                let sum = fold(a, b, |d| C::of_f64(abs(d).cast::<f64>().powf(p)), add);
                C::of_f64(sum.cast::<f64>().powf(p.recip()))
            }
        }
    }
}

/// Folds functions of the differences, which are at least 0, in several lanes.
#[inline(always)]
fn fold<C: Compute>(a: &[C], b: &[C], of: impl Fn(C) -> C, join: impl Fn(C, C) -> C) -> C {
    const LANES: usize = 8;
    let mut lanes = [C::default(); LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = join(*lane, of(a - b));
        }
    }
    for ((lane, &a), &b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane = join(*lane, of(a - b));
    }
    lanes.into_iter().fold(C::default(), join)
}

/// The elements of a contiguous tensor as `C`s.
fn elements<'a, C: Compute>(context: &mut Context, tensor: TensorRef<'a>, name: &str) -> Result<&'a [C]> {
    contiguous(tensor, name)?;
    if tensor.dtype()? == C::DTYPE {
        return items(tensor);
    }
    let values = context.scratch(tensor.numel())?;
    Source::of(tensor)?.load(0, values);
    Ok(values)
}

/// Checks the dtypes of the operands and the output, and calls a body with the type to compute in.
macro_rules! by_dtype {
    ($inputs:expr, $out:expr, $body:ident($($arg:expr),*)) => {{
        let to = $out.view().dtype()?;
        for input in $inputs {
            let from = input.dtype()?;
            if !is_float(from) || from != to {
                return Err(bad(format!("distances are of floats of the output's dtype, {to}; found {from}")));
            }
        }
        contiguous($out.view(), "the output")?;
        match to {
            Dtype::Float64 => $body::<f64>($($arg),*),
            _ => $body::<f32>($($arg),*),
        }
    }};
}

/// Writes distances to the output, whose memory is a part of rows of `width` distances each; `body` gives the one at
/// a row and a column.
fn fill<C: Compute>(
    context: &mut Context,
    out: &mut TensorMut<'_>,
    width: usize,
    cost: usize,
    body: impl Fn(usize, &mut [C]) + Sync,
) -> Result<()> {
    let rows = |y: &mut [C]| {
        split_mut(y, width, GRAIN.div_ceil(cost.max(1)), |first, y| {
            for (row, y) in (first..).zip(y.chunks_mut(width)) {
                body(row, y);
            }
        });
    };
    if out.view().dtype()? == C::DTYPE {
        rows(items_mut(out)?);
        return Ok(());
    }
    let distances = context.scratch(out.view().numel())?;
    rows(distances);
    let (y, dtype) = writable(out)?;
    store(distances, dtype, y);
    Ok(())
}

fn cdist(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (a, b) = (args.tensor(0)?, args.tensor(1)?);
    // How Euclidean distances are made (argument 3) is a hint: they are always made of differences, which is exact.
    let norm = Norm::of(args.double(2)?)?;
    let ([batch_a @ .., m, k], [batch_b @ .., n, other_k]) = (a.sizes(), b.sizes()) else {
        return Err(bad(format!(
            "expected two sets of rows, found sizes {:?} and {:?}",
            a.sizes(),
            b.sizes()
        )));
    };
    if k != other_k {
        return Err(bad(format!("rows of {k} and of {other_k} elements have no distance")));
    }
    let batch = Shape::broadcast(batch_a, batch_b)?;
    let mut sizes = [0; ET_MAX_RANK];
    let rank = batch.sizes().len();
    sizes[..rank].copy_from_slice(batch.sizes());
    (sizes[rank], sizes[rank + 1]) = (*m, *n);
    let mut out = output(args, 4, &sizes[..rank + 2], &[a, b])?;
    by_dtype!([a, b], out, between(context, norm, batch, a, b, &mut out))
}

fn between<C: Compute>(
    context: &mut Context,
    norm: Norm,
    batch: Shape,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let size = |t: TensorRef<'_>, from_end: usize| t.sizes()[t.rank() - from_end] as usize;
    let (m, n, k) = (size(a, 2), size(b, 2), size(a, 1));
    let (x, y) =
        (elements::<C>(context, a, "the first operand")?, elements::<C>(context, b, "the second operand")?);
    let (of_a, of_b) = (&a.sizes()[..a.rank() - 2], &b.sizes()[..b.rank() - 2]);
    fill(context, out, n, n * k, |row, distances: &mut [C]| {
        let (at, row) = (row / m, row % m);
        let x = &x[(batch_start(&batch, of_a, at) * m + row) * k..][..k];
        let y = &y[batch_start(&batch, of_b, at) * n * k..][..n * k];
        for (j, distance) in distances.iter_mut().enumerate() {
            *distance = norm.distance(x, &y[j * k..(j + 1) * k]);
        }
    })
}

/// The number of the batch of an operand that broadcasts to batch number `at` of a shape.
fn batch_start(shape: &Shape, sizes: &[i32], mut at: usize) -> usize {
    let (mut start, mut step) = (0, 1);
    let own = sizes.iter().rev().map(|&s| s as usize).chain(std::iter::repeat(1));
    for (&size, own) in shape.sizes().iter().rev().zip(own) {
        let size = size as usize;
        if own != 1 {
            start += at % size * step;
        }
        step *= own;
        at /= size;
    }
    start
}

fn pdist(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let norm = Norm::of(args.double(1)?)?;
    let &[n, _] = input.sizes() else {
        return Err(bad(format!("expected a matrix of rows, found sizes {:?}", input.sizes())));
    };
    let pairs = i64::from(n) * i64::from(n - 1) / 2;
    let pairs = i32::try_from(pairs.max(0)).map_err(|_| bad(format!("{n} rows have too many pairs")))?;
    let mut out = output(args, 2, &[pairs], &[input])?;
    by_dtype!([input], out, within(context, norm, input, &mut out))
}

fn within<C: Compute>(
    context: &mut Context,
    norm: Norm,
    input: TensorRef<'_>,
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let [n, k] = [input.sizes()[0] as usize, input.sizes()[1] as usize];
    let x = elements::<C>(context, input, "the input")?;
    fill(context, out, 1, k, |pair, distance: &mut [C]| {
        let (i, j) = pair_of(n, pair);
        distance[0] = norm.distance(&x[i * k..(i + 1) * k], &x[j * k..(j + 1) * k]);
    })
}

/// The rows of a pair, where the pairs of `n` rows are (0, 1), (0, 2), … (1, 2), …
fn pair_of(n: usize, pair: usize) -> (usize, usize) {
    // Pairs before those of row i: i (2n - 1 - i) / 2. The root is near; the steps make it right.
    let before = |i: usize| i * (2 * n - 1 - i) / 2;
    let b = 2.0 * n as f64 - 1.0;
    let mut i = ((b - (b * b - 8.0 * pair as f64).max(0.0).sqrt()) / 2.0) as usize;
    while i > 0 && before(i) > pair {
        i -= 1;
    }
    while before(i + 1) <= pair {
        i += 1;
    }
    (i, i + 1 + pair - before(i))
}

#[cfg(test)]
mod tests {
    use super::{Norm, pair_of};

    #[test]
    fn pairs_come_in_order() {
        for n in [2, 3, 7, 50] {
            let mut pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            for pair in 0..n * (n - 1) / 2 {
                assert_eq!(Some(pair_of(n, pair)), pairs.next());
            }
        }
    }

    #[test]
    fn norms_keep_nan_and_count_what_differs() {
        let (a, b) = ([1.0_f32, f32::NAN, -3.0], [1.0, 2.0, 3.0]);
        assert_eq!(Norm::Zero.distance(&a, &b), 2.0);
        for norm in [Norm::One, Norm::Two, Norm::Infinity, Norm::Other(3.0)] {
            assert!(norm.distance(&a, &b).is_nan());
        }
        assert_eq!(Norm::Infinity.distance::<f64>(&[1.0, -7.0], &[3.0, 2.0]), 9.0);
        assert!(Norm::of(-1.0).is_err() && Norm::of(f64::NAN).is_err());
    }
}
