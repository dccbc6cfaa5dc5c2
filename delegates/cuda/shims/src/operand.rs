//! What kernels demand of the tensors that they are given.

use crate::boundary::invalid;
use crate::tensor::{Layout, Place, Tensor, with_stream};
use executorch_abi::error::{ET_ERROR_INVALID_ARGUMENT, ET_ERROR_NOT_SUPPORTED};
use executorch_abi::{Dtype, Error, Result};
use executorch_cuda_driver::{Device, StreamRef};
use executorch_cuda_kernels::Error as Kernel;
use std::ffi::c_void;

/// The device of a kernel's first operand.
pub fn device(tensor: &Tensor, name: &str) -> Result<Device> {
    match tensor.place() {
        Place::Cuda(device) => Ok(device),
        Place::Host(_) => Err(invalid(format!("`{name}` is on the CPU, expected a CUDA tensor"))),
    }
}

/// The address of an operand that has this dtype and these sizes, and lies contiguously on `device`.
pub fn operand(
    tensor: &Tensor,
    name: &str,
    device: Device,
    dtype: Dtype,
    sizes: &[u64],
) -> Result<*mut c_void> {
    let found = tensor.layout().sizes();
    let same =
        found.len() == sizes.len() && found.iter().zip(sizes).all(|(&a, &b)| u64::try_from(a) == Ok(b));
    if tensor.dtype() != dtype || !same {
        return Err(invalid(format!(
            "`{name}` is {} of sizes {found:?}, expected {dtype} of {sizes:?}",
            tensor.dtype()
        )));
    }
    if tensor.place() != Place::Cuda(device) {
        return Err(invalid(format!("`{name}` is on {}, expected cuda:{}", tensor.place(), device.0)));
    }
    contiguous(tensor, name, ET_ERROR_INVALID_ARGUMENT)?;
    Ok(tensor.data())
}

/// Fails with `code` unless the tensor is contiguous.
pub fn contiguous(tensor: &Tensor, name: &str, code: u32) -> Result<()> {
    if tensor.is_contiguous() {
        return Ok(());
    }
    let (sizes, strides) = (tensor.layout().sizes(), tensor.layout().strides());
    Err(Error::new(
        code,
        format!("`{name}` has sizes {sizes:?} and strides {strides:?}, expected a contiguous tensor"),
    ))
}

/// The two sizes of a matrix.
pub fn matrix(tensor: &Tensor, name: &str) -> Result<[u64; 2]> {
    match tensor.layout().sizes() {
        &[rows, columns] => Ok([rows, columns].map(|size| u64::try_from(size).unwrap_or_default())),
        sizes => Err(invalid(format!("`{name}` has sizes {sizes:?}, expected two dimensions"))),
    }
}

/// A size that a model gave.
pub fn size(number: i64, name: &str) -> Result<u64> {
    u64::try_from(number).map_err(|_| invalid(format!("`{name}` is {number}, expected no negative number")))
}

/// A new contiguous tensor on a device.
pub fn empty(device: Device, dtype: Dtype, sizes: &[i64]) -> Result<Tensor> {
    Tensor::empty(Place::Cuda(device), dtype, Layout::contiguous(sizes)?)
}

/// Launches on the device's current stream.
pub fn launch(
    device: Device,
    work: impl FnOnce(StreamRef) -> executorch_cuda_kernels::Result<()>,
) -> Result<()> {
    with_stream(device, |stream| {
        work(stream).map_err(|error| match error {
            Kernel::Unsupported(text) => invalid(text),
            Kernel::NoCode(text) => Error::new(ET_ERROR_NOT_SUPPORTED, text),
            Kernel::Cuda(error) => crate::boundary::cuda(error),
        })
    })
}
