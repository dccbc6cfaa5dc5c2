//! Views of matrices in plain slices: checked once, then trusted.

use crate::error::{Error, Result, extent};

/// A read-only matrix: element `(i, j)` is `data[i * row_stride + j * col_stride]`.
///
/// Any strides are allowed: a transposed view swaps them, a broadcast one has a stride of 0.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// A view with the given strides, in elements. Fails if an element would lie outside `data`.
    pub fn new(
        data: &'a [T],
        [rows, cols]: [usize; 2],
        [row_stride, col_stride]: [usize; 2],
    ) -> Result<Self> {
        let need = extent("matrix", &[rows, cols], &[row_stride, col_stride])?;
        if need > data.len() {
            return Err(Error::new(format!(
                "a {rows}x{cols} matrix with strides ({row_stride}, {col_stride}) needs {need} \
                 elements, but its slice has {}",
                data.len()
            )));
        }
        Ok(Self { data, rows, cols, row_stride, col_stride })
    }

    /// A dense row-major view.
    pub fn row_major(data: &'a [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, [rows, cols], [cols, 1])
    }

    /// The same elements with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements between an element and the one below it.
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Elements between an element and the one to its right.
    pub fn col_stride(&self) -> usize {
        self.col_stride
    }

    pub(crate) fn as_ptr(&self) -> *const T {
        self.data.as_ptr()
    }

    /// Address of an element; in bounds whenever `row < rows` and `col < cols`.
    pub(crate) fn at(&self, row: usize, col: usize) -> *const T {
        debug_assert!(row <= self.rows && col <= self.cols);
        self.data.as_ptr().wrapping_add(row * self.row_stride + col * self.col_stride)
    }
}

impl<T: Copy> Matrix<'_, T> {
    /// One element. Panics outside the matrix.
    pub fn get(&self, row: usize, col: usize) -> T {
        assert!(row < self.rows && col < self.cols, "element outside the matrix");
        self.data[row * self.row_stride + col * self.col_stride]
    }
}

/// A writable matrix whose rows are contiguous: element `(i, j)` is `data[i * row_stride + j]`.
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
}

impl<'a, T> MatrixMut<'a, T> {
    /// A view with `row_stride` elements between rows. Fails if an element would lie outside
    /// `data`, or if rows overlap.
    pub fn new(data: &'a mut [T], [rows, cols]: [usize; 2], row_stride: usize) -> Result<Self> {
        let need = extent("output matrix", &[rows, cols], &[row_stride, 1])?;
        if need > data.len() {
            return Err(Error::new(format!(
                "a {rows}x{cols} output matrix with row stride {row_stride} needs {need} elements, \
                 but its slice has {}",
                data.len()
            )));
        }
        if rows > 1 && row_stride < cols {
            return Err(Error::new(format!(
                "rows of a {rows}x{cols} output matrix overlap: the row stride is {row_stride}"
            )));
        }
        Ok(Self { data, rows, cols, row_stride })
    }

    /// A dense row-major view.
    pub fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, [rows, cols], cols)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
}
