//! Devices, contexts, versions and errors.

use super::state::state;
use super::*;
use std::cell::Cell;
use std::ffi::{c_char, c_uint, c_void};

thread_local! {
    static CURRENT: Cell<i32> = const { Cell::new(0) };
    static LAST: Cell<Code> = const { Cell::new(SUCCESS) };
}

/// The calling thread's device.
pub fn current() -> i32 {
    CURRENT.get()
}

/// Keeps a failure of the runtime as the thread's last error.
pub fn remember(name: &str, code: Code) -> Code {
    let asks = matches!(name, "cudaGetLastError" | "cudaPeekAtLastError");
    if code != SUCCESS && code != NOT_READY && name.starts_with("cuda") && !asks {
        LAST.set(code);
    }
    code
}

fn known(device: i32) -> Result<(), Code> {
    let devices = state().devices;
    match devices {
        0 => Err(NO_DEVICE),
        _ if (0..devices).contains(&device) => Ok(()),
        _ => Err(INVALID_DEVICE),
    }
}

/// The numbers of `cudaDeviceAttr` and `CUdevice_attribute` are the same.
fn attribute(number: i32) -> i32 {
    let (major, minor) = state().capability;
    match number {
        1 => 1024,       // threads in a block
        2 | 3 => 1024,   // of which in x and y
        4 => 64,         // and z
        5 => i32::MAX,   // blocks in x
        6 | 7 => 65_535, // y and z
        8 => 49_152,     // shared memory of a block
        10 => 32,        // threads in a warp
        16 => 132,       // multiprocessors
        18 => 0,         // integrated
        41 => 1,         // unified addressing
        75 => major,
        76 => minor,
        81 => 233_472, // shared memory of a multiprocessor
        83 => 1,       // managed memory
        97 => 232_448, // shared memory of a block that asks for it
        115 => 1,      // memory pools
        _ => 0,
    }
}

const NAME: &str = "Fake GPU";

/// A context's handle: one for each device.
fn context(device: i32) -> usize {
    0x6000_0000 + (device as usize + 1) * 16
}

api! {
    fn cuInit(_flags: c_uint) {
        if state().devices == 0 { return Err(NO_DEVICE); }
    }
    fn cuDriverGetVersion(version: *mut i32) { version.write(state().driver_version); }
    fn cuDeviceGetCount(count: *mut i32) { count.write(state().devices); }
    fn cuDeviceGet(device: *mut i32, ordinal: i32) {
        known(ordinal)?;
        device.write(ordinal);
    }
    fn cuDeviceGetName(name: *mut c_char, size: i32, device: i32) {
        known(device)?;
        let length = NAME.len().min(usize::try_from(size).unwrap_or(0).saturating_sub(1));
        name.cast::<u8>().copy_from(NAME.as_ptr(), length);
        name.add(length).write(0);
    }
    fn cuDeviceGetAttribute(value: *mut i32, number: i32, device: i32) {
        known(device)?;
        value.write(attribute(number));
    }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) {
        known(device)?;
        bytes.write(state().memory);
    }
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: i32) {
        known(device)?;
        uuid.write([device as u8; 16]);
    }
    fn cuDevicePrimaryCtxRetain(out: *mut usize, device: i32) {
        known(device)?;
        out.write(context(device));
    }
    fn cuDevicePrimaryCtxRelease_v2(device: i32) { known(device)?; }
    fn cuCtxGetCurrent(out: *mut usize) { out.write(context(current())); }
    fn cuCtxSetCurrent(_context: *mut c_void) {}
    fn cuCtxPushCurrent_v2(_context: *mut c_void) {}
    fn cuCtxPopCurrent_v2(out: *mut usize) {
        if !out.is_null() { out.write(context(current())); }
    }
    fn cuCtxGetDevice(out: *mut i32) { out.write(current()); }
    fn cuCtxSynchronize() {
        state().implicit()?;
        state().flush()?;
    }
    fn cuGetErrorString(code: Code, out: *mut *const c_char) { out.write(message(code).as_ptr()); }
    fn cuGetErrorName(code: Code, out: *mut *const c_char) { out.write(message(code).as_ptr()); }

    fn cudaGetDeviceCount(count: *mut i32) {
        let devices = state().devices;
        count.write(devices);
        if devices == 0 { return Err(NO_DEVICE); }
    }
    fn cudaGetDevice(device: *mut i32) {
        known(0)?;
        device.write(current());
    }
    fn cudaSetDevice(device: i32) {
        known(device)?;
        CURRENT.set(device);
    }
    fn cudaDeviceGetAttribute(value: *mut i32, number: i32, device: i32) {
        known(device)?;
        value.write(attribute(number));
    }
    fn cudaDeviceSynchronize() {
        state().implicit()?;
        state().flush()?;
    }
    fn cudaDeviceReset() {}
    fn cudaDriverGetVersion(version: *mut i32) { version.write(state().driver_version); }
    fn cudaGetLastError() { return Err(LAST.replace(SUCCESS)); }
    fn cudaPeekAtLastError() { return Err(LAST.get()); }
}

fn message(code: Code) -> &'static std::ffi::CStr {
    match code {
        SUCCESS => c"no error",
        INVALID_VALUE => c"invalid argument",
        OUT_OF_MEMORY => c"out of memory",
        35 => c"CUDA driver version is insufficient for CUDA runtime version",
        NO_DEVICE => c"no CUDA-capable device is detected",
        INVALID_DEVICE => c"invalid device ordinal",
        209 => c"no kernel image is available for execution on the device",
        INVALID_HANDLE => c"invalid resource handle",
        NOT_FOUND => c"named symbol not found",
        NOT_READY => c"device not ready",
        ILLEGAL_ADDRESS => c"an illegal memory access was encountered",
        CAPTURE_UNSUPPORTED => c"operation not permitted when stream is capturing",
        CAPTURE_INVALIDATED => c"operation failed due to a previous error during capture",
        CAPTURE_IMPLICIT => c"operation would make the legacy stream depend on a capturing blocking stream",
        CAPTURED_EVENT => c"operation not permitted on an event last recorded in a capturing stream",
        _ => c"a fake error",
    }
}

/// The text of an error.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub extern "C" fn cudaGetErrorString(code: Code) -> *const c_char {
    message(code).as_ptr()
}

/// The name of an error.
#[cfg_attr(fake_library, unsafe(no_mangle))]
pub extern "C" fn cudaGetErrorName(code: Code) -> *const c_char {
    message(code).as_ptr()
}
