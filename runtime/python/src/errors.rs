//! Errors of the runtime as Python exceptions (`executorch_runtime/_errors.py`).

use executorch_abi::error::*;
use executorch_abi::rust::error_name;
use executorch_client::Error;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The exception for an error, by its code.
pub fn raise(error: Error) -> PyErr {
    let class = match error.code {
        ET_ERROR_INVALID_ARGUMENT => "InvalidArgumentError",
        ET_ERROR_INVALID_TYPE => "InvalidTypeError",
        ET_ERROR_NOT_FOUND => "NotFoundError",
        ET_ERROR_MEMORY_ALLOCATION_FAILED => "OutOfMemoryError",
        ET_ERROR_NOT_SUPPORTED | ET_ERROR_NOT_IMPLEMENTED => "NotSupportedError",
        ET_ERROR_INVALID_PROGRAM | ET_ERROR_INVALID_EXTERNAL_DATA => "InvalidProgramError",
        ET_ERROR_OPERATOR_MISSING => "OperatorMissingError",
        _ => "ExecuTorchError",
    };
    raise_as(class, error)
}

/// An exception of the class of this name in `_errors.py`.
pub fn raise_as(class: &str, error: Error) -> PyErr {
    Python::attach(|py| {
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let make = || {
            let module = MODULE.get_or_try_init(py, || {
                PyModule::import(py, "executorch_runtime._errors").map(Bound::unbind)
            })?;
            let class = module.bind(py).getattr(class)?.cast_into::<PyType>()?;
            let instance = class.call1((error.message, error.code, error_name(error.code)))?;
            Ok(PyErr::from_value(instance))
        };
        make().unwrap_or_else(|failure: PyErr| failure)
    })
}

/// A bad argument: a `ValueError` that is a `RuntimeError` too.
pub fn bad_value(message: impl Into<String>) -> PyErr {
    raise(Error::new(ET_ERROR_INVALID_ARGUMENT, message))
}

/// An argument of a type that cannot be used: a `TypeError` that is a `RuntimeError` too.
pub fn bad_type(message: impl Into<String>) -> PyErr {
    raise(Error::new(ET_ERROR_INVALID_TYPE, message))
}

/// An index past the end: an `IndexError` that is a `RuntimeError` too.
pub fn past_end(what: &str, index: usize, owner: &str, count: usize) -> PyErr {
    let message = format!("{what} {index} does not exist: the {owner} has {count}");
    raise_as("OutOfRangeError", Error::new(ET_ERROR_INVALID_ARGUMENT, message))
}

/// A call that the object's state does not allow.
pub fn bad_state(message: impl Into<String>) -> PyErr {
    raise(Error::new(ET_ERROR_INVALID_STATE, message))
}

/// The result with the runtime's error turned into an exception.
pub trait OrRaise<T> {
    /// Turns the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for executorch_client::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(raise)
    }
}

/// The same failure with `place` in front of its message. An exception of someone else, such as an array's producer,
/// becomes the cause of one of ours.
pub fn within(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    if !error.is_instance_of::<PyException>(py) {
        return error;
    }
    let value = error.value(py);
    let parts = || {
        let code: u32 = value.getattr("code")?.extract()?;
        let message: String = value.getattr("message")?.extract()?;
        let class = value.get_type().name()?.to_string();
        Ok::<_, PyErr>((class, Error::new(code, format!("{place}: {message}"))))
    };
    match parts() {
        Ok((class, error)) => raise_as(&class, error),
        Err(_) => {
            let text = format!("{place}: {}: {value}", type_name(value));
            let ours = if error.is_instance_of::<PyTypeError>(py) { bad_type(text) } else { bad_value(text) };
            ours.set_cause(py, Some(error));
            ours
        }
    }
}

/// The name of an object's type, for messages.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().fully_qualified_name().map_or_else(|_| "an object".into(), |name| name.to_string())
}
