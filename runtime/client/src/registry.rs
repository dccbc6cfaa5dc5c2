//! What the process's registry holds, and the thread pool. All functions may be called from any thread.

use crate::device::Device;
use crate::text;
use executorch_abi::backend::{et_backend_count, et_backend_is_available, et_backend_name};
use executorch_abi::device::et_device_allocator_find;
use executorch_abi::kernel::{et_kernel_count, et_kernel_exists, et_kernel_name};
use executorch_abi::registration::{et_registration_error, et_registration_error_count, et_version};
use executorch_abi::threadpool::{et_threadpool_get_thread_count, et_threadpool_set_thread_count};
use executorch_abi::{Error, Result};

/// The runtime's version.
pub fn version() -> String {
    // SAFETY: a static string.
    unsafe { text::from_c(et_version()) }.unwrap_or_default()
}

/// The names of all registered operators, in order of registration. The runtime's own are not among them.
pub fn operators() -> Vec<String> {
    // SAFETY: names live as long as the process, here and below.
    unsafe { (0..et_kernel_count()).filter_map(|i| text::from_c(et_kernel_name(i))).collect() }
}

/// Whether an operator, registered or the runtime's own, serves `name`.
pub fn has_operator(name: &str) -> bool {
    // SAFETY: a NUL-terminated name.
    text::to_c(name, "the operator's name").is_ok_and(|name| unsafe { et_kernel_exists(name.as_ptr()) })
}

/// The ids of all registered backends, in order of registration.
pub fn backends() -> Vec<String> {
    // SAFETY: as for `operators`.
    unsafe { (0..et_backend_count()).filter_map(|i| text::from_c(et_backend_name(i))).collect() }
}

/// Whether a backend is registered and says that it can run here.
pub fn is_backend_available(id: &str) -> bool {
    // SAFETY: a NUL-terminated id.
    text::to_c(id, "the backend's id").is_ok_and(|id| unsafe { et_backend_is_available(id.as_ptr()) })
}

/// Whether memory of a device can be had: it is the host, or an allocator for its kind is registered.
pub fn has_device(device: Device) -> bool {
    // SAFETY: no pointers.
    device.is_host() || unsafe { !et_device_allocator_find(device.kind).is_null() }
}

/// Why registrations were refused since the process started.
pub fn registration_errors() -> Vec<String> {
    // SAFETY: messages live as long as the process.
    unsafe {
        (0..et_registration_error_count()).filter_map(|i| text::from_c(et_registration_error(i))).collect()
    }
}

/// The number of threads that take part in parallel work.
pub fn thread_count() -> usize {
    // SAFETY: no arguments.
    unsafe { et_threadpool_get_thread_count() }
}

/// Sets the number of threads; 0 restores the default.
pub fn set_thread_count(count: usize) -> Result<()> {
    // SAFETY: no pointers.
    Error::check(unsafe { et_threadpool_set_thread_count(count) })
}
