//! sin and cos.

use super::poly;
use crate::isa::Level;

/// Arguments above this go through the C library: the reduction here would lose bits.
pub(crate) const LIMIT: f32 = 1.0e6;

/// (sin r - r) / r³ as a function of r², |r| ≤ π/4.
const SIN: [f32; 3] = [-0.166_666_55, 0.008_332_191, -0.000_195_186_05];
/// (cos r - 1 + r²/2) / r⁴ as a function of r², |r| ≤ π/4.
const COS: [f32; 3] = [0.041_666_646, -0.001_388_730_1, 2.443_067e-5];

/// sin(x + quarter π/2) for |x| ≤ [`LIMIT`].
#[inline(always)]
fn sin_shifted<L: Level>(x: f32, quarter: u32) -> f32 {
    /// 1.5·2⁵²: adding it rounds to an integer, which then stands in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// π/2 in two parts; the first has 33 bits, so that its product with n is exact.
    const PI_2_HI: f64 = 1.570_796_326_734_125_6;
    const PI_2_LO: f64 = 6.077_100_506_506_192e-11;
    let d = f64::from(x);
    let t = L::fma64(d, std::f64::consts::FRAC_2_PI, ROUND);
    let n = t - ROUND;
    let r = L::fma64(n, -PI_2_LO, L::fma64(n, -PI_2_HI, d)) as f32;
    let q = (t.to_bits() as u32).wrapping_add(quarter);
    let z = r * r;
    let sin = L::fma(r * z, poly::<L, 3>(z, SIN), r);
    let cos = L::fma(z * z, poly::<L, 3>(z, COS), L::fma(z, -0.5, 1.0));
    let y = if q & 1 == 0 { sin } else { cos };
    f32::from_bits(y.to_bits() ^ ((q & 2) << 30))
}

/// sin x for |x| ≤ [`LIMIT`].
#[inline(always)]
pub(crate) fn sin<L: Level>(x: f32) -> f32 {
    let y = sin_shifted::<L>(x, 0);
    if x.abs() < 2.0e-4 { x } else { y }
}

/// cos x for |x| ≤ [`LIMIT`].
#[inline(always)]
pub(crate) fn cos<L: Level>(x: f32) -> f32 {
    sin_shifted::<L>(x, 1)
}
