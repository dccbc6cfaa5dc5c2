//! Number types of the general paths, and what they are summed in.

use half::{bf16, f16};

/// A type that the general product and convolution work on. Half types are summed in `f32` and
/// rounded once, to nearest even; integers wrap, as in PyTorch.
pub trait Number: Copy + Send + Sync + 'static {
    /// What products are summed in.
    type Sum: Copy + Send + Sync;
    /// 0.
    const ZERO: Self::Sum;
    /// The value, as it is summed.
    fn widen(self) -> Self::Sum;
    /// A sum, as it is stored.
    fn narrow(sum: Self::Sum) -> Self;
    /// `sum + a * b`.
    fn add_product(sum: Self::Sum, a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// 1, the `alpha` of a plain product.
    const ONE: Self::Sum;
}

macro_rules! float {
    ($t:ident, $sum:ident, $widen:expr, $narrow:expr) => {
        impl Number for $t {
            type Sum = $sum;
            const ZERO: $sum = 0.0;
            const ONE: $sum = 1.0;
            #[inline(always)]
            fn widen(self) -> $sum {
                $widen(self)
            }
            #[inline(always)]
            fn narrow(sum: $sum) -> Self {
                $narrow(sum)
            }
            #[inline(always)]
            fn add_product(sum: $sum, a: $sum, b: $sum) -> $sum {
                sum + a * b
            }
        }
    };
}
float!(f32, f32, |v| v, |v| v);
float!(f64, f64, |v| v, |v| v);
float!(f16, f32, f16::to_f32, f16::from_f32);
float!(bf16, f32, bf16::to_f32, bf16::from_f32);

macro_rules! integer {
    ($($t:ident)*) => {$(
        impl Number for $t {
            type Sum = $t;
            const ZERO: $t = 0;
            const ONE: $t = 1;
            #[inline(always)]
            fn widen(self) -> $t {
                self
            }
            #[inline(always)]
            fn narrow(sum: $t) -> $t {
                sum
            }
            #[inline(always)]
            fn add_product(sum: $t, a: $t, b: $t) -> $t {
                sum.wrapping_add(a.wrapping_mul(b))
            }
        }
    )*};
}
integer!(i8 i16 i32 i64 u8);
