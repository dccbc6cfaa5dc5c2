//! FlatBuffers readers of ExecuTorch's file formats: `.pte` ([`program`], "ET12") and `.ptd`
//! ([`flat_tensor`], "FT01").
//!
//! The code under `src/generated` is made from `fbs/*.fbs` by the `flatc` 24.3.25 that the PyPI package
//! `executorch` 1.5.1 carries:
//!
//! ```text
//! flatc --rust --gen-all -o src/generated fbs/program.fbs
//! flatc --rust --gen-all -o src/generated fbs/flat_tensor.fbs
//! ```
//!
//! The generated accessors are only sound on bytes that `flatbuffers::root_with_opts` accepted.

/// `.pte`: programs.
pub mod program {
    #[allow(warnings, clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]
    #[rustfmt::skip]
    #[path = "../generated/program_generated.rs"]
    mod generated;
    pub use generated::executorch_flatbuffer::*;
}

/// `.ptd`: named tensors and blobs.
pub mod flat_tensor {
    #[allow(warnings, clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]
    #[rustfmt::skip]
    #[path = "../generated/flat_tensor_generated.rs"]
    mod generated;
    pub use generated::flat_tensor_flatbuffer::*;
}
