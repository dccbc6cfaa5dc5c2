//! Vectorised element-wise mathematics, reductions and row kernels over plain slices.
//!
//! Everything here is single-threaded and safe: callers split ranges over threads and pass slices. The instruction
//! set is chosen at run time, once per process ([`isa()`]). Nothing allocates.

mod binary;
mod binary_ops;
mod convert;
mod element;
mod fold;
#[cfg(target_arch = "x86_64")]
mod half_x86;
mod integer;
mod isa;
mod loops;
mod math;
mod max_pool;
mod mixed;
mod norm;
mod real;
mod reduce;
mod softmax;
mod transpose;
mod unary;
mod unary_ops;

pub use binary::{Binary, Compare, Error, Number, add_scaled, binary, compare};
pub use convert::convert;
pub use element::{Accumulator, Bool8, Element};
pub use integer::{Integer, UnaryInt, unary_int};
pub use isa::{Isa, isa, set_isa};
pub use loops::Arg;
pub use max_pool::{PoolRow, max_pool_row, max_with_place};
pub use mixed::{add_scaled_via, binary_via, compare_via, unary_via};
pub use norm::{layer_norm_row, rms_norm_row};
pub use real::Real;
pub use reduce::{Extreme, Logical, Sum, arg_extreme, dot, extreme, logical, moments, sum};
pub use softmax::softmax;
pub use transpose::{copy_rows, gather_strided, scatter_strided, transpose};
pub use unary::{Float, Unary, unary, unary_in_place};
