//! Runs programs that upstream's XNNPACK partitioner lowered.
//!
//! A payload becomes a checked [`graph`]; all other modules work on that and trust it. [`plan`] divides it among the two
//! executors: the XNNPACK [`library`] and our [`own`] kernels. An [`instance`] drives them, on memory that it plans.
//! [`delegate`] is what the runtime sees of all this.

mod arena;
mod arguments;
pub mod cache;
pub mod delegate;
pub mod describe;
pub mod graph;
pub mod instance;
mod kind;
pub mod library;
mod names;
pub mod options;
pub mod own;
mod pages;
mod parallel;
pub mod payload;
pub mod plan;
mod prepare;
mod profile;
mod readable;
pub mod shape;
mod tables;
mod threads;
mod widen;
