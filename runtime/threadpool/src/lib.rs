//! The one thread pool of a process: `libexecutorch_threadpool.so.1`.
//!
//! Kernels and delegates reach it through the C functions in [`abi`]; the functions at the root of this crate
//! are the same for Rust code that links the crate itself. `docs/threadpool.md` explains the design.
//!
//! The rule that everything here follows: **a caller never needs a worker**. It publishes its tasks, takes part
//! in them, and waits only for workers that have already joined. A worker that is asleep, preempted, not yet
//! started, or lost in a fork costs speed and nothing else.

pub mod abi;
mod config;
mod cpu;
mod door;
mod fork;
mod fpu;
mod futex;
mod local;
mod pool;
mod safe;
mod share;
mod slot;
mod spin;
mod split;
mod thread;

pub use config::{DEFAULT_MAX_THREADS, MAX_THREADS};
pub use safe::{
    Error, SerialGuard, parallel_for, parallel_tasks, set_thread_count, thread_count, thread_num,
};
