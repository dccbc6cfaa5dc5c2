//! Packed matrix products and convolutions for several instruction sets, over plain slices.
//!
//! | for | use |
//! |---|---|
//! | `C = act(alpha·A·B + beta·D + R)` in `f32`, `f64` | [`Product`], operands [`PackedA`] / [`PackedB`] packed once if constant |
//! | a batch of such products | [`batched`] |
//! | products of `f16`, `bf16`, integers | [`general_product`] |
//! | convolution in `f32`, weights packed once, a residual and an activation with it | [`conv::PackedConv`] |
//! | transposed convolution in `f32` | [`conv::PackedConvTransposed`] |
//! | both, any number type and any strides | [`conv::general_conv`], [`conv::general_conv_transposed`] |
//!
//! Packed operands are one piece of bytes each ([`PackedBytes`]): they can be packed straight into a
//! buffer, kept in a file, and used from a memory map without a copy (`packed_len`, `pack_into`,
//! `from_bytes`). A header says what they are for; anything else is refused.
//!
//! Every call takes the threads to use as a [`Pool`], and scratch memory whose size a `scratch_len`
//! function tells; then nothing is allocated. Scratch depends on the number of threads: ask again
//! when that changes. Sizes, strides and slices are checked by safe entry points that return an
//! [`Error`]; on an error nothing has been written.
//!
//! Data flows one way: views ([`Matrix`], [`conv::Tensor4`]) → packing (`pack`, `conv::stage`; images with
//! channels last are read where they lie) → blocks (`block`) → micro-kernels (`micro`), which are written
//! once over the vectors of `simd` and bound to an instruction set ([`Isa`]) in `isa` only. A new
//! instruction set is a file in `simd` and two lines in `isa`. The process uses the fastest one it finds;
//! `ET_CPU_ISA=avx512|avx2|neon|scalar` asks for another.

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
mod store;

pub use batch::{Batch, batched, batched_scratch_len};
pub use error::{Error, Result};
pub use gemm::{Activation, Addend, Lhs, Product, Rhs};
pub use general::general_product;
pub use isa::{Element, Isa};
pub use matrix::{Matrix, MatrixMut};
pub use number::Number;
pub use pack::{PackedA, PackedB};
pub use pool::{Pool, Serial};
pub use store::{BytesOwner, PACKED_ALIGNMENT, PACKING_VERSION, PackedBytes};
