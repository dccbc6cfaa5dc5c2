//! Programs, methods and tensors, by the C interface.
#![allow(dead_code, reason = "the benchmark uses its part")]

extern crate executorch_aoti_cuda_shims as _;
extern crate executorch_core as _;
extern crate executorch_extension_cuda as _;
extern crate executorch_threadpool as _;

use executorch_abi::backend::*;
use executorch_abi::data_map::*;
use executorch_abi::loader::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Dtype, Error, Result};
use executorch_cuda_driver::{Cuda, Device, DeviceBuffer};
use executorch_cuda_fakes::Fakes;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr;

/// The fake device, with the delegate and the allocator registered, and nothing left of other tests.
pub fn fakes() -> Fakes {
    let fakes = Fakes::load();
    executorch_backend_cuda::delegate::register_delegate().unwrap();
    executorch_backend_cuda::allocator::register_allocator().unwrap();
    fakes.forgive();
    fakes
}

/// An option that is a text.
pub fn text_option(key: &str, text: &str) -> et_backend_option_t {
    et_backend_option_t::new(key, ET_OPTION_STRING, 0, text).unwrap()
}

/// An option that is a bool.
pub fn bool_option(key: &str, value: bool) -> et_backend_option_t {
    et_backend_option_t::new(key, ET_OPTION_BOOL, i32::from(value), "").unwrap()
}

fn told(error: executorch_cuda_driver::Error) -> Error {
    Error::new(executorch_abi::error::ET_ERROR_INTERNAL, error.to_string())
}

/// The file of a program, or the data beside it.
pub fn file(name: &str, ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../checks/conformance/cuda")
        .join(format!("{name}.{ending}"))
}

fn loader(path: &Path) -> et_data_loader_t {
    let path = CString::new(path.display().to_string()).unwrap();
    let mut out = std::mem::MaybeUninit::uninit();
    // SAFETY: a NUL-terminated path, and a place for the loader.
    Error::check(unsafe { et_data_loader_open_file(path.as_ptr(), ET_LOAD_MMAP, out.as_mut_ptr()) }).unwrap();
    // SAFETY: written.
    unsafe { out.assume_init() }
}

/// A program and the data beside it.
pub struct Program {
    raw: *mut et_program_t,
    data: Option<Box<et_data_map_t>>,
}

impl Program {
    pub fn open(name: &str) -> Self {
        let mut program = Self::without_data(name);
        let mut map = std::mem::MaybeUninit::uninit();
        // SAFETY: a loader that is given away, and a place for the map.
        Error::check(unsafe { et_data_map_load(&loader(&file(name, "ptd")), map.as_mut_ptr()) }).unwrap();
        // SAFETY: written.
        program.data = Some(Box::new(unsafe { map.assume_init() }));
        program
    }

    pub fn without_data(name: &str) -> Self {
        let mut raw = ptr::null_mut();
        // SAFETY: as above.
        Error::check(unsafe { et_program_load(&loader(&file(name, "pte")), &mut raw) }).unwrap();
        Self { raw, data: None }
    }

    pub fn method(&self, name: &str) -> Result<Method<'_>> {
        self.method_with(name, &[])
    }

    pub fn method_with(&self, name: &str, options: &[et_backend_option_t]) -> Result<Method<'_>> {
        let name = CString::new(name).unwrap();
        let own = et_backend_options_t {
            backend: c"CudaBackend".as_ptr(),
            options: options.as_ptr(),
            count: options.len(),
        };
        let options = et_method_options_t {
            struct_size: size_of::<et_method_options_t>() as u32,
            reserved: 0,
            memory: ptr::null(),
            data_map: self.data.as_deref().map_or(ptr::null(), ptr::from_ref),
            tracer: ptr::null(),
            backend_options: &own,
            backend_options_count: 1,
            kernels: ptr::null(),
            kernel_count: 0,
        };
        let mut raw = ptr::null_mut();
        // SAFETY: all lives through the call; the program and its data live as long as the method.
        Error::check(unsafe { et_program_load_method(self.raw, name.as_ptr(), &options, &mut raw) })?;
        Ok(Method { raw, outputs: Vec::new(), life: std::marker::PhantomData })
    }

    /// The named data of a key.
    pub fn data(&self, wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
        // SAFETY: the program is alive, and so is its map.
        let maps = [
            unsafe { et_program_data_map(self.raw) },
            self.data.as_deref().map_or(ptr::null(), ptr::from_ref),
        ];
        let mut found = Vec::new();
        for map in maps {
            // SAFETY: null, or a map that obeys the ABI; so for all below.
            let Some(map) = (unsafe { map.as_ref() }) else { continue };
            // SAFETY: as above.
            for index in 0..unsafe { (map.count.unwrap())(map.user_data) } {
                // SAFETY: as above.
                let key = unsafe { std::ffi::CStr::from_ptr((map.key.unwrap())(map.user_data, index)) };
                if !wanted(key.to_str().unwrap()) {
                    continue;
                }
                let mut out =
                    et_buffer_t { data: ptr::null(), size: 0, free: None, context: ptr::null_mut() };
                // SAFETY: as above.
                Error::check(unsafe { (map.data.unwrap())(map.user_data, key.as_ptr(), &mut out) }).unwrap();
                // SAFETY: the buffer holds so many bytes until it is freed.
                let bytes = unsafe { std::slice::from_raw_parts(out.data.cast::<u8>(), out.size) }.to_vec();
                found.push((key.to_str().unwrap().to_owned(), bytes));
                if let Some(free) = out.free {
                    // SAFETY: owned, and freed once.
                    unsafe { free(out.context, out.data, out.size) };
                }
            }
        }
        found
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: owned; no method of it is alive.
        unsafe {
            et_program_release(self.raw);
            if let Some(map) = &self.data {
                (map.destroy.unwrap())(map.user_data);
            }
        }
    }
}

/// A tensor in device memory.
pub struct Tensor {
    pub dtype: Dtype,
    pub sizes: Vec<i32>,
    pub memory: DeviceBuffer,
}

impl Tensor {
    pub fn try_of(dtype: Dtype, sizes: &[i32], bytes: &[u8]) -> Result<Self> {
        let cuda = Cuda::get().map_err(told)?;
        let mut memory = DeviceBuffer::new(cuda, Device(0), bytes.len().max(1)).map_err(told)?;
        memory.write(bytes).map_err(told)?;
        Ok(Self { dtype, sizes: sizes.to_vec(), memory })
    }

    pub fn try_floats_of(sizes: &[i32], numbers: &[f32]) -> Result<Self> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Self::try_of(Dtype::Float32, sizes, &bytes)
    }

    pub fn floats(sizes: &[i32], numbers: &[f32]) -> Self {
        Self::try_floats_of(sizes, numbers).unwrap()
    }

    pub fn try_bytes(&self) -> Result<Vec<u8>> {
        let count: i32 = self.sizes.iter().product();
        let mut bytes = vec![0; count as usize * self.dtype.size()];
        self.memory.read(&mut bytes).map_err(told)?;
        Ok(bytes)
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.try_bytes().unwrap()
    }

    pub fn try_floats(&self) -> Result<Vec<f32>> {
        Ok(self.try_bytes()?.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect())
    }

    pub fn to_floats(&self) -> Vec<f32> {
        self.try_floats().unwrap()
    }
}

/// What a raw tensor points to.
pub struct Raw {
    sizes: Vec<i32>,
    strides: Vec<i32>,
    order: Vec<u8>,
    pub tensor: et_tensor_t,
}

impl Raw {
    pub fn new(
        dtype: Dtype,
        sizes: &[i32],
        data: *mut std::ffi::c_void,
        capacity: usize,
        device: u8,
    ) -> Box<Self> {
        let mut sizes = sizes.to_vec();
        let mut strides = vec![1; sizes.len()];
        for dim in (1..sizes.len()).rev() {
            strides[dim - 1] = strides[dim] * sizes[dim];
        }
        let mut order: Vec<u8> = (0..sizes.len() as u8).collect();
        let tensor = et_tensor_t {
            data,
            sizes: sizes.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            dim_order: order.as_mut_ptr(),
            numel: sizes.iter().map(|&size| size as u64).product(),
            capacity_bytes: capacity as u64,
            struct_size: size_of::<et_tensor_t>() as u16,
            rank: sizes.len() as u8,
            dtype: dtype as i8,
            dynamism: ET_DYNAMISM_BOUND,
            device_type: device,
            device_index: 0,
            flags: 0,
            user_data: ptr::null_mut(),
        };
        Box::new(Self { sizes, strides, order, tensor })
    }

    pub fn sizes(&self) -> &[i32] {
        &self.sizes
    }

    pub fn value(&mut self) -> et_value_t {
        let mut value = et_value_t::NONE;
        value.tag = ET_TAG_TENSOR;
        value.payload.as_tensor = &mut self.tensor;
        value
    }
}

/// A loaded method.
pub struct Method<'p> {
    raw: *mut et_method_t,
    outputs: Vec<DeviceBuffer>,
    life: std::marker::PhantomData<&'p ()>,
}

impl Method<'_> {
    /// Runs it on tensors of the device, and gives such.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let cuda = Cuda::get().map_err(told)?;
        self.set_inputs(inputs)?;
        // SAFETY: the method is alive.
        let count = unsafe { et_method_output_count(self.raw) };
        if self.outputs.len() < count {
            self.outputs.clear();
            for index in 0..count {
                let buffer = DeviceBuffer::new(cuda, Device(0), 4096).map_err(told)?;
                // SAFETY: the buffer lives as long as the method.
                Error::check(unsafe {
                    et_method_set_output_data(self.raw, index, buffer.as_ptr(), buffer.len())
                })?;
                self.outputs.push(buffer);
            }
        }
        // SAFETY: as above.
        Error::check(unsafe { et_method_execute(self.raw) })?;
        let output = |index: usize| {
            // SAFETY: an output is a tensor of the method.
            let tensor = unsafe { &*(*et_method_output(self.raw, index)).payload.as_tensor };
            // SAFETY: it has as many sizes.
            let sizes = unsafe { std::slice::from_raw_parts(tensor.sizes, usize::from(tensor.rank)) };
            let dtype = Dtype::from_raw(tensor.dtype).unwrap();
            let mut bytes = vec![0; tensor.numel as usize * dtype.size()];
            self.outputs[index].read(&mut bytes).map_err(told)?;
            Tensor::try_of(dtype, sizes, &bytes)
        };
        (0..count).map(output).collect()
    }

    /// Gives it its inputs, whose memory must live until it has run.
    pub fn set_inputs(&mut self, inputs: &[Tensor]) -> Result<()> {
        for (index, input) in inputs.iter().enumerate() {
            let mut raw = Raw::new(
                input.dtype,
                &input.sizes,
                input.memory.as_ptr(),
                input.memory.len(),
                ET_DEVICE_CUDA,
            );
            // SAFETY: the tensor lives through the call, and its memory until the method has run.
            Error::check(unsafe { et_method_set_input(self.raw, index, &raw.value()) })?;
        }
        Ok(())
    }

    /// Runs a method of one input and one output on numbers of the host, which the program itself copies.
    pub fn run_on_host(&mut self, sizes: &[i32], numbers: &[f32]) -> Result<Vec<f32>> {
        let mut raw = Raw::new(
            Dtype::Float32,
            sizes,
            numbers.as_ptr().cast_mut().cast(),
            numbers.len() * 4,
            ET_DEVICE_CPU,
        );
        // SAFETY: the tensor and its memory live through the calls.
        Error::check(unsafe { et_method_set_input(self.raw, 0, &raw.value()) })?;
        self.again()?;
        // SAFETY: an output is a tensor of the method, in planned memory of the host.
        let tensor = unsafe { &*(*et_method_output(self.raw, 0)).payload.as_tensor };
        assert_eq!((tensor.device_type, tensor.dtype), (ET_DEVICE_CPU, Dtype::Float32 as i8));
        // SAFETY: it holds so many elements.
        Ok(unsafe { std::slice::from_raw_parts(tensor.data.cast::<f32>(), tensor.numel as usize) }.to_vec())
    }

    /// Runs it on the inputs and outputs that it has.
    pub fn again(&mut self) -> Result<()> {
        // SAFETY: the method is alive.
        Error::check(unsafe { et_method_execute(self.raw) })
    }

    /// Runs it on tensors of 2 × 6 floats that say that they are on a device, wherever their memory is.
    pub fn run_at(&mut self, data: *mut std::ffi::c_void, device: u8) -> Result<()> {
        for index in 0..2 {
            let mut raw = Raw::new(Dtype::Float32, &[2, 6], data, 48, device);
            // SAFETY: the tensor lives through the call; nothing reads what it points to.
            Error::check(unsafe { et_method_set_input(self.raw, index, &raw.value()) })?;
        }
        // SAFETY: the method is alive.
        Error::check(unsafe { et_method_execute(self.raw) })
    }
}

impl Drop for Method<'_> {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { et_method_release(self.raw) };
    }
}
