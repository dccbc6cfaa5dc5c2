//! The operators, one file a family.

pub mod arithmetic;
pub mod convert;
pub mod convolution;
pub mod fill;
pub mod join;
pub mod layout;
pub mod pooling;
pub mod product;
pub mod view;
