//! Streams and events.

use crate::error::{Error, Result};
use crate::sys::{self, RawEvent, RawStream};
use crate::{Cuda, Device, DeviceGuard};
use std::ffi::{c_int, c_uint};

const NON_BLOCKING: c_uint = 1;
const BLOCKING_SYNC: c_uint = 1;
const DISABLE_TIMING: c_uint = 2;

/// A stream that somebody owns, or CUDA's default stream. A plain pointer: whoever makes one from a raw stream says that the
/// stream lives as long as it is used.
#[derive(Debug, Clone, Copy)]
pub struct StreamRef {
    cuda: &'static Cuda,
    raw: RawStream,
}

// SAFETY: CUDA's streams may be used from any thread.
unsafe impl Send for StreamRef {}
// SAFETY: as above.
unsafe impl Sync for StreamRef {}

impl StreamRef {
    /// The legacy default stream, which waits for all blocking streams of its device and they for it.
    pub fn default_stream(cuda: &'static Cuda) -> Self {
        Self { cuda, raw: std::ptr::null_mut() }
    }

    /// A stream that somebody else owns.
    ///
    /// # Safety
    /// `raw` is null (the default stream) or a stream of this process that lives as long as the result and its copies are used.
    pub unsafe fn from_raw(cuda: &'static Cuda, raw: RawStream) -> Self {
        Self { cuda, raw }
    }

    /// The `cudaStream_t`.
    pub fn as_raw(self) -> RawStream {
        self.raw
    }

    /// CUDA.
    pub fn cuda(self) -> &'static Cuda {
        self.cuda
    }

    /// Waits until everything on the stream is done; tells of failures of that work.
    pub fn synchronize(self) -> Result<()> {
        // SAFETY: the stream lives.
        let code = unsafe { (self.cuda.runtime().stream_synchronize)(self.raw) };
        self.cuda.check("cudaStreamSynchronize", code)
    }

    /// Whether everything on the stream is done.
    pub fn is_done(self) -> Result<bool> {
        // SAFETY: the stream lives.
        match unsafe { (self.cuda.runtime().stream_query)(self.raw) } {
            sys::NOT_READY => {
                // SAFETY: takes nothing. Being busy must not look like a failure to the next who asks.
                unsafe { (self.cuda.runtime().last_error)() };
                Ok(false)
            }
            code => self.cuda.check("cudaStreamQuery", code).map(|()| true),
        }
    }

    /// What is put on this stream from now on waits for `event`.
    pub fn wait(self, event: &Event) -> Result<()> {
        // SAFETY: both live.
        let code = unsafe { (self.cuda.runtime().stream_wait_event)(self.raw, event.raw, 0) };
        self.cuda.check("cudaStreamWaitEvent", code)
    }

    /// Whether what is put on the stream is recorded into a graph instead of run.
    pub fn is_capturing(self) -> Result<bool> {
        let mut status: c_int = 0;
        // SAFETY: the stream lives; writes one number.
        let code = unsafe { (self.cuda.runtime().stream_is_capturing)(self.raw, &raw mut status) };
        self.cuda.check("cudaStreamIsCapturing", code)?;
        Ok(status != 0)
    }
}

/// A stream, destroyed when dropped; work on it goes on to its end then.
#[derive(Debug)]
pub struct Stream {
    stream: StreamRef,
    device: Device,
}

impl Stream {
    /// A stream that waits for the legacy default stream and is waited for by it, so that a blocking `cudaMemcpy` sees what it
    /// has done.
    pub fn new(cuda: &'static Cuda, device: Device) -> Result<Self> {
        Self::with_flags(cuda, device, 0)
    }

    /// A stream that has nothing to do with the legacy default stream: who reads its results synchronises with it.
    pub fn non_blocking(cuda: &'static Cuda, device: Device) -> Result<Self> {
        Self::with_flags(cuda, device, NON_BLOCKING)
    }

    fn with_flags(cuda: &'static Cuda, device: Device, flags: c_uint) -> Result<Self> {
        let _current = DeviceGuard::new(cuda, device)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: writes one pointer.
        let code = unsafe { (cuda.runtime().stream_create)(&raw mut raw, flags) };
        cuda.check("cudaStreamCreateWithFlags", code)?;
        Ok(Self { stream: StreamRef { cuda, raw }, device })
    }

    /// The stream, for as long as this value lives.
    pub fn borrow(&self) -> StreamRef {
        self.stream
    }

    /// The device that it was made on.
    pub fn device(&self) -> Device {
        self.device
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made by `with_flags`, and destroyed once. A failure leaves nothing that could be done.
        unsafe { (self.stream.cuda.runtime().stream_destroy)(self.stream.raw) };
    }
}

/// A point in a stream's work.
#[derive(Debug)]
pub struct Event {
    cuda: &'static Cuda,
    raw: RawEvent,
}

// SAFETY: CUDA's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event of the current device, for ordering: cheaper than one that takes the time.
    pub fn new(cuda: &'static Cuda) -> Result<Self> {
        Self::with_flags(cuda, DISABLE_TIMING)
    }

    /// An event of the current device whose waiters sleep instead of spinning.
    pub fn sleeping(cuda: &'static Cuda) -> Result<Self> {
        Self::with_flags(cuda, DISABLE_TIMING | BLOCKING_SYNC)
    }

    /// An event of the current device that takes the time, see [`Self::milliseconds_since`].
    pub fn timed(cuda: &'static Cuda) -> Result<Self> {
        Self::with_flags(cuda, 0)
    }

    fn with_flags(cuda: &'static Cuda, flags: c_uint) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: writes one pointer.
        cuda.check("cudaEventCreateWithFlags", unsafe {
            (cuda.runtime().event_create)(&raw mut raw, flags)
        })?;
        Ok(Self { cuda, raw })
    }

    /// The `cudaEvent_t`.
    pub fn as_raw(&self) -> RawEvent {
        self.raw
    }

    /// Puts the event behind what is on `stream` now.
    pub fn record(&self, stream: StreamRef) -> Result<()> {
        // SAFETY: both live.
        self.cuda
            .check("cudaEventRecord", unsafe { (self.cuda.runtime().event_record)(self.raw, stream.raw) })
    }

    /// Waits until the work before the event is done; at once if it was never recorded.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event lives.
        self.cuda.check("cudaEventSynchronize", unsafe { (self.cuda.runtime().event_synchronize)(self.raw) })
    }

    /// Whether the work before the event is done.
    pub fn is_done(&self) -> Result<bool> {
        // SAFETY: the event lives.
        match unsafe { (self.cuda.runtime().event_query)(self.raw) } {
            sys::NOT_READY => {
                // SAFETY: takes nothing; see `StreamRef::is_done`.
                unsafe { (self.cuda.runtime().last_error)() };
                Ok(false)
            }
            code => self.cuda.check("cudaEventQuery", code).map(|()| true),
        }
    }

    /// The milliseconds between two events that take the time and are done.
    pub fn milliseconds_since(&self, start: &Self) -> Result<f32> {
        let mut time = 0.0;
        // SAFETY: both live; writes one number.
        let code = unsafe { (self.cuda.runtime().event_elapsed)(&raw mut time, start.raw, self.raw) };
        self.cuda.check("cudaEventElapsedTime", code)?;
        if time.is_finite() { Ok(time) } else { Err(Error::Argument(format!("events {time} ms apart"))) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `with_flags`, and destroyed once.
        unsafe { (self.cuda.runtime().event_destroy)(self.raw) };
    }
}
