//! Element-wise functions of two operands of one type.

use crate::binary_ops::private::Lookup;
use crate::loops::{Arg, apply2, apply2_to};

/// An element-wise function of two operands whose result has the operands' type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// a + b; integers wrap.
    Add,
    /// a - b; integers wrap.
    Sub,
    /// a b; integers wrap.
    Mul,
    /// a / b; integers are truncated.
    Div,
    /// a / b rounded towards zero.
    DivTrunc,
    /// a / b rounded down, as `torch.floor_divide` does.
    DivFloor,
    /// The remainder with the sign of a (C's `%` and `fmod`).
    Fmod,
    /// The remainder with the sign of b (Python's `%`).
    Remainder,
    /// The larger one; NaN if either is NaN.
    Max,
    /// The smaller one; NaN if either is NaN.
    Min,
    /// aᵇ; by one value of ±½, the (reciprocal) square root, as in PyTorch. Integers wrap; a negative exponent gives 0, except for bases 1 and -1.
    Pow,
    /// The angle of (b, a); floating-point types only.
    Atan2,
    /// Bitwise and; integers only.
    BitAnd,
    /// Bitwise or; integers only.
    BitOr,
    /// Bitwise exclusive or; integers only.
    BitXor,
    /// a 2ᵇ; 0 if b is negative or not below the width; integers only.
    Shl,
    /// ⌊a / 2ᵇ⌋; if b is negative or not below the width, 0 or, for negative a, -1; integers only.
    Shr,
}

/// A comparison or a logical function, whose result is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// a = b
    Eq,
    /// a ≠ b
    Ne,
    /// a < b
    Lt,
    /// a ≤ b
    Le,
    /// a > b
    Gt,
    /// a ≥ b
    Ge,
    /// Both differ from 0.
    And,
    /// One or both differ from 0.
    Or,
    /// Exactly one differs from 0.
    Xor,
}

/// What an element-wise function refused to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An integer divisor was 0. The output is left with 0 at that place.
    #[error("integer division by zero")]
    DivisionByZero,
    /// The operation does not exist for the type.
    #[error("{0:?} is not defined for {1}")]
    Undefined(Binary, &'static str),
}

/// The element types of [`binary`] and [`compare`]: u8, i8, i16, i32, i64, f32, f64. Booleans are `u8`, 0 or 1.
pub trait Number: Copy + Default + PartialEq + Lookup {}
impl<T: Copy + Default + PartialEq + Lookup> Number for T {}

/// `y[i] = op(a[i], b[i])`. Either operand may be a slice, one value, or the output's old contents. The call is
/// single-threaded.
///
/// # Errors
/// [`Error::DivisionByZero`] after the whole output has been written, if integers were divided by 0;
/// [`Error::Undefined`] with the output untouched, if the type has no such operation.
///
/// # Panics
/// If an operand is a slice of another length than `y`.
pub fn binary<T: Number>(op: Binary, a: Arg<T>, b: Arg<T>, y: &mut [T]) -> Result<(), Error> {
    let f = T::binary(op).ok_or(Error::Undefined(op, std::any::type_name::<T>()))?;
    let divides =
        matches!(op, Binary::Div | Binary::DivTrunc | Binary::DivFloor | Binary::Fmod | Binary::Remainder);
    let zero_divisor = T::INTEGER
        && divides
        && !y.is_empty()
        && match b {
            Arg::Slice(b) => b.contains(&T::default()),
            Arg::Scalar(b) => b == T::default(),
            Arg::Out => y.contains(&T::default()),
        };
    if op == Binary::Pow
        && let Arg::Scalar(exponent) = b
        && let Some(f) = T::power(exponent)
    {
        crate::loops::apply1(f, a, y, [exponent; 3]);
        return Ok(());
    }
    apply2(f, a, b, y, [T::default(); 3]);
    if zero_divisor { Err(Error::DivisionByZero) } else { Ok(()) }
}

/// `y[i] = a[i] + alpha * b[i]`; integers wrap. See [`binary`].
///
/// # Panics
/// If an operand is a slice of another length than `y`.
pub fn add_scaled<T: Number>(a: Arg<T>, b: Arg<T>, alpha: T, y: &mut [T]) {
    apply2(T::add_scaled(), a, b, y, [alpha; 3]);
}

/// `y[i] = op(a[i], b[i])` as 0 or 1. Comparisons with NaN are false, except [`Compare::Ne`].
///
/// # Panics
/// If an operand is a slice of another length than `y`, or [`Arg::Out`].
pub fn compare<T: Number>(op: Compare, a: Arg<T>, b: Arg<T>, y: &mut [u8]) {
    assert!(!matches!(a, Arg::Out) && !matches!(b, Arg::Out), "a comparison cannot work in place");
    apply2_to(T::compare(op), a, b, y);
}
