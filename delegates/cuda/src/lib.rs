//! Runs programs that upstream's CUDA partitioner lowered, which AOTInductor compiled: `CudaBackend`.
//!
//! A [`payload`] names the compiled model's [`library`](mod@library) and its [`constants`]. The library makes a [`container`],
//! which an [`instance`] runs on a [`stream`], as it is or as a CUDA [`graph`], with the [`arguments`] of a call as tensors of
//! the [`shim`] library. [`session`] gives one model several states; [`allocator`] is the runtime's memory on devices.
//!
//! Nothing here is linked to CUDA: on machines without it the delegate registers, and says what is missing when a program is
//! loaded.

pub mod allocator;
pub mod arguments;
mod capi;
pub mod constants;
pub mod container;
pub mod delegate;
mod describe;
mod elf;
mod error;
pub mod graph;
pub mod instance;
pub mod library;
pub mod options;
pub mod payload;
mod promote;
pub mod session;
pub mod shim;
mod storage;
pub mod stream;

// Unit tests are linked to what the libraries are at run time.
#[cfg(test)]
extern crate executorch_aoti_cuda_shims as _;
#[cfg(test)]
extern crate executorch_core as _;
#[cfg(test)]
extern crate executorch_extension_cuda as _;
#[cfg(test)]
extern crate executorch_threadpool as _;
