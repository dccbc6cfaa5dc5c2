//! Random numbers.

use crate::boundary::{call, give, invalid, numbers, place, rank, tensor};
use crate::operand::{contiguous, device, empty, launch};
use crate::stream;
use crate::symbols::create::dtype;
use crate::tensor::Tensor;
use executorch_abi::error::{ET_ERROR_INVALID_ARGUMENT, ET_ERROR_NOT_SUPPORTED, et_error_t};
use executorch_abi::{Dtype, Error};
use executorch_cuda_kernels::{rand_bf16, rand_f32, randint};

/// A new tensor of float32 (the default) or bfloat16 values in [0, 1). What is null is the default; layout and device can only
/// be that (strided, CUDA), and memory is never pinned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_rand(
    size: *const i64,
    length: i64,
    dtype_code: *mut i32,
    layout: *mut i32,
    device_type: *mut i32,
    device_index: i32,
    pin_memory: *mut i32,
    out: *mut *mut Tensor,
) -> et_error_t {
    call("aoti_torch_cuda_rand", || {
        place(out)?;
        // SAFETY: the module's contract.
        let (sizes, given) = unsafe {
            let given = [dtype_code, layout, device_type, pin_memory].map(|number| number.as_ref().copied());
            (numbers(size, rank(length)?, "size")?, given)
        };
        let [dtype_code, layout, device_type, pin_memory] = given;
        let wanted = [(layout, 0, "layout"), (device_type, 1, "device"), (pin_memory, 0, "pin_memory")];
        for (given, needed, name) in wanted {
            if given.is_some_and(|given| given != needed) {
                let text = format!("`{name}` is {}, expected {needed}", given.unwrap_or_default());
                return Err(Error::new(ET_ERROR_NOT_SUPPORTED, text));
            }
        }
        let dtype = dtype_code.map_or(Ok(Dtype::Float32), dtype)?;
        let fill = match dtype {
            Dtype::Float32 => rand_f32,
            Dtype::BFloat16 => rand_bf16,
            other => {
                let text = format!("random numbers of {other}, expected float32 or bfloat16");
                return Err(Error::new(ET_ERROR_NOT_SUPPORTED, text));
            }
        };
        let device = stream::device(device_index)?;
        let result = empty(device, dtype, sizes)?;
        let (data, count) = (result.data(), result.layout().numel() as u64);
        // SAFETY: the tensor has that many elements of the function's type.
        launch(device, |stream| unsafe { fill(stream, device, data, count) })?;
        // SAFETY: the module's contract.
        unsafe { give(out, result) }
    })
}

/// Fills `out`, a contiguous int64 tensor of these sizes, with integers from `low` up to `high`, which is not drawn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aoti_torch_cuda_randint_low_out(
    out: *mut Tensor,
    low: i64,
    high: i64,
    size: *const i64,
    length: i64,
) -> et_error_t {
    call("aoti_torch_cuda_randint_low_out", || {
        // SAFETY: the module's contract.
        let (to, sizes) = unsafe { (tensor(out, "out")?, numbers(size, rank(length)?, "size")?) };
        if to.dtype() != Dtype::Int64 || to.layout().sizes() != sizes {
            let found = to.layout().sizes();
            return Err(invalid(format!(
                "`out` is {} of sizes {found:?}, expected int64 of {sizes:?}",
                to.dtype()
            )));
        }
        contiguous(to, "out", ET_ERROR_INVALID_ARGUMENT)?;
        let device = device(to, "out")?;
        let (data, count) = (to.data(), to.layout().numel() as u64);
        // SAFETY: the tensor has that many elements; the rest is the module's contract.
        launch(device, |stream| unsafe { randint(stream, device, data, count, low, high) })
    })
}
