//! Exported programs with their inputs and expected outputs, for examples that measure them.

use executorch_abi::backend::et_backend_options_t;
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::tracer::et_event_tracer_t;
use executorch_abi::value::*;
use executorch_abi::{Dtype, Error, TensorRef};
use npyz::npz::NpzArchive;
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;
use std::time::Instant;

/// An array's bytes, its shape and its type.
pub type Array = (Vec<u64>, Vec<i32>, Dtype);

/// The array `key` of an .npz file.
pub fn array(path: &Path, key: &str) -> Option<Array> {
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(key).unwrap()?;
    let shape: Vec<i32> = npy.shape().iter().map(|&s| s as i32).collect();
    let text = npy.dtype().descr();
    let dtype = match text.trim_matches('\'') {
        "<f4" => Dtype::Float32,
        "<f8" => Dtype::Float64,
        "<f2" => Dtype::Float16,
        "<i8" => Dtype::Int64,
        "<i4" => Dtype::Int32,
        "|b1" => Dtype::Bool,
        other => panic!("dtype {other}"),
    };
    drop(npy);
    let mut file = archive.zip_archive().by_name(&format!("{key}.npy")).unwrap();
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut all).unwrap();
    let data = all.split_off(10 + u16::from_le_bytes([all[8], all[9]]) as usize);
    let mut words = vec![0_u64; data.len() / 8 + 1];
    bytemuck::cast_slice_mut(&mut words)[..data.len()].copy_from_slice(&data);
    Some((words, shape, dtype))
}

/// The arrays `input_0`, `input_1` … of an .npz file.
pub fn inputs(arrays: &Path) -> Vec<Array> {
    (0..).map_while(|i| array(arrays, &format!("input_{i}"))).collect()
}

/// Maps a program.
pub fn open(model: &str) -> *mut et_program_t {
    let path = CString::new(model).unwrap();
    let mut program = ptr::null_mut();
    let mut loader = MaybeUninit::uninit();
    // SAFETY: a NUL-terminated path and places for the handles, which are written on success.
    unsafe {
        assert_eq!(et_data_loader_open_file(path.as_ptr(), ET_LOAD_MMAP, loader.as_mut_ptr()), ET_OK);
        Error::check(et_program_load(&loader.assume_init(), &mut program)).unwrap();
    }
    program
}

/// Loads the method `forward`. The tracer may be null.
pub fn load(
    program: *mut et_program_t,
    tracer: *const et_event_tracer_t,
    backends: &[et_backend_options_t],
) -> *mut et_method_t {
    let options = et_method_options_t {
        struct_size: size_of::<et_method_options_t>() as u32,
        reserved: 0,
        memory: ptr::null(),
        data_map: ptr::null(),
        tracer,
        backend_options: backends.as_ptr(),
        backend_options_count: backends.len(),
        kernels: ptr::null(),
        kernel_count: 0,
    };
    let mut method = ptr::null_mut();
    // SAFETY: a live program, valid options, a place for the handle.
    let code = unsafe { et_program_load_method(program, c"forward".as_ptr(), &options, &mut method) };
    Error::check(code).unwrap_or_else(|e| panic!("{e}"));
    method
}

/// Gives a method its inputs.
pub fn set(method: *mut et_method_t, inputs: &mut [Array]) {
    for (i, (words, sizes, dtype)) in inputs.iter_mut().enumerate() {
        let mut strides = vec![0; sizes.len()];
        let mut order: Vec<u8> = (0..sizes.len() as u8).collect();
        let mut tensor = et_tensor_t {
            data: words.as_mut_ptr().cast::<c_void>(),
            sizes: sizes.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            dim_order: order.as_mut_ptr(),
            numel: sizes.iter().map(|&s| s as u64).product(),
            capacity_bytes: words.len() as u64 * 8,
            struct_size: size_of::<et_tensor_t>() as u16,
            rank: sizes.len() as u8,
            dtype: *dtype as i8,
            dynamism: 0,
            device_type: 0,
            device_index: 0,
            flags: 0,
            user_data: ptr::null_mut(),
        };
        // SAFETY: as many sizes and strides as are said; a live method and a valid value.
        unsafe {
            et_tensor_dense_strides(sizes.as_ptr(), ptr::null(), sizes.len(), strides.as_mut_ptr());
            Error::check(et_method_set_input(method, i, &et_value_t::tensor(&mut tensor))).unwrap();
        }
    }
}

/// Runs a method; returns the seconds that it took.
pub fn run(method: *mut et_method_t) -> f64 {
    let start = Instant::now();
    // SAFETY: a live method.
    Error::check(unsafe { et_method_execute(method) }).unwrap_or_else(|e| panic!("{e}"));
    start.elapsed().as_secs_f64()
}

/// Prints how far the outputs of the last run are from what is expected.
pub fn compare(method: *mut et_method_t, arrays: &Path) {
    for i in 0.. {
        let Some((words, _, dtype)) = array(arrays, &format!("expected_{i}")) else { break };
        // SAFETY: a live method's output is valid until the next run.
        let found = unsafe { TensorRef::new(&*(*et_method_output(method, i)).payload.as_tensor) };
        if dtype != Dtype::Float32 {
            println!("output {i} is {dtype}");
            continue;
        }
        let got: &[f32] = bytemuck::cast_slice(found.bytes().unwrap());
        let want = &bytemuck::cast_slice::<u64, f32>(&words)[..got.len()];
        let mean = want.iter().sum::<f32>() / want.len() as f32;
        let spread = (want.iter().map(|w| (w - mean).powi(2)).sum::<f32>() / want.len() as f32).sqrt();
        let worst = got.iter().zip(want).map(|(g, w)| (g - w).abs()).fold(0.0, f32::max);
        println!("output {i}: worst difference {:.1e} of the spread", worst / spread.max(1e-30));
    }
}

/// Runs a method as often; returns the seconds of each run, least first.
pub fn times(method: *mut et_method_t, inputs: &mut [Array], runs: usize) -> Vec<f64> {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            set(method, inputs);
            run(method)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}
