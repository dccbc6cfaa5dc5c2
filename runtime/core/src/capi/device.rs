//! Memory of devices.

use super::{abi, code, give};
use crate::device;
use crate::ir::Device;
use crate::registry;
use executorch_abi::device::et_device_allocator_t;
use executorch_abi::error::*;
use executorch_abi::registration::et_registration_t;
use executorch_abi::{Error, Result};
use std::alloc;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Memory of the host: what C's `free` takes back.
fn allocate_host(size: usize, alignment: usize) -> Result<*mut c_void> {
    let mut data = null_mut();
    // POSIX wants the size of a pointer at least.
    let alignment = alignment.max(size_of::<usize>());
    // SAFETY: a place for the address, and a power of two.
    if size > 0 && unsafe { libc::posix_memalign(&mut data, alignment, size) } != 0 {
        let text = format!("{size} bytes of memory could not be allocated");
        return Err(Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, text));
    }
    Ok(data)
}

fn allocate(on: Device, size: usize, alignment: usize) -> Result<*mut c_void> {
    if alloc::Layout::from_size_align(size, alignment).is_err() {
        let text = format!("{size} bytes aligned to {alignment} cannot be allocated: no such layout");
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, text));
    }
    if on.is_host() { allocate_host(size, alignment) } else { device::allocate(on, size, alignment) }
}

abi! {
    device::fn et_register_device_allocator(
        registration: *const et_registration_t,
        allocator: *const et_device_allocator_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller obeys the function's contract.
        code(unsafe { registry::register_device_allocator(registration, allocator) })
    }
    device::fn et_device_allocator_find(device_type: u8) -> *const et_device_allocator_t, otherwise null(), {
        registry::given_device_allocator(device_type).unwrap_or(null())
    }
    device::fn et_device_allocate(
        device_type: u8,
        index: i8,
        size: usize,
        alignment: usize,
        out: *mut *mut c_void,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        if out.is_null() {
            return code(Err(super::null("out")));
        }
        let data = allocate(Device { kind: device_type, index }, size, alignment);
        // SAFETY: the caller gives a place for the address.
        code(data.and_then(|data| unsafe { give(out, data) }))
    }
    device::fn et_device_free(device_type: u8, index: i8, data: *mut c_void), otherwise (), {
        let on = Device { kind: device_type, index };
        // SAFETY: the caller gives back what `et_device_allocate` gave.
        unsafe { if on.is_host() { libc::free(data) } else { device::free(on, data) } }
    }
    device::fn et_device_copy(
        destination: *mut c_void,
        destination_type: u8,
        destination_index: i8,
        source: *const c_void,
        source_type: u8,
        source_index: i8,
        size: usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        let to = Device { kind: destination_type, index: destination_index };
        let from = Device { kind: source_type, index: source_index };
        // SAFETY: the caller's places hold `size` bytes on their devices, and do not overlap.
        code(unsafe { device::copy(to, destination, from, source, size) })
    }
    device::fn et_device_synchronize(device_type: u8, index: i8) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        code(device::synchronize(Device { kind: device_type, index }))
    }
}
