//! Numbers and nested lists of them, into memory and out of it.

use crate::errors::{OrRaise, bad_type, bad_value, type_name};
use executorch_client::{Dtype, Layout, Storage, Tensor};
use half::{bf16, f16};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyFloat, PyInt, PyList, PyTuple};
use std::sync::Arc;

/// Lists may nest as deep as tensors have dimensions.
const MAX_DEPTH: usize = 16;

fn too_deep() -> PyErr {
    bad_value(format!("the lists are nested deeper than {MAX_DEPTH}, the most dimensions of a tensor"))
}

/// Whether an object is a list or tuple.
pub fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()
}

/// Whether an object is a number of Python.
pub fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
}

/// A row-major tensor of nested lists of numbers, or of one number.
pub fn parse(object: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<Tensor> {
    let mut sizes = Vec::new();
    let mut level = object.clone();
    while is_sequence(&level) {
        if sizes.len() == MAX_DEPTH {
            return Err(too_deep());
        }
        let size = level.len()?;
        sizes.push(i32::try_from(size).map_err(|_| bad_value(format!("{size} items are too many")))?);
        if size == 0 {
            break;
        }
        level = level.get_item(0)?;
    }
    let layout = Layout::contiguous(dtype, &sizes).or_raise()?;
    let mut out = Vec::with_capacity(layout.nbytes());
    let mut path = Vec::new();
    fill(object, &sizes, dtype, &mut out, &mut path)?;
    Tensor::new(layout, Arc::new(Storage::copy(&out).or_raise()?)).or_raise()
}

fn place(path: &[usize]) -> String {
    path.iter().map(|index| format!("[{index}]")).collect()
}

fn fill(
    object: &Bound<'_, PyAny>,
    sizes: &[i32],
    dtype: Dtype,
    out: &mut Vec<u8>,
    path: &mut Vec<usize>,
) -> PyResult<()> {
    let Some((&size, inner)) = sizes.split_first() else {
        return write(object, dtype, out).map_err(|error| {
            if is_sequence(object) {
                bad_value(format!(
                    "the lists are ragged: a list stands at {}, others have a number there",
                    place(path)
                ))
            } else if is_number(object) || path.is_empty() {
                error
            } else {
                bad_type(format!("expected a number at {}, found {}", place(path), type_name(object)))
            }
        });
    };
    let found = if is_sequence(object) { object.len()? } else { 0 };
    if !is_sequence(object) || found != size as usize {
        let what = if is_sequence(object) { format!("{found} items") } else { type_name(object) };
        return Err(bad_value(format!(
            "the lists are ragged: expected a list of {size} items at {}, found {what}",
            if path.is_empty() { "the top".into() } else { place(path) }
        )));
    }
    for index in 0..found {
        path.push(index);
        fill(&object.get_item(index)?, inner, dtype, out, path)?;
        path.pop();
    }
    Ok(())
}

/// The element type that Python's numbers have by themselves: that of the first float, else of the first number.
pub fn infer(object: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    infer_at(object, 0)
}

fn infer_at(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Dtype> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    if is_sequence(object) {
        let mut found = None;
        for item in object.try_iter()? {
            match infer_at(&item?, depth + 1)? {
                Dtype::Float32 => return Ok(Dtype::Float32),
                Dtype::Int64 => found = Some(Dtype::Int64),
                other => found = found.or(Some(other)),
            }
        }
        return Ok(found.unwrap_or(Dtype::Float32));
    }
    Ok(if object.is_instance_of::<PyBool>() {
        Dtype::Bool
    } else if object.is_instance_of::<PyInt>() {
        Dtype::Int64
    } else if object.is_instance_of::<PyComplex>() {
        Dtype::Complex64
    } else {
        Dtype::Float32
    })
}

fn integer<T>(object: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<T>
where
    T: TryFrom<i128>,
{
    if !object.is_instance_of::<PyInt>() {
        return Err(bad_type(format!("expected a number for {dtype}, found {}", type_name(object))));
    }
    let found = match object.extract::<i64>() {
        Ok(number) => Some(i128::from(number)),
        Err(_) => object.extract::<u64>().ok().map(i128::from),
    };
    found
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| bad_value(format!("{object} does not fit {dtype}")))
}

fn write(object: &Bound<'_, PyAny>, dtype: Dtype, out: &mut Vec<u8>) -> PyResult<()> {
    let float = || {
        if is_number(object) {
            return object.extract::<f64>();
        }
        Err(bad_type(format!("expected a number for {dtype}, found {}", type_name(object))))
    };
    match dtype {
        Dtype::Float32 => out.extend((float()? as f32).to_ne_bytes()),
        Dtype::Float64 => out.extend(float()?.to_ne_bytes()),
        Dtype::Float16 => out.extend(f16::from_f64(float()?).to_ne_bytes()),
        Dtype::BFloat16 => out.extend(bf16::from_f64(float()?).to_ne_bytes()),
        Dtype::Int64 => out.extend(integer::<i64>(object, dtype)?.to_ne_bytes()),
        Dtype::Int32 => out.extend(integer::<i32>(object, dtype)?.to_ne_bytes()),
        Dtype::Int16 => out.extend(integer::<i16>(object, dtype)?.to_ne_bytes()),
        Dtype::Int8 => out.extend(integer::<i8>(object, dtype)?.to_ne_bytes()),
        Dtype::UInt8 => out.extend(integer::<u8>(object, dtype)?.to_ne_bytes()),
        Dtype::UInt16 => out.extend(integer::<u16>(object, dtype)?.to_ne_bytes()),
        Dtype::UInt32 => out.extend(integer::<u32>(object, dtype)?.to_ne_bytes()),
        Dtype::UInt64 => out.extend(integer::<u64>(object, dtype)?.to_ne_bytes()),
        Dtype::Bool => match integer::<u8>(object, dtype)? {
            bit @ 0..=1 => out.push(bit),
            other => return Err(bad_value(format!("{other} is no boolean"))),
        },
        Dtype::Complex64 | Dtype::Complex128 => {
            let (real, imag) = match object.cast::<PyComplex>() {
                Ok(number) => (number.real(), number.imag()),
                Err(_) => (float()?, 0.0),
            };
            if dtype == Dtype::Complex64 {
                out.extend((real as f32).to_ne_bytes());
                out.extend((imag as f32).to_ne_bytes());
            } else {
                out.extend(real.to_ne_bytes());
                out.extend(imag.to_ne_bytes());
            }
        }
        other => return Err(bad_type(format!("Python's numbers cannot become {other}"))),
    }
    Ok(())
}

/// The element at an address, as Python's number. It is copied first: others may write to a tensor's memory meanwhile.
///
/// # Safety
/// An element of `dtype` may be read at `data`.
pub unsafe fn element<'py>(py: Python<'py>, dtype: Dtype, data: *const u8) -> PyResult<Bound<'py, PyAny>> {
    let mut raw = [0u8; 16];
    // SAFETY: the caller's promise; no element has more than 16 bytes.
    unsafe { data.copy_to_nonoverlapping(raw.as_mut_ptr(), dtype.size()) };
    decode(py, dtype, raw)
}

fn decode(py: Python<'_>, dtype: Dtype, raw: [u8; 16]) -> PyResult<Bound<'_, PyAny>> {
    fn part<const N: usize>(raw: &[u8; 16], offset: usize) -> [u8; N] {
        std::array::from_fn(|i| raw.get(offset + i).copied().unwrap_or_default())
    }
    match dtype {
        Dtype::Float32 => f64::from(f32::from_ne_bytes(part(&raw, 0))).into_bound_py_any(py),
        Dtype::Float64 => f64::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::Float16 => f16::from_ne_bytes(part(&raw, 0)).to_f64().into_bound_py_any(py),
        Dtype::BFloat16 => bf16::from_ne_bytes(part(&raw, 0)).to_f64().into_bound_py_any(py),
        Dtype::Int64 => i64::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::Int32 | Dtype::QInt32 => i32::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::Int16 => i16::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::Int8 | Dtype::QInt8 => i8::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::UInt8 | Dtype::QUInt8 => raw[0].into_bound_py_any(py),
        Dtype::UInt16 => u16::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::UInt32 => u32::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::UInt64 => u64::from_ne_bytes(part(&raw, 0)).into_bound_py_any(py),
        Dtype::Bool => (raw[0] != 0).into_bound_py_any(py),
        Dtype::Complex64 => {
            let [real, imag] = [0, 4].map(|offset| f64::from(f32::from_ne_bytes(part(&raw, offset))));
            Ok(PyComplex::from_doubles(py, real, imag).into_any())
        }
        Dtype::Complex128 => {
            let [real, imag] = [0, 8].map(|offset| f64::from_ne_bytes(part(&raw, offset)));
            Ok(PyComplex::from_doubles(py, real, imag).into_any())
        }
        other => Err(bad_type(format!("elements of {other} have no Python number"))),
    }
}

/// Nested lists of a tensor's elements; one number for a tensor without dimensions.
pub fn to_list<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let layout = tensor.layout();
    let size = layout.dtype().size() as isize;
    let dims: Vec<(usize, isize)> =
        layout.sizes().iter().zip(layout.strides()).map(|(&n, &s)| (n as usize, s as isize * size)).collect();
    level(py, layout.dtype(), &dims, tensor.storage().as_ptr())
}

fn level<'py>(
    py: Python<'py>,
    dtype: Dtype,
    dims: &[(usize, isize)],
    data: *const u8,
) -> PyResult<Bound<'py, PyAny>> {
    let Some((&(count, stride), inner)) = dims.split_first() else {
        // SAFETY: the sizes and strides of a tensor stay within its memory.
        return unsafe { element(py, dtype, data) };
    };
    let items =
        (0..count).map(|index| level(py, dtype, inner, data.wrapping_offset(index as isize * stride)));
    let items: Vec<_> = items.collect::<PyResult<_>>()?;
    Ok(PyList::new(py, items)?.into_any())
}
