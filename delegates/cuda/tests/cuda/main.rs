//! Programs of `checks/conformance/cuda` on the fake device, loaded and run as the runtime does it, what is left when they are
//! gone, and what happens when anything fails.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod execute;
mod failures;
mod graphs;
mod memory;
mod options;
mod payloads;
mod references;
mod sessions;
