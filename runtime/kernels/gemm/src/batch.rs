//! Batches of independent products (`bmm`).

use crate::error::{Error, Result, extent, product};
use crate::gemm::{Lhs, Product, Rhs};
use crate::isa::Element;
use crate::matrix::{Matrix, MatrixMut};
use crate::pool::{self, Pool, Serial, Shared, Slots, TASKS_PER_THREAD};

/// A read-only batch of matrices: element `(b, i, j)` is `data[b * s0 + i * s1 + j * s2]`.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a, T> {
    data: &'a [T],
    sizes: [usize; 3],
    strides: [usize; 3],
}

impl<'a, T: Element> Batch<'a, T> {
    /// A view `[batch, rows, cols]` of any strides (0 repeats). Fails if an element would lie outside
    /// `data`.
    pub fn new(data: &'a [T], sizes: [usize; 3], strides: [usize; 3]) -> Result<Self> {
        let need = extent("batch of matrices", &sizes, &strides)?;
        if need > data.len() {
            return Err(Error::new(format!(
                "a batch {sizes:?} with strides {strides:?} needs {need} elements, but its slice has {}",
                data.len()
            )));
        }
        Ok(Self { data, sizes, strides })
    }

    fn item(&self, index: usize) -> Result<Matrix<'a, T>> {
        let [_, rows, cols] = self.sizes;
        let start = if rows * cols == 0 { 0 } else { index * self.strides[0] };
        Matrix::new(&self.data[start..], [rows, cols], [self.strides[1], self.strides[2]])
    }

    /// What two batches multiply to: `[batch, m, n]`.
    fn times(&self, b: &Batch<'_, T>) -> Result<[usize; 3]> {
        let ([batch, m, k], [batch_b, k_b, n]) = (self.sizes, b.sizes);
        if batch != batch_b || k != k_b {
            return Err(Error::new(format!(
                "cannot multiply batches {:?} and {:?}: batch and inner sizes must agree",
                self.sizes, b.sizes
            )));
        }
        product("batched product", &[batch.max(1), m.max(1), n.max(1), k.max(1)])?;
        Ok([batch, m, n])
    }
}

/// Whether each product runs on one thread, with the batch split over the threads.
fn over_batch(pool: &dyn Pool, batch: usize, macs: usize) -> usize {
    let threads = pool::useful_threads(pool, batch * macs);
    if batch >= 2 * threads || macs < 4 * pool::GRAIN_MACS { threads.min(batch) } else { 1 }
}

/// Elements of scratch that [`batched`] needs for these operands on this pool.
pub fn batched_scratch_len<T: Element>(pool: &dyn Pool, a: &Batch<'_, T>, b: &Batch<'_, T>) -> Result<usize> {
    let [batch, m, n] = a.times(b)?;
    if batch == 0 || m == 0 || n == 0 {
        return Ok(0);
    }
    let item = Product::new(Lhs::View(a.item(0)?), Rhs::View(b.item(0)?));
    match over_batch(pool, batch, m * n * a.sizes[2]) {
        1 => item.scratch_len(pool),
        slots => product("batched scratch", &[slots, item.scratch_len(&Serial)?]),
    }
}

/// `out[b] = alpha · a[b] · b[b]`, where `out` is a dense `[batch, M, N]`.
///
/// `scratch` has at least [`batched_scratch_len`] elements; nothing is allocated.
pub fn batched<T: Element>(
    pool: &dyn Pool,
    scratch: &mut [T],
    alpha: T,
    a: &Batch<'_, T>,
    b: &Batch<'_, T>,
    out: &mut [T],
) -> Result<()> {
    let [batch, m, n] = a.times(b)?;
    if out.len() != batch * m * n {
        return Err(Error::new(format!(
            "the output of this batch is [{batch}, {m}, {n}], but {} elements were given",
            out.len()
        )));
    }
    let need = batched_scratch_len(pool, a, b)?;
    if scratch.len() < need {
        return Err(Error::new(format!(
            "a batched product needs {need} elements of scratch, got {}",
            scratch.len()
        )));
    }
    if out.is_empty() {
        return Ok(());
    }
    let one = |pool: &dyn Pool, scratch: &mut [T], index: usize, out: &mut [T]| {
        let mut item = Product::new(Lhs::View(a.item(index)?), Rhs::View(b.item(index)?));
        item.alpha = alpha;
        item.run(pool, scratch, MatrixMut::row_major(out, m, n)?)
    };
    let slots = over_batch(pool, batch, m * n * a.sizes[2]);
    if slots == 1 {
        for (index, out) in out.chunks_exact_mut(m * n).enumerate() {
            one(pool, scratch, index, out)?;
        }
        return Ok(());
    }
    let slots = Slots::new(scratch, slots, need / slots);
    let tasks = (pool.threads() * TASKS_PER_THREAD).min(batch);
    let failed = std::sync::Mutex::new(Ok(()));
    let to = Shared::new(out);
    pool::run(pool, tasks, &|task| {
        let mut slot = slots.take();
        for index in pool::part(batch, tasks, task) {
            // SAFETY: `out` holds `batch` items, and this one is this task's alone.
            let out = unsafe { std::slice::from_raw_parts_mut(to.get().add(index * m * n), m * n) };
            if let Err(error) = one(&Serial, slot.get(), index, out)
                && let Ok(mut failed) = failed.lock()
            {
                *failed = Err(error);
            }
        }
    });
    failed.into_inner().unwrap_or_else(|_| Err(Error::new("a task of a batched product panicked")))
}
