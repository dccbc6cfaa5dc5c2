//! Safe Rust API over the C ABI.
