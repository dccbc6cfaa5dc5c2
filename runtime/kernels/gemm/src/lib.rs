//! Packed matrix products and convolutions for several instruction sets, over plain slices.

mod error;
mod isa;
mod matrix;
mod micro;
mod pool;
mod simd;

pub use error::{Error, Result};
pub use isa::{Element, Isa};
pub use matrix::{Matrix, MatrixMut};
pub use pool::{Pool, Serial};
