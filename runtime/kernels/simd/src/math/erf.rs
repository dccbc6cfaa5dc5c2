//! erf and gelu (exact form).

use super::exp::exp_scaled;
use super::{at_most, poly};
use crate::isa::Level;

/// erf(x)/x - 1 as a function of x², |x| ≤ 0.93.
const SMALL: [f32; 6] =
    [0.128_379_15, -0.376_124_9, 0.112_817_3, -0.026_762_916, 0.004_987_253, -0.000_595_897_8];
/// -log(erfc(x)) on [0.93, 3.95].
const LARGE: [f32; 6] =
    [0.002_040_578, 1.119_617_8, 0.651_542_66, 0.090_581_22, -0.015_406_448, 0.001_229_565_9];
/// Φ(-t) exp(t²/2) / s as a function of s - 1/2, where s = 1 / (1 + 0.3125 t) and 0 ≤ t ≤ 14.6.
const TAIL: [f32; 10] = [
    0.229_964_96,
    0.333_627_73,
    0.332_302_27,
    0.185_075_92,
    -0.008_172_623,
    -0.082_577_76,
    -0.013_578_853,
    0.042_272_788,
    0.003_096_792_4,
    -0.014_185_053,
];

/// erf x.
#[inline(always)]
pub(crate) fn erf<L: Level>(x: f32) -> f32 {
    let a = x.abs();
    let small = L::fma(x, poly::<L, 6>(x * x, SMALL), x);
    let g = poly::<L, 6>(at_most(a, 3.95), LARGE);
    let large = (1.0 - exp_scaled::<L>(-g, 0.0, 1.0)).copysign(x);
    if a < 0.93 { small } else { large }
}

/// x Φ(x), where Φ is the normal distribution function.
///
/// Written as max(x, 0) - |x| Φ(-|x|), which has no cancellation in the negative tail.
#[inline(always)]
pub(crate) fn gelu<L: Level>(x: f32) -> f32 {
    let t = at_most(x.abs(), 14.6);
    let s = 1.0 / L::fma(t, 0.3125, 1.0);
    let ratio = s * poly::<L, 10>(s - 0.5, TAIL);
    // t² in two parts: the square of the leading bits is exact.
    let head = f32::from_bits(t.to_bits() & 0xffff_f000);
    let rest = (t - head) * (t + head);
    let tail = exp_scaled::<L>(-0.5 * (head * head), -0.5 * rest, t * ratio);
    if x < 0.0 { -tail } else { x - tail }
}
