//! Vectors of each instruction set behind one trait, so that every kernel is written once.
//!
//! The methods are `#[inline(always)]` shims over intrinsics. They turn into single instructions
//! only inside a function that enables the instruction set: the wrappers that [`crate::isa`] names.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

/// Number types that the packed kernels compute with.
pub trait Real:
    Copy
    + Send
    + Sync
    + PartialOrd
    + PartialEq
    + std::fmt::Debug
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// 1/2.
    const HALF: Self;
    /// 1/6.
    const SIXTH: Self;
    /// Below every other value.
    const NEG_INFINITY: Self;
    /// Above every other value.
    const INFINITY: Self;
}

macro_rules! real {
    ($t:ident) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const HALF: Self = 0.5;
            const SIXTH: Self = 1.0 / 6.0;
            const NEG_INFINITY: Self = $t::NEG_INFINITY;
            const INFINITY: Self = $t::INFINITY;
        }
    };
}
real!(f32);
real!(f64);

/// One instruction set's vectors of one number type.
///
/// # Safety
/// Every method requires that the CPU has the instruction set. Those that take a pointer require
/// that the elements they name are readable (or writable); no alignment is required.
pub(crate) trait Simd: 'static {
    type E: Real;
    type V: Copy;
    /// Selects the first elements of a vector.
    type Mask: Copy;
    const LANES: usize;

    unsafe fn splat(value: Self::E) -> Self::V;
    unsafe fn load(from: *const Self::E) -> Self::V;
    unsafe fn store(to: *mut Self::E, v: Self::V);
    /// The mask of the first `n` elements, `1 <= n <= LANES`.
    unsafe fn mask(n: usize) -> Self::Mask;
    /// Reads only the masked elements; the others are 0.
    unsafe fn load_masked(from: *const Self::E, mask: Self::Mask) -> Self::V;
    /// Writes only the masked elements.
    unsafe fn store_masked(to: *mut Self::E, mask: Self::Mask, v: Self::V);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `v` limited to `low..=high`; NaN stays NaN.
    unsafe fn clamp(v: Self::V, low: Self::V, high: Self::V) -> Self::V;
    /// The sum of all elements.
    unsafe fn sum(v: Self::V) -> Self::E;
    /// Exchanges rows and columns of `LANES` vectors (the first `LANES` of `rows`).
    unsafe fn transpose(rows: &mut [Self::V; 16]);
    unsafe fn prefetch(from: *const Self::E);
}
