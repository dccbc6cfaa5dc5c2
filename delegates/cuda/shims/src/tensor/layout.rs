//! Sizes and strides.

use crate::boundary::invalid;
use executorch_abi::Result;

/// Sizes and strides, in elements. Checked: none is negative, and the number of elements and the span fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The sizes, then the strides: one piece of memory, whose address callers borrow.
    numbers: Box<[i64]>,
    numel: usize,
    span: usize,
}

impl Layout {
    /// A layout of given strides.
    pub fn strided(sizes: &[i64], strides: &[i64]) -> Result<Self> {
        let numbers: Box<[i64]> = [sizes, strides].concat().into();
        let (numel, span) = measure(sizes, strides).ok_or_else(|| {
            invalid(format!(
                "sizes {sizes:?} with strides {strides:?}: negative, of different rank, or too large"
            ))
        })?;
        Ok(Self { numbers, numel, span })
    }

    /// The layout without gaps, the last dimension being the innermost.
    pub fn contiguous(sizes: &[i64]) -> Result<Self> {
        let mut strides = vec![1; sizes.len()];
        let mut stride = 1_i64;
        for (place, &size) in strides.iter_mut().zip(sizes).rev() {
            *place = stride;
            // Dimensions without elements count as 1, as in PyTorch; what overflows is refused by `strided`.
            stride = stride.saturating_mul(size.max(1));
        }
        Self::strided(sizes, &strides)
    }

    /// The sizes.
    pub fn sizes(&self) -> &[i64] {
        self.numbers.split_at(self.numbers.len() / 2).0
    }

    /// The strides, in elements.
    pub fn strides(&self) -> &[i64] {
        self.numbers.split_at(self.numbers.len() / 2).1
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.numbers.len() / 2
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.numel
    }

    /// Elements from the first to the last, both included: how much memory the layout touches. 0 without elements.
    pub fn span(&self) -> usize {
        self.span
    }

    /// Whether every element of the span belongs to the layout (in whatever order).
    pub fn is_dense(&self) -> bool {
        // Overlapping elements cannot make up for gaps: strides of 0 have been taken out, and what remains either
        // overlaps nowhere or is not dense.
        self.span == self.numel && self.steps().iter().all(|&(_, stride)| stride != 0) && self.is_injective()
    }

    /// Whether the elements lie in the order of their indices without gaps.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.numel == 0
            || self.steps().iter().rev().all(|&(size, stride)| {
                let fits = stride == expected;
                expected *= size;
                fits
            })
    }

    /// Whether both put equal indices at equal distances.
    pub fn same_places(&self, other: &Self) -> bool {
        self.sizes() == other.sizes() && (self.numel == 0 || self.steps() == other.steps())
    }

    /// Sizes and strides of the dimensions with more than one index.
    fn steps(&self) -> Vec<(i64, i64)> {
        let both = self.sizes().iter().copied().zip(self.strides().iter().copied());
        both.filter(|&(size, _)| size != 1).collect()
    }

    /// Whether no two indices share a place, as far as ordered strides tell.
    fn is_injective(&self) -> bool {
        let mut steps = self.steps();
        steps.sort_by_key(|&(_, stride)| stride);
        let mut reach = 0_i64;
        steps.iter().all(|&(size, stride)| {
            let apart = stride > reach;
            reach = reach.saturating_add((size - 1).saturating_mul(stride));
            apart
        })
    }

    /// Visits the runs of `length` elements that lie side by side in this layout, in the order of the indices: the place of
    /// each one's first element. Returns `length`.
    pub fn runs(&self, mut visit: impl FnMut(usize) -> Result<()>) -> Result<usize> {
        let length = self.run_length();
        self.runs_of(length, &mut visit)?;
        Ok(length)
    }

    /// How many elements lie side by side, at least: the product of the innermost dimensions without gaps.
    pub fn run_length(&self) -> usize {
        let mut length = 1;
        for (size, stride) in self.steps().into_iter().rev() {
            if stride != length {
                break;
            }
            length *= size;
        }
        usize::try_from(length).unwrap_or(1).max(1)
    }

    fn runs_of(&self, length: usize, visit: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        if self.numel == 0 {
            return Ok(());
        }
        let mut outer = self.steps();
        let mut inner = 1;
        while inner < length {
            let Some((size, _)) = outer.pop() else { break };
            inner *= usize::try_from(size).unwrap_or(1);
        }
        let mut index = vec![0; outer.len()];
        let mut place = 0_i64;
        loop {
            visit(usize::try_from(place).unwrap_or_default())?;
            let mut dims = outer.iter().zip(&mut index).rev();
            loop {
                let Some((&(size, stride), index)) = dims.next() else { return Ok(()) };
                *index += 1;
                place += stride;
                if *index < size {
                    break;
                }
                place -= stride * size;
                *index = 0;
            }
        }
    }
}

fn measure(sizes: &[i64], strides: &[i64]) -> Option<(usize, usize)> {
    if sizes.len() != strides.len() || sizes.iter().chain(strides).any(|&number| number < 0) {
        return None;
    }
    let numel = sizes.iter().try_fold(1_i64, |numel, &size| numel.checked_mul(size));
    if sizes.contains(&0) {
        return Some((0, 0));
    }
    let span = sizes
        .iter()
        .zip(strides)
        .try_fold(1_i64, |span, (&size, &stride)| span.checked_add((size - 1).checked_mul(stride)?))?;
    Some((usize::try_from(numel?).ok()?, usize::try_from(span).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_sizes_and_strides_are_refused() {
        for (sizes, strides) in [
            (&[-1][..], &[1][..]),
            (&[2], &[-1]),
            (&[2, 3], &[1]),
            (&[i64::MAX, 2], &[1, 1]),
            (&[2, 2], &[i64::MAX, 1]),
        ] {
            assert!(Layout::strided(sizes, strides).is_err(), "{sizes:?} {strides:?}");
        }
        assert!(Layout::contiguous(&[i64::MAX, i64::MAX]).is_err());
        let empty = Layout::contiguous(&[i64::MAX, 0, i64::MAX]).unwrap();
        assert_eq!((empty.numel(), empty.span()), (0, 0));
    }

    #[test]
    fn density_and_order() {
        let of = |sizes: &[i64], strides: &[i64]| {
            let layout = Layout::strided(sizes, strides).unwrap();
            (layout.is_contiguous(), layout.is_dense(), layout.span())
        };
        assert_eq!(of(&[2, 3], &[3, 1]), (true, true, 6));
        assert_eq!(of(&[2, 3], &[1, 2]), (false, true, 6));
        assert_eq!(of(&[2, 1, 3], &[3, 99, 1]), (true, true, 6));
        assert_eq!(of(&[2, 3], &[4, 1]), (false, false, 7));
        assert_eq!(of(&[2, 3], &[0, 1]), (false, false, 3));
        // As many places as elements, but one twice and a gap.
        assert_eq!(of(&[2, 2], &[1, 2]), (false, true, 4));
        assert_eq!(of(&[3, 2], &[1, 3]), (false, true, 6));
        assert_eq!(of(&[3, 3], &[2, 2]), (false, false, 9));
        assert_eq!(of(&[], &[]), (true, true, 1));
    }

    #[test]
    fn runs_visit_every_element_once_in_order() {
        for (sizes, strides, length) in [
            (&[2, 3][..], &[3, 1][..], 6),
            (&[2, 3], &[4, 1], 3),
            (&[2, 3], &[1, 2], 1),
            (&[2, 1, 2, 2], &[9, 7, 2, 1], 4),
            (&[], &[], 1),
            (&[0, 3], &[3, 1], 1),
        ] {
            let layout = Layout::strided(sizes, strides).unwrap();
            let mut seen = Vec::new();
            let found = layout
                .runs(|place| {
                    seen.push(place);
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, length, "{sizes:?} {strides:?}");
            let places: Vec<usize> = seen.iter().flat_map(|&first| first..first + length).collect();
            let mut expected = vec![0_i64];
            for (size, stride) in sizes.iter().zip(strides) {
                expected =
                    expected.iter().flat_map(|base| (0..*size).map(move |i| base + i * stride)).collect();
            }
            let expected: Vec<usize> = expected.iter().map(|&place| place as usize).collect();
            assert_eq!(places, expected, "{sizes:?} {strides:?}");
        }
    }
}
