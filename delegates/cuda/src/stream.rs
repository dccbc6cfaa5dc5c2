//! Which stream a call's work goes on: the caller's, else the one that all handles share, else the handle's own.

use crate::error::cuda;
use executorch_abi::Result;
use executorch_abi::caller_stream::et_caller_stream_get;
use executorch_cuda_driver::{Cuda, Device, Stream, StreamRef};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// The shared streams, one for each device. Once made, they stay.
static SHARED: Mutex<Vec<Arc<Stream>>> = Mutex::new(Vec::new());

/// The stream that all handles on a device share.
pub fn shared(library: &'static Cuda, device: Device) -> Result<Arc<Stream>> {
    let mut streams = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stream) = streams.iter().find(|stream| stream.device() == device) {
        return Ok(Arc::clone(stream));
    }
    let stream = own(library, device)?;
    streams.push(Arc::clone(&stream));
    Ok(stream)
}

/// A new stream. It and CUDA's default stream wait for each other, so that a plain copy sees what the model wrote.
pub fn own(library: &'static Cuda, device: Device) -> Result<Arc<Stream>> {
    Stream::new(library, device).map(Arc::new).map_err(cuda)
}

/// The stream that the calling thread chose for all delegates, if it did.
#[inline]
pub fn callers(library: &'static Cuda) -> Option<StreamRef> {
    let mut raw = ptr::null_mut();
    // SAFETY: there is a place for the stream.
    let chosen = unsafe { et_caller_stream_get(&raw mut raw) };
    // SAFETY: whoever chose the stream keeps it alive until the choice is undone, which is not before this call returns.
    chosen.then(|| unsafe { StreamRef::from_raw(library, raw) })
}
