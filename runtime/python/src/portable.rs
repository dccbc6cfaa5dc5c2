//! The classes and functions of upstream's `portable_lib`.

use crate::errors::{OrRaise, bad_state, past_end, raise_as};
use crate::foreign::{Flavor, torch};
use crate::meta::MethodMeta;
use crate::method::{Fallback, Shared};
use crate::options::method_options;
use crate::output;
use crate::source::{Bytes, Loaded, check_options, no_etdump};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A program whose methods are loaded as they are used.
#[pyclass(frozen, module = "executorch_runtime.portable_lib", weakref)]
pub struct ExecuTorchModule {
    loaded: Loaded,
    /// Why the external data could not be loaded: told when a method is, as upstream does.
    data_failure: Option<PyErr>,
    methods: Mutex<HashMap<String, Arc<Shared>>>,
}

/// A loaded program.
#[pyclass(frozen, module = "executorch_runtime.portable_lib", weakref)]
pub struct ExecuTorchProgram {
    loaded: Loaded,
}

/// A loaded method whose inputs, run and outputs can be separate calls.
#[pyclass(frozen, module = "executorch_runtime.portable_lib", weakref)]
pub struct ExecuTorchMethod {
    shared: Arc<Shared>,
    meta: Py<MethodMeta>,
}

fn meta(loaded: &Loaded, name: &str) -> PyResult<MethodMeta> {
    let found = loaded.program.method(name);
    found.map(MethodMeta::from).map_err(|error| raise_as("MethodNotFoundError", error))
}

impl ExecuTorchModule {
    fn new(py: Python<'_>, program: Bytes, data: Option<Bytes>) -> PyResult<Self> {
        let mut loaded = Loaded::new(py, program, None)?;
        let mut data_failure = None;
        match data.map(|data| data.data_map(py)).transpose() {
            Ok(data) => loaded.data = data,
            Err(failure) => data_failure = Some(failure),
        }
        Ok(Self { loaded, data_failure, methods: Mutex::default() })
    }

    fn method(&self, py: Python<'_>, name: &str) -> PyResult<Arc<Shared>> {
        let cached = || {
            let methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
            methods.get(name).cloned()
        };
        if let Some(method) = cached() {
            return Ok(method);
        }
        if let Some(failure) = &self.data_failure {
            return Err(failure.clone_ref(py));
        }
        let method = Shared::load(py, &self.loaded.program, name, method_options(&self.loaded, None)?)?;
        let mut methods = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(methods.entry(name.to_owned()).or_insert(method)))
    }
}

#[pymethods]
impl ExecuTorchModule {
    /// Runs "forward" with a sequence of inputs, or with one tensor.
    #[pyo3(signature = (inputs, clone_outputs=true))]
    fn __call__<'py>(&self, inputs: &Bound<'py, PyAny>, clone_outputs: bool) -> PyResult<Bound<'py, PyList>> {
        self.forward(inputs, clone_outputs)
    }

    /// Runs "forward".
    #[pyo3(signature = (inputs, clone_outputs=true))]
    fn forward<'py>(&self, inputs: &Bound<'py, PyAny>, clone_outputs: bool) -> PyResult<Bound<'py, PyList>> {
        self.method(inputs.py(), "forward")?.call(inputs, clone_outputs, Fallback::Torch)
    }

    /// Runs a method. With `clone_outputs=False`, outputs may lie in memory that the next run writes.
    #[pyo3(signature = (method_name, inputs=None, clone_outputs=true))]
    fn run_method<'py>(
        &self,
        py: Python<'py>,
        method_name: &str,
        inputs: Option<Bound<'py, PyAny>>,
        clone_outputs: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let inputs = inputs.unwrap_or_else(|| PyTuple::empty(py).into_any());
        self.method(py, method_name)?.call(&inputs, clone_outputs, Fallback::Torch)
    }

    /// Runs a method with the inputs that it has.
    #[pyo3(signature = (method_name, clone_outputs=true))]
    fn plan_execute<'py>(
        &self,
        py: Python<'py>,
        method_name: &str,
        clone_outputs: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let method = self.method(py, method_name)?;
        method.run(py)?;
        method.outputs(py, clone_outputs, Fallback::Torch)
    }

    /// Whether an ETDump is being recorded: never in this release.
    fn has_etdump(&self) -> bool {
        false
    }

    /// Raises: this release records no ETDump.
    #[pyo3(signature = (path, debug_buffer_path=None))]
    fn write_etdump_result_to_file(&self, path: PathBuf, debug_buffer_path: Option<PathBuf>) -> PyResult<()> {
        let _never_written = (path, debug_buffer_path);
        Err(no_etdump())
    }

    /// What the program says of a method.
    fn method_meta(&self, method_name: &str) -> PyResult<MethodMeta> {
        meta(&self.loaded, method_name)
    }

    /// The names of all methods.
    fn method_names(&self) -> Vec<String> {
        self.loaded.program.methods().iter().map(|meta| meta.name()).collect()
    }
}

#[pymethods]
impl ExecuTorchProgram {
    /// The number of methods.
    fn num_methods(&self) -> usize {
        self.loaded.program.methods().len()
    }

    /// The name of method number `method_index`. IndexError past the end.
    fn get_method_name(&self, method_index: usize) -> PyResult<String> {
        let methods = self.loaded.program.methods();
        let found = methods.get(method_index).map(|meta| meta.name());
        found.ok_or_else(|| past_end("method", method_index, "program", methods.len()))
    }

    /// Loads a method, a new one each time.
    fn load_method(&self, py: Python<'_>, method_name: &str) -> PyResult<ExecuTorchMethod> {
        let shared =
            Shared::load(py, &self.loaded.program, method_name, method_options(&self.loaded, None)?)?;
        Ok(ExecuTorchMethod { shared, meta: Py::new(py, self.method_meta(method_name)?)? })
    }

    /// What the program says of a method.
    fn method_meta(&self, method_name: &str) -> PyResult<MethodMeta> {
        meta(&self.loaded, method_name)
    }

    /// Whether an ETDump is being recorded: never in this release.
    fn has_etdump(&self) -> bool {
        false
    }

    /// Raises: this release records no ETDump.
    #[pyo3(signature = (path, debug_buffer_path=None))]
    fn write_etdump_result_to_file(&self, path: PathBuf, debug_buffer_path: Option<PathBuf>) -> PyResult<()> {
        let _never_written = (path, debug_buffer_path);
        Err(no_etdump())
    }
}

#[pymethods]
impl ExecuTorchMethod {
    /// Sets all inputs. They stay set, and alive, until they are set again.
    fn set_inputs(&self, inputs: &Bound<'_, PyAny>) -> PyResult<()> {
        self.shared.set_inputs(inputs)
    }

    /// Runs with the inputs that were set.
    fn execute(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.run(py)
    }

    /// The outputs of the last run. With `clone_outputs=False`, they may lie in memory that the next run writes.
    #[pyo3(signature = (clone_outputs=true))]
    fn get_outputs<'py>(&self, py: Python<'py>, clone_outputs: bool) -> PyResult<Bound<'py, PyList>> {
        self.shared.outputs(py, clone_outputs, Fallback::Torch)
    }

    /// Sets the inputs, runs, and returns the outputs.
    #[pyo3(signature = (inputs=None, clone_outputs=true))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        inputs: Option<Bound<'py, PyAny>>,
        clone_outputs: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let inputs = inputs.unwrap_or_else(|| PyTuple::empty(py).into_any());
        self.set_inputs(&inputs)?;
        self.execute(py)?;
        self.get_outputs(py, clone_outputs)
    }

    /// Sets the inputs, runs, and returns the outputs.
    #[pyo3(signature = (inputs=None, clone_outputs=true))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        inputs: Option<Bound<'py, PyAny>>,
        clone_outputs: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        self.call(py, inputs, clone_outputs)
    }

    /// What the program says of the method.
    fn method_meta(&self, py: Python<'_>) -> Py<MethodMeta> {
        self.meta.clone_ref(py)
    }

    /// A copy of a named tensor with mutable memory.
    fn get_attribute<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let flavor = if torch(py)?.is_some() { Flavor::Torch } else { Flavor::Own };
        output::to_array(py, self.shared.attribute(py, name)?, flavor)
    }
}

type Object<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Loads a module from a file.
#[pyfunction]
#[pyo3(signature = (
    program_path, data_path=None, enable_etdump=false, debug_buffer_size=0, program_verification=None
))]
fn _load_for_executorch(
    program_path: &Bound<'_, PyAny>,
    data_path: Object<'_, '_>,
    enable_etdump: bool,
    debug_buffer_size: usize,
    program_verification: Object<'_, '_>,
) -> PyResult<ExecuTorchModule> {
    let _unused_without_etdump = debug_buffer_size;
    let py = program_path.py();
    check_options(py, program_verification, enable_etdump)?;
    let data = data_path.map(Bytes::path).transpose()?;
    ExecuTorchModule::new(py, Bytes::path(program_path)?, data)
}

/// Loads a module from bytes.
#[pyfunction]
#[pyo3(signature = (
    buffer, data_map_buffer=None, enable_etdump=false, debug_buffer_size=0, program_verification=None
))]
fn _load_for_executorch_from_buffer(
    buffer: &Bound<'_, PyAny>,
    data_map_buffer: Object<'_, '_>,
    enable_etdump: bool,
    debug_buffer_size: usize,
    program_verification: Object<'_, '_>,
) -> PyResult<ExecuTorchModule> {
    let _unused_without_etdump = debug_buffer_size;
    let py = buffer.py();
    check_options(py, program_verification, enable_etdump)?;
    let data = data_map_buffer.map(Bytes::buffer).transpose()?;
    ExecuTorchModule::new(py, Bytes::buffer(buffer)?, data)
}

/// Loads a program from a file.
#[pyfunction]
#[pyo3(signature = (path, enable_etdump=false, debug_buffer_size=0, program_verification=None, data_path=None))]
fn _load_program(
    path: &Bound<'_, PyAny>,
    enable_etdump: bool,
    debug_buffer_size: usize,
    program_verification: Object<'_, '_>,
    data_path: Object<'_, '_>,
) -> PyResult<ExecuTorchProgram> {
    let _unused_without_etdump = debug_buffer_size;
    let py = path.py();
    check_options(py, program_verification, enable_etdump)?;
    let data = data_path.map(Bytes::path).transpose()?;
    Loaded::new(py, Bytes::path(path)?, data).map(|loaded| ExecuTorchProgram { loaded })
}

/// Loads a program from bytes.
#[pyfunction]
#[pyo3(signature = (buffer, enable_etdump=false, debug_buffer_size=0, program_verification=None, data_path=None))]
fn _load_program_from_buffer(
    buffer: &Bound<'_, PyAny>,
    enable_etdump: bool,
    debug_buffer_size: usize,
    program_verification: Object<'_, '_>,
    data_path: Object<'_, '_>,
) -> PyResult<ExecuTorchProgram> {
    let _unused_without_etdump = debug_buffer_size;
    let py = buffer.py();
    check_options(py, program_verification, enable_etdump)?;
    let data = data_path.map(Bytes::path).transpose()?;
    Loaded::new(py, Bytes::buffer(buffer)?, data).map(|loaded| ExecuTorchProgram { loaded })
}

/// The number of threads that kernels use.
#[pyfunction]
fn _threadpool_get_thread_count() -> usize {
    executorch_client::registry::thread_count()
}

/// Sets the number of threads that kernels use; 0 restores the default.
#[pyfunction]
#[pyo3(name = "_unsafe_reset_threadpool")]
fn reset_threadpool(num_threads: usize) -> PyResult<()> {
    executorch_client::registry::set_thread_count(num_threads).or_raise()
}

/// Begins a block of upstream's profiler, which neither upstream's wheel nor this one has: does nothing.
#[pyfunction]
fn _create_profile_block(name: &str) -> PyResult<()> {
    if name.is_empty() {
        return Err(bad_state("a profile block needs a name"));
    }
    Ok(())
}

/// The results of upstream's profiler: none.
#[pyfunction]
fn _dump_profile_results() -> &'static [u8] {
    &[]
}

/// Forgets the results of upstream's profiler: does nothing.
#[pyfunction]
fn _reset_profile_results() {}

/// Adds the functions to the module.
pub fn add_functions(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(_load_for_executorch, m)?)?;
    m.add_function(wrap_pyfunction!(_load_for_executorch_from_buffer, m)?)?;
    m.add_function(wrap_pyfunction!(_load_program, m)?)?;
    m.add_function(wrap_pyfunction!(_load_program_from_buffer, m)?)?;
    m.add_function(wrap_pyfunction!(_threadpool_get_thread_count, m)?)?;
    m.add_function(wrap_pyfunction!(reset_threadpool, m)?)?;
    m.add_function(wrap_pyfunction!(_create_profile_block, m)?)?;
    m.add_function(wrap_pyfunction!(_dump_profile_results, m)?)?;
    m.add_function(wrap_pyfunction!(_reset_profile_results, m)?)
}
