//! Program loader and executor: `libexecutorch.so.1`.
//!
//! Data flows one way: bytes come from a [`source`], [`format`] checks every count, offset and index in them and
//! gives a plain [`ir`], which [`program`] keeps together with the data that it points to.

pub mod format;
pub mod ir;
pub mod program;
pub mod source;
