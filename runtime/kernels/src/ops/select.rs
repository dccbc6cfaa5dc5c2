//! Choices between elements: where, masked_fill.

use crate::elementwise::run;
use crate::function::Function;
use crate::number::promote;
use crate::op::{Context, Table, bad, entry};
use executorch_abi::{Args, Dtype, Result};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::where.self_out", c"TTT>T", select),
    entry(c"aten::masked_fill.Scalar_out", c"TTS>T", masked_fill),
]);

fn select(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let [condition, a, b] = [args.tensor(0)?, args.tensor(1)?, args.tensor(2)?];
    // PyTorch took uint8 for conditions once.
    if !matches!(condition.dtype()?, Dtype::Bool | Dtype::UInt8) {
        return Err(bad(format!("the condition is {}, expected bool", condition.dtype()?)));
    }
    let common = promote(a.dtype()?, b.dtype()?)?;
    run(args, 3, &[condition.into(), a.into(), b.into()], common, Function::Select)
}

fn masked_fill(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let [input, mask] = [args.tensor(0)?, args.tensor(1)?];
    if mask.dtype()? != Dtype::Bool {
        return Err(bad(format!("the mask is {}, expected bool", mask.dtype()?)));
    }
    // The value becomes one of the input's dtype, whatever it is.
    let value = args.scalar(2)?;
    run(args, 3, &[mask.into(), value.into(), input.into()], input.dtype()?, Function::Select)
}
