//! The operators, one file a family.

pub mod arithmetic;
pub mod convolution;
pub mod layout;
pub mod pooling;
pub mod product;
