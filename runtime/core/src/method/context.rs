//! What kernels may ask for while they run.

use super::memory::Scratch;
use executorch_abi::error::*;
use executorch_abi::kernel::et_kernel_context_t;
use executorch_abi::tracer::et_event_tracer_t;
use executorch_abi::{Error, Result};
use std::ffi::c_void;
use std::ptr;

/// Behind `et_kernel_context_t::internal`.
pub struct Running<'a> {
    /// Memory for the call.
    pub scratch: &'a mut Scratch,
    /// The run's tracer, or null.
    pub tracer: *const et_event_tracer_t,
    /// The message of the first failure.
    pub message: Option<String>,
}

/// # Safety
/// `context` is null or what a kernel was handed, during its call.
unsafe fn running<'a>(
    context: *mut et_kernel_context_t,
) -> Option<(&'a mut et_kernel_context_t, &'a mut Running<'a>)> {
    // SAFETY: the caller's promise: `internal` points to the `Running` of this call.
    unsafe {
        let context = context.as_mut()?;
        let running = context.internal.cast::<Running<'a>>().as_mut()?;
        Some((context, running))
    }
}

/// Keeps a kernel's failure.
///
/// # Safety
/// As for the functions of the ABI.
pub unsafe fn kernel_fail(context: *mut et_kernel_context_t, code: et_error_t, message: String) {
    // SAFETY: the caller's promise.
    if let Some((context, running)) = unsafe { running(context) }
        && context.error == ET_OK
    {
        context.error = if code == ET_OK { ET_ERROR_INTERNAL } else { code };
        running.message = Some(message);
    }
}

/// Memory for the rest of a kernel's call.
///
/// # Safety
/// As for the functions of the ABI.
pub unsafe fn kernel_allocate(
    context: *mut et_kernel_context_t,
    size: usize,
    alignment: usize,
) -> Result<*mut c_void> {
    // SAFETY: the caller's promise.
    let (_, running) = unsafe { running(context) }
        .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "the kernel context is null"))?;
    running.scratch.allocate(size, alignment)
}

/// The tracer of a kernel's run, or null.
///
/// # Safety
/// As for the functions of the ABI.
pub unsafe fn kernel_tracer(context: *mut et_kernel_context_t) -> *const et_event_tracer_t {
    // SAFETY: the caller's promise.
    unsafe { running(context) }.map_or(ptr::null(), |(_, r)| r.tracer)
}
