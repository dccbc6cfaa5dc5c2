//! Packed matrix products and convolutions for several instruction sets, over plain slices.

mod block;
pub mod conv;
mod error;
mod gemm;
mod isa;
mod matrix;
mod micro;
mod pack;
mod pool;
mod simd;

pub use error::{Error, Result};
pub use gemm::{Activation, Addend, Lhs, Product, Rhs};
pub use isa::{Element, Isa};
pub use matrix::{Matrix, MatrixMut};
pub use pack::{PackedA, PackedB};
pub use pool::{Pool, Serial};
