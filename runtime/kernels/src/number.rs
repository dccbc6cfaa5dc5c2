//! PyTorch's type promotion.

use crate::op::bad;
use executorch_abi::{Dtype, Result, Scalar};
use executorch_simd::Element;

/// The kinds of numbers, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Integer,
    Float,
}

fn kind(dtype: Dtype) -> Result<Kind> {
    match dtype {
        Dtype::Bool => Ok(Kind::Bool),
        Dtype::UInt8 | Dtype::Int8 | Dtype::Int16 | Dtype::Int32 | Dtype::Int64 => Ok(Kind::Integer),
        Dtype::Float16 | Dtype::BFloat16 | Dtype::Float32 | Dtype::Float64 => Ok(Kind::Float),
        other => Err(bad(format!("expected real numbers or bool, found {other}"))),
    }
}

/// Whether a dtype is a floating-point one.
pub fn is_float(dtype: Dtype) -> bool {
    kind(dtype).is_ok_and(|k| k == Kind::Float)
}

/// The common dtype of two tensors.
pub fn promote(a: Dtype, b: Dtype) -> Result<Dtype> {
    let (ka, kb) = (kind(a)?, kind(b)?);
    if ka != kb {
        return Ok(if ka > kb { a } else { b });
    }
    if a == b {
        return Ok(a);
    }
    Ok(match ka {
        Kind::Bool => Dtype::Bool,
        // Of two half floats neither holds the other.
        Kind::Float if a.size() == b.size() => Dtype::Float32,
        // uint8 and int8 need a sign and eight bits more.
        Kind::Integer if a.size() == b.size() => Dtype::Int16,
        _ => {
            if a.size() > b.size() {
                a
            } else {
                b
            }
        }
    })
}

/// The common dtype of a tensor and a number, which counts only if it is of a stronger kind.
pub fn promote_scalar(tensor: Dtype, scalar: Scalar) -> Result<Dtype> {
    let strength = kind(tensor)?;
    Ok(match scalar {
        Scalar::Double(_) if strength < Kind::Float => Dtype::Float32,
        Scalar::Int(_) if strength < Kind::Integer => Dtype::Int64,
        _ => tensor,
    })
}

/// The dtype of a function of real numbers: that of its argument, or the default float for integers and bools.
pub fn float_of(dtype: Dtype) -> Result<Dtype> {
    Ok(if kind(dtype)? == Kind::Float { dtype } else { Dtype::Float32 })
}

/// A number as an element of `dtype` would hold it.
pub fn rounded(scalar: Scalar, dtype: Dtype) -> Result<Scalar> {
    crate::with_item!(dtype, any T => Ok(match scalar {
        Scalar::Double(value) if is_float(dtype) => Scalar::Double(value.cast::<T>().cast()),
        Scalar::Double(value) => Scalar::Int(value.cast::<T>().cast()),
        _ if is_float(dtype) => Scalar::Double(scalar.to_i64().cast::<T>().cast()),
        _ => Scalar::Int(scalar.to_i64().cast::<T>().cast()),
    }))
}

/// Checks that a result of dtype `from` may be stored as `to`.
pub fn can_cast(from: Dtype, to: Dtype) -> Result<()> {
    if kind(from)? <= kind(to)? {
        return Ok(());
    }
    Err(bad(format!("the result is {from}, which an output of {to} cannot hold")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dtype::*;

    #[test]
    fn promotion_is_pytorch_s() {
        for (a, b, expected) in [
            (UInt8, Int8, Int16),
            (UInt8, Int32, Int32),
            (Int64, Float16, Float16),
            (Float16, BFloat16, Float32),
            (BFloat16, Float64, Float64),
            (Bool, UInt8, UInt8),
            (Bool, Bool, Bool),
        ] {
            assert_eq!(promote(a, b), Ok(expected), "{a} {b}");
            assert_eq!(promote(b, a), Ok(expected), "{b} {a}");
        }
        assert_eq!(promote_scalar(Int8, Scalar::Double(1.5)), Ok(Float32));
        assert_eq!(promote_scalar(Int8, Scalar::Int(1000)), Ok(Int8));
        assert_eq!(promote_scalar(Bool, Scalar::Int(1)), Ok(Int64));
        assert_eq!(promote_scalar(Float16, Scalar::Double(0.1)), Ok(Float16));
        assert_eq!(rounded(Scalar::Int(300), UInt8), Ok(Scalar::Int(44)));
        assert_eq!(rounded(Scalar::Double(0.1), Float16), Ok(Scalar::Double(0.099_975_585_937_5)));
        assert_eq!(rounded(Scalar::Double(0.5), Bool), Ok(Scalar::Int(1)));
        assert!(can_cast(Float32, Int64).is_err());
        assert!(can_cast(Int64, Float16).is_ok());
        assert!(promote(Complex64, Float32).is_err());
    }
}
