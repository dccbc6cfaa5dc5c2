//! What stands in a tensor.

use crate::boundary::{call, tensor};
use crate::copy;
use crate::tensor::Tensor;
use executorch_abi::error::et_error_t;

/// Copies the elements of `source` to those of `handle`: of the same sizes and dtype, between host and device in any
/// direction, of any strides. What is read or written on the host is complete on return, whatever `non_blocking` says;
/// between tensors of a device the copy stands on the device's current stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_copy_(
    handle: *mut Tensor,
    source: *mut Tensor,
    _non_blocking: i32,
) -> et_error_t {
    call("aoti_torch_copy_", || {
        // SAFETY: the module's contract.
        unsafe { copy::copy(tensor(handle, "self")?, tensor(source, "src")?) }
    })
}

/// Sets all elements to zero, on a device in the order of its current stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_zero_(handle: *mut Tensor) -> et_error_t {
    call("aoti_torch_zero_", || {
        // SAFETY: the module's contract.
        unsafe { copy::zero(tensor(handle, "self")?) }
    })
}
