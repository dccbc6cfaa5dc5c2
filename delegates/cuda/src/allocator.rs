//! Memory of CUDA devices for the runtime: planned buffers, and copies at the boundary of a program.

use crate::capi::code;
use crate::error::cuda;
use crate::stream;
use executorch_abi::device::{et_device_allocator_t, et_register_device_allocator};
use executorch_abi::error::*;
use executorch_abi::registration::*;
use executorch_abi::tensor::ET_DEVICE_CUDA;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::memory::{self, Kind};
use executorch_cuda_driver::{Cuda, Device, DeviceGuard, StreamRef};
use std::ffi::c_void;
use std::ptr;

/// What CUDA's allocations are aligned to.
const ALIGNMENT: usize = 256;

/// The device of an index; -1 is the calling thread's.
fn device(library: &'static Cuda, index: i8) -> Result<Device> {
    match index {
        -1 => Device::current(library).map_err(cuda),
        0.. => Ok(Device(i32::from(index))),
        _ => Err(Error::new(ET_ERROR_INVALID_ARGUMENT, format!("there is no CUDA device {index}"))),
    }
}

fn allocate(size: usize, alignment: usize, index: i8) -> Result<*mut c_void> {
    if !alignment.is_power_of_two() {
        let text = format!("{alignment} is no alignment: a power of two is expected");
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, text));
    }
    if alignment > ALIGNMENT {
        let text = format!("device memory is aligned to {ALIGNMENT} bytes, {alignment} were asked for");
        return Err(Error::new(ET_ERROR_NOT_SUPPORTED, text));
    }
    let library = Cuda::get().map_err(cuda)?;
    let _current = DeviceGuard::new(library, device(library, index)?).map_err(cuda)?;
    memory::allocate(library, size)
        .map_err(cuda)
        .map_err(|e| e.within(format!("{size} bytes of device memory")))
}

/// # Safety
/// Both ranges hold `size` bytes, where `kind` says, and stay during the call.
unsafe fn copy(to: *mut c_void, from: *const c_void, size: usize, index: i8, kind: Kind) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    if to.is_null() || from.is_null() {
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "memory to copy is null"));
    }
    let library = Cuda::get().map_err(cuda)?;
    let device = device(library, index)?;
    let _current = DeviceGuard::new(library, device).map_err(cuda)?;
    let Some(stream) = stream::callers(library) else {
        // Behind all that was put on the delegate's own streams.
        // SAFETY: the caller's promise.
        unsafe { memory::copy(library, to, from, size, kind) }.map_err(cuda)?;
        // CUDA does not wait for copies within a device.
        return match kind {
            Kind::DeviceToDevice => StreamRef::default_stream(library).synchronize().map_err(cuda),
            _ => Ok(()),
        };
    };
    // SAFETY: the caller's promise; the stream is waited for, since the contract is that the copy is done on return.
    unsafe { memory::copy_async(stream, to, from, size, kind) }.map_err(cuda)?;
    stream.synchronize().map_err(cuda)
}

unsafe extern "C" fn c_allocate(
    _: *mut c_void,
    size: usize,
    alignment: usize,
    index: i8,
    out: *mut *mut c_void,
) -> et_error_t {
    code(|| {
        let data = allocate(size, alignment, index)?;
        // SAFETY: the runtime gives a place for the address.
        unsafe { out.write(data) };
        Ok(())
    })
}

unsafe extern "C" fn c_deallocate(_: *mut c_void, data: *mut c_void, _: i8) {
    if data.is_null() {
        return;
    }
    code(|| {
        let library = Cuda::get().map_err(cuda)?;
        // SAFETY: the runtime gives back what `c_allocate` gave, once.
        unsafe { memory::free(library, data) }.map_err(cuda)
    });
}

unsafe extern "C" fn c_to_device(
    _: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    index: i8,
) -> et_error_t {
    // SAFETY: the runtime's arguments hold so many bytes.
    code(|| unsafe { copy(to, from, size, index, Kind::HostToDevice) })
}

unsafe extern "C" fn c_to_host(
    _: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    index: i8,
) -> et_error_t {
    // SAFETY: as above.
    code(|| unsafe { copy(to, from, size, index, Kind::DeviceToHost) })
}

unsafe extern "C" fn c_on_device(
    _: *mut c_void,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    index: i8,
) -> et_error_t {
    // SAFETY: as above.
    code(|| unsafe { copy(to, from, size, index, Kind::DeviceToDevice) })
}

unsafe extern "C" fn c_synchronize(_: *mut c_void, index: i8) -> et_error_t {
    code(|| {
        let library = Cuda::get().map_err(cuda)?;
        match stream::callers(library) {
            Some(stream) => stream.synchronize().map_err(cuda),
            None => device(library, index)?.synchronize(library).map_err(cuda),
        }
    })
}

struct Table(et_device_allocator_t);

// SAFETY: constant, and its functions may be called by any thread.
unsafe impl Sync for Table {}

static TABLE: Table = Table(et_device_allocator_t {
    struct_size: size_of::<et_device_allocator_t>() as u32,
    device_type: ET_DEVICE_CUDA,
    reserved: [0; 3],
    user_data: ptr::null_mut(),
    allocate: Some(c_allocate),
    deallocate: Some(c_deallocate),
    copy_from_host: Some(c_to_device),
    copy_to_host: Some(c_to_host),
    copy_on_device: Some(c_on_device),
    synchronize: Some(c_synchronize),
});

/// Registers the allocator with the runtime, as loading the library does; again changes nothing.
pub fn register_allocator() -> Result<()> {
    let registration = et_registration_t {
        struct_size: size_of::<et_registration_t>() as u32,
        abi_major: ET_ABI_MAJOR,
        abi_minor: ET_ABI_MINOR,
        flags: ET_REGISTRATION_LOCKSTEP,
        reserved: 0,
        component_name: concat!(env!("CARGO_PKG_NAME"), "\0").as_ptr().cast(),
        component_version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
    };
    // SAFETY: the table is static, and the registration lives through the call, which copies it.
    Error::check(unsafe { et_register_device_allocator(&raw const registration, &raw const TABLE.0) })
}

const _: () = {
    extern "C" fn at_load() {
        // The registry keeps what it refuses.
        let _ = register_allocator();
    }

    #[used]
    #[unsafe(link_section = ".init_array")]
    static REGISTER: extern "C" fn() = at_load;
};
