//! Named data: `.ptd` files, named blobs of a program, and maps of the caller.

use crate::error::et_error_t;
use crate::loader::{et_buffer_t, et_data_loader_t};
use crate::tensor::et_dtype_t;
use std::ffi::{c_char, c_void};

/// The layout of a named tensor. The pointers live as long as the map.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_tensor_layout_t {
    /// `rank` sizes.
    pub sizes: *const i32,
    /// `rank` dimension numbers, outermost first.
    pub dim_order: *const u8,
    /// The number of dimensions.
    pub rank: usize,
    /// Bytes of the whole tensor.
    pub nbytes: u64,
    /// The element type.
    pub dtype: et_dtype_t,
    /// Zero.
    pub reserved: [u8; 7],
}

/// A map from names to data. Its functions must be thread-safe; keys are NUL-terminated.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_data_map_t {
    /// `sizeof(et_data_map_t)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Passed to every function.
    pub user_data: *mut c_void,
    /// Writes the layout of `key`; `ET_ERROR_NOT_FOUND` if there is no such key, `ET_ERROR_NOT_SUPPORTED`
    /// if it is a blob without a layout.
    pub layout: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            key: *const c_char,
            out: *mut et_tensor_layout_t,
        ) -> et_error_t,
    >,
    /// Makes the bytes of `key` available; the receiver frees the buffer.
    pub data: Option<
        unsafe extern "C" fn(user_data: *mut c_void, key: *const c_char, out: *mut et_buffer_t) -> et_error_t,
    >,
    /// Copies the first `size` bytes of `key` to `destination`; null to use `data` and copy.
    pub load_into: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            key: *const c_char,
            destination: *mut c_void,
            size: usize,
        ) -> et_error_t,
    >,
    /// The number of keys.
    pub count: Option<unsafe extern "C" fn(user_data: *mut c_void) -> usize>,
    /// Key number `index`, valid as long as the map; null past the end.
    pub key: Option<unsafe extern "C" fn(user_data: *mut c_void, index: usize) -> *const c_char>,
    /// Called once when the map is no longer needed; null if there is nothing to do.
    pub destroy: Option<unsafe extern "C" fn(user_data: *mut c_void)>,
}

unsafe extern "C" {
    /// Reads a `.ptd` (FlatTensor) file through a loader, of which it takes ownership, also on failure.
    ///
    /// The caller calls the map's `destroy`, after every method that uses it is released. Everything is
    /// verified here: `ET_ERROR_INVALID_EXTERNAL_DATA` says what is wrong and where.
    pub fn et_data_map_load(loader: *const et_data_loader_t, out: *mut et_data_map_t) -> et_error_t;

    /// One map over several; keys must not repeat (`ET_ERROR_INVALID_ARGUMENT` names the key). The parts are
    /// borrowed and must outlive it.
    pub fn et_data_map_merge(
        maps: *const *const et_data_map_t,
        count: usize,
        out: *mut et_data_map_t,
    ) -> et_error_t;
}
