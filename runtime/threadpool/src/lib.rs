//! The one thread pool of a process: libexecutorch_threadpool.so.1.
