//! The current stream of each device, one for each thread.

use crate::boundary::cuda;
use executorch_abi::Result;
use executorch_cuda_driver::sys::RawStream;
use executorch_cuda_driver::{Cuda, Device, Stream};
use std::cell::RefCell;

/// A thread's streams.
#[derive(Default)]
struct Streams {
    /// Few: most programs use one device.
    current: Vec<(Device, RawStream)>,
    /// Those that were made because none was current.
    made: Vec<Stream>,
}

thread_local! {
    static STREAMS: RefCell<Streams> = RefCell::new(Streams::default());
}

/// Calls `body` with the thread's streams; `otherwise` if the thread is past them at its end.
fn with<T>(otherwise: T, body: impl FnOnce(&mut Streams) -> T) -> T {
    STREAMS
        .try_with(|streams| streams.try_borrow_mut().ok().map(|mut streams| body(&mut streams)))
        .ok()
        .flatten()
        .unwrap_or(otherwise)
}

/// The device of an index; a negative one is the calling thread's current device.
pub fn device(index: i32) -> Result<Device> {
    if index >= 0 {
        return Ok(Device(index));
    }
    Device::current(Cuda::get().map_err(cuda)?).map_err(cuda)
}

/// The current stream of a device, if there is one. Null is CUDA's default stream.
pub fn current(device: Device) -> Option<RawStream> {
    with(None, |streams| streams.current.iter().find(|entry| entry.0 == device).map(|entry| entry.1))
}

/// Sets the current stream of a device, or takes it away, and returns the one before.
pub fn replace(device: Device, stream: Option<RawStream>) -> Option<RawStream> {
    with(None, |streams| {
        let at = streams.current.iter().position(|entry| entry.0 == device);
        match (at.and_then(|at| streams.current.get_mut(at)), stream) {
            (Some(entry), Some(stream)) => Some(std::mem::replace(&mut entry.1, stream)),
            (Some(_), None) => at.map(|at| streams.current.swap_remove(at).1),
            (None, Some(stream)) => {
                streams.current.push((device, stream));
                None
            }
            (None, None) => None,
        }
    })
}

/// The current stream of a device; if there is none, one is made, which the thread keeps until its end.
pub fn current_or_new(device: Device) -> Result<RawStream> {
    if let Some(stream) = current(device) {
        return Ok(stream);
    }
    let kept = with(None, |streams| {
        streams.made.iter().find(|stream| stream.device() == device).map(|stream| stream.borrow().as_raw())
    });
    let raw = match kept {
        Some(raw) => raw,
        None => {
            let stream = Stream::new(Cuda::get().map_err(cuda)?, device).map_err(cuda)?;
            let raw = stream.borrow().as_raw();
            with((), |streams| streams.made.push(stream));
            raw
        }
    };
    replace(device, Some(raw));
    Ok(raw)
}
