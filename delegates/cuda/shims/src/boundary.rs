//! What every exported function does at its edge.

use crate::tensor::Tensor;
use executorch_abi::error::*;
use executorch_abi::{Error, Result, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an exported function: its error, or its panic, becomes the thread's last error and a code.
pub fn call(function: &'static str, body: impl FnOnce() -> Result<()>) -> et_error_t {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic_text(&*panic).unwrap_or_default();
        Err(Error::new(ET_ERROR_INTERNAL, format!("the shim library hit a bug: {text}; please report it")))
    });
    match result {
        Ok(()) => ET_OK,
        Err(error) => error.within(function).set_last(),
    }
}

/// An error about an argument.
pub fn invalid(message: impl Into<String>) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, message)
}

/// What CUDA's failures are to callers.
pub fn cuda(error: executorch_cuda_driver::Error) -> Error {
    use executorch_cuda_driver::Error as Cuda;
    let code = match &error {
        error if error.is_out_of_memory() => ET_ERROR_MEMORY_ALLOCATION_FAILED,
        Cuda::Argument(_) => ET_ERROR_INVALID_ARGUMENT,
        Cuda::Unavailable(_) => ET_ERROR_NOT_FOUND,
        _ => ET_ERROR_INTERNAL,
    };
    Error::new(code, error.to_string())
}

/// The tensor of a handle.
///
/// # Safety
/// `handle` is null, or came from this library and has not been deleted.
pub unsafe fn tensor<'a>(handle: *const Tensor, name: &str) -> Result<&'a Tensor> {
    // SAFETY: promised by the caller.
    unsafe { handle.as_ref() }.ok_or_else(|| invalid(format!("the tensor `{name}` is null")))
}

/// Fails if there is no place for a result, so that nothing is done whose result would be lost.
pub fn place<T>(out: *const T) -> Result<()> {
    if out.is_null() { Err(invalid("the place for the result is null")) } else { Ok(()) }
}

/// Writes a result.
///
/// # Safety
/// `out` is null or may be written.
pub unsafe fn write<T>(out: *mut T, value: T) -> Result<()> {
    place(out)?;
    // SAFETY: promised by the caller; not null.
    unsafe { out.write(value) };
    Ok(())
}

/// Hands a tensor over to the caller, who deletes it.
///
/// # Safety
/// As [`write`].
pub unsafe fn give(out: *mut *mut Tensor, tensor: Tensor) -> Result<()> {
    place(out)?;
    // SAFETY: promised by the caller; not null.
    unsafe { out.write(Box::into_raw(Box::new(tensor))) };
    Ok(())
}

/// `count` numbers of a C array.
///
/// # Safety
/// `data` is null or has `count` elements that stay as they are while the result is used.
pub unsafe fn numbers<'a>(data: *const i64, count: usize, name: &str) -> Result<&'a [i64]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(invalid(format!("`{name}` is null, where {count} numbers are needed")));
    }
    // SAFETY: promised by the caller.
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

/// A number of dimensions.
pub fn rank(ndim: i64) -> Result<usize> {
    usize::try_from(ndim)
        .ok()
        .filter(|&rank| rank <= crate::tensor::MAX_RANK)
        .ok_or_else(|| invalid(format!("{ndim} dimensions, expected 0 to {}", crate::tensor::MAX_RANK)))
}
