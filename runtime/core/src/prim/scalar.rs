//! Arithmetic and comparisons on numbers, and numbers of tensors.
//!
//! Two integers give an integer; with a float among the operands the result is a float. Numbers keep Python's
//! meaning where PyTorch's symbolic integers have it (`floordiv.Scalar`), and C's where upstream has it
//! (`mod`, `floordiv.int`).

use super::{Call, Prim};
use executorch_abi::error::*;
use executorch_abi::value::et_value_t;
use executorch_abi::{Dtype, Error, Result, Scalar, TensorRef};
use half::{bf16, f16};

/// The names that [`find`] knows.
pub const NAMES: &[&str] = &[
    "aten::sym_size.int",
    "aten::sym_numel",
    "aten::_local_scalar_dense",
    "executorch_prim::add.Scalar",
    "executorch_prim::sub.Scalar",
    "executorch_prim::mul.Scalar",
    "executorch_prim::floordiv.Scalar",
    "executorch_prim::truediv.Scalar",
    "executorch_prim::mod.Scalar",
    "executorch_prim::floordiv.int",
    "executorch_prim::mod.int",
    "executorch_prim::eq.Scalar",
    "executorch_prim::gt.Scalar",
    "executorch_prim::lt.Scalar",
    "executorch_prim::ge.Scalar",
    "executorch_prim::le.Scalar",
    "executorch_prim::neg.Scalar",
    "executorch_prim::sym_float.Scalar",
    "executorch_prim::sym_int.Scalar",
    "executorch_prim::sym_max.Scalar",
    "executorch_prim::sym_min.Scalar",
    "executorch_prim::sym_not.Scalar",
    "executorch_prim::sym_ite.Scalar",
    "executorch_prim::ceil.Scalar",
    "executorch_prim::trunc.Scalar",
    "executorch_prim::round.Scalar",
];

/// The operator of a name.
pub fn find(name: &str) -> Option<Prim> {
    let unary = |run| Some(Prim { arity: 2, run });
    let binary = |run| Some(Prim { arity: 3, run });
    match name {
        "aten::sym_size.int" => binary(sym_size),
        "aten::sym_numel" => unary(|c| {
            let numel = c.args.tensor(0)?.numel();
            c.give(1, et_value_t::int(i64::try_from(numel).map_err(|_| overflow())?))
        }),
        "aten::_local_scalar_dense" => unary(|c| c.give(1, first_element(c.args.tensor(0)?)?)),
        "executorch_prim::add.Scalar" => binary(|c| arithmetic(c, i64::checked_add, |a, b| a + b)),
        "executorch_prim::sub.Scalar" => binary(|c| arithmetic(c, i64::checked_sub, |a, b| a - b)),
        "executorch_prim::mul.Scalar" => binary(|c| arithmetic(c, i64::checked_mul, |a, b| a * b)),
        "executorch_prim::floordiv.Scalar" => binary(floor_divide),
        "executorch_prim::truediv.Scalar" => binary(|c| {
            let (a, b) = (c.args.scalar(0)?, c.args.scalar(1)?);
            c.give(2, et_value_t::double(a.to_f64() / b.to_f64()))
        }),
        "executorch_prim::mod.Scalar" | "executorch_prim::mod.int" => {
            binary(|c| integers(c, |a, b| if b == 0 { None } else { Some(a.wrapping_rem(b)) }))
        }
        "executorch_prim::floordiv.int" => binary(|c| integers(c, i64::checked_div)),
        "executorch_prim::eq.Scalar" => binary(|c| compare(c, |o| o.is_eq())),
        "executorch_prim::gt.Scalar" => binary(|c| compare(c, |o| o.is_gt())),
        "executorch_prim::lt.Scalar" => binary(|c| compare(c, |o| o.is_lt())),
        "executorch_prim::ge.Scalar" => binary(|c| compare(c, |o| o.is_ge())),
        "executorch_prim::le.Scalar" => binary(|c| compare(c, |o| o.is_le())),
        "executorch_prim::neg.Scalar" => unary(|c| match c.args.scalar(0)? {
            Scalar::Int(v) => c.give(1, et_value_t::int(v.checked_neg().ok_or_else(overflow)?)),
            v => c.give(1, et_value_t::double(-v.to_f64())),
        }),
        "executorch_prim::sym_float.Scalar" => {
            unary(|c| c.give(1, et_value_t::double(c.args.scalar(0)?.to_f64())))
        }
        "executorch_prim::sym_int.Scalar" | "executorch_prim::trunc.Scalar" => {
            unary(|c| rounded(c, f64::trunc))
        }
        "executorch_prim::ceil.Scalar" => unary(|c| rounded(c, f64::ceil)),
        "executorch_prim::round.Scalar" => unary(|c| rounded(c, f64::round_ties_even)),
        "executorch_prim::sym_max.Scalar" => binary(|c| integers(c, |a, b| Some(a.max(b)))),
        "executorch_prim::sym_min.Scalar" => binary(|c| integers(c, |a, b| Some(a.min(b)))),
        "executorch_prim::sym_not.Scalar" => unary(|c| c.give(1, et_value_t::bool(!c.args.bool(0)?))),
        "executorch_prim::sym_ite.Scalar" => Some(Prim { arity: 4, run: choose }),
        _ => None,
    }
}

fn overflow() -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, "the result does not fit 64 bits")
}

fn value(number: Scalar) -> et_value_t {
    match number {
        Scalar::Int(v) => et_value_t::int(v),
        Scalar::Double(v) => et_value_t::double(v),
        Scalar::Bool(v) => et_value_t::bool(v),
    }
}

fn sym_size(call: &Call<'_>) -> Result<()> {
    let (sizes, dim) = (call.args.tensor(0)?.sizes(), call.args.int(1)?);
    let wrapped = if dim < 0 { dim + sizes.len() as i64 } else { dim };
    let size = usize::try_from(wrapped).ok().and_then(|d| sizes.get(d)).ok_or_else(|| {
        Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("dimension {dim} of a tensor with {} dimensions", sizes.len()),
        )
    })?;
    call.give(2, et_value_t::int(i64::from(*size)))
}

fn first_element(tensor: TensorRef<'_>) -> Result<et_value_t> {
    fn first<T: Copy>(data: &[T]) -> Result<T> {
        data.first()
            .copied()
            .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "the tensor has no element"))
    }
    Ok(match tensor.dtype()? {
        Dtype::UInt8 => et_value_t::int(first(tensor.data::<u8>()?)?.into()),
        Dtype::Int8 => et_value_t::int(first(tensor.data::<i8>()?)?.into()),
        Dtype::Int16 => et_value_t::int(first(tensor.data::<i16>()?)?.into()),
        Dtype::Int32 => et_value_t::int(first(tensor.data::<i32>()?)?.into()),
        Dtype::Int64 => et_value_t::int(first(tensor.data::<i64>()?)?),
        Dtype::Float16 => et_value_t::double(f16::from_bits(first(tensor.data::<u16>()?)?).to_f64()),
        Dtype::BFloat16 => et_value_t::double(bf16::from_bits(first(tensor.data::<u16>()?)?).to_f64()),
        Dtype::Float32 => et_value_t::double(first(tensor.data::<f32>()?)?.into()),
        Dtype::Float64 => et_value_t::double(first(tensor.data::<f64>()?)?),
        Dtype::Bool => et_value_t::bool(first(tensor.data::<u8>()?)? != 0),
        other => {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("expected a tensor of real numbers or bool, found {other}"),
            ));
        }
    })
}

fn arithmetic(call: &Call<'_>, int: fn(i64, i64) -> Option<i64>, float: fn(f64, f64) -> f64) -> Result<()> {
    match (call.args.scalar(0)?, call.args.scalar(1)?) {
        (Scalar::Int(a), Scalar::Int(b)) => call.give(2, et_value_t::int(int(a, b).ok_or_else(overflow)?)),
        (a, b) => call.give(2, et_value_t::double(float(a.to_f64(), b.to_f64()))),
    }
}

fn integers(call: &Call<'_>, operation: fn(i64, i64) -> Option<i64>) -> Result<()> {
    let (a, b) = (call.args.int(0)?, call.args.int(1)?);
    let result = operation(a, b).ok_or_else(|| {
        Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the operands {a} and {b} have no result in 64 bits"))
    })?;
    call.give(2, et_value_t::int(result))
}

fn floor_divide(call: &Call<'_>) -> Result<()> {
    match (call.args.scalar(0)?, call.args.scalar(1)?) {
        (Scalar::Int(a), Scalar::Int(b)) => {
            let quotient = a.checked_div(b).ok_or_else(|| {
                Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{a} divided by {b} has no result in 64 bits"))
            })?;
            let floor = if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient };
            call.give(2, et_value_t::int(floor))
        }
        (a, b) => call.give(2, et_value_t::double((a.to_f64() / b.to_f64()).floor())),
    }
}

fn compare(call: &Call<'_>, holds: fn(std::cmp::Ordering) -> bool) -> Result<()> {
    let order = match (call.args.scalar(0)?, call.args.scalar(1)?) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(&b)),
        (Scalar::Bool(a), Scalar::Bool(b)) => Some(a.cmp(&b)),
        // A NaN compares as false with everything.
        (a, b) => a.to_f64().partial_cmp(&b.to_f64()),
    };
    call.give(2, et_value_t::bool(order.is_some_and(holds)))
}

fn rounded(call: &Call<'_>, round: fn(f64) -> f64) -> Result<()> {
    let number = call.args.scalar(0)?;
    if let Scalar::Int(value) = number {
        return call.give(1, et_value_t::int(value));
    }
    let result = round(number.to_f64());
    // 2^63 is the first float above the range; the lower bound is itself in it.
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&result) {
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{result} has no integer of 64 bits")));
    }
    call.give(1, et_value_t::int(result as i64))
}

fn choose(call: &Call<'_>) -> Result<()> {
    let chosen = if call.args.bool(0)? { call.args.scalar(1)? } else { call.args.scalar(2)? };
    call.give(3, value(chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, operands: &[et_value_t]) -> Result<Scalar> {
        let mut values: Vec<et_value_t> = operands.to_vec();
        values.push(et_value_t::NONE);
        let pointers: Vec<*mut et_value_t> = values.iter_mut().map(|v| v as *mut et_value_t).collect();
        // SAFETY: the pointers are to `values`, which this function alone uses.
        let call = unsafe { Call::new(&pointers) };
        (find(name).unwrap().run)(&call)?;
        call.args.scalar(operands.len())
    }

    fn int(v: i64) -> et_value_t {
        et_value_t::int(v)
    }

    #[test]
    fn division_floors_like_python() {
        for (a, b, floor) in [(7, 2, 3), (-7, 2, -4), (7, -2, -4), (-7, -2, 3), (6, -3, -2)] {
            assert_eq!(run("executorch_prim::floordiv.Scalar", &[int(a), int(b)]), Ok(Scalar::Int(floor)));
        }
        assert_eq!(run("executorch_prim::floordiv.int", &[int(-7), int(2)]), Ok(Scalar::Int(-3)));
        assert_eq!(run("executorch_prim::mod.int", &[int(-7), int(2)]), Ok(Scalar::Int(-1)));
        let by_zero = run("executorch_prim::floordiv.Scalar", &[int(1), et_value_t::double(0.0)]);
        assert_eq!(by_zero, Ok(Scalar::Double(f64::INFINITY)));
    }

    #[test]
    fn what_has_no_result_is_an_error() {
        for name in ["floordiv.Scalar", "floordiv.int", "mod.Scalar"] {
            assert!(run(&format!("executorch_prim::{name}"), &[int(1), int(0)]).is_err(), "{name}");
        }
        assert!(run("executorch_prim::floordiv.Scalar", &[int(i64::MIN), int(-1)]).is_err());
        assert!(run("executorch_prim::add.Scalar", &[int(i64::MAX), int(1)]).is_err());
        assert!(run("executorch_prim::sym_int.Scalar", &[et_value_t::double(f64::NAN)]).is_err());
        assert!(run("executorch_prim::sym_int.Scalar", &[et_value_t::double(1e300)]).is_err());
        assert!(run("executorch_prim::add.Scalar", &[et_value_t::NONE, int(1)]).is_err());
    }

    #[test]
    fn rounding_is_to_even() {
        for (x, rounded) in [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2)] {
            let result = run("executorch_prim::round.Scalar", &[et_value_t::double(x)]);
            assert_eq!(result, Ok(Scalar::Int(rounded)), "{x}");
        }
    }

    #[test]
    fn comparisons_and_mixed_arithmetic() {
        assert_eq!(run("executorch_prim::ge.Scalar", &[int(2), int(2)]), Ok(Scalar::Bool(true)));
        let nan = et_value_t::double(f64::NAN);
        assert_eq!(run("executorch_prim::eq.Scalar", &[nan, nan]), Ok(Scalar::Bool(false)));
        let sum = run("executorch_prim::add.Scalar", &[int(1), et_value_t::double(0.5)]);
        assert_eq!(sum, Ok(Scalar::Double(1.5)));
        let chosen = run("executorch_prim::sym_ite.Scalar", &[et_value_t::bool(false), int(1), int(2)]);
        assert_eq!(chosen, Ok(Scalar::Int(2)));
    }
}
