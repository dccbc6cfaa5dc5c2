//! The CUDA stream that a caller chose for the work of delegates (`libexecutorch_extension_cuda.so.1`).
//!
//! One choice for each thread: it holds for calls on the thread that made it. Delegates on CUDA (AOTInductor, TensorRT) put
//! their work on that stream and, where the data allows it, return before it is done. The caller owns the stream and keeps
//! it alive until the choice is undone. Nothing here calls CUDA.

use std::ffi::c_void;

unsafe extern "C" {
    /// Whether the calling thread has chosen a stream; if so, it is written to `stream` (a `cudaStream_t`), unless that is
    /// null. Null as a stream is a choice too: CUDA's default stream.
    pub fn et_caller_stream_get(stream: *mut *mut c_void) -> bool;

    /// Chooses `stream` (a `cudaStream_t`) for the calling thread, until the next such call.
    pub fn et_caller_stream_set(stream: *mut c_void);

    /// Undoes the calling thread's choice.
    pub fn et_caller_stream_clear();
}
