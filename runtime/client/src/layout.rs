//! Dtype, sizes and order of a dense tensor, without allocation.

use executorch_abi::error::*;
use executorch_abi::tensor::{ET_MAX_RANK, et_tensor_dense_strides};
use executorch_abi::{Dtype, Error, Result};
use std::fmt;

/// How the elements of a dense tensor lie in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    dtype: Dtype,
    rank: u8,
    numel: usize,
    sizes: [i32; ET_MAX_RANK],
    strides: [i32; ET_MAX_RANK],
    dim_order: [u8; ET_MAX_RANK],
}

const IN_ORDER: [u8; ET_MAX_RANK] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl Layout {
    /// Row-major order. Fails for a negative size, more than 16 dimensions, or a size in bytes that overflows.
    pub fn contiguous(dtype: Dtype, sizes: &[i32]) -> Result<Self> {
        Self::dense(dtype, sizes, IN_ORDER.get(..sizes.len()).unwrap_or_default())
    }

    /// The order that `dim_order` gives, outermost dimension first. Fails as [`Layout::contiguous`] does, and if
    /// `dim_order` is no permutation.
    pub fn dense(dtype: Dtype, sizes: &[i32], dim_order: &[u8]) -> Result<Self> {
        let rank = sizes.len();
        let bad = |message: String| Error::new(ET_ERROR_INVALID_ARGUMENT, message);
        if rank > ET_MAX_RANK {
            return Err(bad(format!("a tensor has at most {ET_MAX_RANK} dimensions, found {rank}")));
        }
        if dim_order.len() != rank {
            return Err(bad(format!("{rank} sizes need a dim order of as many, found {}", dim_order.len())));
        }
        let mut layout =
            Self { dtype, rank: rank as u8, numel: 0, sizes: [0; 16], strides: [0; 16], dim_order: [0; 16] };
        // SAFETY: both slices hold `rank` entries, and `strides` has room for the most that a rank can be.
        Error::check(unsafe {
            et_tensor_dense_strides(sizes.as_ptr(), dim_order.as_ptr(), rank, layout.strides.as_mut_ptr())
        })?;
        layout.sizes[..rank].copy_from_slice(sizes);
        layout.dim_order[..rank].copy_from_slice(dim_order);
        layout.numel = sizes
            .iter()
            .try_fold(1usize, |n, &s| n.checked_mul(s as usize))
            .filter(|n| n.checked_mul(dtype.size()).is_some_and(|bytes| isize::try_from(bytes).is_ok()))
            .ok_or_else(|| bad(format!("a tensor of sizes {sizes:?} is larger than the address space")))?;
        Ok(layout)
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The sizes, outermost dimension first.
    pub fn sizes(&self) -> &[i32] {
        self.sizes.get(..self.rank()).unwrap_or_default()
    }

    /// The strides in elements.
    pub fn strides(&self) -> &[i32] {
        self.strides.get(..self.rank()).unwrap_or_default()
    }

    /// The dimension numbers, outermost in memory first.
    pub fn dim_order(&self) -> &[u8] {
        self.dim_order.get(..self.rank()).unwrap_or_default()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.numel
    }

    /// Bytes of all elements.
    pub fn nbytes(&self) -> usize {
        self.numel * self.dtype.size()
    }

    /// Whether the order is row-major.
    pub fn is_contiguous(&self) -> bool {
        self.dim_order() == IN_ORDER.get(..self.rank()).unwrap_or_default()
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        if !self.is_contiguous() {
            write!(f, " in order {:?}", self.dim_order())?;
        }
        Ok(())
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.sizes())
    }
}
