//! The calling thread's last error.

use super::abi;
use executorch_abi::Error;
use executorch_abi::error::*;
use executorch_abi::rust::error_name_c;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

thread_local! {
    static LAST: RefCell<(et_error_t, CString)> = RefCell::new((ET_OK, CString::default()));
}

/// Keeps an error for the thread.
pub(crate) fn set(error: &Error) {
    let message = CString::new(error.message.replace('\0', "\u{fffd}")).unwrap_or_default();
    LAST.with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = (error.code, message);
        }
    });
}

abi! {
    error::fn et_last_error_message() -> *const c_char, otherwise c"".as_ptr(), {
        LAST.with(|last| last.try_borrow().map_or(c"".as_ptr(), |last| last.1.as_ptr()))
    }
    error::fn et_last_error_code() -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        LAST.with(|last| last.try_borrow().map_or(ET_OK, |last| last.0))
    }
    error::fn et_set_last_error(code: et_error_t, message: *const c_char), otherwise (), {
        let text = if message.is_null() {
            String::new()
        } else {
            // SAFETY: the caller gives a NUL-terminated string.
            unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
        };
        set(&Error::new(code, text));
    }
    error::fn et_error_name(code: et_error_t) -> *const c_char, otherwise c"Unknown".as_ptr(), {
        error_name_c(code).as_ptr()
    }
}
