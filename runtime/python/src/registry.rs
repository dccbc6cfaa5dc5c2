//! What the process has: operators, backends, threads, versions.

use crate::components;
use crate::errors::OrRaise;
use executorch_client::registry;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The runtime's version.
#[pyfunction]
fn version() -> String {
    registry::version()
}

/// Loads the libraries of kernels and backends, and what delegate wheels declare, unless it was done before. What goes
/// wrong is a warning.
#[pyfunction]
fn _load_components(py: Python<'_>) -> PyResult<()> {
    components::ensure(py)
}

/// The names of all operators, each once, in order of registration.
#[pyfunction]
fn _get_operator_names(py: Python<'_>) -> PyResult<Vec<String>> {
    components::ensure(py)?;
    let mut seen = std::collections::HashSet::new();
    Ok(registry::operators().into_iter().filter(|name| seen.insert(name.clone())).collect())
}

/// The ids of all backends.
#[pyfunction]
fn _get_registered_backend_names(py: Python<'_>) -> PyResult<Vec<String>> {
    components::ensure(py)?;
    Ok(registry::backends())
}

/// Whether a backend is registered and can run here.
#[pyfunction]
fn _is_available(py: Python<'_>, backend_name: &str) -> PyResult<bool> {
    components::ensure(py)?;
    Ok(py.detach(|| registry::is_backend_available(backend_name)))
}

/// Whether an operator is there, registered or the runtime's own.
#[pyfunction]
fn has_operator(py: Python<'_>, name: &str) -> PyResult<bool> {
    components::ensure(py)?;
    Ok(registry::has_operator(name))
}

/// What is wrong with libraries that should have joined the process: refused registrations, libraries and delegates
/// that could not be loaded.
#[pyfunction]
fn registration_errors(py: Python<'_>) -> PyResult<Vec<String>> {
    components::ensure(py)?;
    Ok(registry::registration_errors().into_iter().chain(components::failures()).collect())
}

/// Loads a shared library that registers operators or a backend. Raises if it cannot be loaded or is refused.
#[pyfunction]
fn load_library(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    components::ensure(py)?;
    py.detach(|| components::load_library(&path)).or_raise()
}

/// The processor's features that kernels choose by.
#[pyfunction]
fn cpu_features() -> Vec<&'static str> {
    let mut found = Vec::new();
    macro_rules! detect {
        ($detect:ident: $($feature:tt),*) => {
            $(if std::arch::$detect!($feature) { found.push($feature); })*
        };
    }
    #[cfg(target_arch = "x86_64")]
    detect!(is_x86_feature_detected: "sse4.2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl",
        "avx512vnni", "avx512bf16", "avx512fp16", "avxvnni");
    #[cfg(target_arch = "aarch64")]
    detect!(is_aarch64_feature_detected: "neon", "fp16", "dotprod", "i8mm", "bf16", "sve");
    found
}

/// Adds the functions to the module.
pub fn add_functions(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(_load_components, m)?)?;
    m.add_function(wrap_pyfunction!(_get_operator_names, m)?)?;
    m.add_function(wrap_pyfunction!(_get_registered_backend_names, m)?)?;
    m.add_function(wrap_pyfunction!(_is_available, m)?)?;
    m.add_function(wrap_pyfunction!(has_operator, m)?)?;
    m.add_function(wrap_pyfunction!(registration_errors, m)?)?;
    m.add_function(wrap_pyfunction!(load_library, m)?)?;
    m.add_function(wrap_pyfunction!(cpu_features, m)?)
}
