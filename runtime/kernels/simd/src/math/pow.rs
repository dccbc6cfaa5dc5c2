//! xʸ in f32, through log₂ and exp₂ in f64.

use super::poly64;
use crate::isa::Level;

/// 2 atanh(s) / (s ln 2) as a function of s², |s| ≤ (√2 - 1) / (√2 + 1).
const LOG2: [f64; 6] = [
    2.885_390_081_778_407_7,
    0.961_796_693_335_303_9,
    0.577_078_123_716_766_7,
    0.412_194_184_296_338_2,
    0.320_421_352_455_535_5,
    0.276_696_707_132_431_6,
];
/// 2ʳ on |r| ≤ 1/2.
const EXP2: [f64; 9] = [
    0.999_999_999_999_761_9,
    0.693_147_180_546_492_7,
    0.240_226_506_988_856,
    0.055_504_109_394_306_854,
    0.009_618_128_542_098_996,
    0.001_333_345_198_079_863,
    0.000_154_038_943_531_991_64,
    1.531_544_943_414_220_2e-5,
    1.326_991_061_527_343_6e-6,
];

/// xʸ for positive finite x and finite y; anything for other arguments (see [`is_rare`]).
#[inline(always)]
pub(crate) fn pow<L: Level>(x: f32, y: f32) -> f32 {
    /// 1.5·2⁵²: adding it rounds to an integer, which then stands in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let bits = f64::from(x).to_bits();
    // x = m 2ᵉ with √½ ≤ m < √2; the offset is the bits of √½.
    let e = (bits.wrapping_sub(0x3fe6_a09e_667f_3bcd) as i64) >> 52;
    let m = f64::from_bits(bits.wrapping_sub((e as u64) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let exponent = f64::from_bits((e as u64).wrapping_add(ROUND.to_bits())) - ROUND;
    let log2 = L::fma64(s, poly64::<L, 6>(s * s, LOG2), exponent);
    let w = f64::from(y) * log2;
    let w = if w > 200.0 { 200.0 } else { w };
    let w = if w < -200.0 { -200.0 } else { w };
    let t = w + ROUND;
    let r = w - (t - ROUND);
    let p = poly64::<L, 9>(r, EXP2);
    f64::from_bits(p.to_bits().wrapping_add(t.to_bits() << 52)) as f32
}

/// Whether [`pow`] does not cover the arguments.
#[inline(always)]
pub(crate) fn is_rare(x: f32, y: f32) -> bool {
    let covered = (x > 0.0) & (x < f32::INFINITY) & (y.abs() < f32::INFINITY);
    !covered
}
