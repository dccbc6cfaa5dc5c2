//! The CUDA stream that the calling thread chose for delegates, and what it means for memory that others pass in or take.
//!
//! With a stream chosen, calls may return before the device is done, and everything is in order on that stream. Without
//! one, delegates work on streams of their own, which come after CUDA's legacy default stream, and a call that leaves
//! anything on a device waits for the device before it returns.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

type Get = unsafe extern "C" fn(*mut *mut c_void) -> bool;

/// CUDA's legacy default stream, as DLPack numbers it: 0 would leave open which default stream is meant.
pub const LEGACY: i64 = 1;

/// `et_caller_stream_get`, if the library that keeps the choice is loaded: nobody chose anything before.
fn get() -> Option<Get> {
    static FOUND: OnceLock<Get> = OnceLock::new();
    if let Some(&get) = FOUND.get() {
        return Some(get);
    }
    // SAFETY: NUL-terminated names. Nothing is loaded; a library that is here stays as long as the process.
    unsafe {
        let name = c"libexecutorch_extension_cuda.so.1";
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            return None;
        }
        let symbol = libc::dlsym(library, c"et_caller_stream_get".as_ptr());
        if symbol.is_null() {
            return None;
        }
        // SAFETY: the ABI declares a function of this type by this name.
        Some(*FOUND.get_or_init(|| std::mem::transmute::<*mut c_void, Get>(symbol)))
    }
}

/// The stream that this thread chose, as DLPack numbers it; none if it chose none.
pub fn chosen() -> Option<i64> {
    let get = get()?;
    let mut stream = null_mut();
    // SAFETY: a place for the stream.
    if !unsafe { get(&mut stream) } {
        return None;
    }
    // CUDA's null stream is the legacy default one.
    Some(if stream.is_null() { LEGACY } else { stream.addr() as i64 })
}

/// The stream on which memory that is passed in has to be ready.
pub fn used() -> i64 {
    chosen().unwrap_or(LEGACY)
}
