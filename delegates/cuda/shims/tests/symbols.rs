//! The shared library exports every function that a compiled model may import, unmangled.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

/// What upstream's library exports, and what helper headers of PyTorch use besides.
const FUNCTIONS: &[&str] = &[
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_dtype",
    "aoti_torch_get_dim",
    "aoti_torch_get_numel",
    "aoti_torch_get_storage_offset",
    "aoti_torch_get_storage_size",
    "aoti_torch_get_device_type",
    "aoti_torch_get_device_index",
    "aoti_torch_layout_strided",
    "aoti_torch_dtype_float32",
    "aoti_torch_dtype_bfloat16",
    "aoti_torch_dtype_float16",
    "aoti_torch_dtype_int64",
    "aoti_torch_dtype_int32",
    "aoti_torch_dtype_int16",
    "aoti_torch_dtype_int8",
    "aoti_torch_dtype_uint8",
    "aoti_torch_dtype_bool",
    "aoti_torch_device_type_cpu",
    "aoti_torch_device_type_cuda",
    "aoti_torch_grad_mode_is_enabled",
    "aoti_torch_grad_mode_set_enabled",
    "aoti_torch_check",
    "aoti_torch_warn",
    "aoti_torch_create_tensor_from_blob",
    "aoti_torch_create_tensor_from_blob_v2",
    "aoti_torch_empty_strided",
    "aoti_torch_delete_tensor_object",
    "aoti_torch_new_tensor_handle",
    "aoti_torch_clone",
    "aoti_torch_clone_preserve_strides",
    "aoti_torch__reinterpret_tensor",
    "aoti_torch_assign_tensors_out",
    "aoti_torch_copy_",
    "aoti_torch_item_bool",
    "aoti_torch_create_cuda_guard",
    "aoti_torch_delete_cuda_guard",
    "aoti_torch_cuda_guard_set_index",
    "aoti_torch_create_cuda_stream_guard",
    "aoti_torch_delete_cuda_stream_guard",
    "aoti_torch_get_current_cuda_stream",
    "aoti_torch_cuda__weight_int4pack_mm",
    "aoti_torch_cuda_int4_plain_mm",
    "aoti_torch_cuda_int5_plain_mm",
    "aoti_torch_cuda_int6_plain_mm",
    "aoti_torch_cuda_int8_plain_mm",
    "aoti_torch_cuda_sort_stable",
    "aoti_torch_cuda_rand",
    "aoti_torch_cuda_randint_low_out",
    "aoti_torch_get_size",
    "aoti_torch_get_stride",
    "aoti_torch_is_contiguous",
    "aoti_torch_dtype_element_size",
    "aoti_torch_dtype_float64",
    "aoti_torch_dtype_complex64",
    "aoti_torch_dtype_uint16",
    "aoti_torch_dtype_float8_e4m3fn",
    "aoti_torch_item_float32",
    "aoti_torch_item_float64",
    "aoti_torch_item_float16",
    "aoti_torch_item_bfloat16",
    "aoti_torch_item_int8",
    "aoti_torch_item_int16",
    "aoti_torch_item_int32",
    "aoti_torch_item_int64",
    "aoti_torch_item_uint8",
    "aoti_torch_cuda_caching_allocator_raw_alloc",
    "aoti_torch_cuda_caching_allocator_raw_delete",
    "aoti_torch_get_current_device_index",
    "aoti_torch__alloc_from_pool",
    "aoti_torch_zero_",
    "aoti_torch_as_strided",
    "aoti_record_function_start",
    "aoti_record_function_end",
    "et_current_stream_get",
    "et_current_stream_set",
    "et_current_stream_clear",
];

#[test]
fn all_functions_are_exported() {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libexecutorch_aoti_cuda_shims.so");
    // SAFETY: the library of this crate, whose undefined symbols this program has.
    let library = unsafe { libloading::Library::new(&library) }.unwrap();
    for function in FUNCTIONS {
        // SAFETY: the address is not used.
        let found = unsafe { library.get::<unsafe extern "C" fn()>(function.as_bytes()) };
        assert!(found.is_ok(), "{function} is missing");
    }
}
