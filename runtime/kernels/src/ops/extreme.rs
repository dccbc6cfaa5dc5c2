//! Extremes with their places.

use crate::elements::{Item, items};
use crate::op::{Context, Table, bad, entry, output};
use crate::reduction::{Dims, Reduction, Runs, Target, reduce};
use crate::with_item;
use executorch_abi::{Args, Dtype, Result, TensorRef};
use executorch_simd::{Extreme, arg_extreme};
use std::marker::PhantomData;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::max.dim_max", c"TIB>TT", |c, a| along(c, a, Extreme::Max)),
    entry(c"aten::min.dim_min", c"TIB>TT", |c, a| along(c, a, Extreme::Min)),
    entry(c"aten::argmax.out", c"TiB>T", |c, a| place(c, a, Extreme::Max)),
    entry(c"aten::argmin.out", c"TiB>T", |c, a| place(c, a, Extreme::Min)),
]);

/// The first place of the extreme, and the extreme.
struct Best<T> {
    op: Extreme,
    item: PhantomData<T>,
}

impl<T: Item> Reduction for Best<T> {
    type Item = T;
    type First = i64;
    type Second = T;

    fn fold(&self, x: &[T], shape: [usize; 3], places: &mut [i64], values: &mut [T]) {
        arg_extreme(self.op, x, shape, places);
        let [_, reduce, inner] = shape;
        let outputs = places.chunks(inner).zip(values.chunks_mut(inner));
        for (x, (places, values)) in x.chunks(reduce * inner).zip(outputs) {
            for (i, (&place, value)) in places.iter().zip(values).enumerate() {
                *value = x[place as usize * inner + i];
            }
        }
    }

    #[allow(clippy::eq_op, reason = "the one test for NaN that integers have too")]
    fn merge(&self, place: &mut i64, value: &mut T, more: (i64, T), [done, _]: [usize; 2]) {
        let better = if self.op == Extreme::Max { more.1 > *value } else { more.1 < *value };
        let is_nan = |v: T| v != v;
        if better || (is_nan(more.1) && !is_nan(*value)) {
            (*place, *value) = (done as i64 + more.0, more.1);
        }
    }
}

/// Finds the extremes over some dimensions, in the order of the runs.
fn best<T: Item>(
    context: &mut Context,
    op: Extreme,
    input: TensorRef<'_>,
    dims: Dims,
    places: &mut [i64],
    values: &mut [T],
) -> Result<()> {
    if dims.count(input.sizes()) == 0 && !places.is_empty() {
        return Err(bad(format!(
            "nothing has no extreme: the reduced dimensions of {:?} are empty",
            input.sizes()
        )));
    }
    if places.is_empty() {
        return Ok(());
    }
    let reduction = Best { op, item: PhantomData::<T> };
    reduce(context, Runs::of(input, dims, 1), &reduction, items::<T>(input)?, places, values)
}

fn along(context: &mut Context, args: &Args<'_>, op: Extreme) -> Result<()> {
    let input = args.tensor(0)?;
    let dims = Dims::one(args.int(1)?, input.rank())?;
    let shape = dims.shape(input.sizes(), args.bool(2)?)?;
    let dtype = input.dtype()?;
    let expected = [dtype, Dtype::Int64];
    let mut targets = [3, 4].map(|index| -> Result<Target<'_>> {
        let out = output(args, index, shape.sizes(), &[input])?;
        let (found, expected) = (out.view().dtype()?, expected[index - 3]);
        if found != expected {
            return Err(bad(format!("output {} is {found}, expected {expected}", index - 3)));
        }
        Ok(Target::new(out, input, dims))
    });
    let [values, places] = &mut targets;
    let (values, places) = (values.as_mut().map_err(|e| e.clone())?, places.as_mut().map_err(|e| e.clone())?);
    let count = shape.sizes().iter().map(|&s| s as usize).product::<usize>();
    with_item!(dtype, any T => {
        let (direct_values, direct_places) = (values.direct::<T>()?, places.direct::<i64>()?);
        if let (Some(v), Some(p)) = (direct_values, direct_places) {
            return best(context, op, input, dims, p, v);
        }
        let (v, p) = (context.scratch::<T>(count)?, context.scratch::<i64>(count)?);
        best(context, op, input, dims, p, v)?;
        values.store(v)?;
        places.store(p)
    })
}

fn place(context: &mut Context, args: &Args<'_>, op: Extreme) -> Result<()> {
    let input = args.tensor(0)?;
    let dim = args.optional_int(1)?;
    let dims = match dim {
        Some(dim) => Dims::one(dim, input.rank())?,
        None => Dims::all(input.rank()),
    };
    let shape = dims.shape(input.sizes(), args.bool(2)?)?;
    let out = output(args, 3, shape.sizes(), &[input])?;
    let found = out.view().dtype()?;
    if found != Dtype::Int64 {
        return Err(bad(format!("the output is {found}, expected int64")));
    }
    let mut target = Target::new(out, input, dims);
    let count = shape.sizes().iter().map(|&s| s as usize).product::<usize>();
    with_item!(input.dtype()?, number T => {
        let values = context.scratch::<T>(count)?;
        let places = context.scratch::<i64>(count)?;
        best(context, op, input, dims, places, values)?;
        if let (None, [place], [value], false) = (dim, &mut *places, &*values, input.is_contiguous()) {
            *place = first_in_order(input, items::<T>(input)?, *value);
        }
        target.store(places)
    })
}

/// The first place of a value in the order of the dimensions, in a tensor whose memory has another order.
#[allow(clippy::eq_op, reason = "the one test for NaN that integers have too")]
fn first_in_order<T: Item>(input: TensorRef<'_>, x: &[T], value: T) -> i64 {
    let equal = |&v: &T| v == value || (v != v && value != value);
    let matches = x.iter().enumerate().filter(|(_, v)| equal(v));
    let place = |at: usize| {
        let of_dim = |d: usize| {
            let (size, stride) = (input.sizes()[d] as usize, input.strides()[d].max(1) as usize);
            (at / stride % size.max(1), size)
        };
        (0..input.rank()).map(of_dim).fold(0, |place, (index, size)| place * size + index)
    };
    matches.map(|(at, _)| place(at)).min().unwrap_or(0) as i64
}
