//! Messages to those who asked for the runtime's log.

use executorch_abi::log::{ET_LOG_INFO, et_log, et_log_enabled};
use std::ffi::CString;

/// Tells what happened and does not matter to the caller's results.
pub fn info(message: impl FnOnce() -> String) {
    // SAFETY: the function has no precondition.
    if unsafe { et_log_enabled(ET_LOG_INFO) }
        && let Ok(message) = CString::new(message().replace('\0', "\u{fffd}"))
    {
        // SAFETY: a NUL-terminated string that lives through the call.
        unsafe { et_log(ET_LOG_INFO, message.as_ptr()) };
    }
}
