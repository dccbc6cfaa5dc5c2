//! `MethodMeta` and `TensorInfo`, as upstream's bindings have them.

use crate::dtype;
use crate::errors::{OrRaise, past_end};
use executorch_client::{self as client, Kind};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// What a program says of one of its methods.
#[pyclass(frozen, module = "executorch_runtime")]
pub struct MethodMeta {
    inner: client::MethodMeta,
}

/// What a program says of a tensor.
#[pyclass(frozen, module = "executorch_runtime")]
pub struct TensorInfo {
    inner: client::TensorInfo,
}

impl From<client::MethodMeta> for MethodMeta {
    fn from(inner: client::MethodMeta) -> Self {
        Self { inner }
    }
}

impl MethodMeta {
    fn buffer(&self, index: usize) -> PyResult<client::BufferInfo> {
        let buffers = self.inner.buffers().or_raise()?;
        buffers.get(index).copied().ok_or_else(|| past_end("planned buffer", index, "method", buffers.len()))
    }
}

fn within(index: usize, count: usize, what: &str) -> PyResult<()> {
    if index < count {
        return Ok(());
    }
    Err(past_end(what, index, "method", count))
}

fn shown(
    info: executorch_client::Result<client::TensorInfo>,
    kind: executorch_client::Result<Kind>,
) -> String {
    match info {
        Ok(inner) => format!("'{}'", TensorInfo { inner }.__repr__()),
        Err(_) => format!("'{}'", kind.map_or("unknown", Kind::name)),
    }
}

#[pymethods]
impl MethodMeta {
    /// The method's name.
    fn name(&self) -> String {
        self.inner.name()
    }

    /// The number of inputs that the caller gives.
    fn num_inputs(&self) -> usize {
        self.inner.input_count()
    }

    /// The number of outputs.
    fn num_outputs(&self) -> usize {
        self.inner.output_count()
    }

    /// The number of planned buffers.
    fn num_memory_planned_buffers(&self) -> PyResult<usize> {
        Ok(self.inner.buffers().or_raise()?.len())
    }

    /// Bytes of planned buffer `index`. IndexError past the end.
    fn memory_planned_buffer_size(&self, index: usize) -> PyResult<u64> {
        self.buffer(index).map(|buffer| buffer.size)
    }

    /// Where planned buffer `index` has to be: "cpu", "cuda:0" and so on. IndexError past the end.
    fn memory_planned_buffer_device(&self, index: usize) -> PyResult<String> {
        self.buffer(index).map(|buffer| buffer.device.to_string())
    }

    /// The number of named tensors with mutable memory.
    fn num_attributes(&self) -> usize {
        self.inner.attribute_count()
    }

    /// The tensor of input `index`. IndexError past the end.
    fn input_tensor_meta(&self, index: usize) -> PyResult<TensorInfo> {
        within(index, self.num_inputs(), "input")?;
        self.inner.input_tensor(index).or_raise().map(|inner| TensorInfo { inner })
    }

    /// The tensor of output `index`. IndexError past the end.
    fn output_tensor_meta(&self, index: usize) -> PyResult<TensorInfo> {
        within(index, self.num_outputs(), "output")?;
        self.inner.output_tensor(index).or_raise().map(|inner| TensorInfo { inner })
    }

    /// The tensor of attribute `index`. IndexError past the end.
    fn attribute_tensor_meta(&self, index: usize) -> PyResult<TensorInfo> {
        within(index, self.num_attributes(), "attribute")?;
        self.inner.attribute_tensor(index).or_raise().map(|inner| TensorInfo { inner })
    }

    /// What input `index` holds: "tensor", "int", "float", "bool", "string" or "none". IndexError past the end.
    fn input_kind(&self, index: usize) -> PyResult<&'static str> {
        within(index, self.num_inputs(), "input")?;
        self.inner.input_kind(index).or_raise().map(Kind::name)
    }

    /// What output `index` holds, such as "tensor" or "list of ints". IndexError past the end.
    fn output_kind(&self, index: usize) -> PyResult<&'static str> {
        within(index, self.num_outputs(), "output")?;
        self.inner.output_kind(index).or_raise().map(Kind::name)
    }

    fn __repr__(&self) -> String {
        let meta = &self.inner;
        let inputs: Vec<_> =
            (0..meta.input_count()).map(|i| shown(meta.input_tensor(i), meta.input_kind(i))).collect();
        let outputs: Vec<_> =
            (0..meta.output_count()).map(|i| shown(meta.output_tensor(i), meta.output_kind(i))).collect();
        format!(
            "MethodMeta(name='{}', num_inputs={}, input_tensor_meta=[{}], num_outputs={}, output_tensor_meta=[{}])",
            meta.name(),
            inputs.len(),
            inputs.join(", "),
            outputs.len(),
            outputs.join(", ")
        )
    }
}

#[pymethods]
impl TensorInfo {
    /// The sizes; upper bounds if the shape is dynamic.
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.layout.sizes())
    }

    /// The element type, as the number of PyTorch's ScalarType.
    fn dtype(&self) -> i8 {
        self.inner.layout.dtype() as i8
    }

    /// The element type's name, such as "float32".
    fn dtype_name(&self) -> &'static str {
        self.inner.layout.dtype().name()
    }

    /// The dimension numbers, outermost in memory first.
    fn dim_order<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.layout.dim_order())
    }

    /// Whether the shape may change, up to the sizes.
    fn is_dynamic(&self) -> bool {
        self.inner.is_dynamic
    }

    /// Whether the method has memory for it: an input is then copied there, an output copied from there.
    fn is_memory_planned(&self) -> bool {
        self.inner.is_memory_planned
    }

    /// Where the memory is planned: "cpu", "cuda:0" and so on; without planned memory, where the program wants it.
    fn device(&self) -> String {
        self.inner.device.to_string()
    }

    /// Bytes of all elements.
    fn nbytes(&self) -> usize {
        self.inner.layout.nbytes()
    }

    /// The qualified name, if the exporter kept it.
    fn name(&self) -> Option<String> {
        self.inner.name.clone()
    }

    fn __repr__(&self) -> String {
        let info = &self.inner;
        let flag = |value| if value { "True" } else { "False" };
        format!(
            "TensorInfo(sizes={:?}, dtype={}, is_memory_planned={}, nbytes={})",
            info.layout.sizes(),
            dtype::scalar_type(info.layout.dtype()),
            flag(info.is_memory_planned),
            info.layout.nbytes()
        )
    }
}
