//! What a tensor is: where its data lies, sizes, strides, dtype, device.

use crate::boundary::{call, invalid, tensor, write};
use crate::tensor::Tensor;
use executorch_abi::Result;
use executorch_abi::error::et_error_t;
use std::ffi::c_void;

macro_rules! attributes {
    ($($(#[$doc:meta])* $name:ident -> $type:ty = |$tensor:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut Tensor, out: *mut $type) -> et_error_t {
            call(stringify!($name), || {
                // SAFETY: the module's contract.
                let $tensor = unsafe { tensor(handle, "tensor") }?;
                let value: $type = $value;
                // SAFETY: as above.
                unsafe { write(out, value) }
            })
        }
    )*};
}

attributes! {
    /// The address of the first element.
    aoti_torch_get_data_ptr -> *mut c_void = |tensor| tensor.data();
    /// The sizes; they belong to the tensor.
    aoti_torch_get_sizes -> *mut i64 = |tensor| tensor.layout().sizes().as_ptr().cast_mut();
    /// The strides in elements; they belong to the tensor.
    aoti_torch_get_strides -> *mut i64 = |tensor| tensor.layout().strides().as_ptr().cast_mut();
    /// PyTorch's number of the dtype.
    aoti_torch_get_dtype -> i32 = |tensor| i32::from(tensor.dtype() as i8);
    /// The number of dimensions.
    aoti_torch_get_dim -> i64 = |tensor| tensor.layout().rank() as i64;
    /// The number of elements.
    aoti_torch_get_numel -> i64 = |tensor| tensor.layout().numel() as i64;
    /// Elements from the storage's start to the first one.
    aoti_torch_get_storage_offset -> i64 = |tensor| tensor.offset();
    /// Bytes of the storage.
    aoti_torch_get_storage_size -> i64 = |tensor| tensor.storage().bytes() as i64;
    /// 0 for the host, 1 for CUDA.
    aoti_torch_get_device_type -> i32 = |tensor| tensor.place().kind();
    /// The device's index.
    aoti_torch_get_device_index -> i32 = |tensor| tensor.place().index();
    /// Whether the elements lie in the order of their indices without gaps.
    aoti_torch_is_contiguous -> bool = |tensor| tensor.is_contiguous();
    /// True: there are no undefined tensors.
    aoti_torch_is_defined -> bool = |_tensor| true;
}

/// The size of dimension `dim`, counted from the end if negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_get_size(handle: *mut Tensor, dim: i64, out: *mut i64) -> et_error_t {
    call("aoti_torch_get_size", || {
        // SAFETY: the module's contract.
        unsafe { write(out, of_dim(tensor(handle, "tensor")?.layout().sizes(), dim)?) }
    })
}

/// The stride of dimension `dim`, counted from the end if negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_get_stride(handle: *mut Tensor, dim: i64, out: *mut i64) -> et_error_t {
    call("aoti_torch_get_stride", || {
        // SAFETY: the module's contract.
        unsafe { write(out, of_dim(tensor(handle, "tensor")?.layout().strides(), dim)?) }
    })
}

fn of_dim(numbers: &[i64], dim: i64) -> Result<i64> {
    let rank = numbers.len() as i64;
    let from_start = if dim < 0 { dim.checked_add(rank) } else { Some(dim) };
    let found = from_start.and_then(|dim| numbers.get(usize::try_from(dim).ok()?));
    found.copied().ok_or_else(|| invalid(format!("dimension {dim} of a tensor of {rank} dimensions")))
}
