//! Programs: loading a `.pte` file and asking what is in it.
//!
//! A program is immutable and may be used from several threads. Its methods keep it alive.

use crate::backend::et_text_sink_t;
use crate::data_map::et_data_map_t;
use crate::error::et_error_t;
use crate::loader::et_data_loader_t;
use crate::method::{et_method_options_t, et_method_t};
use crate::tensor::{et_device_type_t, et_dtype_t, et_dynamism_t};
use crate::value::et_tag_t;
use std::ffi::{c_char, c_void};

/// A loaded program.
pub struct et_program_t {
    _private: (),
}

/// What a program says of one of its methods. Owned by the program and valid as long as it.
pub struct et_method_meta_t {
    _private: (),
}

/// What a file's first bytes say: one of the `ET_HEADER_…` constants.
pub type et_header_status_t = u32;
/// A program that this runtime reads.
pub const ET_HEADER_COMPATIBLE: et_header_status_t = 0;
/// A program of another format version.
pub const ET_HEADER_INCOMPATIBLE: et_header_status_t = 1;
/// No program.
pub const ET_HEADER_NOT_PRESENT: et_header_status_t = 2;
/// Fewer than `ET_HEADER_MIN_BYTES` were given.
pub const ET_HEADER_SHORT_DATA: et_header_status_t = 3;
/// How many bytes `et_program_check_header` wants.
pub const ET_HEADER_MIN_BYTES: usize = 64;

/// What the program says of a tensor. Pointers are valid as long as the program.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_tensor_info_t {
    /// `rank` sizes; upper bounds if the shape is dynamic.
    pub sizes: *const i32,
    /// `rank` dimension numbers, outermost first.
    pub dim_order: *const u8,
    /// The tensor's qualified name; null if it has none.
    pub name: *const c_char,
    /// Bytes of the whole tensor.
    pub nbytes: u64,
    /// The number of dimensions.
    pub rank: u32,
    /// The element type.
    pub dtype: et_dtype_t,
    /// How the shape may change.
    pub dynamism: et_dynamism_t,
    /// The device of its planned memory.
    pub device_type: et_device_type_t,
    /// Which device of that type.
    pub device_index: i8,
    /// Whether its memory is the method's (an input is then copied on set).
    pub is_memory_planned: bool,
    /// Zero.
    pub reserved: [u8; 7],
}

/// A planned buffer of a method.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_buffer_info_t {
    /// Its bytes.
    pub size: u64,
    /// Where it must live.
    pub device_type: et_device_type_t,
    /// Which device of that type.
    pub device_index: i8,
    /// Zero.
    pub reserved: [u8; 6],
}

/// What an instruction is: one of the `ET_INSTRUCTION_…` constants.
pub type et_instruction_kind_t = u32;
/// A kernel call; `name` is the operator.
pub const ET_INSTRUCTION_KERNEL: et_instruction_kind_t = 0;
/// A delegate call; `name` is the backend.
pub const ET_INSTRUCTION_DELEGATE: et_instruction_kind_t = 1;
/// A move of a value.
pub const ET_INSTRUCTION_MOVE: et_instruction_kind_t = 2;
/// A conditional jump; `target` is the destination.
pub const ET_INSTRUCTION_JUMP_FALSE: et_instruction_kind_t = 3;
/// The release of a value's memory.
pub const ET_INSTRUCTION_FREE: et_instruction_kind_t = 4;

/// One instruction of a method.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_instruction_info_t {
    /// The operator's or backend's name; null for the other kinds.
    pub name: *const c_char,
    /// Its arguments' indices in the method's values.
    pub args: *const u32,
    /// Their number.
    pub arg_count: usize,
    /// What it is.
    pub kind: et_instruction_kind_t,
    /// The chain that it belongs to.
    pub chain: u32,
    /// A jump's destination within its chain, or a delegate's index; 0 otherwise.
    pub target: u32,
    /// Zero.
    pub reserved: u32,
}

/// What a file holds besides its methods.
///
/// The caller sets `struct_size`; no more than that is written.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_program_info_t {
    /// `sizeof(et_program_info_t)` as the caller knows it.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Bytes of the program's structure: everything but segments.
    pub structure_bytes: u64,
    /// The number of constants.
    pub constant_count: usize,
    /// Bytes of all constants.
    pub constant_bytes: u64,
    /// The number of initial values of mutable tensors.
    pub mutable_count: usize,
    /// Bytes of all initial values.
    pub mutable_bytes: u64,
    /// The number of segments.
    pub segment_count: usize,
    /// Bytes of all segments.
    pub segment_bytes: u64,
}

/// A delegate of a method: a payload and the backend that runs it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_delegate_info_t {
    /// The backend's id.
    pub backend: *const c_char,
    /// Bytes of its payload.
    pub payload_size: u64,
    /// The number of its compile specs.
    pub compile_spec_count: usize,
}

unsafe extern "C" {
    /// Loads a program through a loader and verifies all of it.
    ///
    /// Takes ownership of the loader, also on failure. Fails with `ET_ERROR_INVALID_PROGRAM` and a message that
    /// says what is wrong and where. Release with `et_program_release`.
    pub fn et_program_load(loader: *const et_data_loader_t, out: *mut *mut et_program_t) -> et_error_t;

    /// Takes another reference to a program.
    pub fn et_program_retain(program: *mut et_program_t);

    /// Gives a reference back; the last one frees the program, once its methods are released. Null is ignored.
    pub fn et_program_release(program: *mut et_program_t);

    /// The number of methods.
    pub fn et_program_method_count(program: *const et_program_t) -> usize;

    /// The metadata of method number `index`; null past the end.
    pub fn et_program_method_at(program: *const et_program_t, index: usize) -> *const et_method_meta_t;

    /// Finds the metadata of a method; `ET_ERROR_INVALID_ARGUMENT` lists the methods if there is none of this
    /// name.
    pub fn et_program_method_find(
        program: *const et_program_t,
        name: *const c_char,
        out: *mut *const et_method_meta_t,
    ) -> et_error_t;

    /// The program's named data; valid as long as the program.
    pub fn et_program_data_map(program: *const et_program_t) -> *const et_data_map_t;

    /// The bytes of constant number `index`, at least `nbytes` of them; valid as long as the program.
    pub fn et_program_constant(
        program: *const et_program_t,
        index: usize,
        nbytes: usize,
        out: *mut *const c_void,
    ) -> et_error_t;

    /// What the file holds besides its methods; `out->struct_size` must be set.
    pub fn et_program_describe(program: *const et_program_t, out: *mut et_program_info_t) -> et_error_t;

    /// Where segment `index` lies in the file and how many bytes it has; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_program_segment(
        program: *const et_program_t,
        index: usize,
        offset: *mut u64,
        size: *mut u64,
    ) -> et_error_t;

    /// What the first bytes of a file say.
    pub fn et_program_check_header(data: *const c_void, size: usize) -> et_header_status_t;

    /// Loads a method: allocates its memory, initialises its delegates, resolves and prepares its kernels.
    ///
    /// `options` may be null. What it points to must outlive the method. Release with `et_method_release`.
    pub fn et_program_load_method(
        program: *mut et_program_t,
        name: *const c_char,
        options: *const et_method_options_t,
        out: *mut *mut et_method_t,
    ) -> et_error_t;

    /// What is in the payload of delegate `index` of a method, as its backend says: the JSON of
    /// `et_backend_t::describe`, given to `sink` in pieces. Nothing is loaded, so the backend need not be able to run
    /// here; what it says of executors holds for `options` (null for none), which are read as those of a load.
    ///
    /// Fails with `ET_ERROR_INVALID_ARGUMENT` if there is no such method or delegate, with `ET_ERROR_NOT_FOUND` if the
    /// backend is not registered, with `ET_ERROR_NOT_IMPLEMENTED` if it describes nothing, and with the backend's
    /// own error if it cannot read the payload. What the sink was given before a failure is to be dropped.
    pub fn et_program_describe_delegate(
        program: *const et_program_t,
        method: *const c_char,
        index: usize,
        options: *const et_method_options_t,
        sink: et_text_sink_t,
        sink_context: *mut c_void,
    ) -> et_error_t;

    /// The method's name.
    pub fn et_method_meta_name(meta: *const et_method_meta_t) -> *const c_char;
    /// The number of inputs.
    pub fn et_method_meta_input_count(meta: *const et_method_meta_t) -> usize;
    /// The number of outputs.
    pub fn et_method_meta_output_count(meta: *const et_method_meta_t) -> usize;
    /// The number of attributes: named tensors with mutable memory.
    pub fn et_method_meta_attribute_count(meta: *const et_method_meta_t) -> usize;
    /// What input `index` holds; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_input_tag(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tag_t,
    ) -> et_error_t;
    /// What output `index` holds; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_output_tag(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tag_t,
    ) -> et_error_t;
    /// The tensor of input `index`; `ET_ERROR_INVALID_ARGUMENT` past the end or if it is no tensor.
    pub fn et_method_meta_input_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t;
    /// The tensor of output `index`; `ET_ERROR_INVALID_ARGUMENT` past the end or if it is no tensor.
    pub fn et_method_meta_output_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t;
    /// The tensor of attribute `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_attribute_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t;
    /// Which value input `index` is; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_input_value(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut usize,
    ) -> et_error_t;
    /// Which value output `index` is; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_output_value(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut usize,
    ) -> et_error_t;
    /// The number of values.
    pub fn et_method_meta_value_count(meta: *const et_method_meta_t) -> usize;
    /// What value `index` holds at load; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_value_tag(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tag_t,
    ) -> et_error_t;
    /// The tensor of value `index`; `ET_ERROR_INVALID_ARGUMENT` past the end or if it is no tensor.
    pub fn et_method_meta_value_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t;
    /// The number of planned buffers.
    pub fn et_method_meta_buffer_count(meta: *const et_method_meta_t) -> usize;
    /// Planned buffer `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_buffer(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_buffer_info_t,
    ) -> et_error_t;
    /// The number of delegates.
    pub fn et_method_meta_delegate_count(meta: *const et_method_meta_t) -> usize;
    /// Delegate `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_delegate(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_delegate_info_t,
    ) -> et_error_t;
    /// The number of distinct operators.
    pub fn et_method_meta_operator_count(meta: *const et_method_meta_t) -> usize;
    /// The name of operator `index`; null past the end.
    pub fn et_method_meta_operator(meta: *const et_method_meta_t, index: usize) -> *const c_char;
    /// The number of instructions of all chains.
    pub fn et_method_meta_instruction_count(meta: *const et_method_meta_t) -> usize;
    /// Instruction `index`; `ET_ERROR_INVALID_ARGUMENT` past the end.
    pub fn et_method_meta_instruction(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_instruction_info_t,
    ) -> et_error_t;
    /// The names of external data that the method needs (from `.ptd` files).
    pub fn et_method_meta_external_count(meta: *const et_method_meta_t) -> usize;
    /// The key of external data `index`; null past the end.
    pub fn et_method_meta_external_key(meta: *const et_method_meta_t, index: usize) -> *const c_char;
    /// PyTorch's description (JSON) of how the outputs are nested; empty if the file has none.
    pub fn et_method_meta_output_encoding(meta: *const et_method_meta_t) -> *const c_char;
}
