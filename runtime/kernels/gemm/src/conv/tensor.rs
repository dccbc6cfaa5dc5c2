//! Views of images `[N, C, H, W]` in plain slices.

use super::Layout;
use crate::error::{Error, Result, extent};

/// A read-only `[N, C, H, W]` tensor of any strides, in elements.
#[derive(Debug, Clone, Copy)]
pub struct Tensor4<'a, T> {
    data: &'a [T],
    sizes: [usize; 4],
    strides: [usize; 4],
}

impl<'a, T> Tensor4<'a, T> {
    /// A view. Fails if an element would lie outside `data`.
    pub fn new(data: &'a [T], sizes: [usize; 4], strides: [usize; 4]) -> Result<Self> {
        check_extent("input image", data.len(), sizes, strides)?;
        Ok(Self { data, sizes, strides })
    }

    /// A dense view of this layout.
    pub fn dense(data: &'a [T], sizes: [usize; 4], layout: Layout) -> Result<Self> {
        Self::new(data, sizes, layout.strides(sizes)?)
    }

    /// `[N, C, H, W]`.
    pub fn sizes(&self) -> [usize; 4] {
        self.sizes
    }

    /// Elements between neighbours, for each dimension.
    pub fn strides(&self) -> [usize; 4] {
        self.strides
    }

    pub(crate) fn data(&self) -> &'a [T] {
        self.data
    }
}

/// A writable `[N, C, H, W]` tensor.
#[derive(Debug)]
pub struct Tensor4Mut<'a, T> {
    pub(crate) data: &'a mut [T],
    sizes: [usize; 4],
    strides: [usize; 4],
}

impl<'a, T> Tensor4Mut<'a, T> {
    /// A view. Fails if an element would lie outside `data`.
    pub fn new(data: &'a mut [T], sizes: [usize; 4], strides: [usize; 4]) -> Result<Self> {
        check_extent("output image", data.len(), sizes, strides)?;
        Ok(Self { data, sizes, strides })
    }

    /// A dense view of this layout.
    pub fn dense(data: &'a mut [T], sizes: [usize; 4], layout: Layout) -> Result<Self> {
        let strides = layout.strides(sizes)?;
        Self::new(data, sizes, strides)
    }

    /// `[N, C, H, W]`.
    pub fn sizes(&self) -> [usize; 4] {
        self.sizes
    }

    /// Elements between neighbours, for each dimension.
    pub fn strides(&self) -> [usize; 4] {
        self.strides
    }

    /// Checks that no two elements share a place.
    pub(crate) fn check_disjoint(&self) -> Result<()> {
        if self.sizes.contains(&0) {
            return Ok(());
        }
        let mut dims = [0, 1, 2, 3];
        dims.sort_by_key(|&d| self.strides[d]);
        let mut reach = 0;
        for d in dims.into_iter().filter(|&d| self.sizes[d] > 1) {
            if self.strides[d] <= reach {
                return Err(Error::new(format!(
                    "convolution: elements of an output {:?} with strides {:?} overlap",
                    self.sizes, self.strides
                )));
            }
            reach += (self.sizes[d] - 1) * self.strides[d];
        }
        Ok(())
    }

    /// As [`ordered_strides`], which replace the strides.
    pub(crate) fn check_layout(&mut self, layout: Layout) -> Result<()> {
        self.strides = ordered_strides("an output", self.sizes, self.strides, layout)?;
        Ok(())
    }
}

/// Checks that a channel's pixels (or a pixel's channels) are contiguous, that all pixels are
/// evenly spaced, and that no two elements share a place. Strides of size-1 dimensions, which
/// mean nothing, are replaced by the ones that fit.
pub(super) fn ordered_strides(
    what: &str,
    sizes: [usize; 4],
    given: [usize; 4],
    layout: Layout,
) -> Result<[usize; 4]> {
    let mut strides = given;
    if sizes.contains(&0) {
        return Ok(strides);
    }
    let order: [usize; 4] = match layout {
        Layout::ChannelsFirst => [3, 2, 1, 0],
        Layout::ChannelsLast => [1, 3, 2, 0],
    };
    let mut least = 1;
    for (place, &d) in order.iter().enumerate() {
        if sizes[d] == 1 {
            // Pixels of a column are as far apart as its rows.
            let column = layout == Layout::ChannelsLast && d == 3 && sizes[2] > 1;
            strides[d] = if column { given[2] } else { least };
        }
        // The innermost must be 1, and rows must follow each other; the others may leave gaps.
        let exact = place == 0 || d == 2;
        let stride = strides[d];
        if (exact && stride != least) || stride < least {
            return Err(Error::new(format!(
                "convolution: {what} {sizes:?} in {layout:?} order cannot have strides {given:?}"
            )));
        }
        least = stride.saturating_mul(sizes[d]);
    }
    Ok(strides)
}

impl Layout {
    /// Strides of a dense `[N, C, H, W]` tensor. Fails on overflow.
    pub fn strides(self, [n, c, h, w]: [usize; 4]) -> Result<[usize; 4]> {
        crate::error::product("image", &[n.max(1), c.max(1), h.max(1), w.max(1)])?;
        Ok(match self {
            Layout::ChannelsFirst => [c * h * w, h * w, w, 1],
            Layout::ChannelsLast => [h * w * c, 1, w * c, c],
        })
    }
}

fn check_extent(what: &str, len: usize, sizes: [usize; 4], strides: [usize; 4]) -> Result<()> {
    let need = extent(what, &sizes, &strides)?;
    if need > len {
        return Err(Error::new(format!(
            "{what} {sizes:?} with strides {strides:?} needs {need} elements, but its slice has {len}"
        )));
    }
    crate::error::product(what, &sizes.map(|s| s.max(1)))?;
    Ok(())
}
