//! Strings on their way through the ABI.

use executorch_abi::error::ET_ERROR_INVALID_ARGUMENT;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, CString, c_char};

/// A string argument; a NUL in it cannot cross the ABI.
pub fn to_c(text: &str, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{what} {text:?} contains a NUL character"))
    })
}

/// A copy of a string of the runtime; none for a null pointer.
///
/// # Safety
/// `text` is null or NUL-terminated and valid during the call.
pub unsafe fn from_c(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
