//! Checks, warnings, modes, and marks of profilers.

use crate::boundary::{call, write};
use crate::throw::Thrower;
use executorch_abi::Error;
use executorch_abi::error::*;
use executorch_abi::log::{ET_LOG_ERROR, ET_LOG_INFO, et_log};
use std::ffi::{CStr, CString, c_char, c_void};

/// Does nothing if `condition` holds. Otherwise throws a C++ `std::runtime_error` with the message, which the model's container
/// turns into an error of the call; see `throw.rs`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn aoti_torch_check(
    condition: bool,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    message: *const c_char,
) {
    if condition {
        return;
    }
    // Nothing in this frame is dropped: the exception passes through it.
    // SAFETY: the module's contract.
    let (thrower, text) = unsafe { failed(function, file, line, message) };
    match thrower {
        // SAFETY: no frame between here and the caller, which is C++, has anything to drop.
        Some(thrower) => unsafe { thrower.throw(text) },
        None => std::process::abort(),
    }
}

/// The reason, kept for the thread and logged, as a string that lives as long as the thread needs it; and the way out.
///
/// # Safety
/// The strings are null or NUL-terminated.
#[cold]
unsafe fn failed(
    function: *const c_char,
    file: *const c_char,
    line: u32,
    message: *const c_char,
) -> (Option<Thrower>, *const c_char) {
    // SAFETY: promised by the caller.
    let text = unsafe { told(function, file, line, message) };
    Error::new(ET_ERROR_INTERNAL, format!("a check of the compiled model failed: {text}")).set_last();
    let thrower = Thrower::find();
    if thrower.is_none() {
        log(ET_LOG_ERROR, &text);
    }
    // SAFETY: takes nothing. The message just set stays until the next call into the runtime on this thread.
    (thrower, unsafe { et_last_error_message() })
}

/// Logs a warning of the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_warn(
    function: *const c_char,
    file: *const c_char,
    line: u32,
    message: *const c_char,
) {
    let _ = std::panic::catch_unwind(|| {
        // SAFETY: the module's contract.
        log(ET_LOG_INFO, &unsafe { told(function, file, line, message) });
    });
}

/// # Safety
/// The strings are null or NUL-terminated.
unsafe fn told(function: *const c_char, file: *const c_char, line: u32, message: *const c_char) -> String {
    let read = |string: *const c_char| {
        if string.is_null() {
            return "?".into();
        }
        // SAFETY: promised by the caller; not null.
        unsafe { CStr::from_ptr(string) }.to_string_lossy()
    };
    format!("{} ({} at {}:{line})", read(message), read(function), read(file))
}

fn log(level: u8, text: &str) {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: a NUL-terminated string.
    unsafe { et_log(level, text.as_ptr()) };
}

/// False: nothing here computes gradients.
#[unsafe(no_mangle)]
pub extern "C" fn aoti_torch_grad_mode_is_enabled() -> bool {
    false
}

/// Turning gradients off succeeds, turning them on is `NotSupported`. (PyTorch's returns nothing, which a caller cannot tell.)
#[unsafe(no_mangle)]
pub extern "C" fn aoti_torch_grad_mode_set_enabled(enabled: bool) -> et_error_t {
    call("aoti_torch_grad_mode_set_enabled", || match enabled {
        false => Ok(()),
        true => Err(Error::new(ET_ERROR_NOT_SUPPORTED, "gradients are not computed here")),
    })
}

/// Begins a mark for a profiler: nothing, and the handle is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_record_function_start(
    _name: *const c_char,
    _arguments: *mut c_void,
    _inputs: *const *mut c_void,
    _count: u64,
    out: *mut *mut c_void,
) -> et_error_t {
    // SAFETY: the module's contract.
    call("aoti_record_function_start", || unsafe { write(out, std::ptr::null_mut()) })
}

/// Ends a mark: nothing.
#[unsafe(no_mangle)]
pub extern "C" fn aoti_record_function_end(_guard: *mut c_void) -> et_error_t {
    ET_OK
}
