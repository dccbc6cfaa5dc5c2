//! Shapes of tensors.

use super::{abi, code};
use executorch_abi::error::*;
use executorch_abi::tensor::*;
use executorch_abi::{Dtype, Error, Result};
use std::ffi::c_char;
use std::slice;

fn bad(message: String) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, message)
}

/// # Safety
/// `data` holds `length` items during `'a`, or `length` is 0.
unsafe fn items<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if length == 0 || data.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(data, length) }
}

/// # Safety
/// `tensor` is valid, with `rank` entries in its arrays.
unsafe fn resize(tensor: *mut et_tensor_t, sizes: *const i32, rank: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    let Some(tensor) = (unsafe { tensor.as_mut() }) else {
        return Err(bad("the argument `tensor` is null".into()));
    };
    if rank != usize::from(tensor.rank) || rank > ET_MAX_RANK {
        return Err(bad(format!("a tensor of rank {} cannot take a shape of rank {rank}", tensor.rank)));
    }
    // SAFETY: the caller's promise for `sizes`; the tensor's arrays hold `rank` entries.
    let (new, old, order) =
        unsafe { (items(sizes, rank), items(tensor.sizes, rank), items(tensor.dim_order, rank)) };
    if new == old {
        return Ok(());
    }
    let refused = |why: &str| {
        Error::new(ET_ERROR_NOT_SUPPORTED, format!("a tensor of sizes {old:?} cannot become {new:?}: {why}"))
    };
    if tensor.dynamism == ET_DYNAMISM_STATIC {
        return Err(refused("its shape is static; export the model with dynamic shapes to vary it"));
    }
    let mut strides = [0; ET_MAX_RANK];
    let strides = strides.get_mut(..rank).unwrap_or_default();
    let numel = dense(new, order, strides)?;
    let size = Dtype::from_raw(tensor.dtype).map_or(0, Dtype::size) as u64;
    if numel.checked_mul(size).is_none_or(|bytes| bytes > tensor.capacity_bytes) {
        return Err(refused(&format!(
            "its memory holds {} bytes; export the model with a larger upper bound",
            tensor.capacity_bytes
        )));
    }
    // SAFETY: the tensor's arrays hold `rank` entries; `new` may not overlap them, since it differs from `sizes`
    // only if the caller gave another array, and `copy` allows an overlap in any case.
    unsafe {
        std::ptr::copy(new.as_ptr(), tensor.sizes, rank);
        std::ptr::copy_nonoverlapping(strides.as_ptr(), tensor.strides, rank);
    }
    tensor.numel = numel;
    Ok(())
}

/// Dense strides in a dim order (contiguous if it is empty), and the number of elements.
fn dense(sizes: &[i32], order: &[u8], strides: &mut [i32]) -> Result<u64> {
    let contiguous: [u8; ET_MAX_RANK] = std::array::from_fn(|i| i as u8);
    let order = if order.is_empty() { contiguous.get(..sizes.len()).unwrap_or_default() } else { order };
    crate::format::dense_strides(sizes, order, strides).map_err(|e| bad(e.message))
}

abi! {
    tensor::fn et_tensor_resize(
        tensor: *mut et_tensor_t,
        sizes: *const i32,
        rank: usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller obeys the function's contract.
        code(unsafe { resize(tensor, sizes, rank) })
    }
    tensor::fn et_tensor_dense_strides(
        sizes: *const i32,
        dim_order: *const u8,
        rank: usize,
        strides: *mut i32,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        if rank > ET_MAX_RANK {
            return code(Err(bad(format!("rank {rank} is more than {ET_MAX_RANK}"))));
        }
        let mut computed = [0; ET_MAX_RANK];
        let computed = computed.get_mut(..rank).unwrap_or_default();
        let order_length = if dim_order.is_null() { 0 } else { rank };
        // SAFETY: the caller gives `rank` sizes and, unless null, `rank` dimension numbers.
        let (sizes, order) = unsafe { (items(sizes, rank), items(dim_order, order_length)) };
        code(dense(sizes, order, computed).map(|_| {
            // SAFETY: the caller gives a place for `rank` strides.
            unsafe { std::ptr::copy_nonoverlapping(computed.as_ptr(), strides, rank) }
        }))
    }
    tensor::fn et_dtype_size(dtype: et_dtype_t) -> usize, otherwise 0, {
        Dtype::from_raw(dtype).map_or(0, Dtype::size)
    }
    tensor::fn et_dtype_name(dtype: et_dtype_t) -> *const c_char, otherwise c"unknown".as_ptr(), {
        Dtype::from_raw(dtype).map_or(c"unknown", Dtype::name_c).as_ptr()
    }
}
