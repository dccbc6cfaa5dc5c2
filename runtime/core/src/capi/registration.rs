//! Registering kernels, backends and device allocators, and asking for them.

use super::{abi, code, string};
use crate::{prim, registry};
use executorch_abi::backend::et_backend_t;
use executorch_abi::error::*;
use executorch_abi::kernel::et_kernel_t;
use executorch_abi::registration::et_registration_t;
use std::ffi::{CStr, c_char};
use std::ptr::null;

fn pointer(text: Option<&'static CStr>) -> *const c_char {
    text.map_or(null(), CStr::as_ptr)
}

abi! {
    kernel::fn et_register_kernels(
        registration: *const et_registration_t,
        kernels: *const et_kernel_t,
        count: usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller obeys the function's contract.
        code(unsafe { registry::register_kernels(registration, kernels, count) })
    }
    kernel::fn et_kernel_count() -> usize, otherwise 0, {
        registry::kernel_count()
    }
    kernel::fn et_kernel_name(index: usize) -> *const c_char, otherwise null(), {
        pointer(registry::kernel_name(index))
    }
    kernel::fn et_kernel_exists(name: *const c_char) -> bool, otherwise false, {
        // SAFETY: the caller gives a NUL-terminated string.
        unsafe { string(name, "name") }.is_ok_and(|name| prim::find(name).is_some() || registry::has_kernel(name))
    }
    backend::fn et_register_backend(
        registration: *const et_registration_t,
        backend: *const et_backend_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller obeys the function's contract.
        code(unsafe { registry::register_backend(registration, backend) })
    }
    backend::fn et_backend_count() -> usize, otherwise 0, {
        registry::backend_count()
    }
    backend::fn et_backend_name(index: usize) -> *const c_char, otherwise null(), {
        pointer(registry::backend_name(index))
    }
    backend::fn et_backend_find(name: *const c_char) -> *const et_backend_t, otherwise null(), {
        // SAFETY: the caller gives a NUL-terminated string.
        unsafe { string(name, "name") }.ok().and_then(registry::given_backend).unwrap_or(null())
    }
    backend::fn et_backend_is_available(name: *const c_char) -> bool, otherwise false, {
        // SAFETY: the caller gives a NUL-terminated string.
        let backend = unsafe { string(name, "name") }.ok().and_then(registry::find_backend);
        backend.is_some_and(registry::is_available)
    }
    registration::fn et_registration_error_count() -> usize, otherwise 0, {
        registry::error_count()
    }
    registration::fn et_registration_error(index: usize) -> *const c_char, otherwise null(), {
        pointer(registry::error(index))
    }
    registration::fn et_version() -> *const c_char, otherwise null(), {
        registry::VERSION.as_ptr()
    }
}
