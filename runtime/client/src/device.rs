//! Devices and their memory.

use executorch_abi::device::*;
use executorch_abi::error::*;
use executorch_abi::tensor::{ET_DEVICE_CPU, ET_DEVICE_CUDA};
use executorch_abi::{Error, Result};
use std::ffi::c_void;
use std::fmt;
use std::ptr::{NonNull, null_mut};

/// Where a tensor or buffer lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device {
    /// 0 is the CPU, 1 CUDA.
    pub kind: u8,
    /// Which one of that kind.
    pub index: i8,
}

impl Device {
    /// The host.
    pub const HOST: Self = Self { kind: ET_DEVICE_CPU, index: 0 };

    /// A CUDA device.
    pub const fn cuda(index: i8) -> Self {
        Self { kind: ET_DEVICE_CUDA, index }
    }

    /// Whether the CPU can use its memory.
    pub fn is_host(self) -> bool {
        self.kind == ET_DEVICE_CPU
    }

    /// The device of a name: `cpu`, `cuda` or `cuda:1`.
    pub fn named(name: &str) -> Result<Self> {
        let (kind, index) = name.split_once(':').unwrap_or((name, "0"));
        match (kind, index.parse()) {
            ("cpu", Ok(0)) => Ok(Self::HOST),
            ("cuda", Ok(index @ 0_i8..)) => Ok(Self::cuda(index)),
            _ => Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("{name:?} is no device; expected \"cpu\", \"cuda\" or \"cuda:1\""),
            )),
        }
    }

    /// Waits for all work that was started on it. Fails if nothing brings such a device.
    pub fn synchronize(self) -> Result<()> {
        // SAFETY: no pointers.
        Error::check(unsafe { et_device_synchronize(self.kind, self.index) })
    }

    /// Memory on it; none for no bytes.
    pub(crate) fn allocate(self, size: usize, alignment: usize) -> Result<Option<NonNull<u8>>> {
        let mut data = null_mut();
        // SAFETY: a place for the address.
        Error::check(unsafe { et_device_allocate(self.kind, self.index, size, alignment, &mut data) })?;
        Ok(NonNull::new(data.cast()))
    }

    /// Frees memory on it.
    ///
    /// # Safety
    /// [`Device::allocate`] gave it on this device, and nobody uses it any more.
    pub(crate) unsafe fn free(self, data: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { et_device_free(self.kind, self.index, data.as_ptr().cast()) }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ET_DEVICE_CPU => f.write_str("cpu"),
            ET_DEVICE_CUDA => write!(f, "cuda:{}", self.index),
            other => write!(f, "device {other}:{}", self.index),
        }
    }
}

/// Copies between two devices, of which any may be the host.
///
/// # Safety
/// `size` bytes may be read at `source` on `from`, and written at `destination` on `to`; the two do not overlap.
pub(crate) unsafe fn copy(
    to: Device,
    destination: *mut u8,
    from: Device,
    source: *const u8,
    size: usize,
) -> Result<()> {
    let (destination, source) = (destination.cast::<c_void>(), source.cast::<c_void>());
    // SAFETY: the caller's promise.
    Error::check(unsafe {
        et_device_copy(destination, to.kind, to.index, source, from.kind, from.index, size)
    })
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn names_are_read_as_they_are_written() {
        for device in [Device::HOST, Device::cuda(0), Device::cuda(127)] {
            assert_eq!(Device::named(&device.to_string()).unwrap(), device);
        }
        assert_eq!(Device::named("cuda").unwrap(), Device::cuda(0));
        for bad in ["", "cpu:1", "cuda:", "cuda:-1", "cuda:128", "gpu", "cuda:0:0"] {
            assert!(Device::named(bad).is_err(), "{bad}");
        }
    }
}
