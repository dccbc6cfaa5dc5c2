//! Graphs: work that was recorded once and is launched as a whole.

use crate::error::Result;
use crate::sys::{RawGraph, RawGraphExec};
use crate::{Cuda, StreamRef};
use std::ffi::{c_int, c_ulonglong};

/// `cudaGraphInstantiateFlagAutoFreeOnLaunch`.
const AUTO_FREE: c_ulonglong = 1;

/// Which calls of which threads a capture forbids, by the numbers of `cudaStreamCaptureMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum CaptureMode {
    /// Calls of any thread that could not be recorded fail.
    Global = 0,
    /// Only calls of this thread.
    ThreadLocal = 1,
    /// None.
    Relaxed = 2,
}

/// A recording in progress. Dropped without [`Capture::end`], it is ended and thrown away.
#[derive(Debug)]
pub struct Capture {
    stream: StreamRef,
    ended: bool,
}

impl Capture {
    /// Begins to record what is put on `stream`, which must not be the default stream.
    pub fn begin(stream: StreamRef, mode: CaptureMode) -> Result<Self> {
        let cuda = stream.cuda();
        // SAFETY: the stream lives.
        let code = unsafe { (cuda.runtime().stream_begin_capture)(stream.as_raw(), mode as c_int) };
        cuda.check("cudaStreamBeginCapture", code)?;
        Ok(Self { stream, ended: false })
    }

    /// Ends the recording and prepares it for launches. Memory that the recorded work allocates and does not free is freed
    /// before each further launch.
    pub fn end(mut self) -> Result<Graph> {
        self.ended = true;
        let recorded = finish(self.stream)?;
        let cuda = recorded.cuda;
        let mut exec = std::ptr::null_mut();
        // SAFETY: the graph lives; writes one pointer.
        let code = unsafe { (cuda.runtime().graph_instantiate)(&raw mut exec, recorded.raw, AUTO_FREE) };
        cuda.check("cudaGraphInstantiate", code)?;
        Ok(Graph { exec, recorded })
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if !self.ended {
            // An invalidated recording fails to end, and is over all the same.
            let _ = finish(self.stream);
        }
    }
}

/// What was recorded; destroyed when dropped.
#[derive(Debug)]
struct Recorded {
    cuda: &'static Cuda,
    raw: RawGraph,
}

fn finish(stream: StreamRef) -> Result<Recorded> {
    let cuda = stream.cuda();
    let mut raw = std::ptr::null_mut();
    // SAFETY: the stream lives; writes one pointer.
    let code = unsafe { (cuda.runtime().stream_end_capture)(stream.as_raw(), &raw mut raw) };
    let recorded = Recorded { cuda, raw };
    cuda.check("cudaStreamEndCapture", code)?;
    Ok(recorded)
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: given by `finish`, and destroyed once.
            unsafe { (self.cuda.runtime().graph_destroy)(self.raw) };
        }
    }
}

/// A recording that can be launched, destroyed when dropped. The memory that the recorded work uses must outlive its launches.
#[derive(Debug)]
pub struct Graph {
    exec: RawGraphExec,
    recorded: Recorded,
}

// SAFETY: graphs may be used from any thread, one call at a time, which `&mut` and ownership ensure.
unsafe impl Send for Graph {}

impl Graph {
    /// Puts the recorded work on `stream`.
    ///
    /// # Safety
    /// Everything that the recorded work reads and writes is still there until the stream has done it.
    pub unsafe fn launch(&mut self, stream: StreamRef) -> Result<()> {
        let cuda = self.recorded.cuda;
        // SAFETY: both live; the rest is promised by the caller.
        cuda.check("cudaGraphLaunch", unsafe { (cuda.runtime().graph_launch)(self.exec, stream.as_raw()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by `Capture::end`, and destroyed once, before what it was made from.
        unsafe { (self.recorded.cuda.runtime().graph_exec_destroy)(self.exec) };
    }
}
