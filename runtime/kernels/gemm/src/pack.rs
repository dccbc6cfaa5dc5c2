//! Packing: panels of A (rows interleaved) and of B (columns side by side), each with `k` outermost,
//! so that a micro-kernel reads both front to back.

use crate::error::{Result, product};
use crate::isa::{Element, Isa, Kernels};
use crate::matrix::Matrix;
use crate::micro::SLACK;
use std::ops::Range;

/// Elements of zeroed memory that start on a 64-byte line.
#[derive(Debug, Clone)]
pub(crate) struct Aligned<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Element> Aligned<T> {
    pub(crate) fn new(len: usize) -> Self {
        let data = vec![T::ZERO; len + line::<T>()];
        let start = align_offset(&data);
        Self { data, start, len }
    }

    pub(crate) fn as_ptr(&self) -> *const T {
        self.data[self.start..].as_ptr()
    }

    pub(crate) fn as_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}

/// Elements in a 64-byte line.
pub(crate) const fn line<T>() -> usize {
    64 / size_of::<T>()
}

/// Elements to skip to reach a 64-byte line.
pub(crate) fn align_offset<T>(data: &[T]) -> usize {
    data.as_ptr().align_offset(64).min(line::<T>())
}

/// Packs one panel: `to[k * width + i] = from[i * lane_stride + k * k_stride]`, 0 for missing lanes.
///
/// # Safety
/// `lanes <= width` lanes of `k` elements are readable at `from`; `to` has `k * width + SLACK`
/// writable elements (`k * width` when `width` is a multiple of the vector), whose end is overwritten.
pub(crate) unsafe fn pack_panel<T: Element>(
    kernels: &Kernels<T>,
    from: *const T,
    [lane_stride, k_stride]: [usize; 2],
    lanes: usize,
    k: usize,
    to: *mut T,
    width: usize,
) {
    // SAFETY: the caller promises the reach of both pointers; `kernels` exist only for this CPU.
    unsafe {
        if k_stride == 1 {
            // A group writes whole vectors, over the start of the next row: so last group first.
            let groups = width.div_ceil(kernels.lanes);
            for group in (0..groups).rev() {
                let first = group * kernels.lanes;
                let rows = lanes.saturating_sub(first).min(kernels.lanes);
                let from = from.wrapping_add(first * lane_stride);
                (kernels.interleave)(from, lane_stride, rows, k, to.add(first), width);
            }
        } else {
            for row in 0..k {
                let (from, to) = (from.add(row * k_stride), to.add(row * width));
                if lane_stride == 1 {
                    std::ptr::copy_nonoverlapping(from, to, lanes);
                } else {
                    for i in 0..lanes {
                        *to.add(i) = *from.add(i * lane_stride);
                    }
                }
                for i in lanes..width {
                    *to.add(i) = T::ZERO;
                }
            }
        }
    }
}

/// Packs rows `rows` of columns `ks` of A into panels of `width` rows, one after the other.
///
/// # Safety
/// The ranges lie in the matrix; `to` has `rows.div_ceil(width) * width * ks.len() + SLACK` elements.
pub(crate) unsafe fn pack_a<T: Element>(
    kernels: &Kernels<T>,
    a: &Matrix<'_, T>,
    rows: Range<usize>,
    ks: Range<usize>,
    width: usize,
    mut to: *mut T,
) {
    let strides = [a.row_stride(), a.col_stride()];
    for first in rows.clone().step_by(width) {
        let lanes = (rows.end - first).min(width);
        // SAFETY: as promised by the caller; panels are packed in order, so slack is rewritten.
        unsafe {
            pack_panel(kernels, a.at(first, ks.start), strides, lanes, ks.len(), to, width);
            to = to.add(width * ks.len());
        }
    }
}

/// Packs panel `panel` of B over all of K.
///
/// # Safety
/// The panel exists, and `to` has `b.rows() * kernels.nr()` elements.
pub(crate) unsafe fn pack_b_panel<T: Element>(
    kernels: &Kernels<T>,
    b: &Matrix<'_, T>,
    panel: usize,
    to: *mut T,
) {
    let nr = kernels.nr();
    let lanes = (b.cols() - panel * nr).min(nr);
    let strides = [b.col_stride(), b.row_stride()];
    // SAFETY: as promised by the caller.
    unsafe { pack_panel(kernels, b.at(0, panel * nr), strides, lanes, b.rows(), to, nr) }
}

/// Rows of an A panel: as few panels as possible, then as equal as possible.
pub(crate) fn panel_rows(m: usize, mr: usize) -> usize {
    m.div_ceil(m.div_ceil(mr).max(1)).max(1)
}

/// A left operand, `M × K`, packed once for many products.
#[derive(Debug, Clone)]
pub struct PackedA<T> {
    pub(crate) data: Aligned<T>,
    pub(crate) isa: Isa,
    pub(crate) m: usize,
    pub(crate) k: usize,
    /// Rows of a panel.
    pub(crate) mr: usize,
}

impl<T: Element> PackedA<T> {
    /// Packs for the process's instruction set.
    pub fn new(a: &Matrix<'_, T>) -> Result<Self> {
        Self::with_isa(a, Isa::active())
    }

    /// Packs for a given instruction set. Fails if this CPU lacks it.
    pub fn with_isa(a: &Matrix<'_, T>, isa: Isa) -> Result<Self> {
        let kernels = T::kernels(isa)?;
        let (m, k) = (a.rows(), a.cols());
        let mr = panel_rows(m, kernels.mr);
        let len = product("packed A", &[m.div_ceil(mr) * mr, k])?;
        let mut data = Aligned::new(len + SLACK);
        // SAFETY: the ranges are the whole matrix, and `data` has the length that `pack_a` asks for.
        unsafe { pack_a(kernels, a, 0..m, 0..k, mr, data.as_mut().as_mut_ptr()) };
        Ok(Self { data, isa, m, k, mr })
    }
}

/// A right operand, `K × N`, packed once for many products.
#[derive(Debug, Clone)]
pub struct PackedB<T> {
    pub(crate) data: Aligned<T>,
    pub(crate) isa: Isa,
    pub(crate) k: usize,
    pub(crate) n: usize,
}

impl<T: Element> PackedB<T> {
    /// Packs for the process's instruction set.
    pub fn new(b: &Matrix<'_, T>) -> Result<Self> {
        Self::with_isa(b, Isa::active())
    }

    /// Packs for a given instruction set. Fails if this CPU lacks it.
    pub fn with_isa(b: &Matrix<'_, T>, isa: Isa) -> Result<Self> {
        let kernels = T::kernels(isa)?;
        let (k, n) = (b.rows(), b.cols());
        let panels = n.div_ceil(kernels.nr());
        let len = product("packed B", &[panels, kernels.nr(), k])?;
        let mut data = Aligned::new(len);
        let to: *mut T = data.as_mut().as_mut_ptr();
        for panel in 0..panels {
            // SAFETY: the panel exists, and `data` holds `panels` of them.
            unsafe { pack_b_panel(kernels, b, panel, to.add(panel * kernels.nr() * k)) };
        }
        Ok(Self { data, isa, k, n })
    }
}
