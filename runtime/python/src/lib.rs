//! Python extension module of executorch_runtime.
