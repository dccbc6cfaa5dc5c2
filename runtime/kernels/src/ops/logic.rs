//! Logical and bitwise functions, and shifts.

use crate::elementwise::{Types, run};
use crate::function::Function;
use crate::number::is_float;
use crate::op::{Table, bad, entry};
use crate::ops::arithmetic::Pair;
use executorch_abi::{Args, Dtype, Result, Scalar};
use executorch_simd::{Binary, Compare};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::logical_and.out", c"TT>T", |_, a| logical(a, Compare::And)),
    entry(c"aten::logical_or.out", c"TT>T", |_, a| logical(a, Compare::Or)),
    entry(c"aten::logical_xor.out", c"TT>T", |_, a| logical(a, Compare::Xor)),
    entry(c"aten::logical_not.out", c"T>T", |_, a| not(a)),
    entry(c"aten::bitwise_and.Tensor_out", c"TT>T", |_, a| bitwise(a, Binary::BitAnd)),
    entry(c"aten::bitwise_and.Scalar_out", c"TS>T", |_, a| bitwise(a, Binary::BitAnd)),
    entry(c"aten::bitwise_or.Tensor_out", c"TT>T", |_, a| bitwise(a, Binary::BitOr)),
    entry(c"aten::bitwise_or.Scalar_out", c"TS>T", |_, a| bitwise(a, Binary::BitOr)),
    entry(c"aten::bitwise_xor.Tensor_out", c"TT>T", |_, a| bitwise(a, Binary::BitXor)),
    entry(c"aten::bitwise_xor.Scalar_out", c"TS>T", |_, a| bitwise(a, Binary::BitXor)),
    entry(c"aten::bitwise_not.out", c"T>T", |_, a| bitwise_not(a)),
    entry(c"aten::bitwise_left_shift.Tensor_out", c"TT>T", |_, a| shift(a, Binary::Shl)),
    entry(c"aten::bitwise_left_shift.Tensor_Scalar_out", c"TS>T", |_, a| shift(a, Binary::Shl)),
    entry(c"aten::bitwise_right_shift.Tensor_out", c"TT>T", |_, a| shift(a, Binary::Shr)),
    entry(c"aten::bitwise_right_shift.Tensor_Scalar_out", c"TS>T", |_, a| shift(a, Binary::Shr)),
]);

fn logical(args: &Args<'_>, op: Compare) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?;
    run(args, 2, &operands, Types { compute: common, result: Dtype::Bool }, Function::Compare(op))
}

/// Whether the elements are 0.
fn not(args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let types = Types { compute: input.dtype()?, result: Dtype::Bool };
    let zero = Scalar::Int(0);
    run(args, 1, &[input.into(), zero.into()], types, Function::Compare(Compare::Eq))
}

fn bitwise_not(args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    match input.dtype()? {
        Dtype::Bool => not(args),
        dtype => run(args, 1, &[input.into()], whole(dtype)?, Function::BitNot),
    }
}

fn bitwise(args: &Args<'_>, op: Binary) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?;
    run(args, 2, &operands, whole(common)?, Function::Binary(op))
}

fn shift(args: &Args<'_>, op: Binary) -> Result<()> {
    let Pair { operands, common } = Pair::of(args)?;
    if common == Dtype::Bool {
        return Err(bad("shifts of bools are not defined; convert one operand to integers"));
    }
    run(args, 2, &operands, whole(common)?, Function::Binary(op))
}

/// Refuses dtypes that have no bits of their own.
fn whole(dtype: Dtype) -> Result<Dtype> {
    if is_float(dtype) {
        return Err(bad(format!("expected integers or bools, found {dtype}")));
    }
    Ok(dtype)
}
