//! softmax and log-softmax over the middle one of three dimensions.

use crate::isa::{Kernel, Level, dispatch};
use crate::real::Real;
use crate::reduce::{Extreme, extreme};

/// `y = softmax(x)`, or its logarithm, over the middle one of the dimensions `[outer, reduce, inner]`. Rows
/// (`inner` = 1) are vectorised along `reduce`, everything else along `inner`. f16 and bf16 rows are to be
/// [converted](crate::convert()) by the caller.
///
/// # Panics
/// If the slices do not fit the shape.
pub fn softmax<T: Real>(log: bool, x: &[T], [outer, reduce, inner]: [usize; 3], y: &mut [T]) {
    let size = outer.checked_mul(reduce).and_then(|n| n.checked_mul(inner));
    assert!(Some(x.len()) == size && x.len() == y.len(), "input, output and shape differ");
    if x.is_empty() {
        return;
    }
    let slab = reduce * inner;
    for (x, y) in x.chunks(slab).zip(y.chunks_mut(slab)) {
        if inner == 1 {
            let mut max = [T::LOWEST];
            extreme(Extreme::Max, x, [1, reduce, 1], &mut max);
            dispatch(Row { log, max: max[0], x, y });
        } else {
            for first in (0..inner).step_by(COLUMNS) {
                let columns = COLUMNS.min(inner - first);
                dispatch(Columns { log, x: &x[first..], y: &mut y[first..], inner, columns });
            }
        }
    }
}

/// Columns that are worked on together.
const COLUMNS: usize = 256;

struct Row<'a, T> {
    log: bool,
    max: T,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Real> Kernel for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self) {
        let Self { log, max, x, y } = self;
        const LANES: usize = 32;
        // The exponentials go to the output, also for the logarithm, where they are overwritten.
        for (y, &x) in y.iter_mut().zip(x) {
            *y = (x - max).exp_nonpositive::<L>();
        }
        let mut sums = [T::default(); LANES];
        let (chunks, rest) = y.as_chunks::<LANES>();
        for chunk in chunks {
            for j in 0..LANES {
                sums[j] = sums[j] + chunk[j];
            }
        }
        for (sum, &y) in sums.iter_mut().zip(rest) {
            *sum = *sum + y;
        }
        let mut width = LANES / 2;
        while width > 0 {
            for j in 0..width {
                sums[j] = sums[j] + sums[j + width];
            }
            width /= 2;
        }
        let sum = sums[0];
        if log {
            let shift = sum.log();
            for (y, &x) in y.iter_mut().zip(x) {
                *y = (x - max) - shift;
            }
        } else {
            let scale = T::ONE / sum;
            for y in y.iter_mut() {
                *y = *y * scale;
            }
        }
    }
}

struct Columns<'a, T> {
    log: bool,
    x: &'a [T],
    y: &'a mut [T],
    inner: usize,
    columns: usize,
}

impl<T: Real> Kernel for Columns<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self) {
        let Self { log, x, y, inner, columns } = self;
        let mut max = [T::LOWEST; COLUMNS];
        let mut sum = [T::default(); COLUMNS];
        let (max, sum) = (&mut max[..columns], &mut sum[..columns]);
        for row in x.chunks(inner) {
            for (max, &x) in max.iter_mut().zip(row) {
                // NaN stays: it makes the sum NaN below in any case.
                *max = if x > *max { x } else { *max };
            }
        }
        for (row, out) in x.chunks(inner).zip(y.chunks_mut(inner)) {
            for (((&x, y), &max), sum) in row.iter().zip(out).zip(max.iter()).zip(sum.iter_mut()) {
                let e = (x - max).exp_nonpositive::<L>();
                *y = e;
                *sum = *sum + e;
            }
        }
        for sum in sum.iter_mut() {
            *sum = if log { sum.log() } else { T::ONE / *sum };
        }
        for (row, out) in x.chunks(inner).zip(y.chunks_mut(inner)) {
            if log {
                for (((&x, y), &max), &shift) in row.iter().zip(out).zip(max.iter()).zip(sum.iter()) {
                    *y = (x - max) - shift;
                }
            } else {
                for (y, &scale) in out.iter_mut().zip(sum.iter()) {
                    *y = *y * scale;
                }
            }
        }
    }
}
