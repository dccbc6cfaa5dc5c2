//! `Program` and `Method`, as `executorch.runtime` has them.

use crate::errors::raise_as;
use crate::meta::MethodMeta;
use crate::method::{Fallback, Shared};
use crate::options::method_options;
use crate::source::{Bytes, Loaded, check_options, no_etdump};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A loaded, verified program. Any thread may use it.
#[pyclass(frozen, module = "executorch_runtime", weakref)]
pub struct Program {
    loaded: Loaded,
    methods: Mutex<HashMap<String, Py<Method>>>,
}

/// A method, loaded and ready to run. Any thread may call it; calls take turns.
#[pyclass(frozen, module = "executorch_runtime", weakref)]
pub struct Method {
    shared: Arc<Shared>,
    meta: Py<MethodMeta>,
}

/// Loads a program from a path, bytes, or a file that is open for reading bytes.
#[pyfunction]
#[pyo3(signature = (data, *, verification=None, enable_etdump=false, debug_buffer_size=0, data_path=None))]
pub fn load_program(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    verification: Option<&Bound<'_, PyAny>>,
    enable_etdump: bool,
    debug_buffer_size: usize,
    data_path: Option<&Bound<'_, PyAny>>,
) -> PyResult<Program> {
    let _unused_without_etdump = debug_buffer_size;
    check_options(py, verification, enable_etdump)?;
    let external = data_path.map(Bytes::path).transpose()?;
    let loaded = Loaded::new(py, Bytes::any(data)?, external)?;
    Ok(Program { loaded, methods: Mutex::default() })
}

impl Program {
    /// The program and its data.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    fn cached(&self, py: Python<'_>, name: &str) -> Option<Py<Method>> {
        let methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        methods.get(name).map(|method| method.clone_ref(py))
    }
}

#[pymethods]
impl Program {
    /// The names of all methods.
    #[getter]
    fn method_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PySet>> {
        PySet::new(py, self.loaded.program.methods().iter().map(|meta| meta.name()).collect::<Vec<_>>())
    }

    /// Loads a method. KeyError if there is none of this name.
    ///
    /// The same object is returned each time, unless `backend_options` (`{backend: {key: value}}`, values being bool,
    /// int or str) are given: then it is a new one.
    #[pyo3(signature = (name, *, backend_options=None))]
    fn load_method(
        &self,
        py: Python<'_>,
        name: &str,
        backend_options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Method>> {
        let options = method_options(&self.loaded, backend_options)?;
        let is_shared = options.backends.is_empty();
        if is_shared && let Some(method) = self.cached(py, name) {
            return Ok(method);
        }
        let shared = Shared::load(py, &self.loaded.program, name, options)?;
        let meta = Py::new(py, self.metadata(name)?)?;
        let method = Py::new(py, Method { shared, meta })?;
        if !is_shared {
            return Ok(method);
        }
        // Another thread may have loaded it meanwhile: the first one stays.
        let mut methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(methods.entry(name.to_owned()).or_insert(method).clone_ref(py))
    }

    /// What the program says of a method, without loading it. KeyError if there is none of this name.
    fn metadata(&self, method_name: &str) -> PyResult<MethodMeta> {
        let found = self.loaded.program.method(method_name);
        found.map(MethodMeta::from).map_err(|error| raise_as("MethodNotFoundError", error))
    }

    /// Upstream writes what `enable_etdump=True` recorded; this release records nothing, so this raises.
    fn write_etdump_result_to_file(&self, etdump_path: PathBuf, debug_buffer_path: PathBuf) -> PyResult<()> {
        let _never_written = (etdump_path, debug_buffer_path);
        Err(no_etdump())
    }

    fn __repr__(&self) -> String {
        let names: Vec<_> = self.loaded.program.methods().iter().map(|meta| meta.name()).collect();
        format!("Program(method_names={names:?})")
    }
}

impl Method {
    /// The method with its lock.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

#[pymethods]
impl Method {
    /// Runs the method.
    ///
    /// `inputs` has one item for each input: arrays (NumPy, PyTorch, anything with DLPack or the array interface,
    /// Tensor), numbers, or nested lists. The outputs are PyTorch's if an input was, else NumPy's if an input was,
    /// else Tensor; they own their memory.
    fn execute<'py>(&self, inputs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.shared.call(inputs, true, Fallback::Own)
    }

    fn __call__<'py>(&self, inputs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.execute(inputs)
    }

    /// What the program says of the method.
    #[getter]
    fn metadata(&self, py: Python<'_>) -> Py<MethodMeta> {
        self.meta.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Method({})", self.meta.bind(py).repr()?))
    }
}
