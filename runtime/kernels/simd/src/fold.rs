//! The loops that reductions share: many independent accumulators, so that they vectorise and lose little accuracy.

use crate::isa::{Kernel, Level, dispatch};

/// A reduction of elements of type `T`.
pub(crate) trait Fold<T>: Copy {
    /// The accumulator of one lane within a block.
    type Acc: Copy;
    /// The accumulator of blocks.
    type Wide: Copy;
    /// The value of an empty block.
    fn start(self) -> Self::Acc;
    /// One more element.
    fn step<L: Level>(self, acc: Self::Acc, x: T) -> Self::Acc;
    /// Two lanes together.
    fn merge(self, a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The value of no blocks.
    fn start_wide(self) -> Self::Wide;
    /// One more block.
    fn widen(self, wide: Self::Wide, acc: Self::Acc) -> Self::Wide;
}

/// Independent accumulators of a contiguous slice: two AVX-512 registers of f32, or more smaller ones.
const LANES: usize = 32;
/// Elements of a contiguous slice per block.
pub(crate) const BLOCK: usize = 16 * 1024;
/// Columns that are reduced together.
const COLUMNS: usize = 256;
/// Rows per block.
const ROWS: usize = 512;

/// A contiguous slice of at most [`BLOCK`] elements.
pub(crate) struct Row<'a, T, F> {
    pub(crate) x: &'a [T],
    pub(crate) f: F,
}

impl<T: Copy, F: Fold<T>> Kernel for Row<'_, T, F> {
    type Output = F::Acc;

    #[inline(always)]
    fn run<L: Level>(self) -> F::Acc {
        let Self { x, f } = self;
        let mut acc = [f.start(); LANES];
        let (chunks, rest) = x.as_chunks::<LANES>();
        for chunk in chunks {
            for j in 0..LANES {
                acc[j] = f.step::<L>(acc[j], chunk[j]);
            }
        }
        for (acc, &x) in acc.iter_mut().zip(rest) {
            *acc = f.step::<L>(*acc, x);
        }
        let mut width = LANES / 2;
        while width > 0 {
            for j in 0..width {
                acc[j] = f.merge(acc[j], acc[j + width]);
            }
            width /= 2;
        }
        acc[0]
    }
}

struct Columns<'a, T, A, F> {
    x: &'a [T],
    stride: usize,
    acc: &'a mut [A],
    f: F,
}

impl<T: Copy, F: Fold<T>> Kernel for Columns<'_, T, F::Acc, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self) {
        for row in self.x.chunks(self.stride) {
            for (acc, &x) in self.acc.iter_mut().zip(row) {
                *acc = self.f.step::<L>(*acc, x);
            }
        }
    }
}

/// Reduces a contiguous slice.
pub(crate) fn fold_row<T: Copy, F: Fold<T>>(x: &[T], f: F) -> F::Wide {
    let mut wide = f.start_wide();
    for x in x.chunks(BLOCK) {
        wide = f.widen(wide, dispatch(Row { x, f }));
    }
    wide
}

/// Reduces the middle one of three dimensions and hands each result to `store` with its index in `[outer, inner]`.
pub(crate) fn fold<T: Copy, F: Fold<T>>(
    x: &[T],
    [outer, reduce, inner]: [usize; 3],
    f: F,
    mut store: impl FnMut(usize, F::Wide),
) {
    if inner == 1 {
        for o in 0..outer {
            store(o, fold_row(&x[o * reduce..(o + 1) * reduce], f));
        }
        return;
    }
    for o in 0..outer {
        let x = &x[o * reduce * inner..(o + 1) * reduce * inner];
        for first in (0..inner).step_by(COLUMNS) {
            let columns = COLUMNS.min(inner - first);
            let mut wide = [f.start_wide(); COLUMNS];
            for block in x.chunks(ROWS * inner) {
                let mut acc = [f.start(); COLUMNS];
                dispatch(Columns { x: &block[first..], stride: inner, acc: &mut acc[..columns], f });
                for (wide, &acc) in wide.iter_mut().zip(&acc[..columns]) {
                    *wide = f.widen(*wide, acc);
                }
            }
            for (i, &wide) in wide[..columns].iter().enumerate() {
                store(o * inner + first + i, wide);
            }
        }
    }
}
