//! f32 mathematics as branch-free scalar functions that the compiler can vectorise.
//!
//! Every function is generic over the [`Level`](crate::isa::Level) it is compiled for and `#[inline(always)]`.
//! Polynomials are minimax fits made for the intervals named beside them (Remez exchange, coefficients rounded to
//! the working precision one after another). `tests/accuracy.rs` holds the bounds that the crate promises.

pub(crate) mod erf;
pub(crate) mod exp;
pub(crate) mod log;
pub(crate) mod pow;
pub(crate) mod trig;

use crate::isa::Level;

/// Evaluates a polynomial whose coefficients start with the constant term.
#[inline(always)]
pub(crate) fn poly<L: Level, const N: usize>(x: f32, c: [f32; N]) -> f32 {
    let mut acc = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        acc = L::fma(acc, x, c[i]);
    }
    acc
}

/// [`poly`] in f64.
#[inline(always)]
pub(crate) fn poly64<L: Level, const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut acc = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        acc = L::fma64(acc, x, c[i]);
    }
    acc
}

/// `min(x, high)` that keeps NaN.
#[inline(always)]
pub(crate) fn at_most(x: f32, high: f32) -> f32 {
    if x > high { high } else { x }
}

/// `max(x, low)` that keeps NaN.
#[inline(always)]
pub(crate) fn at_least(x: f32, low: f32) -> f32 {
    if x < low { low } else { x }
}
