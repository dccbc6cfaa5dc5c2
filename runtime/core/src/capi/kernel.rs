//! What kernels ask for while they are prepared and while they run.

use super::{abi, code, give};
use crate::method::{Preparing, kernel_allocate, kernel_fail, kernel_tracer};
use executorch_abi::error::*;
use executorch_abi::kernel::{et_kernel_context_t, et_prepare_context_t};
use executorch_abi::tracer::et_event_tracer_t;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null;

/// # Safety
/// `context` is null or what a kernel's `prepare` was handed, during its call.
unsafe fn preparing<'a>(context: *mut et_prepare_context_t) -> Result<&'a mut Preparing<'a>> {
    // SAFETY: the caller's promise: the opaque context is a `Preparing`.
    unsafe { context.cast::<Preparing<'a>>().as_mut() }
        .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "the prepare context is null"))
}

abi! {
    kernel::fn et_kernel_context_fail(
        context: *mut et_kernel_context_t,
        error: et_error_t,
        message: *const c_char,
    ), otherwise (), {
        // SAFETY: the caller gives the context of its call, and a NUL-terminated string or null.
        unsafe {
            let text = if message.is_null() { String::new() } else { CStr::from_ptr(message).to_string_lossy().into() };
            kernel_fail(context, error, text);
        }
    }
    kernel::fn et_kernel_context_allocate(
        context: *mut et_kernel_context_t,
        size: usize,
        alignment: usize,
        out: *mut *mut c_void,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives the context of its call, and a place for the pointer.
        code(unsafe { kernel_allocate(context, size, alignment).and_then(|p| give(out, p)) })
    }
    kernel::fn et_kernel_context_tracer(
        context: *mut et_kernel_context_t,
    ) -> *const et_event_tracer_t, otherwise null(), {
        // SAFETY: the caller gives the context of its call.
        unsafe { kernel_tracer(context) }
    }
    kernel::fn et_prepare_is_constant(
        context: *mut et_prepare_context_t,
        index: usize,
    ) -> bool, otherwise false, {
        // SAFETY: the caller gives the context of its call.
        unsafe { preparing(context) }.is_ok_and(|p| p.is_constant(index))
    }
    kernel::fn et_prepare_constant_identity(
        context: *mut et_prepare_context_t,
        index: usize,
        identity: *mut u64,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives the context of its call, and a place for two numbers.
        code(unsafe {
            preparing(context).and_then(|p| p.identity(index)).and_then(|id| give(identity.cast::<[u64; 2]>(), id))
        })
    }
    kernel::fn et_prepare_release_constant(
        context: *mut et_prepare_context_t,
        index: usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives the context of its call.
        code(unsafe { preparing(context) }.and_then(|p| p.release(index)))
    }
    kernel::fn et_prepare_reserve(
        context: *mut et_prepare_context_t,
        size: usize,
        alignment: usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives the context of its call.
        code(unsafe { preparing(context) }.and_then(|p| p.reserve(size, alignment)))
    }
}
