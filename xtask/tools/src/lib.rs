//! What the project's tasks and its build scripts share: commands, and tools from package registries.

pub mod command;
pub mod digest;
mod lock;
mod registry;

pub use lock::Lock;
pub use registry::{Tools, apt, fresh_venv, pip, requirements};
