//! The C ABI of executorch-runtime: every type and function that crosses a library boundary.
