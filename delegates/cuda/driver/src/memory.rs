//! Device memory and copies.

use crate::error::{Error, Result};
use crate::sys::PointerAttributes;
use crate::{Cuda, Device, DeviceGuard, StreamRef};
use std::ffi::{c_int, c_void};

/// Direction of a copy, by the numbers of `cudaMemcpyKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// Within the host's memory.
    HostToHost = 0,
    /// To a device.
    HostToDevice = 1,
    /// From a device.
    DeviceToHost = 2,
    /// Within a device, or between two.
    DeviceToDevice = 3,
    /// CUDA looks at the addresses.
    Any = 4,
}

/// What CUDA knows about an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerInfo {
    /// Host memory that CUDA does not know.
    Unregistered,
    /// Pinned host memory.
    Host,
    /// Memory of this device.
    Device(Device),
    /// Memory that moves between host and devices; made when this device was current.
    Managed(Device),
}

impl PointerInfo {
    /// Asks about an address (`pointer.addr()`); any value is allowed, 0 too.
    pub fn of(cuda: &Cuda, address: usize) -> Result<Self> {
        let mut found = PointerAttributes::default();
        // SAFETY: `found` is as large as the structure of any version; the address is only looked up.
        let code = unsafe {
            (cuda.runtime().pointer_attributes)(&raw mut found, std::ptr::without_provenance(address))
        };
        cuda.check("cudaPointerGetAttributes", code)?;
        match found.kind {
            0 => Ok(Self::Unregistered),
            1 => Ok(Self::Host),
            2 => Ok(Self::Device(Device(found.device))),
            3 => Ok(Self::Managed(Device(found.device))),
            kind => Err(Error::Argument(format!(
                "cudaPointerGetAttributes told of memory of the unknown kind {kind}"
            ))),
        }
    }

    /// Whether code on a device may use the address.
    pub fn is_device_accessible(self) -> bool {
        matches!(self, Self::Device(_) | Self::Managed(_))
    }
}

/// Copies `bytes` bytes. Ordered like work of the legacy default stream, and waits for copies to pageable host memory; a copy
/// within a device may still be on its way when this returns.
///
/// # Safety
/// Both ranges are valid for `kind`, and nothing else writes them meanwhile.
pub unsafe fn copy(
    cuda: &Cuda,
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: Kind,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: promised by the caller.
    cuda.check("cudaMemcpy", unsafe { (cuda.runtime().memcpy)(destination, source, bytes, kind as c_int) })
}

/// Puts a copy of `bytes` bytes on `stream`.
///
/// # Safety
/// As [`copy`], until the stream has done it.
pub unsafe fn copy_async(
    stream: StreamRef,
    destination: *mut c_void,
    source: *const c_void,
    bytes: usize,
    kind: Kind,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let cuda = stream.cuda();
    // SAFETY: promised by the caller.
    let code =
        unsafe { (cuda.runtime().memcpy_async)(destination, source, bytes, kind as c_int, stream.as_raw()) };
    cuda.check("cudaMemcpyAsync", code)
}

/// Puts the filling of `bytes` bytes with `value` on `stream`.
///
/// # Safety
/// The range is device memory that nothing else uses until the stream has done it.
pub unsafe fn fill_async(stream: StreamRef, destination: *mut c_void, value: u8, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let cuda = stream.cuda();
    // SAFETY: promised by the caller.
    let code =
        unsafe { (cuda.runtime().memset_async)(destination, c_int::from(value), bytes, stream.as_raw()) };
    cuda.check("cudaMemsetAsync", code)
}

/// Allocates on the current device, for callers that keep plain addresses; [`DeviceBuffer`] frees by itself. Never null: asking
/// for nothing gives one byte.
pub fn allocate(cuda: &Cuda, bytes: usize) -> Result<*mut c_void> {
    let mut data = std::ptr::null_mut();
    // SAFETY: writes one pointer.
    cuda.check("cudaMalloc", unsafe { (cuda.runtime().malloc)(&raw mut data, bytes.max(1)) })?;
    Ok(data)
}

/// Frees what [`allocate`] gave, after waiting for the device.
///
/// # Safety
/// `data` came from [`allocate`] or [`allocate_async`] and is not used again.
pub unsafe fn free(cuda: &Cuda, data: *mut c_void) -> Result<()> {
    // SAFETY: promised by the caller.
    cuda.check("cudaFree", unsafe { (cuda.runtime().free)(data) })
}

/// Allocates in the order of `stream`: the memory may be used by what is put on the stream afterwards. Never null.
pub fn allocate_async(stream: StreamRef, bytes: usize) -> Result<*mut c_void> {
    let cuda = stream.cuda();
    let mut data = std::ptr::null_mut();
    // SAFETY: writes one pointer.
    let code = unsafe { (cuda.runtime().malloc_async)(&raw mut data, bytes.max(1), stream.as_raw()) };
    cuda.check("cudaMallocAsync", code)?;
    Ok(data)
}

/// Frees, in the order of `stream`, what [`allocate_async`] gave.
///
/// # Safety
/// `data` came from [`allocate_async`], what uses it stands on `stream` already or is ordered before, and nothing uses it later.
pub unsafe fn free_async(stream: StreamRef, data: *mut c_void) -> Result<()> {
    let cuda = stream.cuda();
    // SAFETY: promised by the caller.
    cuda.check("cudaFreeAsync", unsafe { (cuda.runtime().free_async)(data, stream.as_raw()) })
}

/// Memory of one device (`cudaMalloc`: at least 256-byte aligned), freed when dropped. Its content is undefined at first.
#[derive(Debug)]
pub struct DeviceBuffer {
    cuda: &'static Cuda,
    data: *mut c_void,
    bytes: usize,
    device: Device,
}

// SAFETY: an address of a device, which this value owns.
unsafe impl Send for DeviceBuffer {}
// SAFETY: nothing is read or written through a shared reference but by unsafe functions.
unsafe impl Sync for DeviceBuffer {}

impl DeviceBuffer {
    /// Allocates `bytes` bytes on `device`.
    pub fn new(cuda: &'static Cuda, device: Device, bytes: usize) -> Result<Self> {
        let _current = DeviceGuard::new(cuda, device)?;
        Ok(Self { cuda, data: allocate(cuda, bytes)?, bytes, device })
    }

    /// The address on the device; not null.
    pub fn as_ptr(&self) -> *mut c_void {
        self.data
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The device that it lies on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Copies from the host to its start; complete on return.
    pub fn write(&mut self, source: &[u8]) -> Result<()> {
        self.require(source.len())?;
        // SAFETY: both are that large. The call waits until the source has been read.
        unsafe { copy(self.cuda, self.data, source.as_ptr().cast(), source.len(), Kind::HostToDevice) }
    }

    /// Copies from its start to the host; complete on return.
    pub fn read(&self, destination: &mut [u8]) -> Result<()> {
        self.require(destination.len())?;
        let (to, bytes) = (destination.as_mut_ptr().cast(), destination.len());
        // SAFETY: both are that large. The call waits.
        unsafe { copy(self.cuda, to, self.data, bytes, Kind::DeviceToHost) }
    }

    fn require(&self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes {
            return Ok(());
        }
        Err(Error::Argument(format!("{bytes} bytes do not fit into a device buffer of {}", self.bytes)))
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        // Freed on whatever device is current: CUDA finds the memory's own by its address.
        // SAFETY: allocated by `new`, and freed once. A failure (a device that has faulted) leaves nothing to do.
        let _ = unsafe { free(self.cuda, self.data) };
    }
}
