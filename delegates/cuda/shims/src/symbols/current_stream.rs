//! The functions of `executorch/c/current_stream.h`, for the delegate.

use crate::stream;
use executorch_abi::current_stream as abi;
use std::ffi::c_void;
use std::panic::catch_unwind;

/// See `executorch_abi::current_stream::et_current_stream_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_current_stream_get(device: i32, out: *mut *mut c_void) -> bool {
    let found = catch_unwind(|| stream::current(stream::device(device).ok()?)).ok().flatten();
    let Some(raw) = found else { return false };
    if !out.is_null() {
        // SAFETY: the caller gives null or a place to write to.
        unsafe { out.write(raw) };
    }
    true
}

/// See `executorch_abi::current_stream::et_current_stream_set`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_current_stream_set(device: i32, stream: *mut c_void) {
    let _ =
        catch_unwind(|| stream::device(device).map(|device| stream::replace(device, Some(stream))).is_ok());
}

/// See `executorch_abi::current_stream::et_current_stream_clear`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_current_stream_clear(device: i32) {
    let _ = catch_unwind(|| stream::device(device).map(|device| stream::replace(device, None)).is_ok());
}

// The compiler compares the types with the declarations.
const _: unsafe extern "C" fn(i32, *mut *mut c_void) -> bool = abi::et_current_stream_get;
const _: unsafe extern "C" fn(i32, *mut *mut c_void) -> bool = et_current_stream_get;
const _: unsafe extern "C" fn(i32, *mut c_void) = abi::et_current_stream_set;
const _: unsafe extern "C" fn(i32, *mut c_void) = et_current_stream_set;
const _: unsafe extern "C" fn(i32) = abi::et_current_stream_clear;
const _: unsafe extern "C" fn(i32) = et_current_stream_clear;
