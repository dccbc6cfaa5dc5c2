//! Packed matrix products and convolutions for several instruction sets, over plain slices.

mod batch;
mod block;
pub mod conv;
mod error;
mod gemm;
mod general;
mod isa;
mod matrix;
mod micro;
mod number;
mod pack;
mod pool;
mod simd;

pub use batch::{Batch, batched, batched_scratch_len};
pub use error::{Error, Result};
pub use gemm::{Activation, Addend, Lhs, Product, Rhs};
pub use general::general_product;
pub use isa::{Element, Isa};
pub use matrix::{Matrix, MatrixMut};
pub use number::Number;
pub use pack::{PackedA, PackedB};
pub use pool::{Pool, Serial};
