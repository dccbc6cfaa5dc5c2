//! CPU operators: `libexecutorch_kernels_optimized.so.1`.
//!
//! [`op`] is the bridge to the C ABI, [`elements`] typed access to tensors, [`shape`] broadcasting, [`number`]
//! PyTorch's type promotion, [`elementwise`] the engine of element-wise operators (whose [`function`]s it computes),
//! [`reduction`] that of reductions, [`moves`] that of copies between [`strided`] views, [`fourier`] transforms of
//! lines, [`packed`] the copies of constants that call sites share, and [`pool`] the process's threads. The operators
//! stand in [`ops`], one file a family, each with the table that it registers. A static initialiser hands the tables to
//! the runtime, so that linking or loading the library is all that a program does.

pub mod elements;
pub mod elementwise;
pub mod fourier;
pub mod function;
pub mod moves;
pub mod number;
pub mod op;
pub mod ops;
pub mod packed;
pub mod pool;
pub mod reduction;
pub mod shape;
pub mod strided;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod testing;

// The unit tests call the runtime's functions, which programs get from its library.
#[cfg(test)]
use {executorch_core as _, executorch_threadpool as _};

use executorch_abi::registration::*;
use op::Table;

/// The operators of every family.
pub const TABLES: &[&Table] = &[
    &ops::activation::TABLE,
    &ops::arithmetic::TABLE,
    &ops::batch_norm::TABLE,
    &ops::compare::TABLE,
    &ops::complex::TABLE,
    &ops::convert::TABLE,
    &ops::convolution::TABLE,
    &ops::convolution_backward::TABLE,
    &ops::distance::TABLE,
    &ops::extreme::TABLE,
    &ops::fft::TABLE,
    &ops::fill::TABLE,
    &ops::image::TABLE,
    &ops::index::TABLE,
    &ops::join::TABLE,
    &ops::layout::TABLE,
    &ops::logic::TABLE,
    &ops::masked::TABLE,
    &ops::norm::TABLE,
    &ops::order::TABLE,
    &ops::pad::TABLE,
    &ops::pooling::TABLE,
    &ops::product::TABLE,
    &ops::random::TABLE,
    &ops::rearrange::TABLE,
    &ops::reduce::TABLE,
    &ops::scan::TABLE,
    &ops::scatter::TABLE,
    &ops::select::TABLE,
    &ops::softmax::TABLE,
    &ops::unary::TABLE,
    &ops::variance::TABLE,
    &ops::view::TABLE,
];

/// Registers every operator; doing so again changes nothing. What is refused is kept by the runtime.
pub fn register() {
    let registration = et_registration_t {
        struct_size: size_of::<et_registration_t>() as u32,
        abi_major: ET_ABI_MAJOR,
        abi_minor: ET_ABI_MINOR,
        flags: ET_REGISTRATION_LOCKSTEP,
        reserved: 0,
        component_name: c"kernels_optimized".as_ptr(),
        component_version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
    };
    for table in TABLES {
        table.register(&registration);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = {
    extern "C" fn at_load() {
        register();
    }
    at_load
};
