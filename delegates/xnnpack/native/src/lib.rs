//! Obtains and builds the XNNPACK C library: sources pinned in `sources.toml`, compiled by `zig cc` for glibc 2.28.
//!
//! A build takes minutes, so its result is kept: in [`Config::cache`], under a name made from everything that the
//! result depends on. Debug and release builds, tests and wheels, and cargo commands that run at the same time
//! share it. [`Config::from_environment`] says which variables choose the folders.

mod cache;
mod compile;
mod config;
mod mirror;
mod source;
mod wrapper;

pub use cache::{Library, build};
pub use config::{CACHE, Config, FLAGS, SOURCES, Target, cache};
pub use source::{Source, pristine, sources};
