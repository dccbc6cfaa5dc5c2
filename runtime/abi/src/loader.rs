//! Data loaders: where the bytes of a program or data file come from.

use crate::error::et_error_t;
use std::ffi::{c_char, c_void};

/// Bytes and how to give them back.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_buffer_t {
    /// The first byte; may be null if `size` is 0.
    pub data: *const c_void,
    /// The number of bytes.
    pub size: usize,
    /// Called once when the bytes are no longer needed, from any thread; null if nothing has to be done.
    pub free: Option<unsafe extern "C" fn(context: *mut c_void, data: *const c_void, size: usize)>,
    /// Passed to `free`.
    pub context: *mut c_void,
}

/// What a loaded range is for: one of the `ET_SEGMENT_…` constants.
pub type et_segment_kind_t = u32;
/// The program's structure.
pub const ET_SEGMENT_PROGRAM: et_segment_kind_t = 0;
/// Constants.
pub const ET_SEGMENT_CONSTANT: et_segment_kind_t = 1;
/// A delegate's payload.
pub const ET_SEGMENT_BACKEND: et_segment_kind_t = 2;
/// Initial values of mutable state.
pub const ET_SEGMENT_MUTABLE: et_segment_kind_t = 3;
/// An external data file.
pub const ET_SEGMENT_EXTERNAL: et_segment_kind_t = 4;

/// What the loader is asked for, so that it can place or log it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_segment_info_t {
    /// `sizeof(et_segment_info_t)`.
    pub struct_size: u32,
    /// What the range is for.
    pub kind: et_segment_kind_t,
    /// The segment's index in the file.
    pub index: usize,
    /// A name (a backend's id, a data key); null if there is none.
    pub descriptor: *const c_char,
}

/// A source of bytes. The table is copied by the call that takes it; its functions must be thread-safe.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_data_loader_t {
    /// `sizeof(et_data_loader_t)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Passed to every function.
    pub user_data: *mut c_void,
    /// Makes `size` bytes at `offset` available, aligned to at least 16 in memory. The runtime frees the buffer.
    pub load: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            offset: u64,
            size: usize,
            info: *const et_segment_info_t,
            out: *mut et_buffer_t,
        ) -> et_error_t,
    >,
    /// Reads `size` bytes at `offset` to `destination`; null to let the runtime use `load` and copy.
    pub load_into: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            offset: u64,
            size: usize,
            info: *const et_segment_info_t,
            destination: *mut c_void,
        ) -> et_error_t,
    >,
    /// Writes the number of bytes that can be loaded.
    pub size: Option<unsafe extern "C" fn(user_data: *mut c_void, out: *mut u64) -> et_error_t>,
    /// Called once when the loader is no longer needed; null if the caller keeps it alive and frees it.
    pub destroy: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
}

/// How a file is brought into memory: one of the `ET_LOAD_…` constants.
pub type et_load_mode_t = u32;
/// Read into memory of the runtime.
pub const ET_LOAD_FILE: et_load_mode_t = 0;
/// Map it; pages come in as they are used. The file must not be truncated while it is mapped.
pub const ET_LOAD_MMAP: et_load_mode_t = 1;
/// Map it and lock the pages in memory; a failure to lock is an error.
pub const ET_LOAD_MMAP_MLOCK: et_load_mode_t = 2;
/// Map it and try to lock the pages.
pub const ET_LOAD_MMAP_MLOCK_IGNORE_ERRORS: et_load_mode_t = 3;
/// Map it and ask the kernel to read ahead.
pub const ET_LOAD_MMAP_MADVISE: et_load_mode_t = 4;

unsafe extern "C" {
    /// A loader of a file. The caller passes it on, or calls its `destroy`.
    ///
    /// Fails with `ET_ERROR_NOT_FOUND` or `ET_ERROR_ACCESS_FAILED` naming the path.
    pub fn et_data_loader_open_file(
        path: *const c_char,
        mode: et_load_mode_t,
        out: *mut et_data_loader_t,
    ) -> et_error_t;

    /// A loader that reads from a duplicate of an open file descriptor, positions untouched.
    pub fn et_data_loader_from_descriptor(descriptor: i32, out: *mut et_data_loader_t) -> et_error_t;

    /// A loader over bytes of the caller, aligned to at least 16, used in place. They must outlive whatever
    /// is loaded from them. `free` (may be null) is called with `context` when the loader is destroyed.
    pub fn et_data_loader_from_buffer(buffer: *const et_buffer_t, out: *mut et_data_loader_t) -> et_error_t;
}
