//! Sums, means, products, extremes and logical reductions over lists of dimensions.

use crate::elements::{Half, Item, Source, items, plain};
use crate::number::is_float;
use crate::op::{Context, Table, bad, entry, output};
use crate::ops::complex::is_complex;
use crate::reduction::{Dims, Reduction, Runs, Target, reduce, reduce_to};
use crate::with_item;
use executorch_abi::{Args, Dtype, Result, TensorRef};
use executorch_simd::{Accumulator, Bool8, Element, Extreme, Logical, Sum, convert, extreme, logical, sum};
use std::marker::PhantomData;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::sum.IntList_out", c"TlBi>T", |c, a| total_of_list(c, a, Total::Sum)),
    entry(c"aten::mean.out", c"TlBi>T", |c, a| total_of_list(c, a, Total::Mean)),
    entry(c"aten::mean.dtype_out", c"Ti>T", |c, a| total_of_all(c, a, Total::Mean)),
    entry(c"aten::prod.out", c"Ti>T", |c, a| total_of_all(c, a, Total::Product)),
    entry(c"aten::prod.int_out", c"TIBi>T", product_of_one),
    entry(c"aten::amax.out", c"TLB>T", |c, a| extremes_of_list(c, a, Extreme::Max)),
    entry(c"aten::amin.out", c"TLB>T", |c, a| extremes_of_list(c, a, Extreme::Min)),
    entry(c"aten::max.unary_out", c"T>T", |c, a| extreme_of_all(c, a, Extreme::Max)),
    entry(c"aten::min.unary_out", c"T>T", |c, a| extreme_of_all(c, a, Extreme::Min)),
    entry(c"aten::any.out", c"TIB>T", any_of_one),
    entry(c"aten::any.all_out", c"T>T", any_of_all),
    entry(c"aten::any.dims_out", c"TlB>T", any_of_list),
]);

/// What is reduced, and to where.
struct Call<'a> {
    input: TensorRef<'a>,
    dims: Dims,
    keep: bool,
    out: usize,
}

impl<'a> Call<'a> {
    /// A call over a list of dimensions (argument 1; none or an empty list means all), with the keepdim flag after it.
    fn list(args: &Args<'a>, out: usize) -> Result<Self> {
        let input = args.tensor(0)?;
        let dims = Dims::listed_or_all(args.optional_ints(1)?, input.rank())?;
        Ok(Self { input, dims, keep: args.bool(2)?, out })
    }

    /// A call over one dimension (argument 1), with the keepdim flag after it.
    fn one(args: &Args<'a>, out: usize) -> Result<Self> {
        let input = args.tensor(0)?;
        Ok(Self { input, dims: Dims::one(args.int(1)?, input.rank())?, keep: args.bool(2)?, out })
    }

    /// A call over all dimensions.
    fn all(args: &Args<'a>, out: usize) -> Result<Self> {
        let input = args.tensor(0)?;
        Ok(Self { input, dims: Dims::all(input.rank()), keep: false, out })
    }

    fn target(&self, args: &Args<'a>) -> Result<(Target<'a>, Dtype)> {
        let shape = self.dims.shape(self.input.sizes(), self.keep)?;
        let out = output(args, self.out, shape.sizes(), &[self.input])?;
        let dtype = out.view().dtype()?;
        Ok((Target::new(out, self.input, self.dims), dtype))
    }

    fn runs(&self) -> Runs {
        Runs::of(self.input, self.dims, 1)
    }

    fn count(&self) -> usize {
        self.dims.count(self.input.sizes())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Total {
    Sum,
    Mean,
    Product,
}

fn total_of_list(context: &mut Context, args: &Args<'_>, op: Total) -> Result<()> {
    total(context, args, Call::list(args, 4)?, args.optional_int(3)?, op)
}

fn total_of_all(context: &mut Context, args: &Args<'_>, op: Total) -> Result<()> {
    total(context, args, Call::all(args, 2)?, args.optional_int(1)?, op)
}

fn product_of_one(context: &mut Context, args: &Args<'_>) -> Result<()> {
    total(context, args, Call::one(args, 4)?, args.optional_int(3)?, Total::Product)
}

/// The type that elements are converted to before they are summed; none if their own will do. PyTorch converts to the
/// result's type; sums are equal as long as the accumulator holds every element and sum exactly enough.
fn converted_to(op: Total, from: Dtype, to: Dtype) -> Option<Dtype> {
    let exact = !is_float(from) && from != Dtype::Int64 && op == Total::Sum;
    match (is_float(from), is_float(to)) {
        (true, true) => (to == Dtype::Float64 && from != to).then_some(Dtype::Float64),
        (false, true) => (!exact).then_some(Dtype::Float64),
        (_, false) if to == Dtype::Bool => (from != to).then_some(Dtype::Bool),
        (true, false) => Some(Dtype::Int64),
        (false, false) => None,
    }
}

fn total(
    context: &mut Context,
    args: &Args<'_>,
    call: Call<'_>,
    dtype: Option<i64>,
    op: Total,
) -> Result<()> {
    let (target, to) = call.target(args)?;
    if let Some(asked) = dtype
        && asked != i64::from(to as i8)
    {
        return Err(bad(format!("the dtype argument is {asked}, but the output is {to} ({})", to as i8)));
    }
    let from = call.input.dtype()?;
    if is_complex(from) {
        return complex(context, call, target, [from, to], op);
    }
    if op == Total::Mean && !is_float(to) {
        return Err(bad(format!("a mean is a float, but the output is {to}; give a floating-point dtype")));
    }
    let source = Source::of(call.input)?;
    let n = call.input.numel();
    let job = Job { runs: call.runs(), target, op, count: call.count() };
    match converted_to(op, from, to) {
        None => with_item!(from, any T => job.run::<T>(context, items(call.input)?)),
        Some(Dtype::Int64) => job.run_converted::<i64>(context, source, n),
        Some(Dtype::Bool) => job.run_converted::<Bool8>(context, source, n),
        Some(_) => job.run_converted::<f64>(context, source, n),
    }
}

/// Sums of complex numbers: two sums side by side.
fn complex(
    context: &mut Context,
    call: Call<'_>,
    target: Target<'_>,
    [from, to]: [Dtype; 2],
    op: Total,
) -> Result<()> {
    if op != Total::Sum || from != to {
        return Err(bad(format!(
            "complex numbers can only be summed, to their own type; found {from} to {to}"
        )));
    }
    let runs = Runs::of(call.input, call.dims, 2);
    match from {
        Dtype::Complex32 => complex_sum::<Half>(context, runs, call.input, target),
        Dtype::Complex64 => complex_sum::<f32>(context, runs, call.input, target),
        _ => complex_sum::<f64>(context, runs, call.input, target),
    }
}

fn complex_sum<T: Item<Acc: Item>>(
    context: &mut Context,
    runs: Runs,
    input: TensorRef<'_>,
    mut target: Target<'_>,
) -> Result<()> {
    let out = target.plain::<T>()?;
    let (results, none) = (context.scratch(out.len())?, context.scratch(out.len())?);
    let sums = Sums { op: Sum::Sum, item: PhantomData::<T> };
    reduce(context, runs, &sums, plain(input)?, results, none)?;
    convert(results, out);
    Ok(())
}

struct Job<'a> {
    runs: Runs,
    target: Target<'a>,
    op: Total,
    count: usize,
}

impl Job<'_> {
    fn run_converted<T: Item<Acc: Item>>(
        self,
        context: &mut Context,
        source: Source<'_>,
        count: usize,
    ) -> Result<()> {
        let x = context.scratch::<T>(count)?;
        source.load(0, x);
        self.run::<T>(context, x)
    }

    fn run<T: Item<Acc: Item>>(self, context: &mut Context, x: &[T]) -> Result<()> {
        let op = if self.op == Total::Product { Sum::Product } else { Sum::Sum };
        let sums = Sums { op, item: PhantomData::<T> };
        let divisor = (self.op == Total::Mean).then_some(self.count as f64);
        reduce_to(context, self.runs, &sums, x, self.target, |results| {
            let Some(divisor) = divisor else { return };
            for value in results {
                *value = (value.cast::<f64>() / divisor).cast();
            }
        })
    }
}

/// Sums or products.
struct Sums<T> {
    op: Sum,
    item: PhantomData<T>,
}

impl<T: Item<Acc: Item>> Reduction for Sums<T> {
    type Item = T;
    type First = T::Acc;
    type Second = ();

    fn fold(&self, x: &[T], shape: [usize; 3], a: &mut [T::Acc], _: &mut [()]) {
        sum(self.op, x, shape, a);
    }

    fn merge(&self, a: &mut T::Acc, _: &mut (), (more, ()): (T::Acc, ()), _: [usize; 2]) {
        *a = if self.op == Sum::Product { a.times(more) } else { a.plus(more) };
    }
}

fn extremes_of_list(context: &mut Context, args: &Args<'_>, op: Extreme) -> Result<()> {
    extremes(context, args, Call::list(args, 3)?, op)
}

fn extreme_of_all(context: &mut Context, args: &Args<'_>, op: Extreme) -> Result<()> {
    extremes(context, args, Call::all(args, 1)?, op)
}

fn extremes(context: &mut Context, args: &Args<'_>, call: Call<'_>, op: Extreme) -> Result<()> {
    let (target, to) = call.target(args)?;
    let dtype = call.input.dtype()?;
    if dtype != to {
        return Err(bad(format!("the output is {to}, expected the input's dtype, {dtype}")));
    }
    let runs = call.runs();
    if call.count() == 0 && runs.outputs() != 0 {
        return Err(bad(format!(
            "nothing has no extreme: the reduced dimensions of {:?} are empty",
            call.input.sizes()
        )));
    }
    with_item!(dtype, any T => {
        reduce_to(context, runs, &Extremes { op, item: PhantomData::<T> }, items(call.input)?, target, |_| ())
    })
}

struct Extremes<T> {
    op: Extreme,
    item: PhantomData<T>,
}

impl<T: Item> Reduction for Extremes<T> {
    type Item = T;
    type First = T;
    type Second = ();

    fn fold(&self, x: &[T], shape: [usize; 3], a: &mut [T], _: &mut [()]) {
        extreme(self.op, x, shape, a);
    }

    #[allow(clippy::eq_op, reason = "the one test for NaN that integers have too")]
    fn merge(&self, a: &mut T, _: &mut (), (more, ()): (T, ()), _: [usize; 2]) {
        let better = if self.op == Extreme::Max { more > *a } else { more < *a };
        if better || more != more {
            *a = more;
        }
    }
}

fn any_of_one(context: &mut Context, args: &Args<'_>) -> Result<()> {
    any(context, args, Call::one(args, 3)?)
}

fn any_of_all(context: &mut Context, args: &Args<'_>) -> Result<()> {
    any(context, args, Call::all(args, 1)?)
}

fn any_of_list(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let mut call = Call::list(args, 3)?;
    // Unlike the other reductions, an empty list reduces nothing.
    if let Some(list) = args.optional_ints(1)? {
        call.dims = Dims::listed(list, call.input.rank())?;
    }
    any(context, args, call)
}

fn any(context: &mut Context, args: &Args<'_>, call: Call<'_>) -> Result<()> {
    let (target, to) = call.target(args)?;
    if !matches!(to, Dtype::Bool | Dtype::UInt8) {
        return Err(bad(format!("the output is {to}, expected bool or uint8")));
    }
    with_item!(call.input.dtype()?, any T => {
        reduce_to(context, call.runs(), &Any(PhantomData::<T>), items(call.input)?, target, |_| ())
    })
}

struct Any<T>(PhantomData<T>);

impl<T: Item> Reduction for Any<T> {
    type Item = T;
    type First = Bool8;
    type Second = ();

    fn fold(&self, x: &[T], shape: [usize; 3], a: &mut [Bool8], _: &mut [()]) {
        logical(Logical::Any, x, shape, bytemuck::cast_slice_mut(a));
    }

    fn merge(&self, a: &mut Bool8, _: &mut (), (more, ()): (Bool8, ()), _: [usize; 2]) {
        a.0 |= more.0;
    }
}
