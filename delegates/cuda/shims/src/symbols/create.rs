//! Tensors and views of them: making and deleting.

use crate::boundary::{call, give, invalid, numbers, place, rank, tensor, write};
use crate::copy;
use crate::tensor::{Layout, Place, Tensor};
use executorch_abi::error::{ET_ERROR_NOT_SUPPORTED, et_error_t};
use executorch_abi::{Dtype, Error, Result};
use std::ffi::c_void;

/// A dtype of PyTorch's number.
pub(super) fn dtype(number: i32) -> Result<Dtype> {
    let known = i8::try_from(number).ok().and_then(Dtype::from_raw);
    known.ok_or_else(|| invalid(format!("{number} is no dtype that tensors can have here")))
}

/// Sizes and strides of C arrays; without strides, contiguous.
///
/// # Safety
/// The arrays are null or have `ndim` elements.
unsafe fn layout(ndim: i64, sizes: *const i64, strides: *const i64) -> Result<Layout> {
    let rank = rank(ndim)?;
    // SAFETY: promised by the caller.
    let sizes = unsafe { numbers(sizes, rank, "sizes") }?;
    if strides.is_null() {
        return Layout::contiguous(sizes);
    }
    // SAFETY: promised by the caller.
    Layout::strided(sizes, unsafe { numbers(strides, rank, "strides") }?)
}

/// A tensor over memory of the caller's, which must outlive it and its views. `data` is the storage's start;
/// `storage_offset` counts elements from there. Strides may be null: contiguous then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_create_tensor_from_blob(
    data: *mut c_void,
    ndim: i64,
    sizes: *const i64,
    strides: *const i64,
    storage_offset: i64,
    dtype: i32,
    device_type: i32,
    device_index: i32,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_create_tensor_from_blob", || {
        place(out)?;
        let (dtype, device) = (self::dtype(dtype)?, Place::new(device_type, device_index)?);
        // SAFETY: the module's contract.
        unsafe {
            let layout = layout(ndim, sizes, strides)?;
            give(out, Tensor::borrowed(data, device, dtype, layout, storage_offset)?)
        }
    })
}

/// As [`aoti_torch_create_tensor_from_blob`]; of layouts only the strided one (0) is known, and it has no metadata.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_create_tensor_from_blob_v2(
    data: *mut c_void,
    ndim: i64,
    sizes: *const i64,
    strides: *const i64,
    storage_offset: i64,
    dtype: i32,
    device_type: i32,
    device_index: i32,
    out: *mut *mut Tensor,
    layout: i32,
    _opaque_metadata: *const u8,
    _opaque_metadata_size: i64,
) -> et_error_t {
    if layout != 0 {
        return call("aoti_torch_create_tensor_from_blob_v2", || {
            Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                format!("layout {layout}: only strided tensors (0) are supported"),
            ))
        });
    }
    // SAFETY: the module's contract.
    unsafe {
        aoti_torch_create_tensor_from_blob(
            data,
            ndim,
            sizes,
            strides,
            storage_offset,
            dtype,
            device_type,
            device_index,
            out,
        )
    }
}

/// A tensor with memory of its own and undefined content; on CUDA allocated in the order of the device's current stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_empty_strided(
    ndim: i64,
    sizes: *const i64,
    strides: *const i64,
    dtype: i32,
    device_type: i32,
    device_index: i32,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_empty_strided", || {
        place(out)?;
        let (dtype, device) = (self::dtype(dtype)?, Place::new(device_type, device_index)?);
        // SAFETY: the module's contract.
        unsafe { give(out, Tensor::empty(device, dtype, layout(ndim, sizes, strides)?)?) }
    })
}

/// Deletes a handle; the memory goes with the last one that shares it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_delete_tensor_object(handle: *mut Tensor) -> et_error_t {
    call("aoti_torch_delete_tensor_object", || {
        if handle.is_null() {
            return Err(invalid("the tensor is null"));
        }
        // SAFETY: the module's contract; handles were boxes.
        drop(unsafe { Box::from_raw(handle) });
        Ok(())
    })
}

/// Another handle of the same tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_new_tensor_handle(
    handle: *mut Tensor,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_new_tensor_handle", || {
        // SAFETY: the module's contract.
        unsafe { give(out, tensor(handle, "orig_handle")?.clone()) }
    })
}

/// As [`aoti_torch_new_tensor_handle`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_assign_tensors_out(
    source: *mut Tensor,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_assign_tensors_out", || {
        // SAFETY: the module's contract.
        unsafe { give(out, tensor(source, "src")?.clone()) }
    })
}

/// Another view of the tensor's storage; the offset counts from the storage's start. What the view touches must lie in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch__reinterpret_tensor(
    handle: *mut Tensor,
    ndim: i64,
    sizes: *const i64,
    strides: *const i64,
    storage_offset: i64,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch__reinterpret_tensor", || {
        // SAFETY: the module's contract.
        unsafe {
            let (from, layout) = (tensor(handle, "self")?, layout(ndim, sizes, strides)?);
            give(out, Tensor::view(from.storage().clone(), from.dtype(), layout, storage_offset)?)
        }
    })
}

/// A view of the tensor's own rank and offset with other sizes and strides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_as_strided(
    handle: *mut Tensor,
    sizes: *const i64,
    strides: *const i64,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_as_strided", || {
        // SAFETY: the module's contract.
        unsafe {
            let from = tensor(handle, "self")?;
            let layout = layout(from.layout().rank() as i64, sizes, strides)?;
            give(out, Tensor::view(from.storage().clone(), from.dtype(), layout, from.offset())?)
        }
    })
}

/// A view of a pool of memory with a dtype of its own, `offset_bytes` after the pool tensor's first element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch__alloc_from_pool(
    pool: *mut Tensor,
    offset_bytes: i64,
    dtype: i32,
    ndim: i64,
    sizes: *const i64,
    strides: *const i64,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch__alloc_from_pool", || {
        let dtype = self::dtype(dtype)?;
        // SAFETY: the module's contract.
        let (pool, layout) = unsafe { (tensor(pool, "self")?, layout(ndim, sizes, strides)?) };
        let (size, old) = (dtype.size() as i64, pool.dtype().size() as i64);
        let bytes = pool.offset().checked_mul(old).and_then(|start| start.checked_add(offset_bytes));
        let offset = bytes.filter(|bytes| bytes % size == 0).map(|bytes| bytes / size);
        let offset = offset
            .ok_or_else(|| invalid(format!("offset {offset_bytes} is no place for {dtype} in the pool")))?;
        // SAFETY: the module's contract.
        unsafe { give(out, Tensor::view(pool.storage().clone(), dtype, layout, offset)?) }
    })
}

/// A tensor of its own memory with the same elements and strides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_clone(handle: *mut Tensor, out: *mut *mut Tensor) -> et_error_t {
    call("aoti_torch_clone", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe { give(out, copy::duplicate(tensor(handle, "self")?)?) }
    })
}

/// As [`aoti_torch_clone`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_clone_preserve_strides(
    handle: *mut Tensor,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_clone_preserve_strides", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe { give(out, copy::duplicate(tensor(handle, "self")?)?) }
    })
}

/// An empty tensor of 0 float32 elements on the host, to be assigned to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_new_uninitialized_tensor(out: *mut *mut Tensor) -> et_error_t {
    call("aoti_torch_new_uninitialized_tensor", || {
        place(out)?;
        let empty = Tensor::empty(Place::Host(0), Dtype::Float32, Layout::contiguous(&[0])?)?;
        // SAFETY: the module's contract.
        unsafe { write(out, Box::into_raw(Box::new(empty))) }
    })
}
