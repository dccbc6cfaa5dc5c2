//! What every registration starts with, and what went wrong with earlier ones.

use std::ffi::c_char;

/// The ABI's major number: libraries of another major are refused.
pub const ET_ABI_MAJOR: u16 = 1;
/// The ABI's minor number: libraries that need a newer minor are refused.
pub const ET_ABI_MINOR: u16 = 0;

/// Flag of [`et_registration_t::flags`]: the component belongs to the same release as the runtime and is
/// refused if its version is another one.
pub const ET_REGISTRATION_LOCKSTEP: u32 = 1;

/// Who registers, and what it was built for. Copied by the call that takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_registration_t {
    /// `sizeof(et_registration_t)`.
    pub struct_size: u32,
    /// `ET_ABI_MAJOR` of the header that it was built with.
    pub abi_major: u16,
    /// `ET_ABI_MINOR` of the header that it was built with.
    pub abi_minor: u16,
    /// `ET_REGISTRATION_…` flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// The component's name, for messages.
    pub component_name: *const c_char,
    /// The component's version, for messages and the lockstep check.
    pub component_version: *const c_char,
}

unsafe extern "C" {
    /// The number of registrations that were refused since the process started.
    pub fn et_registration_error_count() -> usize;

    /// Why registration number `index` was refused, naming the libraries; null past the end.
    /// The string lives as long as the process.
    pub fn et_registration_error(index: usize) -> *const c_char;

    /// The runtime's version, such as `"1.5.0"`. The string is static.
    pub fn et_version() -> *const c_char;
}
