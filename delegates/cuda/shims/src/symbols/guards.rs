//! Current devices and streams, and memory of the current device.

use crate::boundary::{call, cuda, invalid, place, write};
use crate::guard::{CudaGuard, CudaStreamGuard};
use crate::stream;
use executorch_abi::error::et_error_t;
use executorch_cuda_driver::{Cuda, memory};
use std::ffi::c_void;

/// Makes a device current until the guard is deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_create_cuda_guard(
    device_index: i32,
    out: *mut *mut CudaGuard,
) -> et_error_t {
    call("aoti_torch_create_cuda_guard", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe { write(out, Box::into_raw(Box::new(CudaGuard::new(device_index)?))) }
    })
}

/// Goes back to the device that was current before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_delete_cuda_guard(guard: *mut CudaGuard) -> et_error_t {
    call("aoti_torch_delete_cuda_guard", || {
        if guard.is_null() {
            return Err(invalid("the guard is null"));
        }
        // SAFETY: the module's contract; guards were boxes.
        drop(unsafe { Box::from_raw(guard) });
        Ok(())
    })
}

/// Makes another device current under the same guard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_guard_set_index(
    guard: *mut CudaGuard,
    device_index: i32,
) -> et_error_t {
    call("aoti_torch_cuda_guard_set_index", || {
        // SAFETY: the module's contract.
        unsafe { guard.as_ref() }.ok_or_else(|| invalid("the guard is null"))?.set(device_index)
    })
}

/// Makes a device current, and `stream` its current stream, until the guard is deleted. Null is CUDA's default stream, which a
/// caller may have chosen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_create_cuda_stream_guard(
    stream: *mut c_void,
    device_index: i32,
    out: *mut *mut CudaStreamGuard,
) -> et_error_t {
    call("aoti_torch_create_cuda_stream_guard", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe { write(out, Box::into_raw(Box::new(CudaStreamGuard::new(stream, device_index)?))) }
    })
}

/// Goes back to the stream and the device that were current before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_delete_cuda_stream_guard(guard: *mut CudaStreamGuard) -> et_error_t {
    call("aoti_torch_delete_cuda_stream_guard", || {
        if guard.is_null() {
            return Err(invalid("the guard is null"));
        }
        // SAFETY: the module's contract; guards were boxes.
        drop(unsafe { Box::from_raw(guard) });
        Ok(())
    })
}

/// The current stream of a device (-1: of the current one). If there is none, one is made and stays current.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_get_current_cuda_stream(
    device_index: i32,
    out: *mut *mut c_void,
) -> et_error_t {
    call("aoti_torch_get_current_cuda_stream", || {
        place(out)?;
        // SAFETY: the module's contract.
        unsafe { write(out, stream::current_or_new(stream::device(device_index)?)?) }
    })
}

/// The calling thread's current device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_get_current_device_index(out: *mut i32) -> et_error_t {
    call("aoti_torch_get_current_device_index", || {
        // SAFETY: the module's contract.
        unsafe { write(out, stream::device(-1)?.0) }
    })
}

/// Memory of the current device, for whichever stream; nothing is cached here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_caching_allocator_raw_alloc(
    bytes: u64,
    out: *mut *mut c_void,
) -> et_error_t {
    call("aoti_torch_cuda_caching_allocator_raw_alloc", || {
        place(out)?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let data = memory::allocate(Cuda::get().map_err(cuda)?, bytes).map_err(cuda)?;
        // SAFETY: the module's contract.
        unsafe { write(out, data) }
    })
}

/// Frees what [`aoti_torch_cuda_caching_allocator_raw_alloc`] gave, after waiting for the device; null is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_caching_allocator_raw_delete(data: *mut c_void) -> et_error_t {
    call("aoti_torch_cuda_caching_allocator_raw_delete", || {
        if data.is_null() {
            return Ok(());
        }
        // SAFETY: the module's contract.
        unsafe { memory::free(Cuda::get().map_err(cuda)?, data) }.map_err(cuda)
    })
}
