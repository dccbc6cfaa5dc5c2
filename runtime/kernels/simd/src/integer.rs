//! Element-wise functions of one integer operand.

use crate::isa::Level;
use crate::loops::{Arg, Loop1, Map1, Params, apply1, narrow1};

/// An element-wise function of one integer operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryInt<T> {
    /// |x|; the least signed number stays.
    Abs,
    /// -x, wrapping.
    Neg,
    /// -1, 0 or 1.
    Sign,
    /// max(x, 0)
    Relu,
    /// All bits inverted.
    BitNot,
    /// x², wrapping.
    Square,
    /// min(max(x, min), max)
    Clamp {
        /// Lower bound.
        min: T,
        /// Upper bound, which wins where it is below `min`.
        max: T,
    },
}

/// u8, i8, i16, i32, i64.
pub trait Integer: Copy + Default + private::Lookup {}

mod private {
    use super::{Loop1, Params, UnaryInt};

    pub trait Lookup: Sized {
        fn lookup(op: UnaryInt<Self>) -> (Loop1<Self, Self>, Params<Self>);
    }
}

/// `y[i] = op(x[i])`. The call is single-threaded.
///
/// # Panics
/// If `x` is a slice of another length than `y`.
pub fn unary_int<T: Integer>(op: UnaryInt<T>, x: Arg<T>, y: &mut [T]) {
    let (f, p) = T::lookup(op);
    apply1(f, x, y, p);
}

struct Abs;
struct Neg;
struct Sign;
struct Relu;
struct BitNot;
struct Square;
struct Clamp;

macro_rules! integer {
    ($($t:ty, abs: |$x:ident| $abs:expr, sign: $sign:expr;)*) => { $(
        integer!(@map $t, Abs($x, _p) = $abs);
        integer!(@map $t, Sign($x, _p) = $sign);
        integer!(@map $t, Neg(x, _p) = x.wrapping_neg());
        integer!(@map $t, Relu(x, _p) = x.max(0));
        integer!(@map $t, BitNot(x, _p) = !x);
        integer!(@map $t, Square(x, _p) = x.wrapping_mul(x));
        integer!(@map $t, Clamp(x, p) = x.max(p[0]).min(p[1]));
        impl Integer for $t {}
        impl private::Lookup for $t {
            fn lookup(op: UnaryInt<$t>) -> (Loop1<$t, $t>, Params<$t>) {
                let none = [0; 3];
                match op {
                    UnaryInt::Abs => (narrow1::<_, _, Abs>, none),
                    UnaryInt::Neg => (narrow1::<_, _, Neg>, none),
                    UnaryInt::Sign => (narrow1::<_, _, Sign>, none),
                    UnaryInt::Relu => (narrow1::<_, _, Relu>, none),
                    UnaryInt::BitNot => (narrow1::<_, _, BitNot>, none),
                    UnaryInt::Square => (narrow1::<_, _, Square>, none),
                    UnaryInt::Clamp { min, max } => (narrow1::<_, _, Clamp>, [min, max, 0]),
                }
            }
        }
    )* };
    (@map $t:ty, $name:ident($x:ident, $p:ident) = $e:expr) => {
        impl Map1<$t> for $name {
            #[inline(always)]
            fn apply<L: Level>($x: $t, $p: Params<$t>) -> $t {
                $e
            }
        }
    };
}
integer! {
    u8, abs: |x| x, sign: x.min(1);
    i8, abs: |x| x.wrapping_abs(), sign: x.signum();
    i16, abs: |x| x.wrapping_abs(), sign: x.signum();
    i32, abs: |x| x.wrapping_abs(), sign: x.signum();
    i64, abs: |x| x.wrapping_abs(), sign: x.signum();
}
