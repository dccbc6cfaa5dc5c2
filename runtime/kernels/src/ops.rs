//! The operators, one file a family.

pub mod arithmetic;
pub mod layout;
pub mod product;
