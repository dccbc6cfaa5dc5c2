//! The product for every number type: blocked for the caches, left to the compiler to vectorise.

use crate::error::{Error, Result};
use crate::matrix::{Matrix, MatrixMut};
use crate::number::Number;
use crate::pool::{self, Pool, Shared, TASKS_PER_THREAD};

/// Rows and columns of C that one block keeps as sums.
const ROWS: usize = 4;
const COLS: usize = 64;

/// `out = alpha · a·b + beta · addend` (beta is not applied without an addend) for any number type.
///
/// Half types are summed in `f32`, with `alpha` and `beta` in `f32` too; integers wrap. The addend is
/// an `M × N` matrix of any strides. Needs no scratch.
pub fn general_product<T: Number>(
    pool: &dyn Pool,
    a: &Matrix<'_, T>,
    b: &Matrix<'_, T>,
    alpha: T::Sum,
    addend: Option<(T::Sum, Matrix<'_, T>)>,
    out: MatrixMut<'_, T>,
) -> Result<()> {
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    if b.rows() != k || (out.rows(), out.cols()) != (m, n) {
        return Err(Error::new(format!(
            "cannot multiply {m}x{k} by {}x{n} into {}x{}",
            b.rows(),
            out.rows(),
            out.cols()
        )));
    }
    if let Some((_, d)) = &addend
        && (d.rows(), d.cols()) != (m, n)
    {
        return Err(Error::new(format!("the addend is {}x{}, the product {m}x{n}", d.rows(), d.cols())));
    }
    if m == 0 || n == 0 {
        return Ok(());
    }
    let (row_blocks, col_blocks) = (m.div_ceil(ROWS), n.div_ceil(COLS));
    let blocks = row_blocks * col_blocks;
    let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(8);
    let tasks = match pool::useful_threads(pool, work) {
        1 => 1,
        threads => (threads * TASKS_PER_THREAD).min(blocks),
    };
    let row_stride = out.row_stride;
    let to = Shared::new(out.data);
    pool::run(pool, tasks, &|task| {
        for block in pool::part(blocks, tasks, task) {
            let (row, col) = (block % row_blocks * ROWS, block / row_blocks * COLS);
            let (rows, cols) = ((m - row).min(ROWS), (n - col).min(COLS));
            let sums = block_sums(a, b, [row, col], [rows, cols]);
            for (i, sums) in sums.iter().enumerate().take(rows) {
                for (j, &sum) in sums.iter().enumerate().take(cols) {
                    let mut value = T::add_product(T::ZERO, alpha, sum);
                    if let Some((beta, d)) = &addend {
                        value = T::add_product(value, *beta, d.get(row + i, col + j).widen());
                    }
                    // SAFETY: the element lies in the checked output, in this task's block.
                    unsafe { *to.get().add((row + i) * row_stride + col + j) = T::narrow(value) };
                }
            }
        }
    });
    Ok(())
}

/// The sums of one block of C.
fn block_sums<T: Number>(
    a: &Matrix<'_, T>,
    b: &Matrix<'_, T>,
    [row, col]: [usize; 2],
    [rows, cols]: [usize; 2],
) -> [[T::Sum; COLS]; ROWS] {
    let mut sums = [[T::ZERO; COLS]; ROWS];
    let mut line = [T::ZERO; COLS];
    for k in 0..a.cols() {
        for (j, value) in line.iter_mut().enumerate().take(cols) {
            *value = b.get(k, col + j).widen();
        }
        for (i, sums) in sums.iter_mut().enumerate().take(rows) {
            let factor = a.get(row + i, k).widen();
            for (sum, &value) in sums.iter_mut().zip(&line) {
                *sum = T::add_product(*sum, factor, value);
            }
        }
    }
    sums
}
