//! A call's tensors as the container's: checked, wrapped, and outputs copied back where they have to be.

use crate::error::cuda;
use crate::shim::{Blob, RawTensor, Tensor};
use executorch_abi::error::*;
use executorch_abi::tensor::{ET_DEVICE_CUDA, ET_MAX_RANK};
use executorch_abi::{Error, Result, TensorRef};
use executorch_cuda_driver::memory::{self, Kind};
use executorch_cuda_driver::{Cuda, Device, PointerInfo, StreamRef};
use executorch_delegate::Output;
use std::ffi::c_void;
use std::ptr;

/// What stands for the address of a tensor without elements: aligned, not null, and never read.
const NOWHERE: usize = 256;

/// A tensor on the device.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// Its first byte.
    pub data: *mut c_void,
    /// Its size.
    pub bytes: usize,
}

/// Where a tensor lies, if that is on the device.
pub fn region(library: &Cuda, device: Device, tensor: &TensorRef<'_>) -> Result<Region> {
    let raw = tensor.raw();
    if raw.device_type != ET_DEVICE_CUDA {
        return Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            "the tensor is on the host, the CUDA delegate takes tensors on the device: export the program so that it copies \
             its inputs and outputs (the default), or give it tensors on the device",
        ));
    }
    let bytes = tensor
        .numel()
        .checked_mul(tensor.dtype()?.size())
        .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "the tensor is larger than memory can be"))?;
    let data = raw.data;
    if bytes == 0 {
        return Ok(Region { data: ptr::without_provenance_mut(NOWHERE), bytes });
    }
    if data.is_null() {
        return Err(Error::new(
            ET_ERROR_INVALID_STATE,
            "the tensor has no memory yet: set the input or output that it belongs to",
        ));
    }
    let found = PointerInfo::of(library, data.addr()).map_err(cuda)?;
    match found {
        PointerInfo::Device(on) if on == device => Ok(Region { data, bytes }),
        PointerInfo::Managed(_) => Ok(Region { data, bytes }),
        PointerInfo::Device(on) => Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("the tensor is on device {}, the model was loaded on device {}", on.0, device.0),
        )),
        PointerInfo::Host | PointerInfo::Unregistered => Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            "the tensor says that it is on a CUDA device, but its memory is the host's; load the program with a runtime that \
             plans memory on devices, or copy the data to the device first",
        )),
    }
}

/// A view of a tensor for the container.
///
/// # Safety
/// The region is the tensor's, and stays as long as the container uses the result.
pub unsafe fn wrap(tensor: &TensorRef<'_>, region: Region, device: Device) -> Result<Tensor> {
    let mut dims = [[0_i64; ET_MAX_RANK]; 2];
    let [sizes, strides] = &mut dims;
    for (to, &from) in sizes.iter_mut().zip(tensor.sizes()).chain(strides.iter_mut().zip(tensor.strides())) {
        *to = i64::from(from);
    }
    let rank = tensor.rank();
    let blob = Blob {
        data: region.data,
        sizes: sizes.get(..rank).unwrap_or_default(),
        strides: strides.get(..rank).unwrap_or_default(),
        offset: 0,
        dtype: i32::from(tensor.raw().dtype),
        device: Some(device.0),
    };
    // SAFETY: a tensor's data holds its elements, which is what the view tells of; the caller's promise.
    unsafe { Tensor::over(blob) }
}

/// Gives an output the sizes of what the container returned for it.
pub fn take_shape(output: &mut Output<'_>, sizes: &[i64], dtype: i32) -> Result<()> {
    if dtype != i32::from(output.view().raw().dtype) {
        return Err(Error::new(
            ET_ERROR_INVALID_PROGRAM,
            format!("the compiled model gives element type {dtype}, the program has {}", output.dtype()?),
        ));
    }
    let mut narrow = [0_i32; ET_MAX_RANK];
    let rank = sizes.len();
    let Some(shape) = narrow.get_mut(..rank).filter(|_| rank == output.view().rank()) else {
        return Err(Error::new(
            ET_ERROR_INVALID_PROGRAM,
            format!("the compiled model gives {rank} dimensions, the program has {}", output.view().rank()),
        ));
    };
    for (to, &from) in shape.iter_mut().zip(sizes) {
        *to = i32::try_from(from).map_err(|_| {
            Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!("the compiled model gives a dimension of size {from}"),
            )
        })?;
    }
    output.resize(shape)
}

/// Copies what the container returned into an output.
pub fn copy_back(
    library: &'static Cuda,
    device: Device,
    stream: StreamRef,
    returned: &Tensor,
    output: &mut Output<'_>,
) -> Result<()> {
    let view = returned.view()?;
    take_shape(output, view.sizes, view.dtype)?;
    let place = region(library, device, &output.view())?;
    if place.bytes == 0 || place.data == view.data {
        return Ok(());
    }
    let strides = output.view().strides();
    let is_same = view
        .sizes
        .iter()
        .zip(view.strides)
        .zip(strides)
        .all(|((&size, &from), &to)| size == 1 || from == i64::from(to));
    if is_same && view.on_device {
        // SAFETY: both hold the output's elements, in the same order; the stream runs the copy after the model, and before
        // the returned tensor's memory is freed on it.
        return unsafe {
            memory::copy_async(stream, place.data, view.data, place.bytes, Kind::DeviceToDevice)
        }
        .map_err(cuda);
    }
    // SAFETY: the output's memory stays during the call, which waits for the copy.
    let mut target = unsafe { wrap(&output.view(), place, device) }?;
    target.copy_from(returned)
}

/// Handles that a container is given, each deleted unless the container took it.
#[derive(Debug, Default)]
pub struct Handles {
    raw: Vec<*mut RawTensor>,
}

// SAFETY: owned handles, as for `Tensor`.
unsafe impl Send for Handles {}

impl Handles {
    /// Adds one.
    pub fn push(&mut self, tensor: Tensor) {
        self.raw.push(tensor.into_raw());
    }

    /// Adds places for `count` handles that the container makes.
    pub fn expect(&mut self, count: usize) {
        self.raw.resize(self.raw.len() + count, ptr::null_mut());
    }

    /// The handle at a place, still owned.
    pub fn get(&self, index: usize) -> *mut RawTensor {
        self.raw.get(index).copied().unwrap_or_default()
    }

    /// All, for the container: what it writes null over, it took.
    pub fn as_mut_slice(&mut self) -> &mut [*mut RawTensor] {
        &mut self.raw
    }

    /// Deletes those that are left.
    pub fn clear(&mut self) {
        for raw in self.raw.drain(..) {
            // SAFETY: handles are owned until the container took them, and it wrote null over those.
            drop(unsafe { Tensor::from_raw(raw) });
        }
    }

    /// Takes one out.
    pub fn take(&mut self, index: usize) -> Option<Tensor> {
        let raw = std::mem::take(self.raw.get_mut(index)?);
        // SAFETY: as above.
        unsafe { Tensor::from_raw(raw) }.ok()
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.clear();
    }
}
