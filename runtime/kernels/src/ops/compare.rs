//! Comparisons of two operands.

use crate::elementwise::{Operand, Types, run};
use crate::function::Function;
use crate::number::rounded;
use crate::op::{Table, entry};
use crate::ops::arithmetic::Pair;
use executorch_abi::{Args, Dtype, Result};
use executorch_simd::Compare;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::eq.Tensor_out", c"TT>T", |_, a| compare(a, Compare::Eq)),
    entry(c"aten::eq.Scalar_out", c"TS>T", |_, a| compare(a, Compare::Eq)),
    entry(c"aten::ne.Tensor_out", c"TT>T", |_, a| compare(a, Compare::Ne)),
    entry(c"aten::ne.Scalar_out", c"TS>T", |_, a| compare(a, Compare::Ne)),
    entry(c"aten::lt.Tensor_out", c"TT>T", |_, a| compare(a, Compare::Lt)),
    entry(c"aten::lt.Scalar_out", c"TS>T", |_, a| compare(a, Compare::Lt)),
    entry(c"aten::le.Tensor_out", c"TT>T", |_, a| compare(a, Compare::Le)),
    entry(c"aten::le.Scalar_out", c"TS>T", |_, a| compare(a, Compare::Le)),
    entry(c"aten::gt.Tensor_out", c"TT>T", |_, a| compare(a, Compare::Gt)),
    entry(c"aten::gt.Scalar_out", c"TS>T", |_, a| compare(a, Compare::Gt)),
    entry(c"aten::ge.Tensor_out", c"TT>T", |_, a| compare(a, Compare::Ge)),
    entry(c"aten::ge.Scalar_out", c"TS>T", |_, a| compare(a, Compare::Ge)),
]);

fn compare(args: &Args<'_>, op: Compare) -> Result<()> {
    let Pair { mut operands, common } = Pair::of(args)?;
    for operand in &mut operands {
        if let Operand::Number(number) = operand {
            // 0.1 equals a half float that was made of 0.1.
            *number = rounded(*number, common)?;
        }
    }
    run(args, 2, &operands, Types { compute: common, result: Dtype::Bool }, Function::Compare(op))
}
