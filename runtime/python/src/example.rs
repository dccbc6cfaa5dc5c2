//! Inputs that fit a method, for the command line.

use crate::errors::{OrRaise, bad_value};
use crate::output;
use crate::program::Method;
use executorch_client::{Dtype, Layout, Result, Tensor, Value};
use half::{bf16, f16};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::foreign::Flavor;

/// Inputs for a method: tensors of the largest shapes, filled with `fill`, and the numbers that it was exported with.
///
/// `"random"` is uniform from -1 to 1 for floats and 0 or 1 for everything else, the same each time.
#[pyfunction]
pub fn example_inputs<'py>(
    py: Python<'py>,
    method: &Bound<'py, Method>,
    fill: &str,
) -> PyResult<Bound<'py, PyList>> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next: Box<dyn FnMut(bool) -> f64> = match fill {
        "zeros" => Box::new(|_| 0.0),
        "ones" => Box::new(|_| 1.0),
        "random" => Box::new(move |is_float| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
            if is_float { 2.0 * unit - 1.0 } else { unit.round() }
        }),
        other => return Err(bad_value(format!("{other:?} is no fill: zeros, ones or random"))),
    };
    let shared = method.get().shared();
    let mut values = Vec::new();
    for (index, spec) in shared.specs().iter().enumerate() {
        values.push(match &spec.tensor {
            Some(info) => Value::Tensor(filled(info.layout, &mut next).or_raise()?),
            None => shared.traced(py, index)?,
        });
    }
    output::to_list(py, values, Flavor::Own)
}

fn filled(layout: Layout, next: &mut dyn FnMut(bool) -> f64) -> Result<Tensor> {
    let mut bytes = Vec::with_capacity(layout.nbytes());
    for _ in 0..layout.numel() {
        match layout.dtype() {
            Dtype::Float32 => bytes.extend((next(true) as f32).to_ne_bytes()),
            Dtype::Float64 => bytes.extend(next(true).to_ne_bytes()),
            Dtype::Float16 => bytes.extend(f16::from_f64(next(true)).to_ne_bytes()),
            Dtype::BFloat16 => bytes.extend(bf16::from_f64(next(true)).to_ne_bytes()),
            Dtype::Complex64 => (0..2).for_each(|_| bytes.extend((next(true) as f32).to_ne_bytes())),
            Dtype::Complex128 => (0..2).for_each(|_| bytes.extend(next(true).to_ne_bytes())),
            other => {
                // Integers of any width: the lowest byte first.
                let number = (next(false) as u64).to_le_bytes();
                bytes.extend((0..other.size()).map(|i| number.get(i).copied().unwrap_or_default()));
            }
        }
    }
    Tensor::copy(layout, &bytes)
}
