//! Memory of devices, through the allocators that delegates register.

use crate::ir::Device;
use crate::registry;
use executorch_abi::device::et_device_allocator_t;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use std::ffi::c_void;
use std::ptr;

/// What every device gives: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

fn missing(what: &str) -> Error {
    Error::new(ET_ERROR_INTERNAL, format!("a registered device allocator has no {what} function"))
}

/// Memory of a device, freed once when dropped.
#[derive(Debug)]
pub struct DeviceBlock {
    data: *mut c_void,
    device: Device,
}

impl DeviceBlock {
    /// Allocates memory of a device, which is not the host. Nothing is allocated for no bytes.
    pub fn new(device: Device, size: usize) -> Result<Self> {
        Ok(Self { data: allocate(device, size, ALIGNMENT)?, device })
    }

    /// Its first byte, on the device; null for no bytes.
    pub fn data(&self) -> *mut c_void {
        self.data
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory on this device, and it is freed once.
        unsafe { free(self.device, self.data) }
    }
}

/// Allocates memory of a device, which is not the host; null for no bytes. `alignment` is a power of two.
pub fn allocate(device: Device, size: usize, alignment: usize) -> Result<*mut c_void> {
    let table = registry::device_allocator(device.kind)?;
    let mut data = ptr::null_mut();
    if size == 0 {
        return Ok(data);
    }
    let allocate = table.allocate.ok_or_else(|| missing("allocate"))?;
    // SAFETY: a registered allocator obeys the ABI; `data` is a place for the pointer.
    Error::check(unsafe { allocate(table.user_data, size, alignment, device.index, &mut data) })?;
    if data.is_null() {
        let text = "the device allocator gave no memory, and no reason";
        return Err(Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, text));
    }
    Ok(data)
}

/// Frees memory of a device.
///
/// # Safety
/// `data` is null, or what [`allocate`] gave for this device; nobody uses it any more.
pub unsafe fn free(device: Device, data: *mut c_void) {
    let table: Option<&et_device_allocator_t> = registry::device_allocator(device.kind).ok();
    if let Some((table, free)) = table.and_then(|t| Some((t, t.deallocate?))).filter(|_| !data.is_null()) {
        // SAFETY: the caller's promise, and a registered allocator obeys the ABI.
        unsafe { free(table.user_data, data, device.index) }
    }
}

/// Copies from the host to a device.
///
/// # Safety
/// `size` bytes may be read at `source` on the host, and written at `destination` on the device.
pub unsafe fn copy_from_host(
    device: Device,
    destination: *mut c_void,
    source: *const c_void,
    size: usize,
) -> Result<()> {
    let table = registry::device_allocator(device.kind)?;
    let copy = table.copy_from_host.ok_or_else(|| missing("copy"))?;
    // SAFETY: the caller's promise, and a registered allocator obeys the ABI.
    Error::check(unsafe { copy(table.user_data, destination, source, size, device.index) })
}

/// Copies from a device to the host.
///
/// # Safety
/// `size` bytes may be read at `source` on the device, and written at `destination` on the host.
pub unsafe fn copy_to_host(
    device: Device,
    destination: *mut c_void,
    source: *const c_void,
    size: usize,
) -> Result<()> {
    let table = registry::device_allocator(device.kind)?;
    let copy = table.copy_to_host.ok_or_else(|| missing("copy"))?;
    // SAFETY: the caller's promise, and a registered allocator obeys the ABI.
    Error::check(unsafe { copy(table.user_data, destination, source, size, device.index) })
}

/// Copies between two devices, of which any may be the host.
///
/// # Safety
/// `size` bytes may be read at `source` on `from`, and written at `destination` on `to`, and the two do not overlap.
pub unsafe fn copy(
    to: Device,
    destination: *mut c_void,
    from: Device,
    source: *const c_void,
    size: usize,
) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    if destination.is_null() || source.is_null() {
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "a side of the copy has no memory"));
    }
    // SAFETY: the caller's promise, in each of the cases.
    unsafe {
        match (to.is_host(), from.is_host()) {
            (true, true) => {
                ptr::copy_nonoverlapping(source.cast::<u8>(), destination.cast::<u8>(), size);
                Ok(())
            }
            (false, true) => copy_from_host(to, destination, source, size),
            (true, false) => copy_to_host(from, destination, source, size),
            (false, false) => {
                let table = registry::device_allocator(from.kind)?;
                if let Some(copy) = table.copy_on_device.filter(|_| to == from) {
                    return Error::check(copy(table.user_data, destination, source, size, from.index));
                }
                let mut staged = Vec::<u8>::new();
                staged.try_reserve_exact(size).map_err(|_| {
                    let text = format!("{size} bytes to copy through are not available");
                    Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, text)
                })?;
                copy_to_host(from, staged.as_mut_ptr().cast(), source, size)?;
                copy_from_host(to, destination, staged.as_ptr().cast(), size)
            }
        }
    }
}

/// Waits for all work that was started on a device.
pub fn synchronize(device: Device) -> Result<()> {
    if device.is_host() {
        return Ok(());
    }
    let table = registry::device_allocator(device.kind)?;
    // SAFETY: a registered allocator obeys the ABI.
    table.synchronize.map_or(Ok(()), |wait| Error::check(unsafe { wait(table.user_data, device.index) }))
}
