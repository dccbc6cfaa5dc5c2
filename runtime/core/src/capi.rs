//! The functions of the C ABI that the core defines, one file per noun.
//!
//! [`abi!`] defines each one: the compiler compares its type with the declaration in `executorch-abi`, from which
//! the header is made, and a panic becomes `ET_ERROR_INTERNAL` (or the function's neutral value) instead of
//! crossing the boundary.

mod data_map;
mod device;
mod error;
mod kernel;
mod loader;
mod log;
mod method;
mod program;
mod registration;
mod tensor;

use executorch_abi::error::*;
use executorch_abi::{Error, Result, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Defines functions of the ABI.
macro_rules! abi {
    ($(
        $module:ident :: fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)?, otherwise $otherwise:expr, $body:block
    )*) => {$(
        #[doc = concat!("See `executorch_abi::", stringify!($module), "::", stringify!($name), "`.")]
        #[allow(clippy::missing_safety_doc)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $result)? {
            crate::capi::guard(|| $body, || $otherwise)
        }
        const _: unsafe extern "C" fn($($type),*) $(-> $result)? = executorch_abi::$module::$name;
    )*};
}
pub(crate) use abi;

/// Runs the body of an ABI function; a panic is kept as the thread's last error.
pub(crate) fn guard<T>(body: impl FnOnce() -> T, otherwise: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic_text(&*panic).unwrap_or_default();
        error::set(&Error::new(
            ET_ERROR_INTERNAL,
            format!("the runtime hit a bug: {text}; please report it"),
        ));
        otherwise()
    })
}

/// A result as the ABI gives it: the code, with the message kept for the thread.
pub(crate) fn code(result: Result<()>) -> et_error_t {
    match result {
        Ok(()) => ET_OK,
        Err(error) => {
            error::set(&error);
            error.code
        }
    }
}

/// A pointer argument that must not be null.
///
/// # Safety
/// `pointer` is null or valid during `'a`.
pub(crate) unsafe fn given<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// A string argument that must not be null.
///
/// # Safety
/// `pointer` is null or a NUL-terminated string that is valid during `'a`.
pub(crate) unsafe fn string<'a>(pointer: *const std::ffi::c_char, what: &str) -> Result<&'a std::ffi::CStr> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::ffi::CStr::from_ptr(pointer) })
}

/// Writes an out-parameter.
///
/// # Safety
/// `out` is null or a place for a `T`.
pub(crate) unsafe fn give<T>(out: *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(null("out"));
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(value) };
    Ok(())
}

fn null(what: &str) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the argument `{what}` is null"))
}
