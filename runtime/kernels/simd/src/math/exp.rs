//! exp, expm1 and what is built on them: tanh, sigmoid, silu, gelu (tanh form).

use super::{at_least, at_most, poly};
use crate::isa::Level;

/// 1.5·2²³: adding it rounds a small number to an integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts; the first has so few bits that its product with an exponent is exact.
pub(super) const LN2_HI: f32 = 0.693_359_4;
pub(super) const LN2_LO: f32 = -2.121_944_4e-4;

/// (eʳ - 1 - r) / r² on |r| ≤ ln 2 / 2, relative error of eʳ - 1 below 2⁻²⁶.
const EXP: [f32; 5] = [0.499_999_97, 0.166_665_39, 0.041_667_745, 0.008_367_057, 0.001_383_870_5];

/// `x = n ln 2 + r`: returns the bits that hold n, and r.
#[inline(always)]
fn reduce<L: Level>(x: f32) -> (i32, f32) {
    let t = L::fma(x, std::f32::consts::LOG2_E, ROUND);
    let n = t - ROUND;
    let r = L::fma(n, -LN2_LO, L::fma(n, -LN2_HI, x));
    ((t.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32), r)
}

/// 2ⁿ for -127 < n < 128.
#[inline(always)]
fn exp2i(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// exp(hi + lo) for `hi` between -112 and 89 and tiny `lo`, as a number near 1 and two powers of two: 2ⁿ itself may
/// be out of range.
#[inline(always)]
fn exp_parts<L: Level>(hi: f32, lo: f32) -> (f32, f32, f32) {
    let (n, r) = reduce::<L>(hi);
    let r = r + lo;
    let p = L::fma(r * r, poly::<L, 5>(r, EXP), r) + 1.0;
    let half = n >> 1;
    (p, exp2i(half), exp2i(n.wrapping_sub(half)))
}

/// `factor * exp(hi + lo)` for `hi` between -112 and 89 and tiny `lo`. The factor is applied before the result can
/// become subnormal, so that it costs no accuracy.
#[inline(always)]
pub(super) fn exp_scaled<L: Level>(hi: f32, lo: f32, factor: f32) -> f32 {
    let (p, s, t) = exp_parts::<L>(hi, lo);
    factor * p * s * t
}

/// eˣ.
#[inline(always)]
pub(crate) fn exp<L: Level>(x: f32) -> f32 {
    exp_scaled::<L>(at_most(at_least(x, -105.0), 89.0), 0.0, 1.0)
}

/// eˣ for x ≤ 0 where results below 2⁻¹²⁶ may become 0: what softmax needs.
#[inline(always)]
pub(crate) fn exp_nonpositive<L: Level>(x: f32) -> f32 {
    let (n, r) = reduce::<L>(at_least(x, -88.0));
    let p = L::fma(r * r, poly::<L, 5>(r, EXP), r) + 1.0;
    let y = p * exp2i(n);
    if x < -87.3 { 0.0 } else { y }
}

/// eˣ - 1, wrong for |x| < 2⁻²⁵ only in the sign of zero and in subnormals.
#[inline(always)]
fn expm1_core<L: Level>(x: f32) -> f32 {
    let (n, r) = reduce::<L>(at_most(at_least(x, -30.0), 89.0));
    let q = L::fma(r * r, poly::<L, 5>(r, EXP), r);
    let half_scale = exp2i(n.wrapping_sub(1));
    2.0 * L::fma(half_scale, q, half_scale - 0.5)
}

/// eˣ - 1.
#[inline(always)]
pub(crate) fn expm1<L: Level>(x: f32) -> f32 {
    if x.abs() < 2.98e-8 { x } else { expm1_core::<L>(x) }
}

/// tanh x.
#[inline(always)]
pub(crate) fn tanh<L: Level>(x: f32) -> f32 {
    let t = expm1_core::<L>(-2.0 * x.abs());
    let y = (-t / (t + 2.0)).copysign(x);
    if x.abs() < 2.4e-4 { x } else { y }
}

/// factor / (1 + e⁻ˣ) for a finite or positive factor, which is applied before the result can become subnormal.
#[inline(always)]
fn sigmoid_scaled<L: Level>(x: f32, factor: f32) -> f32 {
    let (p, s, t) = exp_parts::<L>(at_least(-x.abs(), -112.0), 0.0);
    let numerator = if x < 0.0 { factor * p * s * t } else { factor };
    numerator / (1.0 + p * s * t)
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub(crate) fn sigmoid<L: Level>(x: f32) -> f32 {
    sigmoid_scaled::<L>(x, 1.0)
}

/// x / (1 + e⁻ˣ).
#[inline(always)]
pub(crate) fn silu<L: Level>(x: f32) -> f32 {
    // Below -112 the result is 0, also for -∞.
    sigmoid_scaled::<L>(x, at_least(x, -112.0))
}

/// x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2.
#[inline(always)]
pub(crate) fn gelu_tanh<L: Level>(x: f32) -> f32 {
    // (1 + tanh u) / 2 = sigmoid(2u). Beyond 12 the result is x or 0, and x³ might overflow.
    let c = at_least(at_most(x, 12.0), -12.0);
    let twice_u = c * L::fma(c * c, 0.071_354_81, 1.595_769);
    sigmoid_scaled::<L>(twice_u, at_least(x, -12.0))
}
