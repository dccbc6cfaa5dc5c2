//! What the project's tasks and its build scripts share: commands, and tools from package registries.

pub mod command;
mod debian;
pub mod digest;
mod lock;
mod registry;

pub use debian::{Program, apt, ensure, find};
pub use lock::Lock;
pub use registry::{Tools, fresh_venv, pip, requirements};
