//! Options for backends, as Python gives them.

use crate::errors::OrRaise;
use crate::source::Loaded;
use executorch_client::{BackendOptions, MethodOptions, OptionValue};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

/// How a method of a program is loaded: with its data, and with `{backend: {key: value}}` for backends, where a value
/// is a bool, an int or a str. TypeError names what is none of these.
pub fn method_options(loaded: &Loaded, backends: Option<&Bound<'_, PyDict>>) -> PyResult<MethodOptions> {
    let mut options = MethodOptions { data: loaded.data.clone(), backends: BackendOptions::default() };
    for (backend, given) in backends.into_iter().flatten() {
        let backend: String = backend.extract()?;
        let given = given.cast::<PyDict>().map_err(|_| {
            PyTypeError::new_err(format!("the options of {backend} should be a dict of keys and values"))
        })?;
        for (key, value) in given {
            let key: String = key.extract()?;
            options.backends.set(&backend, &key, &option(&key, &value)?).or_raise()?;
        }
    }
    Ok(options)
}

fn option(key: &str, value: &Bound<'_, PyAny>) -> PyResult<OptionValue> {
    // A bool is an int too, so it comes first.
    if let Ok(value) = value.cast::<PyBool>() {
        Ok(OptionValue::Bool(value.is_true()))
    } else if let Ok(value) = value.cast::<PyInt>() {
        Ok(OptionValue::Int(value.extract()?))
    } else if let Ok(value) = value.cast::<PyString>() {
        Ok(OptionValue::String(value.extract()?))
    } else {
        let kind = value.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "the option {key:?} should be a bool, an int or a str, found {kind}"
        )))
    }
}
