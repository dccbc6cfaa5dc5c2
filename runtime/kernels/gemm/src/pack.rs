//! Packing: panels of A (rows interleaved) and of B (columns side by side), each with `k` outermost,
//! so that a micro-kernel reads both front to back.

use crate::error::{Result, product};
use crate::isa::{Element, Isa, Kernels};
use crate::matrix::Matrix;
use crate::micro::SLACK;
use crate::pool::{self, Pool, Serial, Shared, TASKS_PER_THREAD};
use crate::store::{Header, Kind, PackedBytes, blob_len, elements_mut};
use std::marker::PhantomData;
use std::ops::Range;

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
    bytes: PackedBytes,
    pub(crate) isa: Isa,
    pub(crate) m: usize,
    pub(crate) k: usize,
    /// Rows of a panel.
    pub(crate) mr: usize,
    element: PhantomData<T>,
}

impl<T: Element> PackedA<T> {
    /// Packs for the process's instruction set.
    pub fn new(a: &Matrix<'_, T>) -> Result<Self> {
        Self::with_isa(a, Isa::active())
    }

    /// Packs for a given instruction set. Fails if this CPU lacks it.
    pub fn with_isa(a: &Matrix<'_, T>, isa: Isa) -> Result<Self> {
        let shape = [a.rows(), a.cols()];
        let bytes = PackedBytes::build(Self::packed_len(shape, isa)?, |to| Self::pack_into(a, isa, to))?;
        Self::from_bytes(shape, isa, bytes)
    }

    /// Bytes of a packed `[M, K]` operand.
    pub fn packed_len(shape: [usize; 2], isa: Isa) -> Result<usize> {
        blob_len::<T>(packed_a_len(T::kernels(isa)?, shape)?)
    }

    /// Packs into `to`, of [`PackedA::packed_len`] bytes that start on a multiple of
    /// [`crate::PACKED_ALIGNMENT`].
    pub fn pack_into(a: &Matrix<'_, T>, isa: Isa, to: &mut [u8]) -> Result<()> {
        let kernels = T::kernels(isa)?;
        let (m, k) = (a.rows(), a.cols());
        Self::header([m, k], isa)?.write(to)?;
        let to = elements_mut::<T>(to)?;
        debug_assert!(to.len() >= packed_a_len(kernels, [m, k])?);
        let mr = panel_rows(m, kernels.mr);
        // SAFETY: the ranges are the whole matrix, and `to` has the length that `pack_a` asks for.
        unsafe { pack_a(kernels, a, 0..m, 0..k, mr, to.as_mut_ptr()) };
        Ok(())
    }

    /// An operand `[M, K]` that was packed before, in this process or another. Fails if this CPU lacks
    /// the instruction set, or if the bytes were packed for anything else. Values are not checked.
    pub fn from_bytes(shape: [usize; 2], isa: Isa, bytes: PackedBytes) -> Result<Self> {
        let kernels = T::kernels(isa)?;
        Self::header(shape, isa)?.check(bytes.get()?)?;
        let [m, k] = shape;
        Ok(Self { bytes, isa, m, k, mr: panel_rows(m, kernels.mr), element: PhantomData })
    }

    /// What [`PackedA::from_bytes`] takes.
    pub fn bytes(&self) -> &PackedBytes {
        &self.bytes
    }

    fn header(shape: [usize; 2], isa: Isa) -> Result<Header> {
        Ok(Header::new::<T>(Kind::Left, isa, Self::packed_len(shape, isa)?, &shape))
    }

    /// All panels.
    pub(crate) fn data(&self) -> Result<&[T]> {
        self.bytes.elements(Header::LEN, packed_a_len(T::kernels(self.isa)?, [self.m, self.k])?)
    }
}

/// Elements of a packed left operand.
pub(crate) fn packed_a_len<T: Element>(kernels: &Kernels<T>, [m, k]: [usize; 2]) -> Result<usize> {
    let mr = panel_rows(m, kernels.mr);
    let len = product("packed A", &[m.div_ceil(mr), mr, k])?;
    product("packed A", &[len.div_ceil(SLACK) + 1, SLACK])
}

/// A right operand, `K × N`, packed once for many products.
#[derive(Debug, Clone)]
pub struct PackedB<T> {
    bytes: PackedBytes,
    pub(crate) isa: Isa,
    pub(crate) k: usize,
    pub(crate) n: usize,
    element: PhantomData<T>,
}

impl<T: Element> PackedB<T> {
    /// Packs for the process's instruction set, on this thread.
    pub fn new(b: &Matrix<'_, T>) -> Result<Self> {
        Self::pack(b, Isa::active(), &Serial)
    }

    /// Packs for a given instruction set, on the threads of a pool. Fails if this CPU lacks it.
    pub fn pack(b: &Matrix<'_, T>, isa: Isa, pool: &dyn Pool) -> Result<Self> {
        let shape = [b.rows(), b.cols()];
        let len = Self::packed_len(shape, isa)?;
        let bytes = PackedBytes::build(len, |to| Self::pack_into(b, isa, pool, to))?;
        Self::from_bytes(shape, isa, bytes)
    }

    /// Bytes of a packed `[K, N]` operand.
    pub fn packed_len(shape: [usize; 2], isa: Isa) -> Result<usize> {
        blob_len::<T>(packed_b_len(T::kernels(isa)?, shape)?)
    }

    /// Packs into `to`, of [`PackedB::packed_len`] bytes that start on a multiple of
    /// [`crate::PACKED_ALIGNMENT`]. On an error `to` is unchanged.
    pub fn pack_into(b: &Matrix<'_, T>, isa: Isa, pool: &dyn Pool, to: &mut [u8]) -> Result<()> {
        let kernels = T::kernels(isa)?;
        Self::header([b.rows(), b.cols()], isa)?.write(to)?;
        let to = elements_mut::<T>(to)?;
        debug_assert!(to.len() >= packed_b_len(kernels, [b.rows(), b.cols()])?);
        let each = kernels.nr() * b.rows();
        let panels = b.cols().div_ceil(kernels.nr());
        let tasks = packing_tasks(pool, each * panels, panels);
        let to = Shared::new(to);
        pool::run(pool, tasks, &|task| {
            for panel in pool::part(panels, tasks, task) {
                // SAFETY: the panel exists, `to` holds all panels, and this one is this task's.
                unsafe { pack_b_panel(kernels, b, panel, to.get().add(panel * each)) };
            }
        });
        Ok(())
    }

    /// An operand `[K, N]` that was packed before, in this process or another. Fails if this CPU lacks
    /// the instruction set, or if the bytes were packed for anything else. Values are not checked.
    pub fn from_bytes(shape: [usize; 2], isa: Isa, bytes: PackedBytes) -> Result<Self> {
        Self::header(shape, isa)?.check(bytes.get()?)?;
        let [k, n] = shape;
        Ok(Self { bytes, isa, k, n, element: PhantomData })
    }

    /// What [`PackedB::from_bytes`] takes.
    pub fn bytes(&self) -> &PackedBytes {
        &self.bytes
    }

    /// `[K, N]`.
    pub fn shape(&self) -> [usize; 2] {
        [self.k, self.n]
    }

    fn header(shape: [usize; 2], isa: Isa) -> Result<Header> {
        Ok(Header::new::<T>(Kind::Right, isa, Self::packed_len(shape, isa)?, &shape))
    }

    /// All panels.
    pub(crate) fn data(&self) -> Result<&[T]> {
        self.bytes.elements(Header::LEN, packed_b_len(T::kernels(self.isa)?, [self.k, self.n])?)
    }
}

/// Elements of a packed right operand.
pub(crate) fn packed_b_len<T: Element>(kernels: &Kernels<T>, [k, n]: [usize; 2]) -> Result<usize> {
    product("packed B", &[n.div_ceil(kernels.nr()), kernels.nr(), k])
}

/// Tasks to pack `elements`, in `panels`, with.
pub(crate) fn packing_tasks(pool: &dyn Pool, elements: usize, panels: usize) -> usize {
    // An element takes as long as several multiply-adds.
    match pool::useful_threads(pool, elements.saturating_mul(8)) {
        1 => 1,
        threads => (threads * TASKS_PER_THREAD).min(panels.max(1)),
    }
}
