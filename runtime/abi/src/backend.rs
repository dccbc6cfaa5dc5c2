//! Backends: delegates that run a part of a program.

use crate::data_map::et_data_map_t;
use crate::error::et_error_t;
use crate::loader::et_buffer_t;
use crate::memory::et_allocator_t;
use crate::registration::et_registration_t;
use crate::tracer::et_event_tracer_t;
use crate::value::et_value_t;
use std::ffi::{c_char, c_void};

/// Bytes in an option's key, its NUL included.
pub const ET_OPTION_KEY_SIZE: usize = 64;
/// Bytes in an option's string, its NUL included.
pub const ET_OPTION_STRING_SIZE: usize = 256;

/// What an option holds: one of the `ET_OPTION_…` constants.
pub type et_option_kind_t = u32;
/// A boolean, in `number` as 0 or 1.
pub const ET_OPTION_BOOL: et_option_kind_t = 0;
/// An integer, in `number`.
pub const ET_OPTION_INT: et_option_kind_t = 1;
/// A string, in `string`.
pub const ET_OPTION_STRING: et_option_kind_t = 2;

/// One option of a backend.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_backend_option_t {
    /// Its key, NUL-terminated.
    pub key: [c_char; ET_OPTION_KEY_SIZE],
    /// What it holds.
    pub kind: et_option_kind_t,
    /// The boolean or integer.
    pub number: i32,
    /// The string, NUL-terminated.
    pub string: [c_char; ET_OPTION_STRING_SIZE],
}

/// Options for one backend, given when a method is loaded.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_backend_options_t {
    /// The backend's id.
    pub backend: *const c_char,
    /// `count` options.
    pub options: *const et_backend_option_t,
    /// Their number.
    pub count: usize,
}

/// A compile spec: bytes that the exporter left for the backend.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_compile_spec_t {
    /// The key.
    pub key: *const c_char,
    /// The value's bytes.
    pub value: *const c_void,
    /// Their number.
    pub size: usize,
}

/// Handed to a backend's `init`; valid during the call. All pointers are borrowed.
#[repr(C)]
#[derive(Debug)]
pub struct et_backend_init_context_t {
    /// `sizeof(et_backend_init_context_t)` as the runtime knows it.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The method that is being loaded.
    pub method_name: *const c_char,
    /// Named data of the program and of the external data files, merged; valid as long as the method.
    pub data_map: *const et_data_map_t,
    /// Memory that lives as long as the method; null if the caller gave none.
    pub method_allocator: *const et_allocator_t,
    /// The method's tracer; null if there is none.
    pub tracer: *const et_event_tracer_t,
    /// Options for this backend at this load.
    pub options: *const et_backend_option_t,
    /// Their number.
    pub option_count: usize,
    /// The runtime's own.
    pub internal: *mut c_void,
}

/// Handed to a backend's `execute`; valid during the call. All pointers are borrowed.
#[repr(C)]
#[derive(Debug)]
pub struct et_backend_execute_context_t {
    /// `sizeof(et_backend_execute_context_t)` as the runtime knows it.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The method that runs.
    pub method_name: *const c_char,
    /// Memory for the rest of this call.
    pub temp_allocator: *const et_allocator_t,
    /// The method's tracer; null if there is none.
    pub tracer: *const et_event_tracer_t,
    /// The runtime's own.
    pub internal: *mut c_void,
}

/// Takes a piece of text, which is valid during the call. `context` is what was given with it.
pub type et_text_sink_t =
    Option<unsafe extern "C" fn(context: *mut c_void, text: *const c_char, length: usize)>;

/// A backend. The table must live as long as the process; its functions must be thread-safe, but one handle is
/// used by one thread at a time. Functions fail with a code after `et_set_last_error`.
///
/// The table grows at its end, and `struct_size` says how much of it is there: who asks `et_backend_find` for one
/// compares it before reading an entry past `get_options`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_backend_t {
    /// `sizeof(et_backend_t)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The id that programs name, such as `"XnnpackBackend"`.
    pub name: *const c_char,
    /// Passed to every function.
    pub user_data: *mut c_void,
    /// Whether it can run on this machine; null means yes.
    pub is_available: Option<unsafe extern "C" fn(user_data: *mut c_void) -> bool>,
    /// Reads a payload and writes a handle. The backend takes `processed`: it calls `processed->free` (if not
    /// null) when it no longer needs the bytes, also if `init` fails. `specs` are valid during the call.
    pub init: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            context: *const et_backend_init_context_t,
            processed: *const et_buffer_t,
            specs: *const et_compile_spec_t,
            spec_count: usize,
            handle: *mut *mut c_void,
        ) -> et_error_t,
    >,
    /// Runs a handle on the call's arguments: inputs, then outputs.
    pub execute: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            context: *const et_backend_execute_context_t,
            handle: *mut c_void,
            args: *const *mut et_value_t,
            count: usize,
        ) -> et_error_t,
    >,
    /// Frees a handle; null if there is nothing to free.
    pub destroy: Option<unsafe extern "C" fn(user_data: *mut c_void, handle: *mut c_void)>,
    /// Sets process-wide options; null if it has none.
    pub set_options: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            options: *const et_backend_option_t,
            count: usize,
        ) -> et_error_t,
    >,
    /// Fills in the options whose keys are given; null if it has none.
    pub get_options: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            options: *mut et_backend_option_t,
            count: usize,
        ) -> et_error_t,
    >,
    /// Says what is in a payload, without a handle and without running anything: writes one UTF-8 JSON document to
    /// `sink`, in pieces of any length; null if it cannot. The arguments are those of `init`: `processed` is the
    /// backend's to free, also on failure, and `context->method_allocator` is null. Called on machines, too, where
    /// `is_available` says no. Readers ignore keys that they do not know; every key but `nodes` may be left out:
    ///
    /// ```text
    /// {
    ///   "format": "XNNPACK flatbuffer XN01",          the payload's format, for people
    ///   "nodes": [{                                   in the order in which they run
    ///     "name": "Conv2d",                           the kind of node, as the format names it
    ///     "inputs": [0, 3], "outputs": [4],           ids of values
    ///     "executor": "library",                      what runs it here, with these options
    ///     "detail": "kernel 3x3, stride 2"            anything else, for people
    ///   }],
    ///   "values": [{                                  tensors that the nodes pass on
    ///     "id": 0, "name": "x",
    ///     "dtype": "float32",                         as `et_dtype_name` spells it, or the format's own name
    ///     "shape": [1, 3, 224, 224],                  upper bounds if the shape is dynamic
    ///     "role": "input",                            or output, constant, internal
    ///     "detail": "per channel, axis 0"
    ///   }],
    ///   "notes": ["packed weights: 3.1 MB"]           about the payload as a whole, for people
    /// }
    /// ```
    pub describe: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            context: *const et_backend_init_context_t,
            processed: *const et_buffer_t,
            specs: *const et_compile_spec_t,
            spec_count: usize,
            sink: et_text_sink_t,
            sink_context: *mut c_void,
        ) -> et_error_t,
    >,
}

unsafe extern "C" {
    /// Registers a backend whose table lives as long as the process. Meant for static initialisers: it never
    /// aborts and never prints. Registering the same table again does nothing; another backend under a taken
    /// name is refused and kept among the registration errors, naming both libraries.
    pub fn et_register_backend(
        registration: *const et_registration_t,
        backend: *const et_backend_t,
    ) -> et_error_t;

    /// The number of registered backends.
    pub fn et_backend_count() -> usize;

    /// The name of backend number `index`; null past the end. It lives as long as the process.
    pub fn et_backend_name(index: usize) -> *const c_char;

    /// The registered backend of this name, as it was registered; null if there is none. Its `struct_size` says how
    /// much of the table is there.
    pub fn et_backend_find(name: *const c_char) -> *const et_backend_t;

    /// Whether a backend of this name is registered and says that it can run here.
    pub fn et_backend_is_available(name: *const c_char) -> bool;
}
