//! The stable sort.

use crate::boundary::{call, give, invalid, place, tensor};
use crate::operand::{contiguous, device, empty, launch};
use crate::tensor::Tensor;
use executorch_abi::error::{ET_ERROR_NOT_SUPPORTED, et_error_t};
use executorch_abi::{Dtype, Result};
use executorch_cuda_kernels::{Sort, SortType, sort};

/// Sorts along `dim` (counted from the end if negative); equal values keep their order, whatever `stable` says. Gives the values
/// and, as int64, where each was. The tensor must be contiguous, and of int32, int64, float32, float16 or bfloat16.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_sort_stable(
    handle: *mut Tensor,
    _stable: *mut i32,
    dim: i64,
    descending: i32,
    values: *mut *mut Tensor,
    indices: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_cuda_sort_stable", || {
        place(values)?;
        place(indices)?;
        // SAFETY: the module's contract.
        let from = unsafe { tensor(handle, "self") }?;
        let device = device(from, "self")?;
        contiguous(from, "self", ET_ERROR_NOT_SUPPORTED)?;
        let [outer, length, inner] = split(from.layout().sizes(), dim)?;
        let (sorted, places) = (
            empty(device, from.dtype(), from.layout().sizes())?,
            empty(device, Dtype::Int64, from.layout().sizes())?,
        );
        let work = Sort {
            element: element(from.dtype())?,
            values: from.data(),
            sorted: sorted.data(),
            indices: places.data(),
            outer,
            length,
            inner,
            descending: descending != 0,
        };
        // SAFETY: all are contiguous and of the same sizes; the rest is the module's contract.
        launch(device, |stream| unsafe { sort(stream, device, &work) })?;
        // SAFETY: the module's contract.
        unsafe {
            give(values, sorted)?;
            give(indices, places)
        }
    })
}

fn element(dtype: Dtype) -> Result<SortType> {
    match dtype {
        Dtype::Int32 => Ok(SortType::Int32),
        Dtype::Int64 => Ok(SortType::Int64),
        Dtype::Float32 => Ok(SortType::Float32),
        Dtype::Float16 => Ok(SortType::Float16),
        Dtype::BFloat16 => Ok(SortType::BFloat16),
        other => {
            Err(invalid(format!("cannot sort {other}, expected int32, int64, float32, float16 or bfloat16")))
        }
    }
}

/// The products of the sizes before a dimension, of itself, and behind it. A scalar has one of size 1.
fn split(sizes: &[i64], dim: i64) -> Result<[u64; 3]> {
    let rank = sizes.len().max(1) as i64;
    let from_start = if dim < 0 { dim.checked_add(rank) } else { Some(dim) };
    let at = from_start.filter(|at| (0..rank).contains(at)).and_then(|at| usize::try_from(at).ok());
    let at =
        at.ok_or_else(|| invalid(format!("dimension {dim} of a tensor of {} dimensions", sizes.len())))?;
    // The tensor's sizes have been multiplied before, and are not negative.
    let product = |sizes: &[i64]| sizes.iter().map(|&size| size.unsigned_abs()).product();
    let (before, rest) = sizes.split_at_checked(at).unwrap_or((sizes, &[]));
    let length = rest.first().map_or(1, |size| size.unsigned_abs());
    Ok([product(before), length, product(rest.get(1..).unwrap_or_default())])
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn dimensions_are_counted_from_both_ends() {
        assert_eq!(split(&[2, 3, 4, 5], 1).unwrap(), [2, 3, 20]);
        assert_eq!(split(&[2, 3, 4, 5], -1).unwrap(), [24, 5, 1]);
        assert_eq!(split(&[7], 0).unwrap(), [1, 7, 1]);
        assert_eq!(split(&[], -1).unwrap(), [1, 1, 1]);
        for (sizes, dim) in [(&[2, 3][..], 2), (&[2, 3], -3), (&[], 1), (&[2], i64::MIN)] {
            assert!(split(sizes, dim).is_err());
        }
    }
}
