//! The XNNPACK C library (4ea82e5, November 2024): raw declarations, and its parallel calls on the one thread pool.
//!
//! [`bindings`] is generated from `xnnpack.h`; its functions keep XNNPACK's own contract. [`pool`] defines the
//! functions of `pthreadpool.h` that XNNPACK calls, over `et_parallel_tasks`: no libpthreadpool is linked, and what
//! is linked from this crate needs `libexecutorch_threadpool.so.1`. `docs/threadpool.md` explains the design.

#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    clippy::all,
    reason = "generated; xnnpack.h documents it"
)]
mod bindings;
mod memory;
pub mod pool;

pub use bindings::*;

use std::sync::OnceLock;

/// No value: in place of an external number, or of a bias that is not there.
pub const XNN_INVALID_VALUE_ID: u32 = u32::MAX;

/// Names the sources, the compiler and the flags that the library was built from. What one build has packed, another
/// one may not be able to read.
pub const BUILD: &str = env!("XNNPACK_BUILD");

/// Prepares the library, and chooses its kernels for this CPU. May be called again, from any thread.
///
/// Fails, with XNNPACK's reason, on a CPU that it does not support.
pub fn initialize() -> Result<(), String> {
    static STATUS: OnceLock<xnn_status> = OnceLock::new();
    // SAFETY: the library copies the allocator, whose functions keep its contract.
    let status = *STATUS.get_or_init(|| unsafe { xnn_initialize(&memory::allocator()) });
    if status == xnn_status::xnn_status_success {
        return Ok(());
    }
    Err(format!("XNNPACK cannot be used on this machine: {}", status_name(status)))
}

/// What a status means, in words.
pub fn status_name(status: xnn_status) -> &'static str {
    match status {
        xnn_status::xnn_status_success => "success",
        xnn_status::xnn_status_uninitialized => "not initialized",
        xnn_status::xnn_status_invalid_parameter => "invalid parameter",
        xnn_status::xnn_status_invalid_state => "invalid state",
        xnn_status::xnn_status_unsupported_parameter => "unsupported parameter",
        xnn_status::xnn_status_unsupported_hardware => "unsupported hardware",
        xnn_status::xnn_status_out_of_memory => "out of memory",
        xnn_status::xnn_status_reallocation_required => "reallocation required",
        _ => "unknown status",
    }
}
