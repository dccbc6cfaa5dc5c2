//! The C functions of [`session`]: see `executorch_abi::cuda_state`, which declares and documents them.

use crate::session;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// Runs the body of a C function: its error, or a panic, becomes the thread's last error.
pub(crate) fn code(body: impl FnOnce() -> Result<()>) -> et_error_t {
    let bug = || Err(Error::new(ET_ERROR_INTERNAL, "the CUDA delegate hit a bug; please report it"));
    match guard(None, || Some(body())).unwrap_or_else(bug) {
        Ok(()) => ET_OK,
        Err(error) => error.set_last(),
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_create() -> i32 {
    guard(0, session::create)
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_destroy(context: i32) {
    guard((), || session::destroy(context));
}

/// See the header.
///
/// # Safety
/// `names` holds `count` NUL-terminated texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_cuda_state_register(
    context: i32,
    names: *const *const c_char,
    count: usize,
) -> et_error_t {
    code(|| {
        if names.is_null() && count > 0 {
            return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "the array of names is null"));
        }
        let mut texts = Vec::new();
        for index in 0..count {
            // SAFETY: the caller's promise.
            let name = unsafe { names.add(index).read() };
            if name.is_null() {
                return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, format!("name {index} is null")));
            }
            // SAFETY: the caller's promise.
            texts.push(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
        }
        session::register(context, texts)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_begin_load(context: i32) -> et_error_t {
    code(|| session::begin_load(context))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_end_load() {
    guard((), session::end_load);
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_is_available(context: i32) -> bool {
    guard(false, || session::is_available(context))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_bytes_per_session(context: i32) -> u64 {
    guard(0, || session::bytes(context))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_validate(context: i32) -> et_error_t {
    code(|| session::validate(context))
}

/// See the header.
///
/// # Safety
/// There is a place for the session's number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_cuda_state_create_session(context: i32, session: *mut i32) -> et_error_t {
    code(|| {
        if session.is_null() {
            return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "there is no place for the session's number"));
        }
        let token = session::create_session(context)?;
        // SAFETY: the caller's promise.
        unsafe { session.write(token) };
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_destroy_session(context: i32, session: i32) {
    guard((), || session::destroy_session(context, session));
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn et_cuda_state_set_active(context: i32, session: i32) {
    guard((), || session::set_active(context, session));
}
