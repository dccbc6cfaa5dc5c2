//! The engine of all element-wise operators: broadcasting, mixed dtypes, any dim orders, threads.
//!
//! An operator says how its result and its computation are typed and which [`Function`] it is; [`run`] does the rest.
//! Where inputs, computation and output are of one type, whole rows go straight to the vectorised loops of
//! `executorch-simd`; otherwise blocks that stay in the first-level cache are converted to the type of the computation
//! and back. So there is one copy of this code for each of the five types of computation, not one for each set of
//! dtypes.

use crate::elements::{Source, items, items_mut, store, writable};
use crate::function::{Compute, Cost, Function, tests, values};
use crate::number::{can_cast, is_float};
use crate::op::{bad, output};
use crate::pool::split_mut;
use crate::shape::{Layout, Rows, Shape, Walk};
use executorch_abi::{Args, Dtype, Result, Scalar, TensorMut, TensorRef};
use executorch_simd::Arg;

/// The most inputs of a function.
const MOST: usize = 3;
/// Elements that are converted at a time: a first-level cache holds the blocks of all operands.
const BLOCK: usize = 512;
/// Outputs no longer than this use blocks of this size, which cost less to make.
const SMALL: usize = 64;
/// Rows that are shorter are computed many at a time, and what they repeat is spread in blocks.
const SHORT: usize = 256;

/// An input of an element-wise operator.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(TensorRef<'a>),
    /// A part of a tensor: sizes within the tensor's, and where its first element is.
    Part(TensorRef<'a>, &'a Shape, usize),
    /// One number.
    Number(Scalar),
}

impl<'a> From<TensorRef<'a>> for Operand<'a> {
    fn from(tensor: TensorRef<'a>) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a> From<Scalar> for Operand<'a> {
    fn from(number: Scalar) -> Self {
        Self::Number(number)
    }
}

impl<'a> Operand<'a> {
    fn tensor(&self) -> Option<TensorRef<'a>> {
        match *self {
            Self::Tensor(tensor) | Self::Part(tensor, ..) => Some(tensor),
            Self::Number(_) => None,
        }
    }

    fn layout(&self) -> Layout<'a> {
        match *self {
            Self::Tensor(tensor) => Layout::of(tensor),
            Self::Part(tensor, shape, start) => {
                Layout { sizes: shape.sizes(), strides: tensor.strides(), start }
            }
            Self::Number(_) => Layout::default(),
        }
    }
}

/// The dtypes of a call.
#[derive(Debug, Clone, Copy)]
pub struct Types {
    /// The dtype that the computation stands for: it is made in f64 for float64, in f32 for other floating-point
    /// dtypes, in i32 for int32, in u8 for uint8 and (mostly) bool, and in i64 for other integers, where wrapping and
    /// cutting off later gives what wrapping at once does.
    pub compute: Dtype,
    /// The dtype of the result, which the output has to be able to hold.
    pub result: Dtype,
}

impl From<Dtype> for Types {
    fn from(dtype: Dtype) -> Self {
        Self { compute: dtype, result: dtype }
    }
}

/// Computes a function of one to three inputs, broadcast to one shape, into the output at argument `out`.
pub fn run(
    args: &Args<'_>,
    out: usize,
    inputs: &[Operand<'_>],
    types: impl Into<Types>,
    function: Function,
) -> Result<()> {
    run_typed(args, out, inputs, types.into(), function)
}

fn run_typed(
    args: &Args<'_>,
    out: usize,
    inputs: &[Operand<'_>],
    types: Types,
    function: Function,
) -> Result<()> {
    let mut tensors = inputs.iter().filter_map(Operand::tensor);
    let first = tensors.next().ok_or_else(|| bad("an element-wise operator needs a tensor"))?;
    let mut known = [first; MOST];
    known.iter_mut().skip(1).zip(tensors).for_each(|(known, tensor)| *known = tensor);
    let mut layouts = [Layout::default(); MOST];
    layouts.iter_mut().zip(inputs).for_each(|(layout, input)| *layout = input.layout());
    let shape = broadcast(&layouts)?;
    let mut out = output(args, out, shape.sizes(), &known)?;
    can_cast(types.result, out.view().dtype()?)?;
    if out.view().numel() == 0 {
        return Ok(());
    }
    match types.compute {
        Dtype::Float64 => compute::<f64>(&mut out, inputs, layouts, function),
        dtype if is_float(dtype) => compute::<f32>(&mut out, inputs, layouts, function),
        Dtype::Int32 if fits::<i32>(inputs) => compute::<i32>(&mut out, inputs, layouts, function),
        Dtype::UInt8 if fits::<u8>(inputs) => compute::<u8>(&mut out, inputs, layouts, function),
        Dtype::Bool if function.is_logical() => compute::<u8>(&mut out, inputs, layouts, function),
        _ => compute::<i64>(&mut out, inputs, layouts, function),
    }
}

fn compute<C: Compute>(
    out: &mut TensorMut<'_>,
    inputs: &[Operand<'_>],
    layouts: [Layout<'_>; MOST],
    function: Function,
) -> Result<()> {
    let view = out.view();
    let is_flat = inputs.iter().all(|input| match input {
        Operand::Tensor(t) => t.sizes() == view.sizes() && t.dim_order() == view.dim_order(),
        Operand::Part(..) => false,
        Operand::Number(_) => true,
    });
    if !is_flat {
        return job::<C>(out, inputs, &Rows::new(view.sizes(), view.dim_order(), layouts), function);
    }
    if small::<C>(out, inputs, function)? {
        return Ok(());
    }
    // One run in memory order, whatever the order is.
    let rows = Rows::flat(out.view().numel());
    job::<C>(out, inputs, &rows, function)
}

/// The most frequent call: tensors of one shape and type, too small to be worth splitting. True if it was one.
fn small<C: Compute>(out: &mut TensorMut<'_>, inputs: &[Operand<'_>], function: Function) -> Result<bool> {
    let fits = out.view().numel() <= grain::<C>(function) * BLOCK && out.view().dtype()? == C::DTYPE;
    if !fits || function.is_test() || function.needs_slices() {
        return Ok(false);
    }
    let mut args = [Arg::Scalar(C::default()); MOST];
    for (arg, input) in args.iter_mut().zip(inputs) {
        *arg = match *input {
            Operand::Number(number) => Arg::Scalar(C::of(number)),
            Operand::Tensor(tensor) if tensor.dtype()? == C::DTYPE => Arg::Slice(items(tensor)?),
            _ => return Ok(false),
        };
    }
    values(function, args, items_mut(out)?)?;
    Ok(true)
}

/// Blocks that are worth a thread of their own.
fn grain<C: Compute>(function: Function) -> usize {
    match function.cost(C::IS_F32) {
        Cost::Access => 64,
        Cost::Series => 16,
        Cost::Call => 2,
    }
}

/// Whether all numbers among the inputs are ones of a type.
fn fits<C: Compute + Into<i64>>(inputs: &[Operand<'_>]) -> bool {
    inputs.iter().all(|input| match *input {
        Operand::Number(number) => C::of(number).into() == number.to_i64(),
        _ => true,
    })
}

fn broadcast(layouts: &[Layout<'_>; MOST]) -> Result<Shape> {
    let [a, b, c] = layouts.map(|l| l.sizes);
    let shape = if a == b { Shape::new(a)? } else { Shape::broadcast(a, b)? };
    if c.is_empty() || c == shape.sizes() { Ok(shape) } else { Shape::broadcast(shape.sizes(), c) }
}

/// Where the values of an operand come from.
#[derive(Clone, Copy)]
enum Values<'a, C> {
    One(C),
    Direct(&'a [C]),
    Convert(Source<'a>),
}

impl<'a, C: Compute> Values<'a, C> {
    fn of(input: &Operand<'a>) -> Result<Self> {
        let tensor = match *input {
            Operand::Number(number) => return Ok(Self::One(C::of(number))),
            Operand::Tensor(tensor) | Operand::Part(tensor, ..) => tensor,
        };
        if tensor.numel() == 1 {
            return Ok(Self::One(Source::of(tensor)?.get(0)));
        }
        if tensor.dtype()? == C::DTYPE {
            return Ok(Self::Direct(items(tensor)?));
        }
        Ok(Self::Convert(Source::of(tensor)?))
    }

    /// The `n` values from `at` on as an operand, in `block` where they have to be converted or gathered, or a single
    /// one to be `spread`.
    fn arg<'b>(&self, at: usize, step: usize, spread: bool, block: &'b mut [C], n: usize) -> Arg<'b, C>
    where
        'a: 'b,
    {
        match (*self, step) {
            (Self::One(value), _) if !spread => Arg::Scalar(value),
            (Self::Direct(data), 1) => Arg::Slice(&data[at..at + n]),
            (Self::Direct(data), 0) if !spread => Arg::Scalar(data[at]),
            (Self::Convert(source), 0) if !spread => Arg::Scalar(source.get(at)),
            _ => {
                let block = &mut block[..n];
                self.fill(at, step, block);
                Arg::Slice(block)
            }
        }
    }

    /// Writes the values from `at` on to a part of a block.
    fn fill(&self, at: usize, step: usize, to: &mut [C]) {
        match (*self, step) {
            (Self::One(value), _) => to.fill(value),
            (Self::Direct(data), 1) => to.copy_from_slice(&data[at..at + to.len()]),
            (Self::Direct(data), 0) => to.fill(data[at]),
            (Self::Direct(data), step) => {
                for (to, from) in to.iter_mut().zip(data[at..].iter().step_by(step)) {
                    *to = *from;
                }
            }
            (Self::Convert(source), 1) => source.load(at, to),
            (Self::Convert(source), 0) => to.fill(source.get(at)),
            (Self::Convert(source), step) => source.gather(at, step, to),
        }
    }

    fn is_direct(&self, step: usize) -> bool {
        match self {
            Self::One(_) => true,
            Self::Direct(_) => step <= 1,
            Self::Convert(_) => false,
        }
    }
}

/// How rows that are computed many at a time read an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// From its start to its end.
    Linear,
    /// The same elements for every row.
    Repeated,
    /// Some other way.
    Any,
}

/// A call in one type of computation.
struct Job<'a, C> {
    operands: [Values<'a, C>; MOST],
    orders: [Order; MOST],
    /// How many operands the function has.
    count: usize,
    rows: &'a Rows<MOST>,
    function: Function,
    dtype: Dtype,
    /// Whether the results are of the output's type.
    writes_directly: bool,
    /// Whether there are many rows and they are short.
    short: bool,
    /// Whether operands are converted or gathered, or results converted.
    needs_blocks: bool,
}

fn job<'a, C: Compute>(
    out: &mut TensorMut<'_>,
    inputs: &[Operand<'a>],
    rows: &'a Rows<MOST>,
    function: Function,
) -> Result<()> {
    let (target, dtype) = writable(out)?;
    let mut operands = [Values::One(C::default()); MOST];
    let mut orders = [Order::Repeated; MOST];
    let short = rows.length < SHORT && rows.count() > 1;
    for (i, input) in inputs.iter().enumerate().take(MOST) {
        operands[i] = Values::of(input)?;
        orders[i] = match rows.repeats(i) {
            true => Order::Repeated,
            false if rows.is_linear(i) => Order::Linear,
            false => Order::Any,
        };
    }
    let writes_directly = if function.is_test() { dtype.size() == 1 } else { dtype == C::DTYPE };
    let mut used = operands.iter().zip(rows.steps).take(inputs.len());
    let needs_blocks = !writes_directly
        || short
        || function.needs_slices()
        || !used.all(|(operand, step)| operand.is_direct(step));
    let count = inputs.len();
    let job = Job { operands, orders, count, rows, function, dtype, writes_directly, short, needs_blocks };
    let failure = std::sync::OnceLock::new();
    let small = target.len() <= SMALL * dtype.size();
    split_mut(target, BLOCK * dtype.size(), grain::<C>(function), |block, part| {
        let done = if !job.needs_blocks {
            job.part(block * BLOCK, part, [&mut [], &mut [], &mut [], &mut []])
        } else if small {
            job.part_with_blocks::<SMALL>(block * BLOCK, part)
        } else {
            job.part_with_blocks::<BLOCK>(block * BLOCK, part)
        };
        if let Err(error) = done {
            // The first error is as good as any other.
            let _ = failure.set(error);
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

impl<C: Compute> Job<'_, C> {
    fn part_with_blocks<const N: usize>(&self, at: usize, part: &mut [u8]) -> Result<()> {
        let mut blocks = [[C::default(); N]; MOST + 1];
        let [a, b, c, y] = &mut blocks;
        self.part(at, part, [a, b, c, y])
    }

    /// Computes the part of the output that begins at element `at`, with blocks for the operands and the result.
    fn part(&self, at: usize, mut part: &mut [u8], [a, b, c, y]: [&mut [C]; MOST + 1]) -> Result<()> {
        let (size, length) = (self.dtype.size(), self.rows.length);
        let limit = if self.needs_blocks { y.len() } else { usize::MAX };
        let mut walk = self.rows.walk(at);
        let mut at = at;
        // Whether the blocks hold what repeated operands have for whole rows.
        let mut repeated = false;
        while !part.is_empty() {
            let most = limit.min(part.len() / size);
            let whole_rows = self.short && walk.left() == length && most > length;
            let n = if whole_rows { most / length * length } else { most.min(walk.left()) };
            let (piece, rest) = part.split_at_mut(n * size);
            let args = if whole_rows {
                self.gather(&mut walk, n, [&mut *a, &mut *b, &mut *c], repeated);
                repeated = true;
                [self.spread(0, at, n, a), self.spread(1, at, n, b), self.spread(2, at, n, c)]
            } else {
                repeated = false;
                let args = [
                    self.arg(0, &walk, at, n, a),
                    self.arg(1, &walk, at, n, b),
                    self.arg(2, &walk, at, n, c),
                ];
                walk.advance(n);
                args
            };
            self.compute(args, piece, y)?;
            at += n;
            part = rest;
        }
        Ok(())
    }

    /// The next `n` values of operand `i`, within a row.
    fn arg<'b>(
        &'b self,
        i: usize,
        walk: &Walk<'_, MOST>,
        at: usize,
        n: usize,
        block: &'b mut [C],
    ) -> Arg<'b, C> {
        let spread = self.function.needs_slices() && i < self.count;
        let place = if self.orders[i] == Order::Linear { self.rows.start(i) + at } else { walk.at(i) };
        self.operands[i].arg(place, self.rows.steps[i], spread, block, n)
    }

    /// The next `n` values of operand `i`, over whole rows; [`Job::gather`] has filled the block if they are not linear.
    fn spread<'b>(&'b self, i: usize, at: usize, n: usize, block: &'b mut [C]) -> Arg<'b, C> {
        match (self.operands[i], self.orders[i]) {
            (Values::One(value), _) if !self.function.needs_slices() => Arg::Scalar(value),
            (operand, Order::Linear) => operand.arg(self.rows.start(i) + at, 1, false, block, n),
            _ => Arg::Slice(&block[..n]),
        }
    }

    /// Fills blocks with the next `n` values, over whole rows, of the operands that are not linear. Those that repeat
    /// may be there from an earlier call.
    fn gather(&self, walk: &mut Walk<'_, MOST>, n: usize, mut blocks: [&mut [C]; MOST], has_repeated: bool) {
        let needed = self.orders.map(|order| match order {
            Order::Linear => false,
            Order::Repeated => !has_repeated,
            Order::Any => true,
        });
        let needed: [bool; MOST] = std::array::from_fn(|i| needed[i] && i < self.count);
        // Where only linear and repeated operands are left, every row begins at the same place as the first.
        if needed == [false; MOST] {
            return;
        }
        for done in (0..n).step_by(self.rows.length) {
            for (i, block) in blocks.iter_mut().enumerate() {
                if needed[i] {
                    let row = &mut block[done..done + self.rows.length];
                    self.operands[i].fill(walk.at(i), self.rows.steps[i], row);
                }
            }
            walk.advance(self.rows.length);
        }
    }

    fn compute(&self, args: [Arg<'_, C>; MOST], piece: &mut [u8], block: &mut [C]) -> Result<()> {
        let n = piece.len() / self.dtype.size();
        match (self.function.is_test(), self.writes_directly) {
            (true, true) => tests(self.function, args, piece),
            (true, false) => {
                let y = &mut bytemuck::cast_slice_mut::<C, u8>(block)[..n];
                tests(self.function, args, y);
                store::<u8>(y, self.dtype, piece);
            }
            (false, true) => values(self.function, args, bytemuck::cast_slice_mut(piece))?,
            (false, false) => {
                let y = &mut block[..n];
                values(self.function, args, y)?;
                store(y, self.dtype, piece);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
