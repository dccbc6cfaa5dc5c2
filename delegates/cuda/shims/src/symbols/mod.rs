//! The exported functions. All have C linkage and PyTorch's names and parameters (`torch/csrc/inductor/aoti_torch/c/shim.h`),
//! besides the few of [`current_stream`], which are this project's.
//!
//! Every one may be called with null handles. Otherwise a handle must have come from this library, and must not have been
//! deleted; memory behind pointers must be as large as the other arguments say. That is the safety contract of all of them.
#![allow(clippy::missing_safety_doc, reason = "it stands at the head of the module")]

pub mod attributes;
pub mod constants;
pub mod contents;
pub mod create;
pub mod current_stream;
pub mod diagnostics;
pub mod guards;
pub mod items;
pub mod products;
pub mod random;
pub mod sort;
