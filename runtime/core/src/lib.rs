//! Program loader and executor: `libexecutorch.so.1`.
//!
//! Data flows one way: bytes come from a [`source`], [`format`] checks every count, offset and index in them and
//! gives a plain [`ir`], which [`program`] keeps together with the data that it points to.

pub mod capi;
pub mod data_map;
pub mod device;
pub mod format;
pub mod ir;
pub mod method;
pub mod prim;
pub mod program;
pub mod registry;
pub mod source;
