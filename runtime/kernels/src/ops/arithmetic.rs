//! Arithmetic of two operands: sums, products, quotients, remainders, powers, the greater and the lesser.

use crate::elementwise::{Operand, Types, run};
use crate::function::Function;
use crate::number::{float_of, is_float, promote, promote_scalar};
use crate::op::{Context, Table, bad, entry};
use crate::ops::complex;
use executorch_abi::{Args, Dtype, Result, Scalar};
use executorch_simd::Binary;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::add.out", c"TTS>T", add),
    entry(c"aten::add.Scalar_out", c"TSS>T", add),
    entry(c"aten::sub.out", c"TTS>T", sub),
    entry(c"aten::sub.Scalar_out", c"TSS>T", sub),
    entry(c"aten::rsub.Scalar_out", c"TSS>T", rsub),
    entry(c"aten::mul.out", c"TT>T", mul),
    entry(c"aten::mul.Scalar_out", c"TS>T", mul),
    entry(c"aten::div.out", c"TT>T", div),
    entry(c"aten::div.Scalar_out", c"TS>T", div),
    entry(c"aten::div.out_mode", c"TTn>T", div_mode),
    entry(c"aten::div.Scalar_mode_out", c"TSn>T", div_mode),
    entry(c"aten::floor_divide.out", c"TT>T", |_, a| divide(a, 2, Binary::DivFloor)),
    entry(c"aten::fmod.Tensor_out", c"TT>T", |_, a| divide(a, 2, Binary::Fmod)),
    entry(c"aten::fmod.Scalar_out", c"TS>T", |_, a| divide(a, 2, Binary::Fmod)),
    entry(c"aten::remainder.Tensor_out", c"TT>T", |_, a| plain(a, Binary::Remainder)),
    entry(c"aten::remainder.Scalar_out", c"TS>T", |_, a| plain(a, Binary::Remainder)),
    entry(c"aten::pow.Tensor_Tensor_out", c"TT>T", pow),
    entry(c"aten::pow.Tensor_Scalar_out", c"TS>T", pow),
    entry(c"aten::pow.Scalar_out", c"ST>T", pow),
    entry(c"aten::atan2.out", c"TT>T", atan2),
    entry(c"aten::maximum.out", c"TT>T", |_, a| plain(a, Binary::Max)),
    entry(c"aten::minimum.out", c"TT>T", |_, a| plain(a, Binary::Min)),
]);

/// The two operands of a call, either of which may be a number, and their common dtype.
pub struct Pair<'a> {
    /// The operands.
    pub operands: [Operand<'a>; 2],
    /// The dtype that PyTorch promotes both to.
    pub common: Dtype,
}

impl<'a> Pair<'a> {
    /// The first two arguments; numbers count less than tensors.
    pub fn of(args: &Args<'a>) -> Result<Self> {
        Self::real(operands(args)?)
    }

    fn real(operands: [Operand<'a>; 2]) -> Result<Self> {
        let common = match operands {
            [Operand::Tensor(a), Operand::Tensor(b)] => promote(a.dtype()?, b.dtype()?)?,
            [Operand::Tensor(t), Operand::Number(n)] | [Operand::Number(n), Operand::Tensor(t)] => {
                promote_scalar(t.dtype()?, n)?
            }
            _ => return Err(bad("expected a tensor among the operands, found numbers only")),
        };
        Ok(Self { operands, common })
    }

    /// Refuses bools.
    fn no_bool(self, what: &str) -> Result<Self> {
        if self.common == Dtype::Bool {
            return Err(bad(format!("{what} of bools are not defined; convert one operand to numbers")));
        }
        Ok(self)
    }
}

/// The first two arguments, of which either may be a number.
fn operands<'a>(args: &Args<'a>) -> Result<[Operand<'a>; 2]> {
    let operand = |index| {
        if args.is_tensor(index)? {
            args.tensor(index).map(Operand::Tensor)
        } else {
            args.scalar(index).map(Operand::Number)
        }
    };
    Ok([operand(0)?, operand(1)?])
}

fn add(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let operands = operands(args)?;
    if complex::among(&operands)? {
        return complex::binary(args, 3, operands, complex::add(args.scalar(2)?.to_f64()));
    }
    let Pair { operands, common } = Pair::real(operands)?;
    let function = match factor(args, common)? {
        None => Function::Binary(Binary::Add),
        Some(alpha) => Function::AddScaled(alpha),
    };
    run(args, 3, &operands, common, function)
}

fn sub(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let operands = operands(args)?;
    if complex::among(&operands)? {
        return complex::binary(args, 3, operands, complex::add(-args.scalar(2)?.to_f64()));
    }
    difference(args, operands)
}

fn rsub(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let [a, b] = operands(args)?;
    difference(args, [b, a])
}

fn difference(args: &Args<'_>, operands: [Operand<'_>; 2]) -> Result<()> {
    let Pair { operands, common } = Pair::real(operands)?;
    for operand in operands {
        if let Operand::Tensor(tensor) = operand
            && tensor.dtype()? == Dtype::Bool
        {
            return Err(bad("subtraction of bools is not defined; use logical_xor"));
        }
    }
    let function = match factor(args, common)? {
        None => Function::Binary(Binary::Sub),
        Some(alpha) if is_float(common) => Function::AddScaled(Scalar::Double(-alpha.to_f64())),
        Some(alpha) => Function::AddScaled(Scalar::Int(alpha.to_i64().wrapping_neg())),
    };
    run(args, 3, &operands, common, function)
}

/// The factor of the second operand, if it is not 1.
fn factor(args: &Args<'_>, common: Dtype) -> Result<Option<Scalar>> {
    let alpha = args.scalar(2)?;
    if matches!(alpha, Scalar::Double(_)) && !is_float(common) {
        return Err(bad(format!("alpha is a float, but the operands are {common}; pass an integer")));
    }
    Ok((alpha.to_f64() != 1.0).then_some(alpha))
}

fn mul(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let operands = operands(args)?;
    if complex::among(&operands)? {
        return complex::binary(args, 2, operands, complex::mul);
    }
    let Pair { operands, common } = Pair::real(operands)?;
    run(args, 2, &operands, common, Function::Binary(Binary::Mul))
}

/// A function whose result has the common dtype.
fn plain(args: &Args<'_>, op: Binary) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?;
    run(args, 2, &operands, common, Function::Binary(op))
}

/// [`plain`] that bools have not.
fn divide(args: &Args<'_>, out: usize, op: Binary) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?.no_bool("rounded quotients")?;
    run(args, out, &operands, common, Function::Binary(op))
}

fn div(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let operands = operands(args)?;
    if complex::among(&operands)? {
        return complex::binary(args, 2, operands, complex::div);
    }
    true_division(args, 2)
}

fn true_division(args: &Args<'_>, out: usize) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?;
    run(args, out, &operands, float_of(common)?, Function::Binary(Binary::Div))
}

fn div_mode(_: &mut Context, args: &Args<'_>) -> Result<()> {
    match args.optional_string(2)? {
        None => true_division(args, 3),
        Some("trunc") => divide(args, 3, Binary::DivTrunc),
        Some("floor") => divide(args, 3, Binary::DivFloor),
        Some(other) => {
            Err(bad(format!("the rounding mode is {other:?}, expected \"trunc\", \"floor\" or none")))
        }
    }
}

fn pow(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?.no_bool("powers")?;
    if let Operand::Number(exponent) = operands[1]
        && !is_float(common)
        && exponent.to_i64() < 0
    {
        return Err(bad(format!(
            "the exponent is {}, but integers have no negative powers; convert the base to a float",
            exponent.to_i64()
        )));
    }
    run(args, 2, &operands, common, Function::Binary(Binary::Pow))
}

fn atan2(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?;
    let types: Types = float_of(common)?.into();
    run(args, 2, &operands, types, Function::Binary(Binary::Atan2))
}
