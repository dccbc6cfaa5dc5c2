//! Broadcasting: shapes aligned at the right, sizes of 1 repeated.

use crate::op::bad;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Result, TensorRef};

/// A shape of at most [`ET_MAX_RANK`] dimensions, on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    sizes: [i32; ET_MAX_RANK],
    rank: usize,
}

impl Shape {
    /// A shape of some sizes.
    pub fn new(sizes: &[i32]) -> Result<Self> {
        let mut shape = Self { sizes: [0; ET_MAX_RANK], rank: sizes.len() };
        let place = shape.sizes.get_mut(..sizes.len());
        place
            .ok_or_else(|| bad(format!("{} dimensions, at most {ET_MAX_RANK}", sizes.len())))?
            .copy_from_slice(sizes);
        Ok(shape)
    }

    /// The sizes.
    pub fn sizes(&self) -> &[i32] {
        self.sizes.get(..self.rank).unwrap_or_default()
    }

    /// Changes the last size.
    pub fn set_last(&mut self, size: i32) {
        if let Some(last) = self.rank.checked_sub(1).and_then(|at| self.sizes.get_mut(at)) {
            *last = size;
        }
    }

    /// The shape that both of two shapes broadcast to.
    pub fn broadcast(a: &[i32], b: &[i32]) -> Result<Self> {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let mut shape = Self::new(long)?;
        let lead = long.len() - short.len();
        for (size, &other) in shape.sizes.iter_mut().skip(lead).zip(short) {
            *size = match (*size, other) {
                (x, y) if x == y => x,
                (1, y) => y,
                (x, 1) => x,
                _ => return Err(bad(format!("sizes {a:?} and {b:?} do not broadcast"))),
            };
        }
        Ok(shape)
    }
}

/// The dimension that `dim` names in a tensor of `rank` dimensions, where it may count from the end. A tensor without
/// dimensions takes 0 and -1.
pub fn dimension(dim: i64, rank: usize) -> Result<usize> {
    let wrapped = if dim < 0 { dim + rank.max(1) as i64 } else { dim };
    usize::try_from(wrapped)
        .ok()
        .filter(|&d| d < rank.max(1))
        .ok_or_else(|| bad(format!("dimension {dim} of a tensor with {rank} dimensions")))
}

/// The runs of equal rows in which a broadcast walks two tensors: how many elements each run has, and where it
/// starts in each tensor.
#[derive(Debug)]
pub struct Rows {
    /// Elements of a run.
    pub length: usize,
    /// Steps within a run: 1, or 0 where the tensor repeats one element.
    pub steps: [usize; 2],
    sizes: [usize; ET_MAX_RANK],
    strides: [[usize; ET_MAX_RANK]; 2],
    rank: usize,
}

impl Rows {
    /// One run of `length` elements in both tensors.
    pub fn flat(length: usize) -> Self {
        Self { length, steps: [1, 1], sizes: [1; ET_MAX_RANK], strides: [[0; ET_MAX_RANK]; 2], rank: 0 }
    }

    /// The runs of two tensors (dense, in the contiguous order or in one that both share with the output) that are
    /// broadcast to `shape`.
    pub fn new(shape: &Shape, inputs: [TensorRef<'_>; 2]) -> Self {
        let sizes = shape.sizes();
        let mut rows = Self {
            length: 1,
            steps: [0, 0],
            sizes: [1; ET_MAX_RANK],
            strides: [[0; ET_MAX_RANK]; 2],
            rank: 0,
        };
        let mut run_open = true;
        // From the innermost dimension outwards: one that continues the run below it becomes a part of it.
        for at in (0..sizes.len()).rev() {
            let size = sizes.get(at).copied().unwrap_or(1) as usize;
            if size == 1 {
                continue;
            }
            let stride = inputs.map(|t| {
                let lead = sizes.len() - t.rank();
                let own = at.checked_sub(lead);
                let own_size = own.and_then(|d| t.sizes().get(d)).copied().unwrap_or(1);
                let own_stride = own.and_then(|d| t.strides().get(d)).copied().unwrap_or(0);
                if own_size == 1 { 0 } else { own_stride as usize }
            });
            if run_open && rows.length == 1 && stride.iter().all(|&s| s <= 1) {
                (rows.length, rows.steps) = (size, stride);
                continue;
            }
            let continues = (0..2).all(|i| stride[i] == rows.steps[i] * rows.length);
            if run_open && continues && rows.length > 1 {
                rows.length *= size;
                continue;
            }
            run_open = false;
            if let (Some(s), [Some(a), Some(b)]) =
                (rows.sizes.get_mut(rows.rank), rows.strides.each_mut().map(|s| s.get_mut(rows.rank)))
            {
                (*s, *a, *b) = (size, stride[0], stride[1]);
                rows.rank += 1;
            }
        }
        rows
    }

    /// Calls `body` for each run, in the output's order, with its start in each tensor.
    pub fn each(&self, mut body: impl FnMut([usize; 2]) -> Result<()>) -> Result<()> {
        let count: usize = self.sizes.iter().take(self.rank).product();
        let mut at = [0_usize; ET_MAX_RANK];
        let mut offsets = [0_usize; 2];
        for _ in 0..count {
            body(offsets)?;
            let dims = self.sizes.iter().zip(self.strides[0].iter().zip(&self.strides[1]));
            for (index, (&size, (&a, &b))) in at.iter_mut().zip(dims).take(self.rank) {
                *index += 1;
                offsets = [offsets[0] + a, offsets[1] + b];
                if *index < size {
                    break;
                }
                offsets = [offsets[0] - a * size, offsets[1] - b * size];
                *index = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn shapes_broadcast() {
        let shape = |a: &[i32], b: &[i32]| Shape::broadcast(a, b).map(|s| s.sizes().to_vec());
        assert_eq!(shape(&[2, 1, 4], &[3, 1]), Ok(vec![2, 3, 4]));
        assert_eq!(shape(&[], &[0]), Ok(vec![0]));
        assert_eq!(shape(&[1], &[5, 5]), Ok(vec![5, 5]));
        assert!(shape(&[2], &[3]).is_err());
        assert!(shape(&[0], &[2]).is_err());
    }
}
