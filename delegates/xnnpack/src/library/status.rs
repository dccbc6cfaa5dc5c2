//! The library's status codes as errors.

use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_xnnpack_sys as sys;

/// Turns a status into a result; `what` says what the library was asked to do.
#[inline]
pub fn check(status: sys::xnn_status, what: impl FnOnce() -> String) -> Result<()> {
    if status == sys::xnn_status::xnn_status_success { Ok(()) } else { Err(failure(status, &what())) }
}

#[cold]
fn failure(status: sys::xnn_status, what: &str) -> Error {
    let code = match status {
        // Payloads are checked before: a parameter that it calls invalid is one that it lacks kernels for.
        sys::xnn_status::xnn_status_invalid_parameter
        | sys::xnn_status::xnn_status_unsupported_parameter
        | sys::xnn_status::xnn_status_unsupported_hardware => ET_ERROR_NOT_SUPPORTED,
        sys::xnn_status::xnn_status_out_of_memory => ET_ERROR_MEMORY_ALLOCATION_FAILED,
        _ => ET_ERROR_INTERNAL,
    };
    Error::new(code, format!("XNNPACK could not {what}: {}", sys::status_name(status)))
}
