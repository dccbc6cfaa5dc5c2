//! Arithmetic of two tensors with promotion and broadcasting, and functions of one.

use crate::elements::{Source, store, writable};
use crate::number::{can_cast, is_float, promote};
use crate::op::{Context, Table, bad, entry, output};
use crate::shape::{Rows, Shape};
use executorch_abi::{Args, Dtype, Result, TensorRef};
use executorch_simd::{Arg, Binary, Element, Number, Unary, binary};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::add.out", c"TTS>T", add),
    entry(c"aten::sub.out", c"TTS>T", sub),
    entry(c"aten::mul.out", c"TT>T", mul),
    entry(c"aten::div.out", c"TT>T", div),
    entry(c"aten::relu.out", c"T>T", |_, a| function(a, Unary::Relu)),
    entry(c"aten::sigmoid.out", c"T>T", |_, a| function(a, Unary::Sigmoid)),
    entry(c"aten::tanh.out", c"T>T", |_, a| function(a, Unary::Tanh)),
    entry(c"aten::exp.out", c"T>T", |_, a| function(a, Unary::Exp)),
    entry(c"aten::rsqrt.out", c"T>T", |_, a| function(a, Unary::Rsqrt)),
    entry(c"aten::sqrt.out", c"T>T", |_, a| function(a, Unary::Sqrt)),
    entry(c"aten::neg.out", c"T>T", |_, a| function(a, Unary::Neg)),
]);

/// Elements that are converted at a time: what a first-level cache holds of three buffers.
const BLOCK: usize = 1024;

/// A type that a computation is made in.
trait Compute: Element + Number {
    fn of(scalar: executorch_abi::Scalar) -> Self;
}

impl Compute for f32 {
    fn of(scalar: executorch_abi::Scalar) -> Self {
        scalar.to_f64() as f32
    }
}

impl Compute for f64 {
    fn of(scalar: executorch_abi::Scalar) -> Self {
        scalar.to_f64()
    }
}

impl Compute for i64 {
    fn of(scalar: executorch_abi::Scalar) -> Self {
        scalar.to_i64()
    }
}

fn add(_: &mut Context, args: &Args<'_>) -> Result<()> {
    scaled(args, false)
}

fn sub(_: &mut Context, args: &Args<'_>) -> Result<()> {
    if args.tensor(0)?.dtype()? == Dtype::Bool || args.tensor(1)?.dtype()? == Dtype::Bool {
        return Err(bad("subtraction of bools is not defined; use logical_xor"));
    }
    scaled(args, true)
}

/// `a + alpha b` or `a - alpha b`.
fn scaled(args: &Args<'_>, subtract: bool) -> Result<()> {
    let alpha = args.scalar(2)?;
    let common = promote(args.tensor(0)?.dtype()?, args.tensor(1)?.dtype()?)?;
    if matches!(alpha, executorch_abi::Scalar::Double(_)) && !is_float(common) {
        return Err(bad(format!("alpha is a float, but the operands are {common}; pass an integer")));
    }
    let op = if subtract { Binary::Sub } else { Binary::Add };
    elementwise(args, 3, common, common, op, Some(alpha))
}

fn mul(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let common = promote(args.tensor(0)?.dtype()?, args.tensor(1)?.dtype()?)?;
    elementwise(args, 2, common, common, Binary::Mul, None)
}

fn div(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let common = promote(args.tensor(0)?.dtype()?, args.tensor(1)?.dtype()?)?;
    // True division of integers gives the default float.
    let result = if is_float(common) { common } else { Dtype::Float32 };
    elementwise(args, 2, result, result, Binary::Div, None)
}

fn elementwise(
    args: &Args<'_>,
    out: usize,
    compute: Dtype,
    result: Dtype,
    op: Binary,
    alpha: Option<executorch_abi::Scalar>,
) -> Result<()> {
    let call = Call { args, out, result, op, alpha };
    match compute {
        Dtype::Float64 => call.run::<f64>(),
        dtype if is_float(dtype) => call.run::<f32>(),
        // Wrapping in 64 bits and cutting off gives what wrapping in fewer bits does.
        _ => call.run::<i64>(),
    }
}

struct Call<'a, 'b> {
    args: &'a Args<'b>,
    out: usize,
    result: Dtype,
    op: Binary,
    alpha: Option<executorch_abi::Scalar>,
}

impl Call<'_, '_> {
    fn run<C: Compute>(&self) -> Result<()> {
        let (a, b) = (self.args.tensor(0)?, self.args.tensor(1)?);
        let shape = Shape::broadcast(a.sizes(), b.sizes())?;
        let mut out = output(self.args, self.out, shape.sizes(), &[a, b])?;
        let dtype = out.view().dtype()?;
        can_cast(self.result, dtype)?;
        let order = out.view().dim_order();
        let same = |t: TensorRef<'_>| t.sizes() == shape.sizes() && t.dim_order() == order;
        let rows = if same(a) && same(b) {
            // One run in memory order, whatever the order is.
            Rows::flat(a.numel())
        } else {
            crate::op::contiguous(out.view(), "the output of a broadcast")?;
            Rows::new(&shape, [a, b])
        };
        let (target, dtype) = writable(&mut out)?;
        let size = dtype.size();
        let alpha = self.alpha.map(C::of);
        let (a, b) = (Source::of(a)?, Source::of(b)?);
        if target.is_empty() {
            return Ok(());
        }
        let mut blocks = Blocks::<C>::new();
        let mut runs = target.chunks_mut((rows.length * size).max(1));
        rows.each(|[start_a, start_b]| {
            let Some(run) = runs.next() else { return Ok(()) };
            for (i, part) in run.chunks_mut(BLOCK * size).enumerate() {
                let n = part.len() / size;
                let at = |start: usize, step: usize| start + step * i * BLOCK;
                blocks.fill(0, &a, at(start_a, rows.steps[0]), rows.steps[0], n);
                blocks.fill(1, &b, at(start_b, rows.steps[1]), rows.steps[1], n);
                blocks.compute(self.op, alpha, n)?;
                store(blocks.result.get(..n).unwrap_or_default(), dtype, part);
            }
            Ok(())
        })
    }
}

/// Two operands and a result, a block at a time.
struct Blocks<C> {
    operands: [[C; BLOCK]; 2],
    result: [C; BLOCK],
}

impl<C: Compute> Blocks<C> {
    fn new() -> Self {
        Self { operands: [[C::default(); BLOCK]; 2], result: [C::default(); BLOCK] }
    }

    fn fill(&mut self, operand: usize, from: &Source<'_>, at: usize, step: usize, n: usize) {
        let block = self.operands[operand].get_mut(..n).unwrap_or_default();
        if step == 1 { from.load(at, block) } else { block.fill(from.get(at)) }
    }

    fn compute(&mut self, op: Binary, alpha: Option<C>, n: usize) -> Result<()> {
        let [a, b] = &mut self.operands;
        let (a, b) = (a.get(..n).unwrap_or_default(), b.get_mut(..n).unwrap_or_default());
        if let Some(alpha) = alpha {
            binary(Binary::Mul, Arg::Out, Arg::Scalar(alpha), b).map_err(|e| bad(e.to_string()))?;
        }
        let result = self.result.get_mut(..n).unwrap_or_default();
        binary(op, Arg::Slice(a), Arg::Slice(b), result).map_err(|e| bad(e.to_string()))
    }
}

/// A function of each element; integers give the default float where the function is not closed over them.
fn function(args: &Args<'_>, op: Unary) -> Result<()> {
    let input = args.tensor(0)?;
    let dtype = input.dtype()?;
    let closed = matches!(op, Unary::Relu | Unary::Neg);
    if closed && !is_float(dtype) {
        return integers(args, op);
    }
    let result = if is_float(dtype) { dtype } else { Dtype::Float32 };
    match result {
        Dtype::Float64 => real::<f64>(args, op, result),
        _ => real::<f32>(args, op, result),
    }
}

fn real<C: Element + executorch_simd::Float>(args: &Args<'_>, op: Unary, result: Dtype) -> Result<()> {
    map::<C>(args, result, |block| {
        executorch_simd::unary_in_place(op, block);
    })
}

fn integers(args: &Args<'_>, op: Unary) -> Result<()> {
    let dtype = args.tensor(0)?.dtype()?;
    if dtype == Dtype::Bool {
        return Err(bad("expected a tensor of numbers, found bool"));
    }
    map::<i64>(args, dtype, |block| {
        for value in block {
            *value = if op == Unary::Neg { value.wrapping_neg() } else { (*value).max(0) };
        }
    })
}

/// Applies `body` to blocks of the input, in memory order, and stores what it leaves there.
fn map<C: Element>(args: &Args<'_>, result: Dtype, body: impl Fn(&mut [C])) -> Result<()> {
    let input = args.tensor(0)?;
    let mut out = output(args, 1, input.sizes(), &[input])?;
    let dtype = out.view().dtype()?;
    can_cast(result, dtype)?;
    if out.view().dim_order() != input.dim_order() {
        return Err(bad(format!(
            "the input has the dim order {:?}, the output {:?}; they should be one",
            input.dim_order(),
            out.view().dim_order()
        )));
    }
    let (target, dtype) = writable(&mut out)?;
    let from = Source::of(input)?;
    let mut block = [C::default(); BLOCK];
    for (i, part) in target.chunks_mut(BLOCK * dtype.size()).enumerate() {
        let block = block.get_mut(..part.len() / dtype.size()).unwrap_or_default();
        from.load(i * BLOCK, block);
        body(block);
        store(block, dtype, part);
    }
    Ok(())
}
