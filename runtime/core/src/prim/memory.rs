//! Operators on tensors' memory: views, rows of a growing tensor, copies between devices.

use super::{Call, Prim};
use crate::device::{copy_from_host, copy_to_host};
use crate::ir::Device;
use executorch_abi::error::*;
use executorch_abi::tensor::*;
use executorch_abi::{Error, Result, TensorRef};
use std::ffi::c_void;

/// The names that [`find`] knows.
pub const NAMES: &[&str] = &[
    "executorch_prim::et_copy_index.tensor",
    "executorch_prim::et_view.default",
    "et_copy::_h2d_copy.out",
    "et_copy::_d2h_copy.out",
];

/// The operator of a name.
pub fn find(name: &str) -> Option<Prim> {
    match name {
        "executorch_prim::et_copy_index.tensor" => Some(Prim { arity: 3, run: copy_index }),
        "executorch_prim::et_view.default" => Some(Prim { arity: 3, run: view }),
        "et_copy::_h2d_copy.out" => Some(Prim { arity: 2, run: to_device }),
        "et_copy::_d2h_copy.out" => Some(Prim { arity: 2, run: to_host }),
        _ => None,
    }
}

fn bad(message: String) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, message)
}

fn same_dtype(a: TensorRef<'_>, b: TensorRef<'_>) -> Result<()> {
    let (a, b) = (a.dtype()?, b.dtype()?);
    if a == b { Ok(()) } else { Err(bad(format!("expected two tensors of one dtype, found {a} and {b}"))) }
}

/// Whether the bytes of two tensors overlap: then one cannot be written while the other is read.
fn disjoint(a: TensorRef<'_>, b: TensorRef<'_>) -> Result<()> {
    let span = |t: TensorRef<'_>| -> Result<(usize, usize)> {
        let start = t.data_ptr().addr();
        Ok((start, start.saturating_add(t.numel() * t.dtype()?.size())))
    };
    let ((a0, a1), (b0, b1)) = (span(a)?, span(b)?);
    if a0 < b1 && b0 < a1 { Err(bad("the output overlaps the input in memory".into())) } else { Ok(()) }
}

/// `copy_to` grows to `index + 1` rows, and `copy_from` becomes the last one (for `map`).
fn copy_index(call: &Call<'_>) -> Result<()> {
    let (to, from, index) = (call.args.tensor(0)?, call.args.tensor(1)?, call.args.int(2)?);
    same_dtype(to, from)?;
    let row = from.sizes();
    if to.sizes().get(1..) != Some(row) {
        return Err(bad(format!("a row of sizes {row:?} does not fit a tensor of sizes {:?}", to.sizes())));
    }
    let rows = i32::try_from(index).ok().filter(|&i| i >= 0).and_then(|i| i.checked_add(1));
    let rows = rows.ok_or_else(|| bad(format!("{index} is no row index")))?;
    let mut sizes = [0; ET_MAX_RANK];
    let sizes = sizes.get_mut(..to.rank()).unwrap_or_default();
    if let Some((first, rest)) = sizes.split_first_mut() {
        *first = rows;
        rest.copy_from_slice(row);
    }
    // SAFETY: `to` is not used from here on, and `disjoint` keeps `from` apart before anything is written.
    let mut out = unsafe { call.args.out(0) }?;
    out.resize(sizes)?;
    disjoint(out.view(), from)?;
    let source = from.bytes()?;
    let start = source.len().checked_mul(rows as usize - 1);
    let target = out.bytes()?;
    match start.and_then(|start| target.get_mut(start..start + source.len())) {
        Some(place) => place.copy_from_slice(source),
        None => return Err(bad(format!("row {index} lies outside of the tensor"))),
    }
    Ok(())
}

/// `out` becomes `self` with other sizes, in the same memory.
fn view(call: &Call<'_>) -> Result<()> {
    let (source, wanted) = (call.args.tensor(0)?, call.args.ints(1)?);
    let target = call.args.tensor(2)?;
    same_dtype(source, target)?;
    if wanted.len() != target.rank() {
        return Err(bad(format!("{} sizes for a view of rank {}", wanted.len(), target.rank())));
    }
    let mut sizes = [0; ET_MAX_RANK];
    let sizes = sizes.get_mut(..wanted.len()).unwrap_or_default();
    infer(wanted, source.numel(), sizes)?;
    let (from, to) = (source.raw(), target.raw());
    if (from.device_type, from.device_index) != (to.device_type, to.device_index) {
        return Err(bad("a view cannot lie on another device than its source".into()));
    }
    let (data, capacity) = (from.data, from.capacity_bytes);
    // SAFETY: only the description of `out` is written, not its data; the others are not used from here on.
    let mut out = unsafe { call.args.out(2) }?;
    // SAFETY: the source's memory outlives the view's use of it (a run), and holds as many elements. It is bound
    // first, so that the resize is checked against the memory that is really there.
    unsafe { out.bind(data, capacity) };
    out.resize(sizes)
}

/// The sizes that a view asks for, one of which may be -1 and is then what remains.
fn infer(wanted: &[i64], numel: usize, sizes: &mut [i32]) -> Result<()> {
    let no = || bad(format!("a tensor of {numel} elements has no view of sizes {wanted:?}"));
    let mut known = 1_usize;
    let mut open = None;
    for (i, (&want, size)) in wanted.iter().zip(sizes.iter_mut()).enumerate() {
        if want == -1 {
            if open.replace(i).is_some() {
                return Err(no());
            }
            continue;
        }
        *size = i32::try_from(want).ok().filter(|&s| s >= 0).ok_or_else(no)?;
        known = known.checked_mul(*size as usize).ok_or_else(no)?;
    }
    if let Some(slot) = open.and_then(|i| sizes.get_mut(i)) {
        if known == 0 || !numel.is_multiple_of(known) {
            return Err(no());
        }
        *slot = i32::try_from(numel / known).map_err(|_| no())?;
    } else if known != numel {
        return Err(no());
    }
    Ok(())
}

fn device_of(tensor: TensorRef<'_>) -> Device {
    let raw = tensor.raw();
    Device { kind: raw.device_type, index: raw.device_index }
}

/// Copies `self`, which is on the host, to `out`, which is on a device.
fn to_device(call: &Call<'_>) -> Result<()> {
    let (source, out) = (call.args.tensor(0)?, call.args.tensor(1)?);
    let (from, to) = (device_of(source), device_of(out));
    if !from.is_host() {
        return Err(bad(format!(
            "expected the argument `self` on the host, which the operator copies from; found it on {from}. Give the tensor \
             on the host, or export with PropagateDeviceConfig(skip_h2d_for_method_inputs=True) and \
             MemoryPlanningPass(alloc_graph_input=False) to give it on the device"
        )));
    }
    if to.is_host() {
        return Err(bad("expected the argument `out` on a device, found it on the host".into()));
    }
    // SAFETY: the tensors hold `size` bytes where they say that they are, which was checked.
    copy(call, |target, origin, size| unsafe { copy_from_host(to, target, origin, size) })
}

/// Copies `self`, which is on a device, to `out`, which is on the host.
fn to_host(call: &Call<'_>) -> Result<()> {
    let (source, out) = (call.args.tensor(0)?, call.args.tensor(1)?);
    let (from, to) = (device_of(source), device_of(out));
    if from.is_host() {
        return Err(bad("expected the argument `self` on a device, found it on the host".into()));
    }
    if !to.is_host() {
        return Err(bad(format!("expected the argument `out` on the host, found it on {to}")));
    }
    // SAFETY: as in `to_device`.
    copy(call, |target, origin, size| unsafe { copy_to_host(from, target, origin, size) })
}

/// Gives `out` the sizes of `self`, and `copy` the addresses and the number of bytes.
fn copy(call: &Call<'_>, copy: impl FnOnce(*mut c_void, *const c_void, usize) -> Result<()>) -> Result<()> {
    let source = call.args.tensor(0)?;
    same_dtype(source, call.args.tensor(1)?)?;
    // SAFETY: the two lie on different devices, and no memory is read or written through the views.
    let mut out = unsafe { call.args.out(1) }?;
    out.resize(source.sizes()).map_err(|e| Error::new(ET_ERROR_INVALID_ARGUMENT, e.message))?;
    if source.dim_order() != out.view().dim_order() {
        return Err(bad("expected two tensors of one dim order".into()));
    }
    let size = source.numel() * source.dtype()?.size();
    let (target, origin) = (out.view().raw().data, source.raw().data);
    if size == 0 {
        return Ok(());
    }
    if target.is_null() || origin.is_null() {
        let text = "a tensor of the copy has no memory yet: set the input or output that it belongs to";
        return Err(Error::new(ET_ERROR_INVALID_STATE, text));
    }
    copy(target, origin, size)
}

#[cfg(test)]
mod tests {
    use super::infer;

    #[test]
    fn views_infer_one_size() {
        let mut sizes = [0; 2];
        assert!(infer(&[3, -1], 12, &mut sizes).is_ok());
        assert_eq!(sizes, [3, 4]);
        assert!(infer(&[5, -1], 12, &mut sizes).is_err());
        assert!(infer(&[-1, -1], 12, &mut sizes).is_err());
        assert!(infer(&[0, -1], 0, &mut sizes).is_err());
        assert!(infer(&[3, 3], 12, &mut sizes).is_err());
        assert!(infer(&[-2, 6], 12, &mut sizes).is_err());
        assert!(infer(&[i64::MAX, 1], 12, &mut sizes).is_err());
    }
}
