//! The operators, one file a family.

pub mod activation;
pub mod arithmetic;
pub mod compare;
pub mod convert;
pub mod convolution;
pub mod fill;
pub mod join;
pub mod layout;
pub mod logic;
pub mod pooling;
pub mod product;
pub mod select;
pub mod unary;
pub mod view;
