//! Devices and streams that are current until a guard is deleted. A guard belongs to the thread that made it.

use crate::boundary::cuda;
use crate::stream;
use executorch_abi::Result;
use executorch_cuda_driver::sys::RawStream;
use executorch_cuda_driver::{Cuda, Device};

/// What `CUDAGuardHandle` points to: goes back to the device that was current before.
pub struct CudaGuard {
    cuda: &'static Cuda,
    before: Device,
}

impl CudaGuard {
    /// Makes a device current.
    pub fn new(index: i32) -> Result<Self> {
        let library = Cuda::get().map_err(cuda)?;
        let before = Device::current(library).map_err(cuda)?;
        let device = if index < 0 { before } else { Device(index) };
        if device != before {
            device.make_current(library).map_err(cuda)?;
        }
        Ok(Self { cuda: library, before })
    }

    /// Makes another device current; the one to go back to stays the same.
    pub fn set(&self, index: i32) -> Result<()> {
        let device = stream::device(index)?;
        if Device::current(self.cuda).map_err(cuda)? == device {
            return Ok(());
        }
        device.make_current(self.cuda).map_err(cuda)
    }
}

impl Drop for CudaGuard {
    fn drop(&mut self) {
        // It was current before; if it no longer can be, the next call on it tells.
        let _ = Device::current(self.cuda)
            .map(|now| now == self.before || self.before.make_current(self.cuda).is_ok());
    }
}

/// What `CUDAStreamGuardHandle` points to: a device and its stream.
pub struct CudaStreamGuard {
    _device: CudaGuard,
    device: Device,
    before: Option<RawStream>,
}

impl CudaStreamGuard {
    /// Makes a device current, and `stream` its current stream.
    pub fn new(stream: RawStream, index: i32) -> Result<Self> {
        let device = stream::device(index)?;
        let guard = CudaGuard::new(device.0)?;
        Ok(Self { _device: guard, device, before: stream::replace(device, Some(stream)) })
    }
}

impl Drop for CudaStreamGuard {
    fn drop(&mut self) {
        stream::replace(self.device, self.before);
    }
}
