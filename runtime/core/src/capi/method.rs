//! Methods: inputs, runs, outputs. An `et_method_t` is a boxed [`Method`].

use super::program::meta;
use super::{abi, code, give, given, string};
use crate::method::Method;
use executorch_abi::error::*;
use executorch_abi::method::et_method_t;
use executorch_abi::program::et_method_meta_t;
use executorch_abi::tensor::et_tensor_t;
use executorch_abi::value::et_value_t;
use executorch_abi::{Error, Result};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

/// # Safety
/// `method` is null or a live method that this thread alone uses.
unsafe fn mutable<'a>(method: *mut et_method_t) -> Result<&'a mut Method> {
    // SAFETY: the caller's promise.
    unsafe { method.cast::<Method>().as_mut() }
        .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "the argument `method` is null"))
}

/// # Safety
/// As for [`mutable`].
unsafe fn shared<'a>(method: *const et_method_t) -> Result<&'a Method> {
    // SAFETY: the caller's promise.
    unsafe { given(method.cast::<Method>(), "method") }
}

abi! {
    method::fn et_method_release(method: *mut et_method_t), otherwise (), {
        if !method.is_null() {
            // SAFETY: the caller gives a live method away.
            drop(unsafe { Box::from_raw(method.cast::<Method>()) });
        }
    }
    method::fn et_method_metadata(method: *const et_method_t) -> *const et_method_meta_t, otherwise null(), {
        // SAFETY: the caller gives a live method, here and below.
        unsafe { shared(method) }.and_then(Method::plan).map_or(null(), meta)
    }
    method::fn et_method_input_count(method: *const et_method_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { shared(method) }.and_then(Method::plan).map_or(0, |p| p.inputs.len())
    }
    method::fn et_method_output_count(method: *const et_method_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { shared(method) }.and_then(Method::plan).map_or(0, |p| p.outputs.len())
    }
    method::fn et_method_set_input(
        method: *mut et_method_t,
        index: usize,
        value: *const et_value_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above, and a value that obeys the function's contract.
        code(unsafe { mutable(method).and_then(|m| m.set_input(index, given(value, "value")?)) })
    }
    method::fn et_method_input(method: *mut et_method_t, index: usize) -> *mut et_value_t, otherwise null_mut(), {
        // SAFETY: as above.
        unsafe { mutable(method) }.map_or(null_mut(), |m| m.value(index, false))
    }
    method::fn et_method_output(method: *mut et_method_t, index: usize) -> *mut et_value_t, otherwise null_mut(), {
        // SAFETY: as above.
        unsafe { mutable(method) }.map_or(null_mut(), |m| m.value(index, true))
    }
    method::fn et_method_set_output_data(
        method: *mut et_method_t,
        index: usize,
        data: *mut c_void,
        size: usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above, and memory that obeys the function's contract.
        code(unsafe { mutable(method).and_then(|m| m.set_output_data(index, data, size)) })
    }
    method::fn et_method_attribute(
        method: *mut et_method_t,
        name: *const c_char,
        out: *mut *mut et_tensor_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above, a NUL-terminated name, and a place for the tensor.
        code(unsafe { mutable(method).and_then(|m| give(out, m.attribute(string(name, "name")?)?)) })
    }
    method::fn et_method_execute(method: *mut et_method_t) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        code(unsafe { mutable(method) }.and_then(Method::execute))
    }
    method::fn et_method_step(method: *mut et_method_t) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        code(unsafe { mutable(method) }.and_then(Method::step))
    }
    method::fn et_method_in_progress(method: *const et_method_t) -> bool, otherwise false, {
        // SAFETY: as above.
        unsafe { shared(method) }.is_ok_and(Method::in_progress)
    }
    method::fn et_method_reset(method: *mut et_method_t) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        code(unsafe { mutable(method) }.map(Method::reset))
    }
}
