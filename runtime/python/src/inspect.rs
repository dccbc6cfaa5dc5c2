//! What is in a program, as plain Python data: `executorch-runtime inspect` prints it.

use crate::components;
use crate::errors::OrRaise;
use crate::options::method_options;
use crate::program::Program;
use executorch_abi::error::ET_ERROR_NOT_IMPLEMENTED;
use executorch_client::{Instruction, Kind, MethodMeta, MethodOptions, TensorInfo, registry};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;

/// Everything that a program says of itself, and whether what it needs is there. Backends describe their payloads for
/// `backend_options`.
#[pyfunction]
#[pyo3(signature = (program, *, backend_options=None))]
pub fn inspect<'py>(
    py: Python<'py>,
    program: &Bound<'py, Program>,
    backend_options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    components::ensure(py)?;
    let loaded = program.get().loaded();
    let options = method_options(loaded, backend_options)?;
    let info = loaded.program.info().or_raise()?;
    let out = PyDict::new(py);
    out.set_item("structure_bytes", info.structure_bytes)?;
    out.set_item("constants", counted(py, info.constant_count, info.constant_bytes)?)?;
    out.set_item("mutable_initial_values", counted(py, info.mutable_count, info.mutable_bytes)?)?;
    let segments = PyList::empty(py);
    for (offset, bytes) in loaded.program.segments().or_raise()? {
        let segment = PyDict::new(py);
        segment.set_item("offset", offset)?;
        segment.set_item("bytes", bytes)?;
        segments.append(segment)?;
    }
    out.set_item("segments", segments)?;
    out.set_item("named_data", loaded.program.named_data())?;
    let data = loaded.data.as_ref().map(|data| data.keys());
    let methods = PyList::empty(py);
    for meta in loaded.program.methods() {
        let found = method(py, &meta, data.as_deref())?;
        found.set_item("delegates", delegates(py, &loaded.program, &meta, &options)?)?;
        methods.append(found)?;
    }
    out.set_item("methods", methods)?;
    Ok(out)
}

fn counted(py: Python<'_>, count: usize, bytes: u64) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("count", count)?;
    out.set_item("bytes", bytes)?;
    Ok(out)
}

fn method<'py>(py: Python<'py>, meta: &MethodMeta, data: Option<&[String]>) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("name", meta.name())?;
    let inputs = (0..meta.input_count()).map(|i| value(py, meta.input_kind(i), || meta.input_tensor(i)));
    out.set_item("inputs", inputs.collect::<PyResult<Vec<_>>>()?)?;
    let outputs = (0..meta.output_count()).map(|i| value(py, meta.output_kind(i), || meta.output_tensor(i)));
    out.set_item("outputs", outputs.collect::<PyResult<Vec<_>>>()?)?;
    let attributes = (0..meta.attribute_count()).map(|i| tensor(py, &meta.attribute_tensor(i).or_raise()?));
    out.set_item("attributes", attributes.collect::<PyResult<Vec<_>>>()?)?;
    let instructions = meta.instructions().or_raise()?;
    out.set_item("instructions", instructions.len())?;
    out.set_item("operators", operators(py, meta, &instructions)?)?;
    let buffers = PyList::empty(py);
    for buffer in meta.buffers().or_raise()? {
        let item = PyDict::new(py);
        item.set_item("bytes", buffer.size)?;
        item.set_item("device", buffer.device.to_string())?;
        item.set_item("available", registry::has_device(buffer.device))?;
        buffers.append(item)?;
    }
    out.set_item("planned_buffers", buffers)?;
    let keys = meta.external_keys();
    let missing: Vec<&String> =
        keys.iter().filter(|key| data.is_none_or(|data| !data.contains(key))).collect();
    out.set_item("external_data_missing", missing)?;
    out.set_item("external_data", &keys)?;
    Ok(out)
}

fn value<'py>(
    py: Python<'py>,
    kind: executorch_client::Result<Kind>,
    info: impl FnOnce() -> executorch_client::Result<TensorInfo>,
) -> PyResult<Bound<'py, PyDict>> {
    let kind = kind.or_raise()?;
    let out = match kind {
        Kind::Tensor => tensor(py, &info().or_raise()?)?,
        _ => PyDict::new(py),
    };
    out.set_item("kind", kind.name())?;
    Ok(out)
}

fn tensor<'py>(py: Python<'py>, info: &TensorInfo) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("dtype", info.layout.dtype().name())?;
    out.set_item("shape", info.layout.sizes())?;
    out.set_item("dim_order", info.layout.dim_order().iter().map(|&d| u32::from(d)).collect::<Vec<_>>())?;
    out.set_item("is_dynamic", info.is_dynamic)?;
    out.set_item("is_memory_planned", info.is_memory_planned)?;
    out.set_item("bytes", info.layout.nbytes())?;
    out.set_item("device", info.device.to_string())?;
    out.set_item("name", info.name.as_deref())?;
    Ok(out)
}

fn operators<'py>(
    py: Python<'py>,
    meta: &MethodMeta,
    instructions: &[Instruction],
) -> PyResult<Bound<'py, PyList>> {
    let mut calls: BTreeMap<String, usize> = meta.operators().into_iter().map(|name| (name, 0)).collect();
    for instruction in instructions {
        if let Instruction::Kernel { operator, .. } = instruction {
            *calls.entry(operator.clone()).or_default() += 1;
        }
    }
    let out = PyList::empty(py);
    for (name, count) in calls {
        let item = PyDict::new(py);
        item.set_item("available", registry::has_operator(&name))?;
        item.set_item("name", name)?;
        item.set_item("calls", count)?;
        out.append(item)?;
    }
    Ok(out)
}

fn delegates<'py>(
    py: Python<'py>,
    program: &executorch_client::Program,
    meta: &MethodMeta,
    options: &MethodOptions,
) -> PyResult<Bound<'py, PyList>> {
    let registered = registry::backends();
    let instructions = meta.instructions().or_raise()?;
    let out = PyList::empty(py);
    for (number, delegate) in meta.delegates().or_raise()?.into_iter().enumerate() {
        let is_call =
            |i: &&Instruction| matches!(i, Instruction::Delegate { delegate, .. } if *delegate == number);
        let item = PyDict::new(py);
        let is_registered = registered.contains(&delegate.backend);
        item.set_item("registered", is_registered)?;
        item.set_item("available", registry::is_backend_available(&delegate.backend))?;
        item.set_item("backend", delegate.backend)?;
        item.set_item("payload_bytes", delegate.payload_size)?;
        item.set_item("compile_specs", delegate.compile_spec_count)?;
        item.set_item("calls", instructions.iter().filter(is_call).count())?;
        let described = py.detach(|| program.describe_delegate(&meta.name(), number, options));
        let (graph, error) = match described {
            Ok(text) => match py.import("json")?.call_method1("loads", (text,)) {
                Ok(graph) => (Some(graph), None),
                Err(error) => (None, Some(format!("the backend described it in no JSON: {error}"))),
            },
            // Nothing is wrong: the backend is not here, which is told above, or it has nothing to tell.
            Err(error) if !is_registered || error.code == ET_ERROR_NOT_IMPLEMENTED => (None, None),
            Err(error) => (None, Some(error.message)),
        };
        item.set_item("graph", graph)?;
        item.set_item("graph_error", error)?;
        out.append(item)?;
    }
    Ok(out)
}
