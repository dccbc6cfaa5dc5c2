//! The C functions that are looked up, as CUDA declares them. Every function exists in CUDA 12.0 and later, under the same
//! name and with the same parameters.
//!
//! Calling one is unsafe: what CUDA's reference demands of its arguments has to hold.

use crate::error::Missing;
use std::ffi::{c_char, c_float, c_int, c_uint, c_ulonglong, c_void};

/// `cudaError_t` or `CUresult`; 0 is success.
pub type Status = c_int;
/// Success of both libraries.
pub const SUCCESS: Status = 0;
/// `cudaErrorMemoryAllocation` and `CUDA_ERROR_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: Status = 2;
/// `cudaErrorInsufficientDriver`.
pub const INSUFFICIENT_DRIVER: Status = 35;
/// `cudaErrorNoDevice`.
pub const NO_DEVICE: Status = 100;
/// `cudaErrorNotReady`.
pub const NOT_READY: Status = 600;

macro_rules! opaque {
    ($($name:ident = $c:literal;)*) => {$(
        #[doc = concat!("`", $c, "`: opaque; null is CUDA's default where it has one.")]
        pub type $name = *mut c_void;
    )*};
}
opaque! {
    RawStream = "cudaStream_t";
    RawEvent = "cudaEvent_t";
    RawGraph = "cudaGraph_t";
    RawGraphExec = "cudaGraphExec_t";
    RawModule = "CUmodule";
    RawFunction = "CUfunction";
}

/// `struct cudaPointerAttributes`, with room for what CUDA 13 added at its end.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct PointerAttributes {
    /// `enum cudaMemoryType`.
    pub kind: c_int,
    /// The device that the memory belongs to.
    pub device: c_int,
    /// The address for that device.
    pub device_pointer: usize,
    /// The address for the host, null if there is none.
    pub host_pointer: usize,
    /// Unused.
    pub reserved: [i64; 16],
}

macro_rules! functions {
    ($(#[$doc:meta])* $table:ident in $library:literal {
        $($name:ident = $symbol:ident($($type:ty),* $(,)?) -> $result:ty;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $table {$(
            #[doc = concat!("`", stringify!($symbol), "`.")]
            pub $name: unsafe extern "C" fn($($type),*) -> $result,
        )*}

        impl $table {
            /// The names of all functions that the library must have.
            pub const SYMBOLS: &'static [&'static str] = &[$(stringify!($symbol)),*];

            /// Looks all functions up.
            pub(crate) fn find(library: &libloading::os::unix::Library) -> Result<Self, Missing> {
                Ok(Self {$(
                    // SAFETY: the functions are declared as CUDA's headers declare them; the library is never unloaded.
                    $name: *unsafe { library.get(concat!(stringify!($symbol), "\0").as_bytes()) }
                        .map_err(|_| Missing { library: $library, symbol: stringify!($symbol) })?,
                )*})
            }
        }
    };
}

functions! {
    /// The functions of `libcuda.so.1`.
    Driver in "libcuda.so.1" {
        version = cuDriverGetVersion(*mut c_int) -> Status;
        error_name = cuGetErrorName(Status, *mut *const c_char) -> Status;
        error_text = cuGetErrorString(Status, *mut *const c_char) -> Status;
        module_load = cuModuleLoadData(*mut RawModule, *const c_void) -> Status;
        module_unload = cuModuleUnload(RawModule) -> Status;
        module_function = cuModuleGetFunction(*mut RawFunction, RawModule, *const c_char) -> Status;
        function_set_attribute = cuFuncSetAttribute(RawFunction, c_int, c_int) -> Status;
        launch = cuLaunchKernel(
            RawFunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, RawStream,
            *mut *mut c_void, *mut *mut c_void,
        ) -> Status;
    }
}

functions! {
    /// The functions of `libcudart.so.12` and `libcudart.so.13`.
    Runtime in "libcudart" {
        version = cudaRuntimeGetVersion(*mut c_int) -> Status;
        error_name = cudaGetErrorName(Status) -> *const c_char;
        error_text = cudaGetErrorString(Status) -> *const c_char;
        last_error = cudaGetLastError() -> Status;
        device_count = cudaGetDeviceCount(*mut c_int) -> Status;
        get_device = cudaGetDevice(*mut c_int) -> Status;
        set_device = cudaSetDevice(c_int) -> Status;
        device_attribute = cudaDeviceGetAttribute(*mut c_int, c_int, c_int) -> Status;
        device_synchronize = cudaDeviceSynchronize() -> Status;
        memory_info = cudaMemGetInfo(*mut usize, *mut usize) -> Status;
        malloc = cudaMalloc(*mut *mut c_void, usize) -> Status;
        free = cudaFree(*mut c_void) -> Status;
        malloc_async = cudaMallocAsync(*mut *mut c_void, usize, RawStream) -> Status;
        free_async = cudaFreeAsync(*mut c_void, RawStream) -> Status;
        memcpy = cudaMemcpy(*mut c_void, *const c_void, usize, c_int) -> Status;
        memcpy_async = cudaMemcpyAsync(*mut c_void, *const c_void, usize, c_int, RawStream) -> Status;
        memset_async = cudaMemsetAsync(*mut c_void, c_int, usize, RawStream) -> Status;
        pointer_attributes = cudaPointerGetAttributes(*mut PointerAttributes, *const c_void) -> Status;
        stream_create = cudaStreamCreateWithFlags(*mut RawStream, c_uint) -> Status;
        stream_destroy = cudaStreamDestroy(RawStream) -> Status;
        stream_synchronize = cudaStreamSynchronize(RawStream) -> Status;
        stream_query = cudaStreamQuery(RawStream) -> Status;
        stream_wait_event = cudaStreamWaitEvent(RawStream, RawEvent, c_uint) -> Status;
        stream_is_capturing = cudaStreamIsCapturing(RawStream, *mut c_int) -> Status;
        stream_begin_capture = cudaStreamBeginCapture(RawStream, c_int) -> Status;
        stream_end_capture = cudaStreamEndCapture(RawStream, *mut RawGraph) -> Status;
        graph_destroy = cudaGraphDestroy(RawGraph) -> Status;
        graph_instantiate = cudaGraphInstantiate(*mut RawGraphExec, RawGraph, c_ulonglong) -> Status;
        graph_launch = cudaGraphLaunch(RawGraphExec, RawStream) -> Status;
        graph_exec_destroy = cudaGraphExecDestroy(RawGraphExec) -> Status;
        event_create = cudaEventCreateWithFlags(*mut RawEvent, c_uint) -> Status;
        event_destroy = cudaEventDestroy(RawEvent) -> Status;
        event_record = cudaEventRecord(RawEvent, RawStream) -> Status;
        event_synchronize = cudaEventSynchronize(RawEvent) -> Status;
        event_query = cudaEventQuery(RawEvent) -> Status;
        event_elapsed = cudaEventElapsedTime(*mut c_float, RawEvent, RawEvent) -> Status;
    }
}
