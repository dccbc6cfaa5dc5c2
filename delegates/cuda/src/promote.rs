//! Makes the shim library's functions visible to the libraries that import them.
//!
//! Python loads extension modules, and with them the delegate and the shim library, for themselves only. A compiled model
//! is not linked to the shim library: it finds its functions among those that are visible to all.

use crate::shim;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::{file_of, visible};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, c_void};
use std::path::PathBuf;
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
    if visible(PROBE) != own {
        let path = file(own)?;
        // SAFETY: the library is loaded already: nothing runs, and the flag keeps it so.
        let promoted = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL | libc::RTLD_NOLOAD) };
        // Visible from now on for as long as it is loaded, which the delegate sees to: it is linked to it.
        drop(promoted);
    }
    let found = visible(PROBE);
    if found != own {
        let what = if found.is_null() {
            "its functions could not be made visible".to_owned()
        } else {
            format!("{} has functions of the same names, visible to all", file(found)?.display())
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

fn file(address: *const c_void) -> Result<PathBuf> {
    let untold = || Error::new(ET_ERROR_INTERNAL, "the file of libaoti_cuda_shims.so.1 cannot be told");
    file_of(address).ok_or_else(untold)
}
