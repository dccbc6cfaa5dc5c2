//! Memory that tensors share.

use crate::boundary::{cuda, invalid};
use crate::stream;
use executorch_abi::error::ET_ERROR_MEMORY_ALLOCATION_FAILED;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::{Cuda, Device, DeviceGuard, StreamRef, memory};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::fmt;

/// What memory on the host is aligned to, as AOTInductor's vectorised code likes it.
const ALIGNMENT: usize = 64;

/// Where a tensor's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The host; with the index that the tensor's maker gave.
    Host(i32),
    /// A CUDA device.
    Cuda(Device),
}

impl Place {
    /// The place of PyTorch's numbers: device type 0 (host) or 1 (CUDA), and an index; -1 on CUDA is the current device.
    pub fn new(kind: i32, index: i32) -> Result<Self> {
        match kind {
            0 => Ok(Self::Host(index)),
            1 => Ok(Self::Cuda(stream::device(index)?)),
            _ => Err(invalid(format!("device type {kind}, expected 0 (CPU) or 1 (CUDA)"))),
        }
    }

    /// PyTorch's number of the device type.
    pub fn kind(self) -> i32 {
        i32::from(matches!(self, Self::Cuda(_)))
    }

    /// The index.
    pub fn index(self) -> i32 {
        match self {
            Self::Host(index) => index,
            Self::Cuda(device) => device.0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(_) => f.write_str("cpu"),
            Self::Cuda(device) => write!(f, "cuda:{}", device.0),
        }
    }
}

/// Memory on the host or on a device, freed with its last view unless it is borrowed.
#[derive(Debug)]
pub struct Storage {
    data: *mut c_void,
    bytes: usize,
    place: Place,
    owned: bool,
}

// SAFETY: an address and facts about it; tensors are used by one thread at a time.
unsafe impl Send for Storage {}
// SAFETY: nothing is read or written through a shared reference but by unsafe functions.
unsafe impl Sync for Storage {}

impl Storage {
    /// Memory of `bytes` bytes with undefined content; on a device in the order of its current stream.
    pub fn allocate(place: Place, bytes: usize) -> Result<Self> {
        let data = match place {
            Place::Host(_) => {
                // SAFETY: not of size 0.
                let data = unsafe { alloc(host_layout(bytes)) };
                if data.is_null() {
                    let text = format!("{bytes} bytes of host memory could not be allocated");
                    return Err(Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, text));
                }
                data.cast()
            }
            Place::Cuda(device) => on_stream(device, |stream| memory::allocate_async(stream, bytes))
                .map_err(|error| error.within(format!("{bytes} bytes on {place}")))?,
        };
        Ok(Self { data, bytes, place, owned: true })
    }

    /// Memory of somebody else's.
    ///
    /// # Safety
    /// It has that many bytes at that place, and lives as long as this.
    pub unsafe fn borrowed(data: *mut c_void, place: Place, bytes: usize) -> Self {
        Self { data, bytes, place, owned: false }
    }

    /// The address of its first byte.
    pub fn data(&self) -> *mut c_void {
        self.data
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        self.place
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        match self.place {
            // SAFETY: allocated by `allocate` with this layout, and freed once.
            Place::Host(_) => unsafe { dealloc(self.data.cast(), host_layout(self.bytes)) },
            Place::Cuda(device) => {
                // A device that has faulted, or a process that ends: there is nobody to tell.
                // SAFETY: allocated by `allocate`, and freed once; what uses it stands on the device's current stream.
                let _ = on_stream(device, |stream| unsafe { memory::free_async(stream, self.data) });
            }
        }
    }
}

/// At least one byte. Sizes come from tensors, which are smaller than the address space by far.
fn host_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(1), ALIGNMENT).unwrap_or(Layout::new::<[u64; 8]>())
}

/// Calls `work` with the device's current stream; without one with the default stream, while the device is current.
pub fn on_stream<T>(
    device: Device,
    work: impl FnOnce(StreamRef) -> executorch_cuda_driver::Result<T>,
) -> Result<T> {
    with_stream(device, |stream| work(stream).map_err(cuda))
}

/// [`on_stream`] for work that fails otherwise.
pub fn with_stream<T>(device: Device, work: impl FnOnce(StreamRef) -> Result<T>) -> Result<T> {
    let library = Cuda::get().map_err(cuda)?;
    if let Some(raw) = stream::current(device) {
        // SAFETY: who made it current keeps it alive meanwhile.
        return work(unsafe { StreamRef::from_raw(library, raw) });
    }
    let _current = DeviceGuard::new(library, device).map_err(cuda)?;
    work(StreamRef::default_stream(library))
}
