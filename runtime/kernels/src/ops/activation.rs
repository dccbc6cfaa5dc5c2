//! Activations of neural networks, and clamps.

use crate::elementwise::{Operand, run};
use crate::function::Function;
use crate::number::{is_float, promote, promote_scalar};
use crate::op::{Context, Table, bad, entry};
use crate::ops::unary::{real, same};
use crate::shape::{Shape, dimension};
use executorch_abi::{Args, Dtype, Result};
use executorch_simd::{Binary, Unary};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::relu.out", c"T>T", |_, a| same(a, Unary::Relu)),
    entry(c"aten::sigmoid.out", c"T>T", |_, a| real(a, Unary::Sigmoid)),
    entry(c"aten::logit.out", c"Td>T", logit),
    entry(c"aten::gelu.out", c"TN>T", gelu),
    entry(c"aten::elu.out", c"TSSS>T", elu),
    entry(c"aten::leaky_relu.out", c"TS>T", leaky_relu),
    entry(c"aten::glu.out", c"TI>T", glu),
    entry(c"aten::hardtanh.out", c"TSS>T", hardtanh),
    entry(c"aten::clamp.out", c"Tss>T", clamp),
    entry(c"aten::clamp.Tensor_out", c"Ttt>T", clamp_to),
]);

/// A function of floating-point numbers alone.
fn float(args: &Args<'_>, out: usize, op: Unary) -> Result<()> {
    let input = args.tensor(0)?;
    run(args, out, &[input.into()], float_dtype(input.dtype()?)?, Function::Unary(op))
}

fn float_dtype(dtype: Dtype) -> Result<Dtype> {
    if is_float(dtype) {
        return Ok(dtype);
    }
    Err(bad(format!("expected a tensor of floating-point numbers, found {dtype}")))
}

fn logit(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let eps = args.optional_double(1)?;
    let dtype = crate::number::float_of(input.dtype()?)?;
    run(args, 2, &[input.into()], dtype, Function::Unary(Unary::Logit { eps }))
}

fn gelu(_: &mut Context, args: &Args<'_>) -> Result<()> {
    match args.string(1)? {
        "none" => float(args, 2, Unary::Gelu),
        "tanh" => float(args, 2, Unary::GeluTanh),
        other => Err(bad(format!("the approximation is {other:?}, expected \"none\" or \"tanh\""))),
    }
}

fn elu(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let [alpha, scale, input_scale] = [args.scalar(1)?, args.scalar(2)?, args.scalar(3)?].map(|s| s.to_f64());
    float(args, 4, Unary::Elu { alpha, scale, input_scale })
}

fn leaky_relu(_: &mut Context, args: &Args<'_>) -> Result<()> {
    float(args, 2, Unary::LeakyRelu { slope: args.scalar(1)?.to_f64() })
}

/// The first half of a dimension, times the sigmoid of the second.
fn glu(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let dtype = float_dtype(input.dtype()?)?;
    let dim = dimension(args.int(1)?, input.rank())?;
    let (Some(&size), Some(&stride)) = (input.sizes().get(dim), input.strides().get(dim)) else {
        return Err(bad("expected a tensor with dimensions, found a single number"));
    };
    if size % 2 != 0 {
        return Err(bad(format!("dimension {dim} has {size} elements, which is no even number to halve")));
    }
    let mut half = Shape::new(input.sizes())?;
    half.set(dim, size / 2);
    let second = (size / 2) as usize * stride as usize;
    let operands = [Operand::Part(input, &half, 0), Operand::Part(input, &half, second)];
    run(args, 2, &operands, dtype, Function::Glu)
}

fn hardtanh(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let dtype = input.dtype()?;
    if dtype == Dtype::Bool {
        return Err(bad("expected a tensor of numbers, found bool; convert it first"));
    }
    let (min, max) = (args.scalar(1)?, args.scalar(2)?);
    run(args, 3, &[input.into()], dtype, Function::Clamp(Some(min), Some(max)))
}

fn clamp(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let (min, max) = (args.optional_scalar(1)?, args.optional_scalar(2)?);
    let mut common = input.dtype()?;
    for bound in [min, max].into_iter().flatten() {
        common = promote_scalar(common, bound)?;
    }
    if min.is_none() && max.is_none() {
        return Err(unbounded());
    }
    run(args, 3, &[input.into()], common, Function::Clamp(min, max))
}

fn clamp_to(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let (min, max) = (args.optional_tensor(1)?, args.optional_tensor(2)?);
    let mut common = input.dtype()?;
    for bound in [min, max].into_iter().flatten() {
        common = promote(common, bound.dtype()?)?;
    }
    let input = input.into();
    match (min, max) {
        (Some(min), Some(max)) => run(args, 3, &[input, min.into(), max.into()], common, Function::ClampTo),
        (Some(min), None) => run(args, 3, &[input, min.into()], common, Function::Binary(Binary::Max)),
        (None, Some(max)) => run(args, 3, &[input, max.into()], common, Function::Binary(Binary::Min)),
        (None, None) => Err(unbounded()),
    }
}

fn unbounded() -> executorch_abi::Error {
    bad("a clamp needs a lower bound, an upper bound, or both; found neither")
}
