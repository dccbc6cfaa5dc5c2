//! FlatBuffers readers of ExecuTorch's file formats: `.pte` ([`program`], "ET12"), `.ptd` ([`flat_tensor`], "FT01")
//! and the payloads of the XNNPACK delegate ([`xnnpack`], "XN00" and "XN01").
//!
//! The code under `src/generated` is made from `fbs/*.fbs` by `cargo xtask schema`, with the compiler of the version of
//! the `flatbuffers` crate.
//!
//! The generated accessors are only sound on bytes that `flatbuffers::root_with_opts` accepted.

#[allow(warnings, unsafe_op_in_unsafe_fn, missing_docs, clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]
#[rustfmt::skip]
#[path = "generated/flat_tensor_generated.rs"]
mod flat_tensor_generated;
#[allow(warnings, unsafe_op_in_unsafe_fn, missing_docs, clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]
#[rustfmt::skip]
#[path = "generated/program_generated.rs"]
mod program_generated;
#[allow(warnings, unsafe_op_in_unsafe_fn, missing_docs, clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]
#[rustfmt::skip]
#[path = "generated/xnnpack_generated.rs"]
mod xnnpack_generated;

/// `.ptd`: named tensors and blobs.
pub use flat_tensor_generated::flat_tensor_flatbuffer as flat_tensor;
/// `.pte`: programs.
pub use program_generated::executorch_flatbuffer as program;
/// Payloads of the XNNPACK delegate.
pub use xnnpack_generated::fb_xnnpack as xnnpack;
