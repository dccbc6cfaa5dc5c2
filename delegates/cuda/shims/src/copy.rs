//! Copies between tensors, and within the host and devices.

use crate::boundary::invalid;
use crate::tensor::{Place, Tensor, on_stream};
use executorch_abi::error::ET_ERROR_NOT_SUPPORTED;
use executorch_abi::{Error, Result};
use executorch_cuda_driver::{Kind, memory};
use std::ffi::c_void;

/// Copies all elements of `from` to the same indices of `to`. Complete on return where the host is involved; between tensors of
/// a device in the order of its current stream.
///
/// # Safety
/// The memory of both is valid, and nothing else uses it meanwhile.
pub unsafe fn copy(to: &Tensor, from: &Tensor) -> Result<()> {
    check(to, from)?;
    if to.layout().numel() == 0 {
        return Ok(());
    }
    if to.layout().same_places(from.layout()) && to.layout().is_dense() {
        // SAFETY: both have that many bytes, by their layouts and the caller's promise.
        return unsafe { bytes(to.data(), to.place(), from.data(), from.place(), to.span_bytes()) };
    }
    // SAFETY: promised by the caller.
    unsafe {
        let packed = gather(from)?;
        scatter(to, &packed)
    }
}

fn check(to: &Tensor, from: &Tensor) -> Result<()> {
    if to.dtype() != from.dtype() {
        return Err(invalid(format!(
            "cannot copy {} to {}: the dtypes must be equal",
            from.dtype(),
            to.dtype()
        )));
    }
    if to.layout().sizes() != from.layout().sizes() {
        let (from, to) = (from.layout().sizes(), to.layout().sizes());
        return Err(invalid(format!("cannot copy sizes {from:?} to {to:?}: they must be equal")));
    }
    match (to.place(), from.place()) {
        (Place::Cuda(to), Place::Cuda(from)) if to != from => Err(Error::new(
            ET_ERROR_NOT_SUPPORTED,
            format!(
                "cannot copy from cuda:{} to cuda:{}: copies between devices are not supported",
                from.0, to.0
            ),
        )),
        _ => Ok(()),
    }
}

/// Copies `count` bytes. On the current stream of the device that takes part; waits for it if the host takes part too.
///
/// # Safety
/// Both are valid for that many bytes at their places, and nothing else uses them meanwhile.
pub unsafe fn bytes(
    to: *mut c_void,
    to_place: Place,
    from: *const c_void,
    from_place: Place,
    count: usize,
) -> Result<()> {
    let (kind, device) = match (to_place, from_place) {
        (Place::Host(_), Place::Host(_)) => {
            // SAFETY: promised by the caller; views of one storage may overlap.
            unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), count) };
            return Ok(());
        }
        (Place::Cuda(device), Place::Host(_)) => (Kind::HostToDevice, device),
        (Place::Host(_), Place::Cuda(device)) => (Kind::DeviceToHost, device),
        (Place::Cuda(device), Place::Cuda(_)) => (Kind::DeviceToDevice, device),
    };
    on_stream(device, |stream| {
        // SAFETY: promised by the caller.
        unsafe { memory::copy_async(stream, to, from, count, kind) }?;
        if kind == Kind::DeviceToDevice { Ok(()) } else { stream.synchronize() }
    })
}

/// The bytes of all elements, in the order of their indices, on the host.
///
/// # Safety
/// As [`copy`].
unsafe fn gather(from: &Tensor) -> Result<Vec<u8>> {
    let staged;
    let base = match from.place() {
        Place::Host(_) => from.data().cast::<u8>().cast_const(),
        Place::Cuda(_) => {
            // SAFETY: promised by the caller.
            staged = unsafe { span_to_host(from) }?;
            staged.as_ptr()
        }
    };
    let size = from.dtype().size();
    let length = from.layout().run_length() * size;
    let mut packed = Vec::with_capacity(from.layout().numel() * size);
    from.layout().runs(|place| {
        // SAFETY: runs lie within the span, which is valid from its first element on.
        packed.extend_from_slice(unsafe { std::slice::from_raw_parts(base.add(place * size), length) });
        Ok(())
    })?;
    Ok(packed)
}

/// The memory from the first element to the last, on the host.
///
/// # Safety
/// As [`copy`]; the tensor is on a device.
unsafe fn span_to_host(from: &Tensor) -> Result<Vec<u8>> {
    let mut staged = vec![0_u8; from.span_bytes()];
    // SAFETY: promised by the caller; `staged` is that large, and the copy is complete on return.
    unsafe { bytes(staged.as_mut_ptr().cast(), Place::Host(0), from.data(), from.place(), staged.len()) }?;
    Ok(staged)
}

/// Writes all elements, whose bytes come in the order of their indices.
///
/// # Safety
/// As [`copy`].
unsafe fn scatter(to: &Tensor, packed: &[u8]) -> Result<()> {
    let size = to.dtype().size();
    let length = to.layout().run_length() * size;
    let mut runs = packed.chunks_exact(length);
    let host = Place::Host(0);
    match to.place() {
        Place::Host(_) => each(to, &mut runs, size, |place, run| {
            // SAFETY: runs lie within the span, which is valid.
            unsafe { to.data().cast::<u8>().add(place).copy_from_nonoverlapping(run.as_ptr(), run.len()) };
            Ok(())
        }),
        // One copy for all.
        Place::Cuda(_) if to.layout().is_dense() => {
            let mut staged = vec![0_u8; to.span_bytes()];
            each(to, &mut runs, size, |place, run| {
                staged.get_mut(place..place + run.len()).ok_or_else(outside)?.copy_from_slice(run);
                Ok(())
            })?;
            // SAFETY: promised by the caller.
            unsafe { bytes(to.data(), to.place(), staged.as_ptr().cast(), host, staged.len()) }
        }
        // What lies between the runs is not this tensor's.
        Place::Cuda(_) => each(to, &mut runs, size, |place, run| {
            let at = to.data().wrapping_byte_add(place);
            // SAFETY: as above.
            unsafe { bytes(at, to.place(), run.as_ptr().cast(), host, run.len()) }
        }),
    }
}

/// Pairs the places of the tensor's runs, in bytes, with their new content.
fn each(
    to: &Tensor,
    runs: &mut dyn Iterator<Item = &[u8]>,
    size: usize,
    mut write: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    to.layout().runs(|place| write(place * size, runs.next().ok_or_else(outside)?))?;
    Ok(())
}

fn outside() -> Error {
    invalid("sizes and strides disagree")
}

/// A tensor of its own memory with the same elements and strides.
///
/// # Safety
/// As [`copy`].
pub unsafe fn duplicate(from: &Tensor) -> Result<Tensor> {
    let copy = Tensor::empty(from.place(), from.dtype(), from.layout().clone())?;
    if from.layout().numel() > 0 {
        // SAFETY: both have the same layout, so that many bytes.
        unsafe { bytes(copy.data(), copy.place(), from.data(), from.place(), from.span_bytes()) }?;
    }
    Ok(copy)
}

/// Sets all bytes of all elements to zero, which is 0 in every dtype.
///
/// # Safety
/// As [`copy`].
pub unsafe fn zero(tensor: &Tensor) -> Result<()> {
    let size = tensor.dtype().size();
    let layout = tensor.layout();
    let fill = |place: usize, count: usize| match tensor.place() {
        Place::Host(_) => {
            // SAFETY: within the span, which is valid.
            unsafe { tensor.data().cast::<u8>().add(place).write_bytes(0, count) };
            Ok(())
        }
        Place::Cuda(device) => on_stream(device, |stream| {
            // SAFETY: as above.
            unsafe { memory::fill_async(stream, tensor.data().wrapping_byte_add(place), 0, count) }
        }),
    };
    if layout.is_dense() {
        return fill(0, tensor.span_bytes());
    }
    let length = layout.run_length() * size;
    layout.runs(|place| fill(place * size, length)).map(drop)
}

/// The bytes of a tensor's only element, zeros behind them; waits for the device if it is there.
///
/// # Safety
/// As [`copy`].
pub unsafe fn element(tensor: &Tensor) -> Result<[u8; 16]> {
    if tensor.layout().numel() != 1 {
        return Err(invalid(format!(
            "a tensor of sizes {:?} is no scalar: one element is needed",
            tensor.layout().sizes()
        )));
    }
    let mut value = [0_u8; 16];
    let count = tensor.dtype().size();
    // SAFETY: no dtype is larger than 16 bytes; the rest is promised by the caller.
    unsafe { bytes(value.as_mut_ptr().cast(), Place::Host(0), tensor.data(), tensor.place(), count) }?;
    Ok(value)
}
