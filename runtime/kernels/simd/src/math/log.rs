//! log, log2, log10, log1p.

use super::exp::{LN2_HI, LN2_LO};
use super::poly;
use crate::isa::Level;

/// (log(1 + f) - f + f²/2) / f³ on |f| ≤ 1/3, relative error of log(1 + f) below 2⁻²⁶.
const LOG: [f32; 8] = [
    0.333_332_15,
    -0.249_997_84,
    0.200_104_77,
    -0.166_812_08,
    0.140_044_35,
    -0.121_720_865,
    0.139_963_67,
    -0.129_441_02,
];

/// `x = (1 + f) 2ᵉ` with -1/3 ≤ f < 1/3, for positive finite x.
#[inline(always)]
fn split(x: f32) -> (f32, i32) {
    let subnormal = x < f32::MIN_POSITIVE;
    let (y, bias) = if subnormal { (x * 8_388_608.0, 23) } else { (x, 0) };
    let bits = y.to_bits();
    // Offset by the bits of 2/3, so that the exponent changes there and not at 1.
    let e = (bits.wrapping_sub(0x3f2a_aaab) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((e as u32) << 23));
    (m - 1.0, e - bias)
}

/// log(1 + f) - f on the interval of [`split`].
#[inline(always)]
fn log1p_minus<L: Level>(f: f32) -> f32 {
    let f2 = f * f;
    L::fma(f2, -0.5, f2 * f * poly::<L, 8>(f, LOG))
}

/// Replaces `y = log(x)` where x is zero, negative, infinite or NaN.
#[inline(always)]
fn special(x: f32, y: f32) -> f32 {
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x < 0.0 { f32::NAN } else { y };
    if x == 0.0 { f32::NEG_INFINITY } else { y }
}

/// The sum of `f + low` and `e ln 2`.
#[inline(always)]
fn combine<L: Level>(f: f32, low: f32, e: i32) -> f32 {
    let e = e as f32;
    let low = L::fma(e, LN2_LO, low);
    L::fma(e, LN2_HI, f + low)
}

/// log x.
#[inline(always)]
pub(crate) fn log<L: Level>(x: f32) -> f32 {
    let (f, e) = split(x);
    special(x, combine::<L>(f, log1p_minus::<L>(f), e))
}

/// log₂ x.
#[inline(always)]
pub(crate) fn log2<L: Level>(x: f32) -> f32 {
    /// log₂ e - 1.
    const A: f32 = 0.442_695_04;
    let (f, e) = split(x);
    let low = log1p_minus::<L>(f);
    let y = L::fma(f, A, low * A) + low;
    special(x, (y + f) + e as f32)
}

/// log₁₀ x.
#[inline(always)]
pub(crate) fn log10<L: Level>(x: f32) -> f32 {
    /// log₁₀ e = 0.4375 + A.
    const A: f32 = -0.003_205_518_2;
    /// log₁₀ 2 in two parts, the first of few bits.
    const HI: f32 = 0.301_025_4;
    const LO: f32 = 4.605_039e-6;
    let (f, e) = split(x);
    let low = log1p_minus::<L>(f);
    let y = L::fma(f + low, A, low * 0.4375);
    let e = e as f32;
    let y = L::fma(e, LO, y);
    special(x, L::fma(e, HI, L::fma(f, 0.4375, y)))
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p<L: Level>(x: f32) -> f32 {
    let u = 1.0 + x;
    // What rounding took from 1 + x, on the scale of f.
    let lost = if x < 1.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let (f, e) = split(u);
    // 2⁻ᵉ; nothing is lost from large numbers that would matter.
    let scale = f32::from_bits(((127 - if e > 100 { 100 } else { e }) as u32) << 23);
    let f = f + lost * scale;
    let y = special(u, combine::<L>(f, log1p_minus::<L>(f), e));
    if x.abs() < 2.98e-8 { x } else { y }
}
