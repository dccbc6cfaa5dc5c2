//! The current CUDA stream of a device, for code that AOTInductor compiled (`libaoti_cuda_shims.so.1`).
//!
//! One stream for each thread and device: what a compiled model asks for with `aoti_torch_get_current_cuda_stream`, and what
//! its tensors are allocated, copied and freed on. The CUDA delegate sets it around a run. A stream that is set belongs to
//! whoever set it.

use std::ffi::c_void;

unsafe extern "C" {
    /// Whether a stream is current for `device` on the calling thread; if so, it is written to `stream` (a `cudaStream_t`),
    /// unless that is null. None is created. A negative `device` is the calling thread's current one.
    pub fn et_current_stream_get(device: i32, stream: *mut *mut c_void) -> bool;

    /// Makes `stream` (a `cudaStream_t`; null is CUDA's default stream) current for `device` on the calling thread.
    pub fn et_current_stream_set(device: i32, stream: *mut c_void);

    /// Leaves `device` without a current stream on the calling thread.
    pub fn et_current_stream_clear(device: i32);
}
