//! PyTorch's numbers of dtypes, layouts and device types.

use executorch_abi::Dtype;

macro_rules! constants {
    ($($name:ident = $value:expr;)*) => {$(
        #[doc = concat!("The number ", stringify!($value), ".")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> i32 {
            $value
        }
    )*};
}

constants! {
    aoti_torch_device_type_cpu = 0;
    aoti_torch_device_type_cuda = 1;
    aoti_torch_device_type_meta = 14;
    aoti_torch_layout_strided = 0;
    aoti_torch_dtype_uint8 = 0;
    aoti_torch_dtype_int8 = 1;
    aoti_torch_dtype_int16 = 2;
    aoti_torch_dtype_int32 = 3;
    aoti_torch_dtype_int64 = 4;
    aoti_torch_dtype_float16 = 5;
    aoti_torch_dtype_float32 = 6;
    aoti_torch_dtype_float64 = 7;
    aoti_torch_dtype_complex32 = 8;
    aoti_torch_dtype_complex64 = 9;
    aoti_torch_dtype_complex128 = 10;
    aoti_torch_dtype_bool = 11;
    aoti_torch_dtype_bfloat16 = 15;
    aoti_torch_dtype_float8_e5m2 = 23;
    aoti_torch_dtype_float8_e4m3fn = 24;
    aoti_torch_dtype_float8_e5m2fnuz = 25;
    aoti_torch_dtype_float8_e4m3fnuz = 26;
    aoti_torch_dtype_uint16 = 27;
    aoti_torch_dtype_uint32 = 28;
    aoti_torch_dtype_uint64 = 29;
}

/// Bytes of an element; 0 for a number that is no dtype.
#[unsafe(no_mangle)]
pub extern "C" fn aoti_torch_dtype_element_size(dtype: i32) -> usize {
    i8::try_from(dtype).ok().and_then(Dtype::from_raw).map_or(0, Dtype::size)
}
