//! A call's tensors as values of the graph: element types and shapes.

use crate::graph::{Datatype, Dims, Element, MAX_RANK, Value};
use crate::names;
use executorch_abi::error::*;
use executorch_abi::{Dtype, Error, Result};
use executorch_delegate::{Output, TensorRef};

/// What an address of a value's elements must be a multiple of.
pub fn alignment(value: &Value) -> usize {
    match value.element.datatype() {
        Datatype::Float32 | Datatype::Int32 | Datatype::QInt32 | Datatype::QCInt32 => 4,
        Datatype::Float16 | Datatype::BFloat16 => 2,
        _ => 1,
    }
}

/// The element types of tensors that a value may be given in.
fn dtypes(value: &Value) -> &'static [Dtype] {
    match value.element {
        Element::Float32 => &[Dtype::Float32],
        Element::Float16 => &[Dtype::Float16],
        Element::BFloat16 => &[Dtype::BFloat16],
        Element::Int32 => &[Dtype::Int32],
        Element::QInt8(_) => &[Dtype::Int8, Dtype::QInt8],
        Element::QUInt8(_) => &[Dtype::UInt8, Dtype::QUInt8],
        Element::QInt32(_) => &[Dtype::Int32, Dtype::QInt32],
        _ => &[],
    }
}

fn check_dtype(value: &Value, found: Dtype, is_output: bool) -> Result<()> {
    let is_index = is_output && matches!(value.element, Element::Int32) && found == Dtype::Int64;
    if dtypes(value).contains(&found) || is_index {
        return Ok(());
    }
    Err(wrong_dtype(value, found))
}

#[cold]
fn wrong_dtype(value: &Value, found: Dtype) -> Error {
    let expected = names::tensor(&value.element, &value.dims);
    Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the payload has {expected} here, the tensor is {found}"))
}

#[cold]
fn wrong_rank(value: &Value, found: usize) -> Error {
    let expected = names::tensor(&value.element, &value.dims);
    Error::new(
        ET_ERROR_INVALID_ARGUMENT,
        format!("the payload has {expected} here, the tensor has {found} dimensions"),
    )
}

/// Reads the shape of an input into `shape`, in the order in which the dimensions lie in memory, and tells whether it
/// was another.
#[inline]
pub fn take_input(value: &Value, tensor: &TensorRef<'_>, shape: &mut Dims) -> Result<bool> {
    check_dtype(value, tensor.dtype()?, false)?;
    let sizes = tensor.sizes();
    if sizes.is_empty() && value.dims.len() == 1 {
        // The exporter writes a number as a list of one.
        let is_changed = shape[..] != [1];
        *shape = Dims::from_iter([1]);
        return Ok(is_changed);
    }
    if sizes.len() != value.dims.len() || shape.len() != sizes.len() {
        return Err(wrong_rank(value, sizes.len()));
    }
    let mut is_changed = false;
    for (place, &dim) in shape.iter_mut().zip(tensor.dim_order()) {
        let size = sizes.get(usize::from(dim)).and_then(|&s| usize::try_from(s).ok()).unwrap_or(0);
        is_changed |= *place != size;
        *place = size;
    }
    Ok(is_changed)
}

/// Gives an output the shape of its value, which is in the order in which the dimensions lie in memory.
#[inline]
pub fn resize_output(value: &Value, tensor: &mut Output<'_>, shape: &Dims) -> Result<()> {
    check_dtype(value, tensor.dtype()?, true)?;
    let mut sizes = [0_i32; MAX_RANK];
    let view = tensor.view();
    let rank = view.rank();
    if rank == 0 && shape[..] == [1] {
        return Ok(());
    }
    if rank != shape.len() || rank > MAX_RANK {
        return Err(wrong_rank(value, rank));
    }
    for (&size, &dim) in shape.iter().zip(view.dim_order()) {
        let size = i32::try_from(size)
            .map_err(|_| Error::new(ET_ERROR_NOT_SUPPORTED, format!("a size of {size} is too large")))?;
        if let Some(place) = sizes.get_mut(usize::from(dim)) {
            *place = size;
        }
    }
    tensor.resize(sizes.get(..rank).unwrap_or_default())
}

/// Turns the 32-bit indices at the start of a 64-bit output into 64-bit ones.
#[inline]
pub fn widen(value: &Value, tensor: &mut Output<'_>) -> Result<()> {
    if !matches!(value.element, Element::Int32) || tensor.dtype()? != Dtype::Int64 {
        return Ok(());
    }
    let bytes = tensor.bytes()?;
    // From the end, so that what is written does not cover what is still to be read.
    for index in (0..bytes.len() / 8).rev() {
        let (narrow, wide) = (index * 4..index * 4 + 4, index * 8..index * 8 + 8);
        let number = bytes.get(narrow).and_then(|b| b.try_into().ok()).map_or(0, i32::from_ne_bytes);
        if let Some(place) = bytes.get_mut(wide) {
            place.copy_from_slice(&i64::from(number).to_ne_bytes());
        }
    }
    Ok(())
}
