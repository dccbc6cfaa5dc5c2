//! PyTorch and NumPy, if the caller has imported them. Nothing here imports either.

use crate::dlpack::Importer;
use executorch_client::Dtype;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// Whose arrays the outputs should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flavor {
    /// `executorch_runtime.Tensor`
    Own,
    /// `numpy.ndarray`
    Numpy,
    /// `torch.Tensor`
    Torch,
}

/// What we use of PyTorch.
pub struct Torch {
    /// `torch.Tensor`
    pub tensor: Py<PyType>,
    /// `torch.utils.dlpack.from_dlpack`
    pub from_dlpack: Py<PyAny>,
    /// `torch.from_dlpack`
    pub from_object: Py<PyAny>,
    /// The same without a capsule, in versions that have it.
    pub importer: Option<Importer>,
    dtypes: Vec<(Py<PyAny>, Dtype)>,
}

/// What we use of NumPy.
pub struct Numpy {
    /// `numpy.ndarray`
    pub ndarray: Py<PyType>,
    /// `numpy.asarray`
    pub asarray: Py<PyAny>,
}

/// A module of this name that the program has imported already.
fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let modules = MODULES.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind())
    })?;
    modules.bind(py).get_item(name)
}

/// PyTorch; none while it is not imported, or only half.
pub fn torch(py: Python<'_>) -> PyResult<Option<&'static Torch>> {
    static TORCH: PyOnceLock<Torch> = PyOnceLock::new();
    if let Some(torch) = TORCH.get(py) {
        return Ok(Some(torch));
    }
    let Some(module) = imported(py, "torch")? else { return Ok(None) };
    let make = || {
        let dtypes = Dtype::ALL.iter().filter_map(|&dtype| {
            let object = module.getattr(dtype.name()).ok()?;
            Some((object.unbind(), dtype))
        });
        Ok::<_, PyErr>(Torch {
            tensor: module.getattr("Tensor")?.cast_into::<PyType>()?.unbind(),
            from_dlpack: module.getattr("utils")?.getattr("dlpack")?.getattr("from_dlpack")?.unbind(),
            from_object: module.getattr("from_dlpack")?.unbind(),
            importer: Importer::of(&module.getattr("Tensor")?),
            dtypes: dtypes.collect(),
        })
    };
    // A module that is being imported lacks names: it is no source of tensors yet.
    Ok(TORCH.get_or_try_init(py, make).ok())
}

/// NumPy; none while it is not imported, or only half.
pub fn numpy(py: Python<'_>) -> PyResult<Option<&'static Numpy>> {
    static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();
    if let Some(numpy) = NUMPY.get(py) {
        return Ok(Some(numpy));
    }
    let Some(module) = imported(py, "numpy")? else { return Ok(None) };
    let make = || {
        Ok::<_, PyErr>(Numpy {
            ndarray: module.getattr("ndarray")?.cast_into::<PyType>()?.unbind(),
            asarray: module.getattr("asarray")?.unbind(),
        })
    };
    Ok(NUMPY.get_or_try_init(py, make).ok())
}

impl Torch {
    /// The element type that a `torch.dtype` stands for.
    pub fn dtype(&self, object: &Bound<'_, PyAny>) -> Option<Dtype> {
        self.dtypes.iter().find(|(known, _)| known.as_ptr() == object.as_ptr()).map(|(_, dtype)| *dtype)
    }

    /// Whether an object is a `torch.Tensor`.
    pub fn has(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        is_instance(object, &self.tensor)
    }
}

impl Numpy {
    /// Whether an object is a `numpy.ndarray`.
    pub fn has(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        is_instance(object, &self.ndarray)
    }
}

fn is_instance(object: &Bound<'_, PyAny>, class: &Py<PyType>) -> PyResult<bool> {
    if object.get_type_ptr().cast() == class.as_ptr() {
        return Ok(true);
    }
    object.is_instance(class.bind(object.py()))
}

/// Whether an object speaks one of the array protocols, so that it is one input and not a sequence of them.
pub fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.hasattr(intern!(py, "__dlpack__"))? || object.hasattr(intern!(py, "__array_interface__"))?)
}
