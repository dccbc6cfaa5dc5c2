//! Loaders that come with the runtime.

use super::{abi, code, give, given, string};
use crate::source::{self, Mlock};
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, OsStr, c_char};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn open(path: &CStr, mode: et_load_mode_t) -> Result<et_data_loader_t> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    match mode {
        ET_LOAD_FILE => source::open_read(path),
        ET_LOAD_MMAP => source::open_mapped(path, Mlock::No),
        ET_LOAD_MMAP_MLOCK => source::open_mapped(path, Mlock::Yes),
        ET_LOAD_MMAP_MLOCK_IGNORE_ERRORS => source::open_mapped(path, Mlock::Try),
        ET_LOAD_MMAP_MADVISE => source::open_mapped(path, Mlock::ReadAhead),
        other => {
            Err(Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{other} is no load mode, expected ET_LOAD_…")))
        }
    }
}

abi! {
    loader::fn et_data_loader_open_file(
        path: *const c_char,
        mode: et_load_mode_t,
        out: *mut et_data_loader_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a NUL-terminated string and a place for the loader.
        code(unsafe { string(path, "path").and_then(|path| open(path, mode)).and_then(|l| give(out, l)) })
    }
    loader::fn et_data_loader_from_descriptor(
        descriptor: i32,
        out: *mut et_data_loader_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        if descriptor < 0 {
            return code(Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("{descriptor} is no file descriptor"),
            )));
        }
        // SAFETY: the descriptor is not -1; a closed one makes the duplication fail.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        // SAFETY: the caller gives a place for the loader.
        code(source::open_descriptor(borrowed).and_then(|l| unsafe { give(out, l) }))
    }
    loader::fn et_data_loader_from_buffer(
        buffer: *const et_buffer_t,
        out: *mut et_data_loader_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a valid buffer and a place for the loader.
        code(unsafe { given(buffer, "buffer").and_then(|b| give(out, source::from_buffer(*b))) })
    }
}
