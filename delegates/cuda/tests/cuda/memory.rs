//! The runtime's allocator of device memory, and the caller's stream.

use crate::common::{Program, Tensor, fakes};
use crate::references::{close, numbers};
use executorch_abi::Error;
use executorch_abi::caller_stream::*;
use executorch_abi::device::*;
use executorch_abi::error::*;
use executorch_abi::tensor::ET_DEVICE_CUDA;
use executorch_cuda_driver::{Cuda, Device, Stream};
use std::ffi::c_void;
use std::ptr;

fn table() -> &'static et_device_allocator_t {
    // SAFETY: a registered table lives as long as the process.
    unsafe { et_device_allocator_find(ET_DEVICE_CUDA).as_ref() }.unwrap()
}

fn allocate(size: usize, alignment: usize, index: i8) -> Result<*mut c_void, Error> {
    let mut out = ptr::null_mut();
    // SAFETY: there is a place for the address.
    Error::check(unsafe {
        (table().allocate.unwrap())(table().user_data, size, alignment, index, &mut out)
    })?;
    Ok(out)
}

fn copy(to_device: bool, to: *mut c_void, from: *const c_void, size: usize) -> Result<(), Error> {
    let function = if to_device { table().copy_from_host } else { table().copy_to_host };
    // SAFETY: both hold so many bytes, or the call is refused.
    Error::check(unsafe { (function.unwrap())(table().user_data, to, from, size, 0) })
}

#[test]
fn memory_is_allocated_copied_and_freed() {
    let fakes = fakes();
    let before = fakes.live();
    for stream in [None, Some(Stream::new(Cuda::get().unwrap(), Device(0)).unwrap())] {
        if let Some(stream) = &stream {
            // SAFETY: the stream lives until the choice is undone.
            unsafe { et_caller_stream_set(stream.borrow().as_raw()) };
        }
        let device = allocate(100, 8, -1).unwrap();
        let (from, mut to) = ([7_u8; 100], [0_u8; 100]);
        copy(true, device, from.as_ptr().cast(), 100).unwrap();
        copy(false, to.as_mut_ptr().cast(), device, 100).unwrap();
        assert_eq!(from, to);
        copy(true, ptr::null_mut(), ptr::null(), 0).unwrap();
        let other = allocate(100, 8, 0).unwrap();
        // SAFETY: both hold so many bytes.
        Error::check(unsafe { (table().copy_on_device.unwrap())(table().user_data, other, device, 100, 0) })
            .unwrap();
        // SAFETY: takes nothing of the caller's.
        Error::check(unsafe { (table().synchronize.unwrap())(table().user_data, 0) }).unwrap();
        to.fill(0);
        copy(false, to.as_mut_ptr().cast(), other, 100).unwrap();
        assert_eq!(from, to);
        // SAFETY: given above, and given back once.
        unsafe { (table().deallocate.unwrap())(table().user_data, other, 0) };
        assert_eq!(copy(true, device, ptr::null(), 1).unwrap_err().code, ET_ERROR_INVALID_ARGUMENT);
        // SAFETY: given above, and given back once.
        unsafe { (table().deallocate.unwrap())(table().user_data, device, 0) };
        // SAFETY: takes nothing.
        unsafe { et_caller_stream_clear() };
    }
    assert_eq!(fakes.live(), before);
    for (alignment, index, code) in [
        (3, 0, ET_ERROR_INVALID_ARGUMENT),
        (512, 0, ET_ERROR_NOT_SUPPORTED),
        (8, -2, ET_ERROR_INVALID_ARGUMENT),
        (8, 7, ET_ERROR_INTERNAL),
    ] {
        assert_eq!(allocate(8, alignment, index).unwrap_err().code, code, "{alignment} {index}");
    }
    fakes.set("memory", 64);
    let error = allocate(100, 8, 0).unwrap_err();
    fakes.set("memory", 1 << 34);
    assert_eq!(error.code, ET_ERROR_MEMORY_ALLOCATION_FAILED, "{error}");
}

#[test]
fn work_goes_on_the_callers_stream() {
    let fakes = fakes();
    let program = Program::open("cuda_rows");
    let mut method = program.method("forward").unwrap();
    let stream = Stream::new(Cuda::get().unwrap(), Device(0)).unwrap();
    let (x, y) = (numbers(12, 1), numbers(12, 2));
    let inputs = [Tensor::floats(&[2, 6], &x), Tensor::floats(&[2, 6], &y)];
    let run = |method: &mut crate::common::Method<'_>| {
        let outputs = method.run(&inputs).unwrap();
        let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y) + 1.0).collect();
        close(&outputs[0].to_floats(), &expected);
        fakes.count("last_stream")
    };
    let own = run(&mut method);
    // SAFETY: the stream lives until the choice is undone.
    unsafe { et_caller_stream_set(stream.borrow().as_raw()) };
    assert_eq!(run(&mut method), stream.borrow().as_raw().addr() as u64);
    // SAFETY: takes nothing.
    unsafe { et_caller_stream_clear() };
    assert_eq!(run(&mut method), own);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}
