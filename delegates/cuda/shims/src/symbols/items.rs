//! The value of a tensor with one element. Waits for the device that it is on. The dtype must be the function's.

use crate::boundary::{call, place, tensor, write};
use crate::scalar::{BFloat16, Float16, item};
use crate::tensor::Tensor;
use executorch_abi::error::et_error_t;

macro_rules! items {
    ($($name:ident = $type:ty;)*) => {$(
        #[doc = concat!("The value as a `", stringify!($type), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut Tensor, out: *mut $type) -> et_error_t {
            call(stringify!($name), || {
                place(out)?;
                // SAFETY: the module's contract.
                unsafe { write(out, item::<$type>(tensor(handle, "tensor")?)?) }
            })
        }
    )*};
}

items! {
    aoti_torch_item_bool = bool;
    aoti_torch_item_uint8 = u8;
    aoti_torch_item_int8 = i8;
    aoti_torch_item_int16 = i16;
    aoti_torch_item_int32 = i32;
    aoti_torch_item_int64 = i64;
    aoti_torch_item_uint16 = u16;
    aoti_torch_item_uint32 = u32;
    aoti_torch_item_uint64 = u64;
    aoti_torch_item_float32 = f32;
    aoti_torch_item_float64 = f64;
    aoti_torch_item_float16 = Float16;
    aoti_torch_item_bfloat16 = BFloat16;
}
