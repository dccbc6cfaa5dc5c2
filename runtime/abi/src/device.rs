//! Device memory: allocators that delegates register for their devices.

use crate::error::et_error_t;
use crate::registration::et_registration_t;
use crate::tensor::et_device_type_t;
use std::ffi::c_void;

/// Allocates and copies memory of one device type. Its functions must be thread-safe.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_device_allocator_t {
    /// `sizeof(et_device_allocator_t)`.
    pub struct_size: u32,
    /// The device type that it serves.
    pub device_type: et_device_type_t,
    /// Zero.
    pub reserved: [u8; 3],
    /// Passed to every function.
    pub user_data: *mut c_void,
    /// Allocates `size` bytes on device `index`.
    pub allocate: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            size: usize,
            alignment: usize,
            index: i8,
            out: *mut *mut c_void,
        ) -> et_error_t,
    >,
    /// Frees what `allocate` gave.
    pub deallocate: Option<unsafe extern "C" fn(user_data: *mut c_void, data: *mut c_void, index: i8)>,
    /// Copies from host to device, complete on return.
    pub copy_from_host: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            destination: *mut c_void,
            source: *const c_void,
            size: usize,
            index: i8,
        ) -> et_error_t,
    >,
    /// Copies from device to host, complete on return.
    pub copy_to_host: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            destination: *mut c_void,
            source: *const c_void,
            size: usize,
            index: i8,
        ) -> et_error_t,
    >,
}

unsafe extern "C" {
    /// Registers the allocator of a device type. The table must live as long as the process.
    ///
    /// Registering the same table again does nothing; another one for the same type is refused and kept among
    /// the registration errors.
    pub fn et_register_device_allocator(
        registration: *const et_registration_t,
        allocator: *const et_device_allocator_t,
    ) -> et_error_t;

    /// The allocator of a device type; null if none is registered.
    pub fn et_device_allocator_find(device_type: et_device_type_t) -> *const et_device_allocator_t;
}
