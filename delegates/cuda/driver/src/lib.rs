//! CUDA without linking to it: `libcuda.so.1` (the driver) and `libcudart.so.12` or `.13` (the runtime library) are loaded by
//! name at first use, and everything above them is safe.
//!
//! [`Cuda::get`] gives the process's CUDA, or an [`Error`] that says what was looked for, where, and what to install. The
//! others start from it: [`Device`] and [`DeviceGuard`], [`Stream`] and [`Event`], [`DeviceBuffer`], the copies of
//! [`memory`], [`Graph`], [`Module`] and [`Kernel`].
//!
//! **Search.** First the folders that the environment variable [`FOLDERS`] names, then what the process has loaded already,
//! then the loader's own search (the RUNPATH of the library that this crate is linked into reaches the folder of NVIDIA's
//! wheel; then the system's folders), then the places where CUDA's installers put it. The runtime library is always made
//! visible to all libraries loaded later (`RTLD_GLOBAL`), because those that AOTInductor compiles leave its functions
//! undefined and expect to find them in the process.
//!
//! **Versions.** A build for a row of the release matrix accepts the runtime library of its CUDA major only
//! ([`BUILT_FOR`]); a build without a row takes 13, else 12. A driver older than the runtime library is refused.
//!
//! **Threads.** Everything is `Send + Sync` unless its page says otherwise. The current device is a thread's own state, as it
//! is in CUDA.
//!
//! The `cudarc` crate is not used: it panics when a library or a function is missing, hides the runtime library from other
//! libraries, and cannot be pointed to a library by path.

mod cuda;
mod device;
mod error;
mod graph;
mod library;
pub mod memory;
mod module;
mod stream;
pub mod sys;

pub use cuda::{BUILT_FOR, Cuda, FOLDERS, Loader, built_for};
pub use device::{Device, DeviceGuard};
pub use error::{Error, Result};
pub use graph::{Capture, CaptureMode, Graph};
pub use library::{file_of, visible};
pub use memory::{DeviceBuffer, Kind, PointerInfo};
pub use module::{Argument, Kernel, Launch, Module};
pub use stream::{Event, Stream, StreamRef};
