//! Loads and runs a payload by the backend's own functions.

use executorch_abi::backend::*;
use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use std::ffi::{c_char, c_void};
use std::ptr;

unsafe extern "C" fn nothing(_: *mut c_void, _: *const c_char, _: *mut et_buffer_t) -> et_error_t {
    ET_ERROR_NOT_FOUND
}

/// Runs a payload with one input and one output of the same two sizes, twice, on an executor, with scratch
/// memory shared as `sharing` says. The backend is registered.
pub fn run(payload: &[u8], executor: &str, sharing: i32, dims: [usize; 2], input: &mut [f32]) -> Vec<f32> {
    assert_eq!(input.len(), dims[0] * dims[1]);
    let mut output = vec![0.0_f32; input.len()];
    let (mut sizes, mut strides, mut order) = (dims.map(|size| size as i32), [dims[1] as i32, 1], [0, 1]);
    let mut tensors = [input.as_mut_ptr(), output.as_mut_ptr()].map(|data| et_tensor_t {
        data: data.cast(),
        sizes: sizes.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        dim_order: order.as_mut_ptr(),
        numel: (dims[0] * dims[1]) as u64,
        capacity_bytes: (dims[0] * dims[1] * 4) as u64,
        struct_size: size_of::<et_tensor_t>() as u16,
        rank: 2,
        dtype: ET_DTYPE_FLOAT32,
        dynamism: ET_DYNAMISM_BOUND,
        device_type: ET_DEVICE_CPU,
        device_index: 0,
        flags: 0,
        user_data: ptr::null_mut(),
    });
    let map = et_data_map_t {
        struct_size: size_of::<et_data_map_t>() as u32,
        reserved: 0,
        user_data: ptr::null_mut(),
        layout: None,
        data: Some(nothing),
        load_into: None,
        count: None,
        key: None,
        destroy: None,
    };
    let options = [
        et_backend_option_t::new("executor", ET_OPTION_STRING, 0, executor).unwrap(),
        et_backend_option_t::new("workspace_sharing_mode", ET_OPTION_INT, sharing, "").unwrap(),
        // So that each load packs.
        et_backend_option_t::new("weight_cache_enabled", ET_OPTION_BOOL, 0, "").unwrap(),
    ];
    let context = et_backend_init_context_t {
        struct_size: size_of::<et_backend_init_context_t>() as u32,
        reserved: 0,
        method_name: c"forward".as_ptr(),
        data_map: &map,
        method_allocator: ptr::null(),
        tracer: ptr::null(),
        options: options.as_ptr(),
        option_count: options.len(),
        internal: ptr::null_mut(),
    };
    let call = et_backend_execute_context_t {
        struct_size: size_of::<et_backend_execute_context_t>() as u32,
        reserved: 0,
        method_name: c"forward".as_ptr(),
        temp_allocator: ptr::null(),
        tracer: ptr::null(),
        internal: ptr::null_mut(),
    };
    let (data, size) = (payload.as_ptr().cast(), payload.len());
    let processed = et_buffer_t { data, size, free: None, context: ptr::null_mut() };
    let mut values: Vec<et_value_t> = tensors.iter_mut().map(|tensor| et_value_t::tensor(tensor)).collect();
    let pointers: Vec<*mut et_value_t> = values.iter_mut().map(ptr::from_mut).collect();
    let mut handle = ptr::null_mut();
    // SAFETY: the backend is registered; everything that is passed is valid during the calls, and the payload as long as
    // the handle.
    unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        let user = backend.user_data;
        assert_eq!(backend.init.unwrap()(user, &context, &processed, ptr::null(), 0, &mut handle), ET_OK);
        for _ in 0..2 {
            let code = backend.execute.unwrap()(user, &call, handle, pointers.as_ptr(), pointers.len());
            assert_eq!(code, ET_OK);
        }
        backend.destroy.unwrap()(user, handle);
    }
    output
}
