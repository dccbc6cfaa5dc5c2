//! Mathematical functions of one operand.

use crate::elementwise::{Types, run};
use crate::function::Function;
use crate::number::float_of;
use crate::op::{Context, Table, bad, entry};
use crate::ops::complex;
use executorch_abi::{Args, Dtype, Result};
use executorch_simd::Unary;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::abs.out", c"T>T", abs),
    entry(c"aten::neg.out", c"T>T", |_, a| same(a, Unary::Neg)),
    entry(c"aten::sign.out", c"T>T", sign),
    entry(c"aten::ceil.out", c"T>T", |_, a| same(a, Unary::Ceil)),
    entry(c"aten::floor.out", c"T>T", |_, a| same(a, Unary::Floor)),
    entry(c"aten::round.out", c"T>T", |_, a| same(a, Unary::Round)),
    entry(c"aten::trunc.out", c"T>T", |_, a| same(a, Unary::Trunc)),
    entry(c"aten::reciprocal.out", c"T>T", |_, a| real(a, Unary::Reciprocal)),
    entry(c"aten::sqrt.out", c"T>T", |_, a| real(a, Unary::Sqrt)),
    entry(c"aten::rsqrt.out", c"T>T", |_, a| real(a, Unary::Rsqrt)),
    entry(c"aten::exp.out", c"T>T", |_, a| real(a, Unary::Exp)),
    entry(c"aten::expm1.out", c"T>T", |_, a| real(a, Unary::Expm1)),
    entry(c"aten::log.out", c"T>T", |_, a| real(a, Unary::Log)),
    entry(c"aten::log10.out", c"T>T", |_, a| real(a, Unary::Log10)),
    entry(c"aten::log1p.out", c"T>T", |_, a| real(a, Unary::Log1p)),
    entry(c"aten::log2.out", c"T>T", |_, a| real(a, Unary::Log2)),
    entry(c"aten::sin.out", c"T>T", |_, a| real(a, Unary::Sin)),
    entry(c"aten::cos.out", c"T>T", |_, a| real(a, Unary::Cos)),
    entry(c"aten::tan.out", c"T>T", |_, a| real(a, Unary::Tan)),
    entry(c"aten::sinh.out", c"T>T", |_, a| real(a, Unary::Sinh)),
    entry(c"aten::cosh.out", c"T>T", |_, a| real(a, Unary::Cosh)),
    entry(c"aten::tanh.out", c"T>T", |_, a| real(a, Unary::Tanh)),
    entry(c"aten::asin.out", c"T>T", |_, a| real(a, Unary::Asin)),
    entry(c"aten::acos.out", c"T>T", |_, a| real(a, Unary::Acos)),
    entry(c"aten::atan.out", c"T>T", |_, a| real(a, Unary::Atan)),
    entry(c"aten::asinh.out", c"T>T", |_, a| real(a, Unary::Asinh)),
    entry(c"aten::acosh.out", c"T>T", |_, a| real(a, Unary::Acosh)),
    entry(c"aten::atanh.out", c"T>T", |_, a| real(a, Unary::Atanh)),
    entry(c"aten::erf.out", c"T>T", |_, a| real(a, Unary::Erf)),
    entry(c"aten::isinf.out", c"T>T", |_, a| test(a, Function::IsInfinite)),
    entry(c"aten::isnan.out", c"T>T", |_, a| test(a, Function::IsNan)),
]);

/// A function whose result has the dtype of its operand; bools have none.
pub fn same(args: &Args<'_>, op: Unary) -> Result<()> {
    let input = args.tensor(0)?;
    let dtype = input.dtype()?;
    if dtype == Dtype::Bool {
        return Err(bad("expected a tensor of numbers, found bool; convert it first"));
    }
    run(args, 1, &[input.into()], dtype, Function::Unary(op))
}

/// A function of real numbers; integers and bools give the default float.
pub fn real(args: &Args<'_>, op: Unary) -> Result<()> {
    let input = args.tensor(0)?;
    run(args, 1, &[input.into()], float_of(input.dtype()?)?, Function::Unary(op))
}

fn abs(_: &mut Context, args: &Args<'_>) -> Result<()> {
    if complex::is_complex(args.tensor(0)?.dtype()?) {
        return complex::abs(args);
    }
    same(args, Unary::Abs)
}

/// The sign of bools is what they are.
fn sign(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    run(args, 1, &[input.into()], input.dtype()?, Function::Unary(Unary::Sign))
}

fn test(args: &Args<'_>, function: Function) -> Result<()> {
    let input = args.tensor(0)?;
    run(args, 1, &[input.into()], Types { compute: input.dtype()?, result: Dtype::Bool }, function)
}
