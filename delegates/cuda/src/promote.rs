//! Makes the shim library's functions visible to the libraries that import them.
//!
//! Python loads extension modules, and with them the delegate and the shim library, for themselves only. A compiled model
//! is not linked to the shim library: it finds its functions among those that are visible to all.

use crate::shim;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// A function that compiled models import.
const PROBE: &CStr = c"aoti_torch_get_data_ptr";

static DONE: OnceLock<()> = OnceLock::new();

/// Makes them visible, once for the process; again if that failed.
pub fn shims() -> Result<()> {
    if DONE.get().is_some() {
        return Ok(());
    }
    let own = shim::address();
    if visible() != own {
        let path = file_of(own)?;
        // SAFETY: the library is loaded already: nothing runs, and the flag keeps it so.
        let promoted = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL | libc::RTLD_NOLOAD) };
        // Visible from now on for as long as it is loaded, which the delegate sees to: it is linked to it.
        drop(promoted);
    }
    let found = visible();
    if found != own {
        let what = if found.is_null() {
            "its functions could not be made visible".to_owned()
        } else {
            format!("{} has functions of the same names, visible to all", file_of(found)?)
        };
        return Err(Error::new(
            ET_ERROR_INVALID_STATE,
            format!(
                "compiled models would not find libaoti_cuda_shims.so.1: {what}; load no such library with RTLD_GLOBAL, and do \
                 not link the program to PyTorch's C++ libraries"
            ),
        ));
    }
    let _ = DONE.set(());
    Ok(())
}

/// What a library that is loaded now would find. The program's own scope is asked, not this library's (`RTLD_DEFAULT`), which
/// has what this library is linked to before all others.
fn visible() -> *const c_void {
    let program = Library::this();
    // SAFETY: the address is only compared.
    unsafe { program.get::<*const c_void>(PROBE.to_bytes_with_nul()) }
        .map_or(std::ptr::null(), |found| *found)
}

fn file_of(address: *const c_void) -> Result<String> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for, and there is a place for the answer.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    // SAFETY: zeroed, which is a valid value, or filled.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return Err(Error::new(ET_ERROR_INTERNAL, "the file of libaoti_cuda_shims.so.1 cannot be told"));
    }
    // SAFETY: the loader's names are NUL-terminated and live as long as their library.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}
