//! The functions behind [`Binary`] and [`Compare`], and the tables from operation to loop.

use crate::binary::{Binary, Compare};
use crate::isa::Level;
use crate::loops::{Loop1, Loop2, Map1, Map2, Params, narrow1, narrow2, plain2, wide2};
use crate::math::pow;

pub(crate) mod private {
    use super::{Binary, Compare, Loop1, Loop2};

    pub trait Lookup: Sized {
        /// Whether division by zero is an error.
        const INTEGER: bool;
        /// The loop that computes `op`, if the type has it.
        fn binary(op: Binary) -> Option<Loop2<Self, Self>>;
        /// The loop for a power whose exponent needs no logarithm.
        fn power(exponent: Self) -> Option<Loop1<Self, Self>>;
        /// The loop of `a + p * b`.
        fn add_scaled() -> Loop2<Self, Self>;
        /// The loop that computes `op`.
        fn compare(op: Compare) -> Loop2<Self, u8>;
    }
}

macro_rules! declare {
    ($($name:ident)*) => { $( struct $name; )* };
}
declare! {
    Add AddScaled Sub Mul Div DivTrunc DivFloor Fmod Remainder Max Min Pow Atan2 BitAnd BitOr BitXor Shl Shr
    Eq Ne Lt Le Gt Ge And Or Xor Square Cube SquareRoot ReciprocalSquareRoot Inverse InverseSquare
}

macro_rules! define {
    ($t:ty, $name:ident($a:ident, $b:ident, $p:ident) = $e:expr) => {
        define!($t => $t, $name($a, $b, $p) = $e);
    };
    ($t:ty => $d:ty, $name:ident($a:ident, $b:ident, $p:ident) = $e:expr) => {
        impl Map2<$t, $d> for $name {
            #[inline(always)]
            fn apply<L: Level>($a: $t, $b: $t, $p: Params<$t>) -> $d {
                $e
            }
        }
    };
}

/// What integers and floating-point numbers share.
macro_rules! common {
    ($t:ty, $zero:literal) => {
        define!($t => u8, Eq(a, b, _p) = u8::from(a == b));
        define!($t => u8, Ne(a, b, _p) = u8::from(a != b));
        define!($t => u8, Lt(a, b, _p) = u8::from(a < b));
        define!($t => u8, Le(a, b, _p) = u8::from(a <= b));
        define!($t => u8, Gt(a, b, _p) = u8::from(a > b));
        define!($t => u8, Ge(a, b, _p) = u8::from(a >= b));
        define!($t => u8, And(a, b, _p) = u8::from((a != $zero) & (b != $zero)));
        define!($t => u8, Or(a, b, _p) = u8::from((a != $zero) | (b != $zero)));
        define!($t => u8, Xor(a, b, _p) = u8::from((a != $zero) ^ (b != $zero)));
    };
}

macro_rules! compare {
    ($op:ident) => {
        match $op {
            Compare::Eq => narrow2::<Self, u8, Eq>,
            Compare::Ne => narrow2::<Self, u8, Ne>,
            Compare::Lt => narrow2::<Self, u8, Lt>,
            Compare::Le => narrow2::<Self, u8, Le>,
            Compare::Gt => narrow2::<Self, u8, Gt>,
            Compare::Ge => narrow2::<Self, u8, Ge>,
            Compare::And => narrow2::<Self, u8, And>,
            Compare::Or => narrow2::<Self, u8, Or>,
            Compare::Xor => narrow2::<Self, u8, Xor>,
        }
    };
}

macro_rules! integer {
    ($($t:ty)*) => { $(
        common!($t, 0);
        define!($t, Add(a, b, _p) = a.wrapping_add(b));
        define!($t, AddScaled(a, b, p) = a.wrapping_add(b.wrapping_mul(p[0])));
        define!($t, Sub(a, b, _p) = a.wrapping_sub(b));
        define!($t, Mul(a, b, _p) = a.wrapping_mul(b));
        define!($t, Max(a, b, _p) = a.max(b));
        define!($t, Min(a, b, _p) = a.min(b));
        define!($t, BitAnd(a, b, _p) = a & b);
        define!($t, BitOr(a, b, _p) = a | b);
        define!($t, BitXor(a, b, _p) = a ^ b);
        // Out-of-range distances: see `Binary::Shl` and `Binary::Shr`. Converting a negative distance gives a large one.
        define!($t, Shl(a, b, _p) = if (b as u64) < u64::from(<$t>::BITS) { a.wrapping_shl(b as u32) } else { 0 });
        define!($t, Shr(a, b, _p) = {
            let last = <$t>::BITS - 1;
            let far = if (b as u64) > u64::from(last) { last } else { b as u32 };
            // An unsigned number shifted by its whole width is 0, for which one step is missing.
            let shifted = a.wrapping_shr(far);
            if <$t>::MIN == 0 && (b as u64) > u64::from(last) { 0 } else { shifted }
        });
        // Division by zero gives 0 here; `binary` reports it. The least number divided by -1 wraps.
        define!($t, DivTrunc(a, b, _p) = if b == 0 { 0 } else { a.wrapping_div(b) });
        define!($t, DivFloor(a, b, _p) = if b == 0 {
            0
        } else {
            let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
            #[allow(unused_comparisons, reason = "also made for unsigned types")]
            let below = r != 0 && (r < 0) != (b < 0);
            if below { q.wrapping_sub(1) } else { q }
        });
        define!($t, Fmod(a, b, _p) = if b == 0 { 0 } else { a.wrapping_rem(b) });
        define!($t, Remainder(a, b, _p) = if b == 0 {
            0
        } else {
            let r = a.wrapping_rem(b);
            #[allow(unused_comparisons, reason = "also made for unsigned types")]
            let other_sign = r != 0 && (r < 0) != (b < 0);
            if other_sign { r.wrapping_add(b) } else { r }
        });
        define!($t, Pow(a, b, _p) = {
            #[allow(unused_comparisons, reason = "also made for unsigned types")]
            let negative = b < 0;
            match (negative, a) {
                (true, 1) => 1,
                // -1 for signed types; the greatest number never meets a negative exponent.
                (true, a) if a.wrapping_add(1) == 0 => if b & 1 == 0 { 1 } else { a },
                (true, _) => 0,
                (false, a) => power(a, b as u64, <$t>::wrapping_mul),
            }
        });

        impl private::Lookup for $t {
            const INTEGER: bool = true;

            fn binary(op: Binary) -> Option<Loop2<Self, Self>> {
                Some(match op {
                    Binary::Add => narrow2::<_, _, Add>,
                    Binary::Sub => narrow2::<_, _, Sub>,
                    Binary::Mul => narrow2::<_, _, Mul>,
                    Binary::Div | Binary::DivTrunc => plain2::<_, _, DivTrunc>,
                    Binary::DivFloor => plain2::<_, _, DivFloor>,
                    Binary::Fmod => plain2::<_, _, Fmod>,
                    Binary::Remainder => plain2::<_, _, Remainder>,
                    Binary::Max => narrow2::<_, _, Max>,
                    Binary::Min => narrow2::<_, _, Min>,
                    Binary::Pow => plain2::<_, _, Pow>,
                    Binary::Atan2 => return None,
                    Binary::BitAnd => narrow2::<_, _, BitAnd>,
                    Binary::BitOr => narrow2::<_, _, BitOr>,
                    Binary::BitXor => narrow2::<_, _, BitXor>,
                    Binary::Shl => narrow2::<_, _, Shl>,
                    Binary::Shr => narrow2::<_, _, Shr>,
                })
            }

            fn power(_exponent: Self) -> Option<Loop1<Self, Self>> {
                None
            }

            fn add_scaled() -> Loop2<Self, Self> {
                narrow2::<_, _, AddScaled>
            }

            fn compare(op: Compare) -> Loop2<Self, u8> {
                compare!(op)
            }
        }
    )* };
}
integer!(u8 i8 i16 i32 i64);

/// aⁿ by repeated squaring.
#[inline(always)]
fn power<T: Copy + From<bool>>(mut a: T, mut n: u64, mul: fn(T, T) -> T) -> T {
    let mut result = T::from(true);
    while n > 0 {
        if n & 1 == 1 {
            result = mul(result, a);
        }
        a = mul(a, a);
        n >>= 1;
    }
    result
}

macro_rules! float {
    ($t:ty, $wide:ident, $fma:ident, $pow:ident) => {
        common!($t, 0.0);
        define!($t, Add(a, b, _p) = a + b);
        define!($t, AddScaled(a, b, p) = L::$fma(b, p[0], a));
        define!($t, Sub(a, b, _p) = a - b);
        define!($t, Mul(a, b, _p) = a * b);
        define!($t, Div(a, b, _p) = a / b);
        define!($t, DivTrunc(a, b, _p) = (a / b).trunc());
        // ⌊a / b⌋ without the error of the division: the remainder is exact.
        define!(
            $t,
            DivFloor(a, b, _p) = {
                let r = a % b;
                let q = (a - r) / b;
                let q = if r != 0.0 && (r < 0.0) != (b < 0.0) { q - 1.0 } else { q };
                if b == 0.0 {
                    a / b
                } else if q == 0.0 {
                    (0.0 as $t).copysign(a / b)
                } else {
                    let floor = q.floor();
                    if q - floor > 0.5 { floor + 1.0 } else { floor }
                }
            }
        );
        define!($t, Fmod(a, b, _p) = a % b);
        define!(
            $t,
            Remainder(a, b, _p) = {
                let r = a % b;
                if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
            }
        );
        // The comparison is false for NaN in a, which is then chosen; NaN in b is chosen after it.
        define!(
            $t,
            Max(a, b, _p) = {
                let m = if a < b { b } else { a };
                if b.is_nan() { b } else { m }
            }
        );
        define!(
            $t,
            Min(a, b, _p) = {
                let m = if a > b { b } else { a };
                if b.is_nan() { b } else { m }
            }
        );
        define!($t, Atan2(a, b, _p) = a.atan2(b));

        impl Map1<$t> for Square {
            #[inline(always)]
            fn apply<L: Level>(x: $t, _p: Params<$t>) -> $t {
                x * x
            }
        }
        impl Map1<$t> for Cube {
            #[inline(always)]
            fn apply<L: Level>(x: $t, _p: Params<$t>) -> $t {
                x * x * x
            }
        }
        impl Map1<$t> for SquareRoot {
            #[inline(always)]
            fn apply<L: Level>(x: $t, _p: Params<$t>) -> $t {
                x.sqrt()
            }
        }
        impl Map1<$t> for ReciprocalSquareRoot {
            #[inline(always)]
            fn apply<L: Level>(x: $t, _p: Params<$t>) -> $t {
                1.0 / x.sqrt()
            }
        }
        impl Map1<$t> for Inverse {
            #[inline(always)]
            fn apply<L: Level>(x: $t, _p: Params<$t>) -> $t {
                1.0 / x
            }
        }
        impl Map1<$t> for InverseSquare {
            #[inline(always)]
            fn apply<L: Level>(x: $t, _p: Params<$t>) -> $t {
                1.0 / (x * x)
            }
        }

        impl private::Lookup for $t {
            const INTEGER: bool = false;

            fn binary(op: Binary) -> Option<Loop2<Self, Self>> {
                Some(match op {
                    Binary::Add => $wide::<_, _, Add>,
                    Binary::Sub => $wide::<_, _, Sub>,
                    Binary::Mul => $wide::<_, _, Mul>,
                    Binary::Div => $wide::<_, _, Div>,
                    Binary::DivTrunc => narrow2::<_, _, DivTrunc>,
                    Binary::DivFloor => plain2::<_, _, DivFloor>,
                    Binary::Fmod => plain2::<_, _, Fmod>,
                    Binary::Remainder => plain2::<_, _, Remainder>,
                    Binary::Max => narrow2::<_, _, Max>,
                    Binary::Min => narrow2::<_, _, Min>,
                    Binary::Pow => $pow::<_, _, Pow>,
                    Binary::Atan2 => plain2::<_, _, Atan2>,
                    Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr => {
                        return None;
                    }
                })
            }

            fn power(exponent: Self) -> Option<Loop1<Self, Self>> {
                if exponent == 2.0 {
                    Some(narrow1::<_, _, Square>)
                } else if exponent == 3.0 {
                    Some(narrow1::<_, _, Cube>)
                } else if exponent == 0.5 {
                    Some(narrow1::<_, _, SquareRoot>)
                } else if exponent == -0.5 {
                    Some(narrow1::<_, _, ReciprocalSquareRoot>)
                } else if exponent == -1.0 {
                    Some(narrow1::<_, _, Inverse>)
                } else if exponent == -2.0 {
                    Some(narrow1::<_, _, InverseSquare>)
                } else {
                    None
                }
            }

            fn add_scaled() -> Loop2<Self, Self> {
                $wide::<_, _, AddScaled>
            }

            fn compare(op: Compare) -> Loop2<Self, u8> {
                compare!(op)
            }
        }
    };
}
float!(f32, wide2, fma, wide2);
float!(f64, narrow2, fma64, plain2);

impl Map2<f32> for Pow {
    const HAS_RARE: bool = true;

    #[inline(always)]
    fn apply<L: Level>(a: f32, b: f32, _p: Params<f32>) -> f32 {
        pow::pow::<L>(a, b)
    }

    #[inline(always)]
    fn is_rare(a: f32, b: f32) -> bool {
        pow::is_rare(a, b)
    }

    fn slow(a: f32, b: f32, _p: Params<f32>) -> f32 {
        a.powf(b)
    }
}

impl Map2<f64> for Pow {
    #[inline(always)]
    fn apply<L: Level>(a: f64, b: f64, _p: Params<f64>) -> f64 {
        a.powf(b)
    }
}
