//! Program loader and executor: libexecutorch.so.1.
