//! The element types of tensors, and the conversion of one value into another.

use half::{bf16, f16};

use crate::isa::Level;

/// A boolean as tensors store it: a byte that means true unless it is 0. Has the layout of `u8`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable,
)]
#[repr(transparent)]
pub struct Bool8(pub u8);

/// A type of tensor elements: [`Bool8`], u8, i8, i16, i32, i64, f16, bf16, f32, f64.
pub trait Element: Copy + Default + PartialEq + PartialOrd + Send + Sync + 'static {
    /// What sums and products of the type are made in: i64, f32 or f64.
    type Acc: Accumulator;
    /// The value below or equal to all others: -∞ where there is one.
    const LOWEST: Self;
    /// The value above or equal to all others: ∞ where there is one.
    const HIGHEST: Self;
    /// The value in the accumulator's type.
    fn acc(self) -> Self::Acc;
    /// The value as another type: PyTorch's rules. Floating-point to integer truncates (saturating where the C
    /// conversion would be undefined), integers wrap, f64 becomes f16 or bf16 through f32, and anything but 0 is true.
    fn cast<D: Element>(self) -> D;
    /// Whether the value differs from 0.
    fn is_true(self) -> bool;
    #[doc(hidden)]
    fn of_i32(v: i32) -> Self;
    #[doc(hidden)]
    fn of_i64(v: i64) -> Self;
    #[doc(hidden)]
    fn of_f32(v: f32) -> Self;
    #[doc(hidden)]
    fn of_f64(v: f64) -> Self;
}

/// A type that sums are made in.
pub trait Accumulator: Element {
    /// What sums of many blocks are made in.
    type Wide: Copy + Default;
    /// 1.
    const ONE: Self;
    /// The sum; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// The product; integers wrap.
    fn times(self, other: Self) -> Self;
    /// `self * b + c`.
    #[doc(hidden)]
    fn times_plus<L: Level>(self, b: Self, c: Self) -> Self;
    /// `wide + self`.
    fn add_to(self, wide: Self::Wide) -> Self::Wide;
    /// The sum in the type itself.
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! accumulator {
    ($t:ty, $wide:ty, $one:literal, |$a:ident, $b:ident, $c:ident| $plus:expr, $times:expr, $times_plus:expr) => {
        impl Accumulator for $t {
            type Wide = $wide;
            const ONE: Self = $one;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $plus
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $times
            }
            #[inline(always)]
            fn times_plus<L: Level>(self, b: Self, c: Self) -> Self {
                let ($a, $b, $c) = (self, b, c);
                $times_plus
            }
            #[inline(always)]
            fn add_to(self, wide: $wide) -> $wide {
                let ($a, $b) = (<$wide>::from(self), wide);
                $plus
            }
            #[inline(always)]
            fn narrow(wide: $wide) -> Self {
                wide as $t
            }
        }
    };
}
accumulator!(f32, f64, 1.0, |a, b, c| a + b, a * b, L::fma(a, b, c));
accumulator!(f64, f64, 1.0, |a, b, c| a + b, a * b, L::fma64(a, b, c));
accumulator!(i64, i64, 1, |a, b, c| a.wrapping_add(b), a.wrapping_mul(b), a.wrapping_mul(b).wrapping_add(c));

macro_rules! element {
    ($t:ty, acc: $acc:ty, $low:expr, $high:expr, |$v:ident| true: $true:expr, acc: $to_acc:expr, cast: $via:ident($cast:expr),
     i32: $i32:expr, i64: $i64:expr, f32: $f32:expr, f64: $f64:expr) => {
        impl Element for $t {
            type Acc = $acc;
            const LOWEST: Self = $low;
            const HIGHEST: Self = $high;
            #[inline(always)]
            fn acc(self) -> $acc {
                let $v = self;
                $to_acc
            }
            #[inline(always)]
            fn cast<D: Element>(self) -> D {
                let $v = self;
                D::$via($cast)
            }
            #[inline(always)]
            fn is_true(self) -> bool {
                let $v = self;
                $true
            }
            #[inline(always)]
            fn of_i32($v: i32) -> Self {
                $i32
            }
            #[inline(always)]
            fn of_i64($v: i64) -> Self {
                $i64
            }
            #[inline(always)]
            fn of_f32($v: f32) -> Self {
                $f32
            }
            #[inline(always)]
            fn of_f64($v: f64) -> Self {
                $f64
            }
        }
    };
}
macro_rules! small_integer {
    ($($t:ty)*) => { $(
        // Through i32, as the processor does it: what fits is exact, the rest wraps.
        element!($t, acc: i64, <$t>::MIN, <$t>::MAX, |v| true: v != 0, acc: v.into(), cast: of_i32(v.into()),
            i32: v as $t, i64: v as $t, f32: v as i32 as $t, f64: v as i32 as $t);
    )* };
}
small_integer!(u8 i8 i16);
element!(i32, acc: i64, i32::MIN, i32::MAX, |v| true: v != 0, acc: v.into(), cast: of_i32(v),
    i32: v, i64: v as i32, f32: v as i32, f64: v as i32);
element!(i64, acc: i64, i64::MIN, i64::MAX, |v| true: v != 0, acc: v, cast: of_i64(v),
    i32: v.into(), i64: v, f32: v as i64, f64: v as i64);
element!(f32, acc: f32, f32::NEG_INFINITY, f32::INFINITY, |v| true: v != 0.0, acc: v, cast: of_f32(v),
    i32: v as f32, i64: v as f32, f32: v, f64: v as f32);
element!(f64, acc: f64, f64::NEG_INFINITY, f64::INFINITY, |v| true: v != 0.0, acc: v, cast: of_f64(v),
    i32: v.into(), i64: v as f64, f32: v.into(), f64: v);
element!(f16, acc: f32, f16::NEG_INFINITY, f16::INFINITY, |v| true: v.to_bits() & 0x7fff != 0, acc: f16_to_f32(v), cast: of_f32(f16_to_f32(v)),
    i32: f32_to_f16(v as f32), i64: f32_to_f16(v as f32), f32: f32_to_f16(v), f64: f32_to_f16(v as f32));
element!(bf16, acc: f32, bf16::NEG_INFINITY, bf16::INFINITY, |v| true: v.to_bits() & 0x7fff != 0, acc: bf16_to_f32(v), cast: of_f32(bf16_to_f32(v)),
    i32: f32_to_bf16(v as f32), i64: f32_to_bf16(v as f32), f32: f32_to_bf16(v), f64: f32_to_bf16(v as f32));
element!(Bool8, acc: i64, Bool8(0), Bool8(1), |v| true: v.0 != 0, acc: i64::from(v.0 != 0), cast: of_i32(i32::from(v.0 != 0)),
    i32: Bool8(u8::from(v != 0)), i64: Bool8(u8::from(v != 0)), f32: Bool8(u8::from(v != 0.0)),
    f64: Bool8(u8::from(v != 0.0)));

/// Exact, without branches, so that it vectorises.
#[inline(always)]
fn f16_to_f32(v: f16) -> f32 {
    /// 2¹¹²: the difference of the exponents' biases.
    const SCALE: f32 = f32::from_bits(0x7780_0000);
    let bits = u32::from(v.to_bits());
    let magnitude = bits & 0x7fff;
    // Scaling turns subnormal numbers into normal ones by itself.
    let finite = (f32::from_bits(magnitude << 13) * SCALE).to_bits();
    let special = (magnitude << 13) | 0x7f80_0000;
    let y = if magnitude >= 0x7c00 { special } else { finite };
    f32::from_bits(y | ((bits & 0x8000) << 16))
}

/// Rounds to nearest even, without branches, so that it vectorises.
#[inline(always)]
fn f32_to_f16(v: f32) -> f16 {
    let bits = v.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Below 2⁻¹⁴: adding 1/2 puts the last bit of the result at the last bit of the sum, which is rounded.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    // The change of bias, and just less than half of the last bit, or half where that is odd.
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add((magnitude >> 13) & 1) >> 13;
    let y = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let y = if magnitude >= 0x4780_0000 { 0x7c00 } else { y };
    let y = if magnitude > 0x7f80_0000 { 0x7e00 } else { y };
    f16::from_bits((y | ((bits >> 16) & 0x8000)) as u16)
}

#[inline(always)]
fn bf16_to_f32(v: bf16) -> f32 {
    f32::from_bits(u32::from(v.to_bits()) << 16)
}

/// Rounds to nearest even, without branches, so that it vectorises.
#[inline(always)]
fn f32_to_bf16(v: f32) -> bf16 {
    let bits = v.to_bits();
    let rounded = bits.wrapping_add(0x7fff).wrapping_add((bits >> 16) & 1) >> 16;
    let y = if v.is_nan() { 0x7fc0 } else { rounded };
    bf16::from_bits(y as u16)
}
