//! Device memory: allocators that delegates register for their devices.

use crate::error::et_error_t;
use crate::registration::et_registration_t;
use crate::tensor::et_device_type_t;
use std::ffi::c_void;

/// Allocates and copies memory of one device type. Its functions must be thread-safe, and fail with a code after
/// `et_set_last_error`.
///
/// Delegates may return before their work on the device is done. The copies come after the work that was started before
/// on the calling thread, and are complete on return.
///
/// The table grows at its end, and `struct_size` says how much of it is there: who asks `et_device_allocator_find` for
/// one compares it before reading an entry past `copy_to_host`.
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
    /// Allocates `size` bytes, at least 1, on device `index`, aligned to `alignment` (a power of two).
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
    /// Copies within device `index`, complete on return; null if it cannot: the runtime then copies through the host.
    pub copy_on_device: Option<
        unsafe extern "C" fn(
            user_data: *mut c_void,
            destination: *mut c_void,
            source: *const c_void,
            size: usize,
            index: i8,
        ) -> et_error_t,
    >,
    /// Waits for all work that was started on device `index`, by whichever thread; null if delegates leave none behind.
    pub synchronize: Option<unsafe extern "C" fn(user_data: *mut c_void, index: i8) -> et_error_t>,
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

    /// The allocator of a device type, as it was registered; null if none is. Its `struct_size` says how much of the table
    /// is there.
    pub fn et_device_allocator_find(device_type: et_device_type_t) -> *const et_device_allocator_t;

    /// Allocates `size` bytes on a device through its allocator, aligned to `alignment` (a power of two); free them with
    /// `et_device_free`. The host is a device too. For no bytes, `out` becomes null.
    ///
    /// Fails with `ET_ERROR_NOT_FOUND` and a message that says what brings the allocator if there is none.
    pub fn et_device_allocate(
        device_type: et_device_type_t,
        index: i8,
        size: usize,
        alignment: usize,
        out: *mut *mut c_void,
    ) -> et_error_t;

    /// Frees what `et_device_allocate` gave for the same device. Null is ignored.
    pub fn et_device_free(device_type: et_device_type_t, index: i8, data: *mut c_void);

    /// Copies `size` bytes between two devices, one of which may be the host; the places must not overlap. Complete on
    /// return. Copies between different devices, or on one whose allocator does not offer it, go through the host.
    pub fn et_device_copy(
        destination: *mut c_void,
        destination_type: et_device_type_t,
        destination_index: i8,
        source: *const c_void,
        source_type: et_device_type_t,
        source_index: i8,
        size: usize,
    ) -> et_error_t;

    /// Waits for all work that was started on a device, by whichever thread.
    pub fn et_device_synchronize(device_type: et_device_type_t, index: i8) -> et_error_t;
}
