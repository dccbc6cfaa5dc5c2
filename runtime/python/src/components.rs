//! The libraries of kernels and backends: those of this wheel, and those of delegate wheels. They are loaded once, at
//! the first use of the runtime (`Runtime.get()`, or what comes before it) and not at import.

use crate::errors::type_name;
use executorch_abi::error::*;
use executorch_client::{Error, Result, registry};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Entry points that delegate wheels declare. Each names a module, or a function that is called without arguments.
const GROUP: &str = "executorch_runtime.delegates";

static DONE: AtomicBool = AtomicBool::new(false);
static LOADING: Mutex<()> = Mutex::new(());
static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Refused registrations that were warned of.
static WARNED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is loading: a delegate's module may use the runtime.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Loads all libraries if that has not been done, and warns of what went wrong.
pub fn ensure(py: Python<'_>) -> PyResult<()> {
    if !DONE.load(Ordering::Acquire) {
        if INSIDE.get() {
            return Ok(());
        }
        let _turn = LOADING.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if !DONE.load(Ordering::Acquire) {
            INSIDE.set(true);
            load_all(py);
            INSIDE.set(false);
            DONE.store(true, Ordering::Release);
            for failure in failures() {
                warn(py, &failure)?;
            }
        }
    }
    warn_of_registrations(py)
}

/// What could not be loaded.
pub fn failures() -> Vec<String> {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// An error of a load, with the delegates that could not be loaded: they may be what is missing.
pub fn explain(mut error: Error) -> Error {
    let failures = failures();
    if matches!(error.code, ET_ERROR_NOT_FOUND | ET_ERROR_OPERATOR_MISSING) && !failures.is_empty() {
        error.message = format!("{}; note that {}", error.message, failures.join("; and that "));
    }
    error
}

/// Loads one library; fails if it cannot be loaded, or if the registry refuses what it brings.
pub fn load_library(path: &Path) -> Result<()> {
    let before = registry::registration_errors().len();
    open(path)?;
    let refused =
        registry::registration_errors().split_off(before.min(registry::registration_errors().len()));
    WARNED.fetch_max(before + refused.len(), Ordering::AcqRel);
    if refused.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ET_ERROR_REGISTRATION_ALREADY_REGISTERED,
        format!("{} was refused: {}", path.display(), refused.join("; ")),
    ))
}

fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
}

fn warn_of_registrations(py: Python<'_>) -> PyResult<()> {
    let seen = WARNED.load(Ordering::Acquire);
    let errors = registry::registration_errors();
    if errors.len() > seen
        && WARNED.compare_exchange(seen, errors.len(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    {
        for error in errors.iter().skip(seen) {
            warn(py, &format!("a library was refused: {error}"))?;
        }
    }
    Ok(())
}

fn failed(text: String) {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

fn load_all(py: Python<'_>) {
    let found = py.detach(|| {
        let libraries = wheel_libraries();
        for path in libraries.iter().flatten() {
            if let Err(error) = open(path) {
                failed(error.message);
            }
        }
        libraries.is_some()
    });
    if !found {
        failed("the folder of the runtime's libraries was not found; reinstall executorch-runtime".into());
    }
    if let Err(error) = load_delegates(py) {
        failed(format!("delegate wheels could not be listed: {error}"));
    }
}

/// The libraries of kernels and backends that lie in `lib/` beside this module.
fn wheel_libraries() -> Option<Vec<PathBuf>> {
    let folder = own_path()?.parent()?.join("lib");
    let is_component = |name: &str| {
        ["libexecutorch_kernels_", "libexecutorch_backend_"].iter().any(|prefix| name.starts_with(prefix))
            && name.contains(".so")
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(is_component))
        .collect();
    paths.sort();
    Some(paths)
}

/// The file that this code was loaded from.
fn own_path() -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the address is one of this library's code, and `info` a place for the answer; the name lives as long as
    // the library is loaded.
    let name = unsafe {
        if libc::dladdr(own_path as *const libc::c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Opens a library for the rest of the process.
fn open(path: &Path) -> Result<()> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the path {path:?} contains a NUL character"))
    })?;
    // SAFETY: a NUL-terminated path; the library's initialisers obey the registry's rules, as its maker promises.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(());
    }
    // SAFETY: null, or this thread's NUL-terminated message of the failure above.
    let why = unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "no reason was given".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    Err(Error::new(ET_ERROR_ACCESS_FAILED, format!("{} could not be loaded: {why}", path.display())))
}

/// Whether an installed distribution may declare a delegate. Listing entry points takes Python tens of milliseconds,
/// most of them for imports; looking into a few files takes one.
fn may_have_delegates(py: Python<'_>) -> PyResult<bool> {
    let declares = |folder: &Path| {
        let is_metadata = folder.extension().is_some_and(|e| e == "dist-info" || e == "egg-info");
        is_metadata
            && std::fs::read_to_string(folder.join("entry_points.txt")).is_ok_and(|t| t.contains(GROUP))
    };
    for entry in py.import("sys")?.getattr("path")?.try_iter()? {
        let Ok(path) = entry?.extract::<PathBuf>() else { continue };
        // An archive, which Python can look into.
        if path.is_file() {
            return Ok(true);
        }
        let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path };
        let Ok(mut items) = std::fs::read_dir(path) else { continue };
        if items.any(|item| item.is_ok_and(|item| declares(&item.path()))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Loads what delegate wheels declare. A broken one is kept among the failures, by name.
fn load_delegates(py: Python<'_>) -> PyResult<()> {
    if !may_have_delegates(py)? {
        return Ok(());
    }
    let arguments = PyDict::new(py);
    arguments.set_item("group", GROUP)?;
    let found = py.import("importlib.metadata")?.getattr("entry_points")?.call((), Some(&arguments))?;
    for entry in found.try_iter()? {
        let entry = entry?;
        if let Err(error) = load_delegate(&entry) {
            let name = entry.getattr("name")?;
            let value = entry.getattr("value")?;
            let wheel = match entry.getattr("dist") {
                Ok(dist) if !dist.is_none() => dist.getattr("name")?.to_string(),
                _ => "an unknown distribution".into(),
            };
            let kind = type_name(error.value(py));
            failed(format!(
                "the delegate {name:?} of {wheel} ({value}) could not be loaded: {kind}: {}",
                error.value(py)
            ));
        }
    }
    Ok(())
}

fn load_delegate(entry: &Bound<'_, PyAny>) -> PyResult<()> {
    let object = entry.call_method0("load")?;
    if object.is_callable() {
        object.call0()?;
    }
    Ok(())
}
