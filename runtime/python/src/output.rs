//! Values of the runtime as Python objects.

use crate::dlpack;
use crate::dtype;
use crate::foreign::{self, Flavor};
use crate::tensor::Tensor as OwnTensor;
use executorch_client::{Tensor, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A list of all values.
pub fn to_list<'py>(
    py: Python<'py>,
    values: Vec<Value<Tensor>>,
    flavor: Flavor,
) -> PyResult<Bound<'py, PyList>> {
    let items: Vec<_> =
        values.into_iter().map(|value| to_object(py, value, flavor)).collect::<PyResult<_>>()?;
    PyList::new(py, items)
}

/// A value as an object; tensors as `flavor` says.
pub fn to_object<'py>(py: Python<'py>, value: Value<Tensor>, flavor: Flavor) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::None => Ok(py.None().into_bound(py)),
        Value::Int(v) => v.into_bound_py_any(py),
        Value::Double(v) => v.into_bound_py_any(py),
        Value::Bool(v) => v.into_bound_py_any(py),
        Value::String(v) => v.into_bound_py_any(py),
        Value::Ints(v) => v.into_bound_py_any(py),
        Value::Doubles(v) => v.into_bound_py_any(py),
        Value::Bools(v) => v.into_bound_py_any(py),
        Value::Tensor(tensor) => to_array(py, tensor, flavor),
        Value::Tensors(all) => {
            let items = all.into_iter().map(|tensor| match tensor {
                Some(tensor) => to_array(py, tensor, flavor),
                None => Ok(py.None().into_bound(py)),
            });
            let items: Vec<_> = items.collect::<PyResult<_>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
    }
}

/// A tensor as `flavor` says; ours where NumPy has no such element type or device.
pub fn to_array<'py>(py: Python<'py>, tensor: Tensor, flavor: Flavor) -> PyResult<Bound<'py, PyAny>> {
    if !tensor.device().is_host() {
        let own = Bound::new(py, OwnTensor::from(tensor))?.into_any();
        return match foreign::torch(py)? {
            // PyTorch asks for the tensor on its current stream.
            Some(torch) if flavor == Flavor::Torch => torch.from_object.bind(py).call1((own,)),
            _ => Ok(own),
        };
    }
    if flavor == Flavor::Torch
        && let Some(torch) = foreign::torch(py)?
    {
        if let Some(importer) = torch.importer {
            return importer.import(py, tensor);
        }
        let capsule = dlpack::export(py, tensor, false, false)?;
        return torch.from_dlpack.bind(py).call1((capsule,));
    }
    let has_kind = dtype::to_array_kind(tensor.layout().dtype()).is_some();
    let own = Bound::new(py, OwnTensor::from(tensor))?.into_any();
    if flavor == Flavor::Numpy
        && has_kind
        && let Some(numpy) = foreign::numpy(py)?
    {
        return numpy.asarray.bind(py).call1((own,));
    }
    Ok(own)
}
