//! Runs programs that upstream's XNNPACK partitioner lowered.
//!
//! A payload becomes a checked [`graph`]; all other modules work on that and trust it.

pub mod cache;
pub mod graph;
mod kind;
pub mod payload;
pub mod shape;
