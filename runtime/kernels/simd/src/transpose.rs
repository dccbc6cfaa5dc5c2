//! Copies that change the layout.

/// Rows and columns of the blocks in which [`transpose`] works: both sides of a block fit the first-level cache.
const BLOCK: usize = 16;

/// `y[c * y_stride + r] = x[r * x_stride + c]` for `rows` and `columns` of x. For elements of any size; strides count
/// elements and may exceed the row's length.
///
/// # Panics
/// If a row of `x` or `y` ends beyond its slice.
pub fn transpose<T: Copy>(
    x: &[T],
    x_stride: usize,
    rows: usize,
    columns: usize,
    y: &mut [T],
    y_stride: usize,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    assert!(fits(x.len(), rows, x_stride, columns), "the input is too short for its rows");
    assert!(fits(y.len(), columns, y_stride, rows), "the output is too short for its rows");
    for r0 in (0..rows).step_by(BLOCK) {
        let height = BLOCK.min(rows - r0);
        for c0 in (0..columns).step_by(BLOCK) {
            let width = BLOCK.min(columns - c0);
            let x = &x[r0 * x_stride + c0..];
            let y = &mut y[c0 * y_stride + r0..];
            if height == BLOCK && width == BLOCK {
                // Constant bounds let the compiler unroll and keep the block in registers.
                for c in 0..BLOCK {
                    let out = &mut y[c * y_stride..c * y_stride + BLOCK];
                    for (r, out) in out.iter_mut().enumerate() {
                        *out = x[r * x_stride + c];
                    }
                }
            } else {
                for c in 0..width {
                    for (r, out) in y[c * y_stride..c * y_stride + height].iter_mut().enumerate() {
                        *out = x[r * x_stride + c];
                    }
                }
            }
        }
    }
}

/// Copies `rows` rows of `columns` elements between slices whose rows start `x_stride` and `y_stride` elements apart.
///
/// # Panics
/// If a row of `x` or `y` ends beyond its slice.
pub fn copy_rows<T: Copy>(
    x: &[T],
    x_stride: usize,
    rows: usize,
    columns: usize,
    y: &mut [T],
    y_stride: usize,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    assert!(fits(x.len(), rows, x_stride, columns), "the input is too short for its rows");
    assert!(fits(y.len(), rows, y_stride, columns), "the output is too short for its rows");
    for r in 0..rows {
        y[r * y_stride..r * y_stride + columns].copy_from_slice(&x[r * x_stride..r * x_stride + columns]);
    }
}

/// `y[i] = x[i * step]`.
///
/// # Panics
/// If `x` is too short.
pub fn gather_strided<T: Copy>(x: &[T], step: usize, y: &mut [T]) {
    assert!(y.is_empty() || fits(x.len(), y.len(), step, 1), "the input is too short for its step");
    for (i, y) in y.iter_mut().enumerate() {
        *y = x[i * step];
    }
}

/// `y[i * step] = x[i]`.
///
/// # Panics
/// If `y` is too short.
pub fn scatter_strided<T: Copy>(x: &[T], y: &mut [T], step: usize) {
    assert!(x.is_empty() || fits(y.len(), x.len(), step, 1), "the output is too short for its step");
    for (i, &x) in x.iter().enumerate() {
        y[i * step] = x;
    }
}

/// Whether `rows` rows of `columns` elements, `stride` apart, end within `len`.
fn fits(len: usize, rows: usize, stride: usize, columns: usize) -> bool {
    (rows - 1).checked_mul(stride).and_then(|start| start.checked_add(columns)).is_some_and(|end| end <= len)
}
