//! The C ABI of executorch-runtime: every type and function that crosses a library boundary.
//!
//! One file per noun. The C headers under `include/executorch/c/` are generated from these files by
//! `cargo xtask headers`, one header for each, so the documentation of a C function is the documentation
//! of the Rust declaration here. `libexecutorch.so.1` (crate `executorch-core`) and
//! `libexecutorch_threadpool.so.1` (crate `executorch-threadpool`) define the functions, and the CUDA wheels'
//! libraries those of [`caller_stream`], [`current_stream`] and [`cuda_state`]; everything else only calls them.
//!
//! Rules that hold for the whole ABI:
//!
//! * A function that can fail returns [`error::et_error_t`] and leaves its out-parameters unmodified on
//!   failure; the reason is kept for the calling thread (`et_last_error_message`).
//! * No panic or C++ exception crosses a call in either direction.
//! * Tables that cross the boundary start with `struct_size` and only grow at their end.
//! * Strings are NUL-terminated UTF-8 unless a length stands beside them.
//! * Opaque handles may be shared between threads unless the noun's page says otherwise.
//!
//! [`rust`], [`view`] and [`args`] hold what Rust callers share on top: the error type and checked views; so do
//! [`parallel_tasks`] and [`backend::et_backend_option_t::new`].
#![allow(non_camel_case_types)]
// Opaque handles have no `repr(C)`, so that their header declares them and does not define them.
#![allow(improper_ctypes)]

pub mod args;
pub mod backend;
pub mod caller_stream;
pub mod cuda_state;
pub mod current_stream;
pub mod data_map;
pub mod device;
pub mod error;
pub mod kernel;
pub mod loader;
pub mod log;
pub mod memory;
pub mod method;
mod options;
pub mod program;
pub mod registration;
pub mod rust;
mod tasks;
pub mod tensor;
pub mod threadpool;
pub mod tracer;
pub mod value;
pub mod view;

pub use args::{Args, Scalar};
pub use rust::{Dtype, Error, Result, panic_text};
pub use tasks::parallel_tasks;
pub use view::{Element, TensorMut, TensorRef};
