//! Compiles the CUDA kernels of `delegates/cuda/kernels/cu` into the container that the kernels' crate embeds.
//!
//! NVRTC, NVIDIA's compiler library, does it: it needs neither a GPU, nor a driver, nor any header. A row of the release matrix
//! says the version of CUDA and the architectures; NVRTC of that version comes from PyPI, pinned in `nvrtc.toml`, or from the
//! folder that [`NVRTC`] names. Finished containers and unpacked compilers are kept in a folder, under names made from
//! everything that they depend on, as XNNPACK's are.

mod container;
mod fetch;
mod nvrtc;
mod row;
mod source;

pub use container::{Container, Kind};
pub use fetch::{NVRTC, Pin, download, pins};
pub use nvrtc::Nvrtc;
pub use row::{ARCHITECTURES, CACHE, Config, PTX, Row, VERSION, build};
