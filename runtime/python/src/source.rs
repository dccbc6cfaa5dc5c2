//! What programs and data files are loaded from, and the arguments that upstream's loaders have besides.

use crate::components;
use crate::errors::{OrRaise, bad_type, raise, raise_as, type_name};
use executorch_abi::error::{ET_ERROR_ACCESS_FAILED, ET_ERROR_NOT_FOUND};
use executorch_client::{DataMap, Error, LoadMode, Program, Source};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyBytesMethods, PyString};
use std::path::{Path, PathBuf};

/// A program with its external data.
#[derive(Clone)]
pub struct Loaded {
    /// The program.
    pub program: Program,
    /// The contents of a `.ptd` file.
    pub data: Option<DataMap>,
}

impl Loaded {
    /// Loads both while other Python threads run.
    pub fn new(py: Python<'_>, program: Bytes, data: Option<Bytes>) -> PyResult<Self> {
        components::ensure(py)?;
        let data = data.map(|data| data.data_map(py)).transpose()?;
        Ok(Self { program: program.load(py, Program::load)?, data })
    }
}

/// A file's bytes, or where they are.
pub enum Bytes {
    /// The path of a file.
    Path(PathBuf),
    /// In memory.
    Memory(Py<PyBytes>),
}

impl Bytes {
    /// A path.
    pub fn path(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if is_path(object)? {
            return Ok(Self::Path(object.extract()?));
        }
        Err(bad_type(format!("expected a path, found {}", type_name(object))))
    }

    /// A path, bytes, anything that has bytes, or a file that was opened for reading bytes.
    pub fn any(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Memory(bytes.clone().unbind()));
        }
        if is_path(object)? {
            return Self::path(object);
        }
        if object.hasattr(intern!(py, "read"))? {
            let read = object.call_method0(intern!(py, "read"))?;
            return match read.cast_into::<PyBytes>() {
                Ok(bytes) => Ok(Self::Memory(bytes.unbind())),
                Err(error) => Err(bad_type(format!(
                    "read() should return bytes, found {}; open the file with mode \"rb\"",
                    type_name(&error.into_inner())
                ))),
            };
        }
        Self::buffer(object)
    }

    /// Bytes, or anything that has bytes.
    pub fn buffer(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Memory(bytes.clone().unbind()));
        }
        let is_bytes = object.is_instance_of::<PyByteArray>();
        let bytes = if is_bytes {
            Ok(object.clone())
        } else {
            py.get_type::<pyo3::types::PyMemoryView>().call1((object,))
        };
        match bytes {
            // A copy: the caller may change the bytes later.
            Ok(bytes) => {
                let copy = py.get_type::<PyBytes>().call1((bytes,))?.cast_into::<PyBytes>()?;
                Ok(Self::Memory(copy.unbind()))
            }
            Err(_) => Err(bad_type(format!(
                "Expected data to be bytes, bytearray, a path to a .pte file, or a file-like object, but got {}.",
                type_name(object)
            ))),
        }
    }

    /// Loads a `.ptd` file while other Python threads run.
    pub fn data_map(self, py: Python<'_>) -> PyResult<DataMap> {
        self.load(py, DataMap::load)
    }

    fn load<T: Send>(self, py: Python<'_>, load: fn(Source) -> executorch_client::Result<T>) -> PyResult<T> {
        match self {
            Self::Path(path) => {
                let result = py.detach(|| {
                    let source = Source::open(&path, LoadMode::Map)?;
                    load(source).map_err(|error| error.within(path.display()))
                });
                result.map_err(|error| raise_for(&path, error))
            }
            Self::Memory(bytes) => {
                let bytes = Held::new(bytes.bind(py));
                py.detach(|| Source::bytes(bytes).and_then(load)).or_raise()
            }
        }
    }
}

fn is_path(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyString>() || object.hasattr(intern!(object.py(), "__fspath__"))?)
}

fn raise_for(path: &Path, error: Error) -> PyErr {
    let is_access = matches!(error.code, ET_ERROR_NOT_FOUND | ET_ERROR_ACCESS_FAILED);
    if is_access && !path.exists() { raise_as("MissingFileError", error) } else { raise(error) }
}

/// Bytes of Python that stay alive, and never change, while the runtime uses them.
struct Held {
    data: *const u8,
    size: usize,
    _owner: Py<PyBytes>,
}

// SAFETY: the bytes of a `bytes` object are immutable and at a fixed address, and the reference may be dropped anywhere.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    fn new(bytes: &Bound<'_, PyBytes>) -> Self {
        let content = bytes.as_bytes();
        Self { data: content.as_ptr(), size: content.len(), _owner: bytes.clone().unbind() }
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `_owner` keeps the bytes.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }
}

/// Checks the arguments of upstream's loaders that ask for less or more than we have: every program is verified whole,
/// and ETDump is not recorded.
pub fn check_options(py: Python<'_>, verification: Option<&Bound<'_, PyAny>>, etdump: bool) -> PyResult<()> {
    if let Some(verification) = verification {
        let name = verification.getattr(intern!(py, "name")).and_then(|name| name.extract::<String>());
        if !matches!(name.as_deref(), Ok("Minimal" | "InternalConsistency")) {
            return Err(bad_type(format!(
                "verification should be Verification.Minimal or Verification.InternalConsistency, found {verification}"
            )));
        }
    }
    if etdump {
        let text = c"this release records no ETDump: enable_etdump has no effect";
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), text, 2)?;
    }
    Ok(())
}

/// What asking for an ETDump raises.
pub fn no_etdump() -> PyErr {
    crate::errors::bad_state("No etdump found: this release records none")
}
