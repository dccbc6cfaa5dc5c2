//! "Device code": functions of the host.

use super::state::{Op, state};
use super::*;
use std::ffi::{CStr, c_char, c_uint, c_void};

/// What an image starts with whose kernels do something; behind it, [`Image`].
pub const MAGIC: [u8; 8] = *b"FAKECODE";

/// An image: one kernel, of any name.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Image {
    magic: [u8; 8],
    /// Called with the addresses of the parameters' values.
    function: unsafe extern "C" fn(*const *const c_void),
    /// The number of parameters, 8 bytes each.
    parameters: usize,
}

/// What was loaded; none if it is other code.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    image: Option<Image>,
}

#[derive(Debug, Clone, Copy)]
pub struct Function {
    module: usize,
    image: Option<Image>,
}

/// Runs a kernel.
pub fn call(function: usize, parameters: Vec<u64>) {
    let addresses: Vec<*const c_void> = parameters.iter().map(|value| (&raw const *value).cast()).collect();
    // SAFETY: `cuLaunchKernel` enqueues nothing but functions of images.
    let function: unsafe extern "C" fn(*const *const c_void) = unsafe { std::mem::transmute(function) };
    // SAFETY: the image's maker said that the function takes so many parameters.
    unsafe { function(addresses.as_ptr()) };
}

/// # Safety
/// At least 8 bytes; if they are the magic, an [`Image`].
unsafe fn load(out: *mut usize, image: *const c_void) -> Result<(), Code> {
    if out.is_null() || image.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's promise, here and below.
    let found = if unsafe { image.cast::<[u8; 8]>().read() } == MAGIC {
        // SAFETY: as above.
        Some(unsafe { image.cast::<Image>().read_unaligned() })
    } else {
        None
    };
    let mut state = state();
    let module = state.handle();
    state.modules.insert(module, Module { image: found });
    // SAFETY: CUDA's rule, that there is a place for the handle.
    unsafe { out.write(module) };
    Ok(())
}

api! {
    fn cuModuleLoadData(out: *mut usize, image: *const c_void) { load(out, image)?; }
    fn cuModuleLoadDataEx(out: *mut usize, image: *const c_void, _count: c_uint, _options: *mut i32, _values: *mut usize) {
        load(out, image)?;
    }
    fn cuModuleLoad(_out: *mut usize, _path: *const c_char) { return Err(NOT_FOUND); }
    #[free]
    fn cuModuleUnload(module: usize) {
        let mut state = state();
        state.modules.remove(&module).ok_or(INVALID_HANDLE)?;
        state.functions.retain(|_, function| function.module != module);
    }
    fn cuModuleGetFunction(out: *mut usize, module: usize, name: *const c_char) {
        let mut state = state();
        let image = state.modules.get(&module).ok_or(INVALID_HANDLE)?.image;
        if CStr::from_ptr(name).is_empty() { return Err(NOT_FOUND); }
        let function = state.handle();
        state.functions.insert(function, Function { module, image });
        out.write(function);
    }
    fn cuFuncSetAttribute(function: usize, _number: i32, _value: i32) {
        if !state().functions.contains_key(&function) { return Err(INVALID_HANDLE); }
    }
    fn cuFuncGetAttribute(value: *mut i32, _number: i32, function: usize) {
        if !state().functions.contains_key(&function) { return Err(INVALID_HANDLE); }
        value.write(0);
    }
    fn cuLaunchKernel(
        function: usize, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        _shared: c_uint, stream: usize, parameters: *const *const u64, _extra: *mut *mut c_void,
    ) {
        let mut state = state();
        let image = state.functions.get(&function).ok_or(INVALID_HANDLE)?.image;
        if [grid_x, grid_y, grid_z, block_x, block_y, block_z].contains(&0) { return Err(INVALID_VALUE); }
        let Some(image) = image else { return Ok(()) };
        let parameters = (0..image.parameters).map(|index| parameters.add(index).read().read_unaligned()).collect();
        state.enqueue(stream, Op::Kernel { function: image.function as usize, parameters })?;
    }
    fn cuTensorMapEncodeTiled(
        _map: *mut c_void, _type: i32, _rank: c_uint, _data: *mut c_void, _sizes: *const u64, _strides: *const u64,
        _box: *const c_uint, _steps: *const c_uint, _interleave: i32, _swizzle: i32, _promotion: i32, _fill: i32,
    ) {}
}
