//! Our own CUDA kernels for what models compiled by AOTInductor do not bring along: products with quantised weights, a stable
//! sort, and random numbers.
//!
//! Builds for a row of the release matrix embed the device code ([`image`]); it is loaded into a device by the first call that
//! needs it. Builds without a row hold none, and take it from the file that the environment variable [`CODE`] names, as any build
//! does for a GPU that it was not compiled for.
//!
//! Every launch is on a stream, returns before it is done, and may be recorded into a graph once the code is loaded. Memory is
//! given by addresses, so launches are unsafe; sizes are checked here, shapes and dtypes by the caller. Numerics are described at
//! each function; the tests run the same sources on the CPU.

mod code;
mod error;
pub mod image;
mod int4pack;
mod plain;
mod random;
mod scratch;
mod sort;

pub use code::CODE;
pub use error::{Error, Result};
pub use int4pack::{Int4Pack, int4pack_mm};
pub use plain::{Plain, Weights, plain_mm};
pub use random::{rand_bf16, rand_f32, randint};
pub use sort::{Sort, SortType, sort};
