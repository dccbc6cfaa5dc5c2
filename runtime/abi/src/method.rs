//! Methods: a program's functions, loaded and ready to run.
//!
//! A method is used by one thread at a time.

use crate::backend::et_backend_options_t;
use crate::data_map::et_data_map_t;
use crate::error::et_error_t;
use crate::kernel::et_kernel_t;
use crate::memory::et_memory_manager_t;
use crate::program::et_method_meta_t;
use crate::tensor::et_tensor_t;
use crate::tracer::et_event_tracer_t;
use crate::value::et_value_t;
use std::ffi::{c_char, c_void};

/// A loaded method.
pub struct et_method_t {
    _private: (),
}

/// How a method is loaded. Everything is optional; what is pointed to must outlive the method, except
/// `backend_options`, which is read during the load only.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_method_options_t {
    /// `sizeof(et_method_options_t)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The caller's memory.
    pub memory: *const et_memory_manager_t,
    /// External data (from `.ptd` files).
    pub data_map: *const et_data_map_t,
    /// A tracer.
    pub tracer: *const et_event_tracer_t,
    /// `backend_options_count` entries.
    pub backend_options: *const et_backend_options_t,
    /// Their number.
    pub backend_options_count: usize,
    /// `kernel_count` kernels that are looked up before the registered ones.
    pub kernels: *const et_kernel_t,
    /// Their number.
    pub kernel_count: usize,
}

unsafe extern "C" {
    /// Frees a method. Null is ignored.
    pub fn et_method_release(method: *mut et_method_t);

    /// The method's metadata; valid as long as the method.
    pub fn et_method_metadata(method: *const et_method_t) -> *const et_method_meta_t;

    /// The number of inputs.
    pub fn et_method_input_count(method: *const et_method_t) -> usize;

    /// The number of outputs.
    pub fn et_method_output_count(method: *const et_method_t) -> usize;

    /// Sets input `index`.
    ///
    /// A tensor must have the input's dtype, rank and dim order, and sizes that the input allows. If the input's
    /// memory is planned, the data is copied; otherwise the method uses the caller's data until it is set again.
    /// The `et_tensor_t` itself is not kept. Numbers and strings must equal what the program was exported with.
    pub fn et_method_set_input(
        method: *mut et_method_t,
        index: usize,
        value: *const et_value_t,
    ) -> et_error_t;

    /// Input `index` as the method holds it; null past the end. Valid as long as the method.
    pub fn et_method_input(method: *mut et_method_t, index: usize) -> *mut et_value_t;

    /// Output `index`; null past the end. Valid as long as the method; the next run overwrites its data.
    pub fn et_method_output(method: *mut et_method_t, index: usize) -> *mut et_value_t;

    /// Lets output `index` be written to `data`, which must hold `size` bytes for all coming runs.
    ///
    /// Fails with `ET_ERROR_INVALID_STATE` if the output's memory is planned, and with
    /// `ET_ERROR_INVALID_ARGUMENT` if `size` is too small.
    pub fn et_method_set_output_data(
        method: *mut et_method_t,
        index: usize,
        data: *mut c_void,
        size: usize,
    ) -> et_error_t;

    /// Finds an attribute (a named mutable tensor); `ET_ERROR_NOT_FOUND` if there is none of this name.
    pub fn et_method_attribute(
        method: *mut et_method_t,
        name: *const c_char,
        out: *mut *mut et_tensor_t,
    ) -> et_error_t;

    /// Runs the method from its first instruction to its last. All inputs must be set.
    ///
    /// After a failure the method may be run again; state that the run changed before it stays changed.
    pub fn et_method_execute(method: *mut et_method_t) -> et_error_t;

    /// Runs one instruction; `ET_ERROR_END_OF_METHOD` after the last one.
    pub fn et_method_step(method: *mut et_method_t) -> et_error_t;

    /// Whether stepping has begun and not ended.
    pub fn et_method_in_progress(method: *const et_method_t) -> bool;

    /// Goes back to the first instruction.
    pub fn et_method_reset(method: *mut et_method_t) -> et_error_t;
}
