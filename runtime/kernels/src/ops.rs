//! The operators, one file a family.

pub mod activation;
pub mod arithmetic;
pub mod batch_norm;
pub mod compare;
pub mod complex;
pub mod convert;
pub mod convolution;
pub mod convolution_backward;
pub mod extreme;
pub mod fill;
pub mod image;
pub mod join;
pub mod layout;
pub mod logic;
pub mod norm;
pub mod order;
pub mod pooling;
pub mod product;
pub mod reduce;
pub mod scan;
pub mod select;
pub mod softmax;
pub mod unary;
pub mod variance;
pub mod view;
