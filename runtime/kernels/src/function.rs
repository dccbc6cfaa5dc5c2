//! The functions that element-wise operators compute of a block of elements.

use crate::elements::Item;
use crate::op::bad;
use executorch_abi::{Error, Result, Scalar};
use executorch_simd::{Arg, Binary, Compare, Number, Unary, UnaryInt};
use executorch_simd::{add_scaled, binary, compare, unary, unary_int};

/// A function of one to three operands a, b, c.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Function {
    /// a
    Identity,
    /// A function of a. Of those that exist for integers, the roundings leave them as they are.
    Unary(Unary),
    /// All bits of the integer a inverted.
    BitNot,
    /// a within bounds; the upper one wins, and NaN stays.
    Clamp(Option<Scalar>, Option<Scalar>),
    /// A function of a and b.
    Binary(Binary),
    /// a + αb
    AddScaled(Scalar),
    /// a / (1 + e⁻ᵇ)
    Glu,
    /// a within the bounds b and c; NaN in any of them gives NaN.
    ClampTo,
    /// b where a is not 0, and c elsewhere.
    Select,
    /// A truth about a and b.
    Compare(Compare),
    /// Whether a is infinite.
    IsInfinite,
    /// Whether a is NaN.
    IsNan,
}

/// The kinds of operators by what one element costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A memory access.
    Access,
    /// Some tens of vector instructions.
    Series,
    /// A call of a function of the C library.
    Call,
}

impl Function {
    /// Whether the results are truths.
    pub fn is_test(&self) -> bool {
        matches!(self, Self::Compare(_) | Self::IsInfinite | Self::IsNan)
    }

    /// Whether bytes of 0 and 1 give what wider integers do.
    pub fn is_logical(&self) -> bool {
        match self {
            Self::Binary(op) => matches!(
                op,
                Binary::Add
                    | Binary::Mul
                    | Binary::Max
                    | Binary::Min
                    | Binary::BitAnd
                    | Binary::BitOr
                    | Binary::BitXor
            ),
            Self::Compare(_) | Self::Select => true,
            _ => false,
        }
    }

    /// Whether the operands have to be slices.
    pub fn needs_slices(&self) -> bool {
        matches!(self, Self::Select | Self::IsInfinite)
    }

    /// What an element costs.
    pub fn cost(&self, in_f32: bool) -> Cost {
        match self {
            Self::Unary(
                Unary::Abs
                | Unary::Neg
                | Unary::Sign
                | Unary::Ceil
                | Unary::Floor
                | Unary::Trunc
                | Unary::Round
                | Unary::Reciprocal
                | Unary::Relu
                | Unary::Sqrt
                | Unary::Rsqrt
                | Unary::LeakyRelu { .. },
            ) => Cost::Access,
            Self::Unary(
                Unary::Tan
                | Unary::Asin
                | Unary::Acos
                | Unary::Atan
                | Unary::Sinh
                | Unary::Cosh
                | Unary::Asinh
                | Unary::Acosh
                | Unary::Atanh,
            ) => Cost::Call,
            Self::Binary(Binary::Pow) | Self::Unary(_) | Self::Glu if in_f32 => Cost::Series,
            Self::Binary(
                Binary::DivFloor | Binary::Fmod | Binary::Remainder | Binary::Pow | Binary::Atan2,
            )
            | Self::Unary(_)
            | Self::Glu => Cost::Call,
            _ => Cost::Access,
        }
    }
}

/// A type that blocks are computed in.
pub trait Compute: Item + Number {
    /// Whether this is f32.
    const IS_F32: bool = false;

    /// A number as this type.
    fn of(scalar: Scalar) -> Self;

    /// [`Function::Unary`], [`Function::Clamp`] and [`Function::BitNot`].
    fn unary(function: Function, a: Arg<'_, Self>, y: &mut [Self]) -> Result<()>;

    /// Whether the number is infinite.
    fn infinite(self) -> bool;
}

macro_rules! float {
    ($type:ty, $is_f32:literal) => {
        impl Compute for $type {
            const IS_F32: bool = $is_f32;

            fn of(scalar: Scalar) -> Self {
                scalar.to_f64() as $type
            }

            fn unary(function: Function, a: Arg<'_, Self>, y: &mut [Self]) -> Result<()> {
                match function {
                    Function::Unary(op) => unary(op, a, y),
                    Function::Clamp(min, max) => unary(clamp(min, max), a, y),
                    other => return Err(undefined(other, "floating-point numbers")),
                }
                Ok(())
            }

            fn infinite(self) -> bool {
                self.is_infinite()
            }
        }
    };
}
float!(f32, true);
float!(f64, false);

fn clamp(min: Option<Scalar>, max: Option<Scalar>) -> Unary {
    let min = min.map_or(f64::NEG_INFINITY, Scalar::to_f64);
    let max = max.map_or(f64::INFINITY, Scalar::to_f64);
    if min.is_nan() || max.is_nan() {
        // Nothing is within such bounds: PyTorch gives NaN everywhere.
        return Unary::Affine { scale: 0.0, shift: f64::NAN };
    }
    Unary::Clamp { min, max }
}

macro_rules! integer {
    ($type:ty) => {
        impl Compute for $type {
            fn of(scalar: Scalar) -> Self {
                scalar.to_i64() as $type
            }

            fn unary(function: Function, a: Arg<'_, Self>, y: &mut [Self]) -> Result<()> {
                let op = match function {
                    Function::Unary(Unary::Abs) => UnaryInt::Abs,
                    Function::Unary(Unary::Neg) => UnaryInt::Neg,
                    Function::Unary(Unary::Sign) => UnaryInt::Sign,
                    Function::Unary(Unary::Relu) => UnaryInt::Relu,
                    Function::Unary(Unary::Ceil | Unary::Floor | Unary::Trunc | Unary::Round) => {
                        copy(a, y);
                        return Ok(());
                    }
                    Function::BitNot => UnaryInt::BitNot,
                    Function::Clamp(min, max) => UnaryInt::Clamp {
                        min: min.map_or(<$type>::MIN, saturated),
                        max: max.map_or(<$type>::MAX, saturated),
                    },
                    other => return Err(undefined(other, "integers")),
                };
                unary_int(op, a, y);
                Ok(())
            }

            fn infinite(self) -> bool {
                false
            }
        }

        impl Saturated for $type {
            fn saturated(scalar: Scalar) -> Self {
                scalar.to_i64().clamp(<$type>::MIN as i64, <$type>::MAX as i64) as $type
            }
        }
    };
}
integer!(u8);
integer!(i32);
integer!(i64);

/// An integer that the nearest one of its type stands for.
trait Saturated {
    fn saturated(scalar: Scalar) -> Self;
}

fn saturated<T: Saturated>(scalar: Scalar) -> T {
    T::saturated(scalar)
}

fn undefined(function: impl std::fmt::Debug, of: &str) -> Error {
    bad(format!("{function:?} is not defined for {of}; convert the operands first"))
}

fn failed(error: executorch_simd::Error) -> Error {
    match error {
        executorch_simd::Error::DivisionByZero => {
            bad("integer division by zero: the divisor has an element that is 0")
        }
        executorch_simd::Error::Undefined(op, of) => undefined(op, of),
    }
}

fn copy<C: Copy>(a: Arg<'_, C>, y: &mut [C]) {
    match a {
        Arg::Slice(a) => y.copy_from_slice(a),
        Arg::Scalar(a) => y.fill(a),
        Arg::Out => {}
    }
}

/// Computes a function that is not a test.
pub fn values<C: Compute>(function: Function, [a, b, c]: [Arg<'_, C>; 3], y: &mut [C]) -> Result<()> {
    match function {
        Function::Identity => copy(a, y),
        Function::Binary(op) => binary(op, a, b, y).map_err(failed)?,
        Function::AddScaled(alpha) => add_scaled(a, b, C::of(alpha), y),
        Function::Glu => {
            C::unary(Function::Unary(Unary::Sigmoid), b, y)?;
            binary(Binary::Mul, a, Arg::Out, y).map_err(failed)?;
        }
        Function::ClampTo => {
            binary(Binary::Max, a, b, y).map_err(failed)?;
            binary(Binary::Min, Arg::Out, c, y).map_err(failed)?;
        }
        Function::Select => {
            if let (Arg::Slice(a), Arg::Slice(b), Arg::Slice(c)) = (a, b, c) {
                let zero = C::default();
                for (((y, &a), &b), &c) in y.iter_mut().zip(a).zip(b).zip(c) {
                    *y = if a != zero { b } else { c };
                }
            }
        }
        other => C::unary(other, a, y)?,
    }
    Ok(())
}

/// Computes a test: 0 or 1.
pub fn tests<C: Compute>(function: Function, [a, b, _]: [Arg<'_, C>; 3], y: &mut [u8]) {
    match function {
        Function::Compare(op) => compare(op, a, b, y),
        Function::IsNan => compare(Compare::Ne, a, a, y),
        _ => {
            if let Arg::Slice(a) = a {
                for (y, &a) in y.iter_mut().zip(a) {
                    *y = a.infinite().into();
                }
            }
        }
    }
}
