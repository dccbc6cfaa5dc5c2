//! f32 and f64 for loops that are written once for both.

use std::ops::{Add, Div, Mul, Sub};

use crate::element::Accumulator;
use crate::isa::Level;
use crate::math::exp;

/// f32 and f64.
pub trait Real:
    Accumulator
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + private::Math
{
}
impl Real for f32 {}
impl Real for f64 {}

pub(crate) mod private {
    use super::Level;

    pub trait Math: Sized {
        /// eˣ for x ≤ 0; results that are hardly normal numbers may be 0.
        fn exp_nonpositive<L: Level>(self) -> Self;
        /// a b + c
        fn fma<L: Level>(self, b: Self, c: Self) -> Self;
        /// The natural logarithm.
        fn log(self) -> Self;
    }
}

impl private::Math for f32 {
    #[inline(always)]
    fn exp_nonpositive<L: Level>(self) -> Self {
        exp::exp_nonpositive::<L>(self)
    }
    #[inline(always)]
    fn fma<L: Level>(self, b: Self, c: Self) -> Self {
        L::fma(self, b, c)
    }
    #[inline(always)]
    fn log(self) -> Self {
        self.ln()
    }
}

impl private::Math for f64 {
    #[inline(always)]
    fn exp_nonpositive<L: Level>(self) -> Self {
        self.exp()
    }
    #[inline(always)]
    fn fma<L: Level>(self, b: Self, c: Self) -> Self {
        L::fma64(self, b, c)
    }
    #[inline(always)]
    fn log(self) -> Self {
        self.ln()
    }
}
