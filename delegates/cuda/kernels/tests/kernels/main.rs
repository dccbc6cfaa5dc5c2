//! The kernels' own sources, run by the CPU, against PyTorch's results and plain descriptions of the formats.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every array is as large as the sizes beside it say")]

mod common;
mod int4pack;
mod plain;
mod random;
mod sort;
