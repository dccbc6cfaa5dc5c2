//! CUDA without a GPU, for tests: libraries that programs take for NVIDIA's, and what steers them.
//!
//! [`Fakes::load`] puts them into the process, where everything that looks for `libcuda.so.1` and `libcudart.so.N` by name
//! finds them, and gives the one handle: tests of a process take turns. See [`fake`] for what the libraries do.

pub mod fake;
mod steer;

pub use steer::{Fakes, Live, folder};
