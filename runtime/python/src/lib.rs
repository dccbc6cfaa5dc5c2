//! The extension module `executorch_runtime._executorch_runtime`.
//!
//! What it takes and gives: `array` and `dlpack` read memory of others, `nested` reads lists, `input` chooses between
//! them; `tensor` is what comes out unless the inputs were NumPy's or PyTorch's (`foreign`, `output`). `method` runs;
//! `program` and `portable` are the two faces of it that upstream has.

mod array;
mod components;
mod dlpack;
mod dtype;
mod errors;
mod example;
mod foreign;
mod input;
mod inspect;
mod meta;
mod method;
mod nested;
mod options;
mod output;
mod portable;
mod program;
mod registry;
mod source;
mod stream;
mod strided;
mod tensor;

use pyo3::prelude::*;

/// Native half of executorch_runtime.
#[pymodule(gil_used = false, name = "_executorch_runtime")]
fn define(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<tensor::Tensor>()?;
    m.add_class::<meta::MethodMeta>()?;
    m.add_class::<meta::TensorInfo>()?;
    m.add_class::<program::Program>()?;
    m.add_class::<program::Method>()?;
    m.add_class::<portable::ExecuTorchModule>()?;
    m.add_class::<portable::ExecuTorchProgram>()?;
    m.add_class::<portable::ExecuTorchMethod>()?;
    m.add_function(wrap_pyfunction!(program::load_program, m)?)?;
    m.add_function(wrap_pyfunction!(inspect::inspect, m)?)?;
    m.add_function(wrap_pyfunction!(example::example_inputs, m)?)?;
    portable::add_functions(m)?;
    registry::add_functions(m)
}
