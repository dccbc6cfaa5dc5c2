//! Vectorised element-wise mathematics, reductions and row kernels over plain slices.
//!
//! Everything here is single-threaded and safe: callers split ranges over threads and pass slices. The instruction
//! set is chosen at run time, once per process ([`isa()`]).

mod binary;
mod binary_ops;
mod isa;
mod loops;
mod math;
mod unary;
mod unary_ops;

pub use binary::{Binary, Compare, Error, Number, add_scaled, binary, compare};
pub use isa::{Isa, isa, set_isa};
pub use loops::Arg;
pub use unary::{Float, Unary, unary, unary_in_place};
