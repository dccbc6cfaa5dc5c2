//! Elements at the places that an index tensor names along one dimension.

use super::convert::transfer;
use super::fill::Stored;
use super::layout::same_dtype;
use super::selection::Indices;
use crate::elements::{Item, plain, plain_mut};
use crate::op::{Context, Table, bad, contiguous, entry, output};
use crate::pool::split_mut;
use crate::shape::{dimension, within};
use crate::strided::{Dim, View, offset_of};
use crate::with_item;
use executorch_abi::{Args, Result, TensorMut, TensorRef};
use executorch_simd::{Accumulator, Element};
use std::sync::OnceLock;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::gather.out", c"TITB>T", gather),
    entry(c"aten::scatter.src_out", c"TITT>T", scatter),
    entry(c"aten::scatter.value_out", c"TITS>T", scatter_value),
    entry(c"aten::scatter_add.out", c"TITT>T", scatter_add),
]);

/// Elements that a thread gathers at least.
const GRAIN: usize = 1 << 13;

/// The places of a tensor that an index tensor names along a dimension, one for each of the index's elements.
struct Places<'a> {
    indices: Indices<'a>,
    /// The index's dimensions but the last, with the tensor's steps; the step of `dim` is 0.
    outer: View,
    /// The last dimension, likewise.
    inner: Dim,
    /// The dimension that the index stands in for.
    along: Dim,
}

impl<'a> Places<'a> {
    /// Checks an index tensor against a tensor; a tensor without dimensions counts as one with one element.
    fn new(tensor: TensorRef<'_>, dim: i64, index: TensorRef<'a>) -> Result<Self> {
        let at = dimension(dim, tensor.rank())?;
        let fits = |(d, (&i, &t)): (usize, (&i32, &i32))| d == at || i <= t;
        let ranks = index.rank().max(1) == tensor.rank().max(1);
        if !ranks || !index.sizes().iter().zip(tensor.sizes()).enumerate().all(fits) {
            let (i, t) = (index.sizes(), tensor.sizes());
            return Err(bad(format!(
                "an index of sizes {i:?} should not exceed {t:?} but in dimension {at}"
            )));
        }
        contiguous(index, "the index")?;
        let one = Dim { size: 1, step: 1 };
        let along = View::of(tensor).dims().get(at).copied().unwrap_or(one);
        let mut places = View::point();
        for (d, &size) in index.sizes().iter().enumerate() {
            let own = View::of(tensor).dims().get(d).copied().unwrap_or(one);
            places =
                places.insert(d, Dim { size: size as usize, step: if d == at { 0 } else { own.step } })?;
        }
        let inner = places.dims().last().copied().unwrap_or(Dim { size: 1, step: 0 });
        let outer = if index.rank() > 0 { places.remove(index.rank() - 1)? } else { places };
        Ok(Self { indices: Indices::of(index)?, outer, inner, along })
    }

    /// Calls `body` with the place and the item of each element from number `first` on, the first of a row.
    fn each<T>(
        &self,
        first: usize,
        items: impl Iterator<Item = T>,
        mut body: impl FnMut(usize, T),
    ) -> Result<()> {
        let length = self.inner.size.max(1);
        let (mut row, mut column, mut base) = (first / length, 0, 0);
        for (i, item) in items.enumerate() {
            if column == 0 {
                base = offset_of(self.outer.dims(), row);
            }
            let valid = within(self.indices.get(first + i), self.along.size)?;
            let place = base + column as isize * self.inner.step + valid as isize * self.along.step;
            body(place as usize, item);
            column += 1;
            if column == length {
                (column, row) = (0, row + 1);
            }
        }
        Ok(())
    }
}

fn gather(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, index) = (args.tensor(0)?, args.tensor(2)?);
    let places = Places::new(input, args.int(1)?, index)?;
    let mut out = output(args, 4, index.sizes(), &[input, index])?;
    same_dtype(&out, input)?;
    contiguous(out.view(), "the output")?;
    let (from, to) = (input.bytes()?, out.bytes()?);
    match input.dtype()?.size() {
        1 => gather_units::<1>(&places, from, to),
        2 => gather_units::<2>(&places, from, to),
        4 => gather_units::<4>(&places, from, to),
        8 => gather_units::<8>(&places, from, to),
        _ => gather_units::<16>(&places, from, to),
    }
}

fn gather_units<const N: usize>(places: &Places<'_>, from: &[u8], to: &mut [u8]) -> Result<()> {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    let failed = OnceLock::new();
    let row = places.inner.size.max(1);
    split_mut(to, row, GRAIN.div_ceil(row), |first, part| {
        if let Err(error) = places.each(first * row, part.iter_mut(), |at, to| *to = from[at]) {
            failed.get_or_init(|| error);
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}

/// The output as a copy of the input, and the places that the index names in it.
fn begin<'a>(
    context: &mut Context,
    args: &Args<'a>,
    others: &[TensorRef<'_>],
) -> Result<(TensorMut<'a>, Places<'a>)> {
    let (input, index) = (args.tensor(0)?, args.tensor(2)?);
    let mut out = output(args, 4, input.sizes(), &[input, index])?;
    crate::op::apart(&out, others)?;
    same_dtype(&out, input)?;
    transfer(context, &mut out, input)?;
    let places = Places::new(out.view(), args.int(1)?, index)?;
    Ok((out, places))
}

/// The places of a source's elements that the elements of an index stand for.
fn source_places<'a>(
    source: TensorRef<'a>,
    index: TensorRef<'_>,
) -> Result<impl Iterator<Item = usize> + 'a> {
    let fits = source.rank().max(1) == index.rank().max(1)
        && index.sizes().iter().zip(source.sizes()).all(|(i, s)| i <= s);
    if !fits {
        let (i, s) = (index.sizes(), source.sizes());
        return Err(bad(format!("an index of sizes {i:?} should not exceed the source's {s:?}")));
    }
    let mut view = View::of(source);
    for (d, &size) in index.sizes().iter().enumerate().take(source.rank()) {
        view = view.narrow(d, 0, size as usize)?;
    }
    let in_order = source.is_contiguous() && source.sizes() == index.sizes();
    Ok((0..index.numel()).map(move |i| if in_order { i } else { offset_of(view.dims(), i) as usize }))
}

fn expect_dtype(out: &TensorMut<'_>, source: TensorRef<'_>) -> Result<()> {
    let (dtype, found) = (out.view().dtype()?, source.dtype()?);
    if dtype == found {
        return Ok(());
    }
    Err(bad(format!("the source is {found}, the input {dtype}; they should be one")))
}

fn scatter(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (index, source) = (args.tensor(2)?, args.tensor(3)?);
    let (mut out, places) = begin(context, args, &[source])?;
    expect_dtype(&out, source)?;
    let size = source.dtype()?.size();
    let (from, to) = (source.bytes()?, out.bytes()?);
    places.each(0, source_places(source, index)?, |at, from_at| {
        to[at * size..][..size].copy_from_slice(&from[from_at * size..][..size]);
    })
}

fn scatter_value(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (mut out, places) = begin(context, args, &[])?;
    let value = Stored::new(args.scalar(3)?, out.view().dtype()?)?;
    let (to, size) = (out.bytes()?, value.bytes().len());
    places.each(0, 0..args.tensor(2)?.numel(), |at, _| to[at * size..][..size].copy_from_slice(value.bytes()))
}

fn scatter_add(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (index, source) = (args.tensor(2)?, args.tensor(3)?);
    let (mut out, places) = begin(context, args, &[source])?;
    expect_dtype(&out, source)?;
    with_item!(source.dtype()?, any T => add::<T>(&places, &mut out, source, index))
}

fn add<T: Item>(
    places: &Places<'_>,
    out: &mut TensorMut<'_>,
    source: TensorRef<'_>,
    index: TensorRef<'_>,
) -> Result<()> {
    let (from, to) = (plain::<T>(source)?, plain_mut::<T>(out)?);
    places.each(0, source_places(source, index)?, |at, from_at| {
        to[at] = to[at].acc().plus(from[from_at].acc()).cast();
    })
}
