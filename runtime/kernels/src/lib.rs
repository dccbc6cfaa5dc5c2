//! CPU operators: libexecutorch_kernels_optimized.so.1.
