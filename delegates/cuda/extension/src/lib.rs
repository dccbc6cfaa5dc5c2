//! The CUDA stream that a caller chooses for its thread: `libexecutorch_extension_cuda.so.1`.
//!
//! A library of its own, because the choice is one thread-local for the whole process: the caller and every delegate that
//! asks for it must mean the same one. The crate `executorch-abi` declares the functions (`caller_stream`).

use std::cell::Cell;
use std::ffi::c_void;

thread_local! {
    /// Constant and without a destructor: nothing is allocated, and it can be asked at any time of a thread's life.
    static CHOSEN: Cell<Option<*mut c_void>> = const { Cell::new(None) };
}

/// Whether the calling thread has chosen a stream, which is written to `stream` then, unless that is null.
///
/// # Safety
/// `stream` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn et_caller_stream_get(stream: *mut *mut c_void) -> bool {
    let Some(chosen) = CHOSEN.get() else { return false };
    if !stream.is_null() {
        // SAFETY: promised by the caller.
        unsafe { stream.write(chosen) };
    }
    true
}

/// Chooses `stream` for the calling thread. It is only kept, never used here.
#[unsafe(no_mangle)]
pub extern "C" fn et_caller_stream_set(stream: *mut c_void) {
    CHOSEN.set(Some(stream));
}

/// Undoes the calling thread's choice.
#[unsafe(no_mangle)]
pub extern "C" fn et_caller_stream_clear() {
    CHOSEN.set(None);
}
