//! Devices, and which one is the calling thread's.

use crate::Cuda;
use crate::error::{Error, Result};
use std::ffi::c_int;

/// A device by its number, as CUDA counts those that are visible to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(pub i32);

/// `cudaDevAttrComputeCapabilityMajor` and its neighbour.
const CAPABILITY: [c_int; 2] = [75, 76];
/// `cudaDevAttrIntegrated`.
const INTEGRATED: c_int = 18;
/// `cudaDevAttrMultiProcessorCount`.
const MULTIPROCESSORS: c_int = 16;

impl Device {
    /// How many devices there are. Without a GPU that is an error for which [`Error::is_unavailable`] holds, or 0.
    pub fn count(cuda: &Cuda) -> Result<usize> {
        let mut count = 0;
        // SAFETY: writes one number.
        cuda.check("cudaGetDeviceCount", unsafe { (cuda.runtime().device_count)(&raw mut count) })?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// The calling thread's current device.
    pub fn current(cuda: &Cuda) -> Result<Self> {
        let mut device = 0;
        // SAFETY: writes one number.
        cuda.check("cudaGetDevice", unsafe { (cuda.runtime().get_device)(&raw mut device) })?;
        Ok(Self(device))
    }

    /// Makes this the calling thread's current device, for good; see [`DeviceGuard`].
    pub fn make_current(self, cuda: &Cuda) -> Result<()> {
        // SAFETY: takes any number.
        cuda.check("cudaSetDevice", unsafe { (cuda.runtime().set_device)(self.0) })
    }

    /// Waits for all work on this device.
    pub fn synchronize(self, cuda: &'static Cuda) -> Result<()> {
        let _current = DeviceGuard::new(cuda, self)?;
        // SAFETY: takes nothing.
        cuda.check("cudaDeviceSynchronize", unsafe { (cuda.runtime().device_synchronize)() })
    }

    /// The compute capability as GPU code names it: 8.6 is 86.
    pub fn capability(self, cuda: &Cuda) -> Result<u32> {
        let [major, minor] = CAPABILITY;
        let number = self.attribute(cuda, major)? * 10 + self.attribute(cuda, minor)?;
        u32::try_from(number)
            .map_err(|_| Error::Argument(format!("device {} has compute capability {number}", self.0)))
    }

    /// Whether the device shares the host's memory, as on a Jetson.
    pub fn is_integrated(self, cuda: &Cuda) -> Result<bool> {
        Ok(self.attribute(cuda, INTEGRATED)? != 0)
    }

    /// The number of its multiprocessors; at least 1.
    pub fn multiprocessors(self, cuda: &Cuda) -> Result<u32> {
        Ok(u32::try_from(self.attribute(cuda, MULTIPROCESSORS)?).unwrap_or_default().max(1))
    }

    /// Free and total memory in bytes.
    pub fn memory(self, cuda: &'static Cuda) -> Result<(usize, usize)> {
        let _current = DeviceGuard::new(cuda, self)?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers.
        cuda.check("cudaMemGetInfo", unsafe { (cuda.runtime().memory_info)(&raw mut free, &raw mut total) })?;
        Ok((free, total))
    }

    fn attribute(self, cuda: &Cuda, attribute: c_int) -> Result<c_int> {
        let mut value = 0;
        // SAFETY: writes one number, and takes any others.
        let code = unsafe { (cuda.runtime().device_attribute)(&raw mut value, attribute, self.0) };
        cuda.check("cudaDeviceGetAttribute", code)?;
        Ok(value)
    }
}

/// Makes a device current until it is dropped, then the one that was current before. Belongs to its thread.
#[derive(Debug)]
pub struct DeviceGuard {
    cuda: &'static Cuda,
    /// The device to go back to; `None` if it was the same.
    previous: Option<Device>,
    _thread: std::marker::PhantomData<*const ()>,
}

impl DeviceGuard {
    /// Makes `device` current. Two calls that ask and compare, where it is current already.
    pub fn new(cuda: &'static Cuda, device: Device) -> Result<Self> {
        let before = Device::current(cuda)?;
        if before != device {
            device.make_current(cuda)?;
        }
        let previous = (before != device).then_some(before);
        Ok(Self { cuda, previous, _thread: std::marker::PhantomData })
    }
}

impl Drop for DeviceGuard {
    fn drop(&mut self) {
        if let Some(device) = self.previous {
            // It was current before, so it can be now; if it cannot, the next call on it tells.
            let _ = device.make_current(self.cuda);
        }
    }
}
