//! Max pooling, with the places of the maxima: of equal elements the first counts, as in PyTorch.

use crate::element::Element;
use crate::isa::{Kernel, Level, dispatch};

/// A row of windows over an image whose rows are contiguous.
#[derive(Clone, Copy, Debug)]
pub struct PoolRow {
    /// Elements of a row of the image.
    pub width: usize,
    /// The first row that the windows cover.
    pub first: usize,
    /// How many rows they cover, and how far these are apart.
    pub rows: usize,
    /// The distance between covered rows, and between covered elements of a row.
    pub dilation: [usize; 2],
    /// Elements of a row that a window covers.
    pub kernel: usize,
    /// The distance between windows.
    pub stride: usize,
    /// How far the first window starts before the row.
    pub padding: usize,
}

/// Windows that are computed together.
const BLOCK: usize = 64;
/// Elements of a row that one block of windows may reach over.
const SPAN: usize = 192;
/// Elements covered in a row, beyond which there is no block.
const MAX_REACH: usize = SPAN / 2;

/// The greatest element under each window and its place, `row * width + column`. Returns false, with the outputs in any
/// state, if there is a NaN or windows are too wide: then the caller has to look at each element.
///
/// # Panics
/// If the outputs differ in length or the image does not hold the rows.
pub fn max_pool_row<T: Element>(image: &[T], row: PoolRow, out: &mut [T], places: &mut [i64]) -> bool {
    assert_eq!(out.len(), places.len(), "there are as many places as windows");
    let covered = row.rows > 0 && row.kernel > 0 && i32::try_from(image.len()).is_ok();
    let reach = row.kernel.saturating_sub(1).saturating_mul(row.dilation[1]).saturating_add(1);
    if !covered || reach > MAX_REACH || row.stride == 0 {
        return false;
    }
    let end = (row.first + (row.rows - 1) * row.dilation[0] + 1) * row.width;
    assert!(end <= image.len(), "the image does not hold the rows");
    dispatch(MaxPoolRow { image, row, reach, out, places })
}

struct MaxPoolRow<'a, T> {
    image: &'a [T],
    row: PoolRow,
    reach: usize,
    out: &'a mut [T],
    places: &'a mut [i64],
}

impl<T: Element> Kernel for MaxPoolRow<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Level>(self) -> bool {
        let row = self.row;
        // As many windows as reach over no more than there is room for.
        let block = ((SPAN - self.reach) / row.stride + 1).min(BLOCK);
        let mut start = 0;
        for (out, places) in self.out.chunks_mut(block).zip(self.places.chunks_mut(block)) {
            let span = (out.len() - 1) * row.stride + self.reach;
            let mut columns = [T::LOWEST; SPAN];
            let mut at = [i32::MAX; SPAN];
            // The part of the span that lies in the image.
            let low = row.padding.saturating_sub(start).min(span);
            let high = (row.width + row.padding).saturating_sub(start).clamp(low, span);
            if low < high {
                let first = start + low - row.padding;
                if greatest_rows(self.image, &row, first, &mut columns[low..high], &mut at[low..high]) {
                    return false;
                }
            }
            let (mut best, mut best_at) = ([T::LOWEST; BLOCK], [i32::MAX; BLOCK]);
            let (best, best_at) = (&mut best[..out.len()], &mut best_at[..out.len()]);
            for tap in 0..row.kernel {
                let from = tap * row.dilation[1];
                let (columns, at) = (&columns[from..], &at[from..]);
                match row.stride {
                    1 => merge::<T, 1>(columns, at, best, best_at),
                    2 => merge::<T, 2>(columns, at, best, best_at),
                    stride => {
                        let candidates = columns.iter().step_by(stride).zip(at.iter().step_by(stride));
                        for ((best, best_at), (&v, &p)) in
                            best.iter_mut().zip(best_at.iter_mut()).zip(candidates)
                        {
                            take(v, p, best, best_at);
                        }
                    }
                }
            }
            out.copy_from_slice(best);
            for (place, &at) in places.iter_mut().zip(best_at.iter()) {
                *place = i64::from(at);
            }
            start += out.len() * row.stride;
        }
        true
    }
}

/// The greatest elements of the covered rows, from column `first` on, and their places; true if there is a NaN.
#[inline(always)]
#[allow(clippy::eq_op, reason = "the one test for NaN that integers have too")]
fn greatest_rows<T: Element>(
    image: &[T],
    row: &PoolRow,
    first: usize,
    columns: &mut [T],
    at: &mut [i32],
) -> bool {
    let mut nan = false;
    for r in 0..row.rows {
        let start = (row.first + r * row.dilation[0]) * row.width + first;
        let values = &image[start..start + columns.len()];
        if r == 0 {
            for (i, ((best, at), &v)) in columns.iter_mut().zip(at.iter_mut()).zip(values).enumerate() {
                (*best, *at) = (v, start as i32 + i as i32);
                nan |= v != v;
            }
        } else {
            for (i, ((best, at), &v)) in columns.iter_mut().zip(at.iter_mut()).zip(values).enumerate() {
                let wins = v > *best;
                *best = if wins { v } else { *best };
                *at = if wins { start as i32 + i as i32 } else { *at };
                nan |= v != v;
            }
        }
    }
    nan
}

/// Takes every `STRIDE`th candidate that is greater than the best so far, or equal and before it.
#[inline(always)]
fn merge<T: Element, const STRIDE: usize>(columns: &[T], at: &[i32], best: &mut [T], best_at: &mut [i32]) {
    let need = (best.len() - 1) * STRIDE + 1;
    let (columns, at) = (&columns[..need], &at[..need]);
    let best_at = &mut best_at[..best.len()];
    for i in 0..best.len() {
        take(columns[i * STRIDE], at[i * STRIDE], &mut best[i], &mut best_at[i]);
    }
}

#[inline(always)]
fn take<T: Element>(value: T, place: i32, best: &mut T, best_at: &mut i32) {
    let wins = (value > *best) | ((value == *best) & (place < *best_at));
    *best = if wins { value } else { *best };
    *best_at = if wins { place } else { *best_at };
}

/// Puts elements of `x`, whose place is `place`, where they are greater than the best so far, or NaN.
///
/// # Panics
/// If the slices differ in length.
pub fn max_with_place<T: Element>(x: &[T], place: i64, best: &mut [T], places: &mut [i64]) {
    assert!(x.len() == best.len() && x.len() == places.len(), "operand and outputs differ in length");
    dispatch(MaxWithPlace { x, place, best, places });
}

struct MaxWithPlace<'a, T> {
    x: &'a [T],
    place: i64,
    best: &'a mut [T],
    places: &'a mut [i64],
}

impl<T: Element> Kernel for MaxWithPlace<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::eq_op, reason = "the one test for NaN that integers have too")]
    fn run<L: Level>(self) {
        for ((best, at), &v) in self.best.iter_mut().zip(self.places.iter_mut()).zip(self.x) {
            let wins = (v > *best) | (v != v);
            *best = if wins { v } else { *best };
            *at = if wins { self.place } else { *at };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The windows one by one.
    fn naive(image: &[f32], row: PoolRow, count: usize) -> Vec<(f32, i64)> {
        (0..count)
            .map(|i| {
                let mut best = (f32::NEG_INFINITY, i64::from(i32::MAX));
                for r in 0..row.rows {
                    for k in 0..row.kernel {
                        let x = (i * row.stride + k * row.dilation[1]).wrapping_sub(row.padding);
                        if x >= row.width {
                            continue;
                        }
                        let place = (row.first + r * row.dilation[0]) * row.width + x;
                        if image[place] > best.0 || best.1 == i64::from(i32::MAX) {
                            best = (image[place], place as i64);
                        }
                    }
                }
                best
            })
            .collect()
    }

    #[test]
    fn rows_are_those_of_a_plain_loop() {
        for width in [1, 3, 13, 112, 600] {
            // Few different values, so that many are equal.
            let image: Vec<f32> = (0..width * 8).map(|i| ((i * 7919) % 5) as f32 - 9.0).collect();
            for (kernel, stride, padding, dilation) in
                [(3, 2, 1, 1), (2, 2, 0, 1), (3, 1, 1, 2), (5, 3, 2, 1), (1, 1, 0, 1), (3, 2, 0, 1)]
            {
                let reach = (kernel - 1) * dilation + 1;
                if width + 2 * padding < reach {
                    continue;
                }
                let count = (width + 2 * padding - reach) / stride + 1;
                let row =
                    PoolRow { width, first: 1, rows: 3, dilation: [2, dilation], kernel, stride, padding };
                let (mut out, mut places) = (vec![0.0; count], vec![0; count]);
                assert!(max_pool_row(&image, row, &mut out, &mut places));
                for (i, want) in naive(&image, row, count).into_iter().enumerate() {
                    assert_eq!((out[i], places[i]), want, "window {i} of {row:?}");
                }
            }
        }
    }

    #[test]
    fn nan_and_wide_windows_are_left_to_the_caller() {
        let mut image = [0.0_f32; 40];
        let row =
            PoolRow { width: 10, first: 0, rows: 4, dilation: [1, 1], kernel: 3, stride: 2, padding: 1 };
        let (mut out, mut places) = ([0.0; 5], [0; 5]);
        assert!(max_pool_row(&image, row, &mut out, &mut places));
        image[25] = f32::NAN;
        assert!(!max_pool_row(&image, row, &mut out, &mut places));
        assert!(!max_pool_row(&image, PoolRow { kernel: 300, ..row }, &mut out, &mut places));
    }

    #[test]
    fn channels_keep_the_last_nan() {
        let (mut best, mut places) = ([f32::NEG_INFINITY; 3], [0; 3]);
        max_with_place(&[1.0, f32::NAN, 2.0], 4, &mut best, &mut places);
        max_with_place(&[1.0, 5.0, 3.0], 6, &mut best, &mut places);
        assert_eq!((best[0], best[2], places), (1.0, 3.0, [4, 4, 6]));
        assert!(best[1].is_nan());
    }
}
