//! Error codes and the calling thread's last error message.
//!
//! The numbers are upstream's, so that code written for its `Error` enum keeps its meaning.

use std::ffi::c_char;

/// An error code: `ET_OK` or one of the `ET_ERROR_…` constants.
pub type et_error_t = u32;

/// Success.
pub const ET_OK: et_error_t = 0x00;
/// A fault inside the runtime, including a caught panic.
pub const ET_ERROR_INTERNAL: et_error_t = 0x01;
/// The object is not in a state that allows the call.
pub const ET_ERROR_INVALID_STATE: et_error_t = 0x02;
/// `et_method_step` was called after the last instruction.
pub const ET_ERROR_END_OF_METHOD: et_error_t = 0x03;
/// The resource is loaded already.
pub const ET_ERROR_ALREADY_LOADED: et_error_t = 0x04;
/// The operation is not supported for this input.
pub const ET_ERROR_NOT_SUPPORTED: et_error_t = 0x10;
/// The operation is not implemented by this object.
pub const ET_ERROR_NOT_IMPLEMENTED: et_error_t = 0x11;
/// An argument is out of its domain.
pub const ET_ERROR_INVALID_ARGUMENT: et_error_t = 0x12;
/// A value has another type than the one asked for.
pub const ET_ERROR_INVALID_TYPE: et_error_t = 0x13;
/// The program calls operators that no loaded library registers.
pub const ET_ERROR_OPERATOR_MISSING: et_error_t = 0x14;
/// The kernel table is full.
pub const ET_ERROR_REGISTRATION_EXCEEDING_MAX_KERNELS: et_error_t = 0x15;
/// Another library registered something different under this name.
pub const ET_ERROR_REGISTRATION_ALREADY_REGISTERED: et_error_t = 0x16;
/// A file, method, key, backend or device was not found.
pub const ET_ERROR_NOT_FOUND: et_error_t = 0x20;
/// Memory could not be allocated, or an arena is too small.
pub const ET_ERROR_MEMORY_ALLOCATION_FAILED: et_error_t = 0x21;
/// Reading data failed.
pub const ET_ERROR_ACCESS_FAILED: et_error_t = 0x22;
/// The program file is malformed.
pub const ET_ERROR_INVALID_PROGRAM: et_error_t = 0x23;
/// An external data file is malformed or does not match the program.
pub const ET_ERROR_INVALID_EXTERNAL_DATA: et_error_t = 0x24;
/// A resource other than memory is used up.
pub const ET_ERROR_OUT_OF_RESOURCES: et_error_t = 0x25;
/// The delegate cannot read this payload.
pub const ET_ERROR_DELEGATE_INVALID_COMPATIBILITY: et_error_t = 0x30;
/// The delegate could not allocate memory.
pub const ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED: et_error_t = 0x31;
/// The delegate handle is not valid.
pub const ET_ERROR_DELEGATE_INVALID_HANDLE: et_error_t = 0x32;

unsafe extern "C" {
    /// The message of the last failure on the calling thread: what was expected, what was found, where, and
    /// what to do.
    ///
    /// Never null; empty if nothing failed on this thread. The pointer stays valid until the next call into
    /// the runtime on this thread.
    pub fn et_last_error_message() -> *const c_char;

    /// The code of the last failure on the calling thread, `ET_OK` if there was none.
    pub fn et_last_error_code() -> et_error_t;

    /// Sets the calling thread's last error, for delegates, kernels, loaders and data maps that fail.
    ///
    /// `message` is copied; null means no message. A code of `ET_OK` clears the last error.
    pub fn et_set_last_error(code: et_error_t, message: *const c_char);

    /// The name of a code, such as `"InvalidArgument"`; `"Unknown"` for a number that is none.
    /// The string is static.
    pub fn et_error_name(code: et_error_t) -> *const c_char;
}
