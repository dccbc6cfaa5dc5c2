//! Reductions over any dimensions of a dense tensor, in whichever order its memory is.
//!
//! In memory order, the dimensions of a tensor fall into runs that are kept or reduced. The innermost reduced run is
//! reduced straight from memory, as the middle of `[outer, reduce, inner]`; the results of further runs are merged.

use crate::elements::{Item, items_mut, plain_mut, store, writable};
use crate::op::{Context, bad};
use crate::pool::{ProcessPool, split_two_mut};
use crate::shape::{Shape, dimension};
use bytemuck::Pod;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Result, TensorMut, TensorRef};
use executorch_gemm::Pool;
use executorch_simd::Element;
use std::ops::Range;

/// Elements that are worth a task of their own where the work is little more than reading them.
pub const GRAIN: usize = 32 * 1024;
/// Elements of a part of a long reduction; fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 64 * 1024;

/// A set of a tensor's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dims {
    mask: u32,
    rank: usize,
}

impl Dims {
    /// All of them.
    pub fn all(rank: usize) -> Self {
        Self { mask: (1 << rank) - 1, rank }
    }

    /// One, which may count from the end.
    pub fn one(dim: i64, rank: usize) -> Result<Self> {
        let dim = dimension(dim, rank)?;
        Ok(Self { mask: (1 << dim) & Self::all(rank).mask, rank })
    }

    /// Those of a list, each at most once.
    pub fn listed(list: &[i64], rank: usize) -> Result<Self> {
        let mut seen = 0_u32;
        for &dim in list {
            let bit = 1 << dimension(dim, rank)?;
            if seen & bit != 0 {
                return Err(bad(format!("the list of dimensions {list:?} names {dim} twice")));
            }
            seen |= bit;
        }
        Ok(Self { mask: seen & Self::all(rank).mask, rank })
    }

    /// Those of a list, or all if there is none or an empty one.
    pub fn listed_or_all(list: Option<&[i64]>, rank: usize) -> Result<Self> {
        match list {
            None | Some([]) => Ok(Self::all(rank)),
            Some(list) => Self::listed(list, rank),
        }
    }

    /// Those of a range.
    pub fn range(dims: Range<usize>, rank: usize) -> Self {
        Self { mask: Self::all(dims.end).mask & !Self::all(dims.start).mask, rank }
    }

    /// All but these.
    pub fn others(self) -> Self {
        Self { mask: Self::all(self.rank).mask & !self.mask, ..self }
    }

    /// Whether a dimension is one of them.
    pub fn contains(&self, dim: usize) -> bool {
        self.mask >> dim & 1 != 0
    }

    /// How many elements each result is made of.
    pub fn count(&self, sizes: &[i32]) -> usize {
        sizes.iter().enumerate().filter(|(d, _)| self.contains(*d)).map(|(_, &s)| s as usize).product()
    }

    /// The shape of the results; with `keep`, the reduced dimensions stay, with one element each.
    pub fn shape(&self, sizes: &[i32], keep: bool) -> Result<Shape> {
        let (mut left, mut rank) = ([0; ET_MAX_RANK], 0);
        for (d, &size) in sizes.iter().enumerate() {
            let reduced = self.contains(d);
            if let Some(place) = left.get_mut(rank).filter(|_| keep || !reduced) {
                *place = if reduced { 1 } else { size };
                rank += 1;
            }
        }
        Shape::new(left.get(..rank).unwrap_or_default())
    }
}

/// The runs of kept and reduced dimensions of a tensor, outermost in memory first.
#[derive(Debug, Clone, Copy)]
pub struct Runs {
    sizes: [usize; ET_MAX_RANK + 1],
    reduced: [bool; ET_MAX_RANK + 1],
    length: usize,
}

impl Runs {
    /// The runs of a tensor whose elements are `width` numbers each (two for complex ones).
    pub fn of(tensor: TensorRef<'_>, dims: Dims, width: usize) -> Self {
        let mut runs = Self { sizes: [1; _], reduced: [false; _], length: 0 };
        for &d in tensor.dim_order() {
            let size = tensor.sizes().get(usize::from(d)).copied().unwrap_or(1);
            runs.push(size as usize, dims.contains(d.into()));
        }
        runs.push(width, false);
        runs
    }

    /// Rows that are reduced to one result each.
    pub fn rows(rows: usize, length: usize) -> Self {
        let mut runs = Self { sizes: [1; _], reduced: [false; _], length: 0 };
        runs.push(rows, false);
        runs.push(length, true);
        runs
    }

    fn push(&mut self, size: usize, reduced: bool) {
        if size == 1 {
            return;
        }
        match self.length.checked_sub(1).filter(|&last| self.reduced[last] == reduced) {
            Some(last) => self.sizes[last] *= size,
            None => {
                (self.sizes[self.length], self.reduced[self.length]) = (size, reduced);
                self.length += 1;
            }
        }
    }

    /// The innermost reduced run as the middle dimension (of one element if there is none), and the runs without it.
    fn split(mut self) -> ([usize; 3], Self) {
        let inner = match self.length.checked_sub(1).filter(|&last| !self.reduced[last]) {
            Some(last) => {
                self.length = last;
                self.sizes[last]
            }
            None => 1,
        };
        let reduce = match self.length.checked_sub(1) {
            Some(last) => {
                self.length = last;
                self.sizes[last]
            }
            None => 1,
        };
        let outer = self.sizes.iter().take(self.length).product();
        self.push(inner, false);
        ([outer, reduce, inner], self)
    }

    fn is_reduced(&self) -> bool {
        self.reduced.iter().take(self.length).any(|&r| r)
    }

    /// `[outer, reduce, inner]`, if no more than one run is reduced.
    pub fn middle(self) -> Option<[usize; 3]> {
        let (shape, rest) = self.split();
        (!rest.is_reduced()).then_some(shape)
    }

    /// The number of results.
    pub fn outputs(&self) -> usize {
        self.sizes.iter().zip(&self.reduced).take(self.length).filter(|(_, r)| !**r).map(|(s, _)| s).product()
    }
}

/// How elements are reduced. Results may be pairs; those that are not have `()` for the second part.
pub trait Reduction: Sync {
    /// The elements.
    type Item: Element;
    /// The first part of a result.
    type First: Pod + Send + Sync;
    /// The second part of a result.
    type Second: Pod + Send + Sync;

    /// Reduces the middle of three dimensions.
    fn fold(&self, x: &[Self::Item], shape: [usize; 3], a: &mut [Self::First], b: &mut [Self::Second]);

    /// Adds the result of `more` elements to that of the `done` elements before them.
    fn merge(
        &self,
        a: &mut Self::First,
        b: &mut Self::Second,
        more: (Self::First, Self::Second),
        counts: [usize; 2],
    );
}

/// Reduces `x`, whose memory `runs` describes. The results come in the order of the kept dimensions in memory.
pub fn reduce<R: Reduction>(
    context: &mut Context,
    runs: Runs,
    reduction: &R,
    x: &[R::Item],
    a: &mut [R::First],
    b: &mut [R::Second],
) -> Result<()> {
    let (shape, mut rest) = runs.split();
    if !rest.is_reduced() {
        return middle(context, reduction, x, shape, a, b);
    }
    let [outer, mut done, inner] = shape;
    let (mut from_a, mut from_b) = scratch::<R>(context, outer * inner)?;
    middle(context, reduction, x, shape, from_a, from_b)?;
    loop {
        let (shape, after) = rest.split();
        if !after.is_reduced() {
            merge_middle(reduction, (from_a, from_b), shape, done, (a, b));
            return Ok(());
        }
        let (to_a, to_b) = scratch::<R>(context, shape[0] * shape[2])?;
        merge_middle(reduction, (from_a, from_b), shape, done, (to_a, to_b));
        (from_a, from_b, rest) = (to_a, to_b, after);
        done *= shape[1];
    }
}

type Parts<R> = (&'static mut [<R as Reduction>::First], &'static mut [<R as Reduction>::Second]);

fn scratch<R: Reduction>(context: &mut Context, count: usize) -> Result<Parts<R>> {
    Ok((context.scratch(count)?, context.scratch(count)?))
}

/// Merges the middle of three dimensions of results of `each` elements.
fn merge_middle<R: Reduction>(
    reduction: &R,
    from: (&[R::First], &[R::Second]),
    [_, reduce, inner]: [usize; 3],
    each: usize,
    to: (&mut [R::First], &mut [R::Second]),
) {
    if inner == 0 || reduce == 0 {
        return;
    }
    let slabs = from.0.chunks(reduce * inner).zip(from.1.chunks(reduce * inner));
    for ((a, b), (from_a, from_b)) in to.0.chunks_mut(inner).zip(to.1.chunks_mut(inner)).zip(slabs) {
        for (r, (more_a, more_b)) in from_a.chunks(inner).zip(from_b.chunks(inner)).enumerate() {
            if r == 0 {
                a.copy_from_slice(more_a);
                b.copy_from_slice(more_b);
                continue;
            }
            for ((a, b), more) in
                a.iter_mut().zip(b.iter_mut()).zip(more_a.iter().copied().zip(more_b.iter().copied()))
            {
                reduction.merge(a, b, more, [r * each, each]);
            }
        }
    }
}

fn middle<R: Reduction>(
    context: &mut Context,
    reduction: &R,
    x: &[R::Item],
    shape: [usize; 3],
    a: &mut [R::First],
    b: &mut [R::Second],
) -> Result<()> {
    let [outer, reduce, inner] = shape;
    let slab = reduce * inner;
    if x.len() < 2 * GRAIN {
        reduction.fold(x, shape, a, b);
        return Ok(());
    }
    // Few long columns are cut into parts along the reduced dimension.
    let rows = CHUNK.div_ceil(inner).max(16);
    if outer < 4 && reduce >= 2 * rows {
        let parts = reduce.div_ceil(rows);
        let (part_a, part_b) = scratch::<R>(context, parts * inner)?;
        for (o, (a, b)) in a.chunks_mut(inner).zip(b.chunks_mut(inner)).enumerate() {
            let x = &x[o * slab..(o + 1) * slab];
            split_two_mut(part_a, inner, part_b, inner, 1, |first, a, b| {
                for (i, (a, b)) in a.chunks_mut(inner).zip(b.chunks_mut(inner)).enumerate() {
                    let begin = (first + i) * rows;
                    let end = reduce.min(begin + rows);
                    reduction.fold(&x[begin * inner..end * inner], [1, end - begin, inner], a, b);
                }
            });
            a.copy_from_slice(&part_a[..inner]);
            b.copy_from_slice(&part_b[..inner]);
            for part in 1..parts {
                let more = part_a[part * inner..].iter().copied().zip(part_b[part * inner..].iter().copied());
                let count = rows.min(reduce - part * rows);
                for ((a, b), more) in a.iter_mut().zip(b.iter_mut()).zip(more) {
                    reduction.merge(a, b, more, [part * rows, count]);
                }
            }
        }
        return Ok(());
    }
    split_two_mut(a, inner, b, inner, (GRAIN / slab.max(1)).max(1), |first, a, b| {
        let count = a.len() / inner.max(1);
        reduction.fold(&x[first * slab..(first + count) * slab], [count, reduce, inner], a, b);
    });
    Ok(())
}

/// Where results go: a tensor whose kept dimensions may be in another order than those that were reduced from.
pub struct Target<'a> {
    out: TensorMut<'a>,
    /// The sizes of the kept dimensions in the order of the results, and their steps in the output; none if the
    /// results have the output's order.
    places: Option<([usize; ET_MAX_RANK], [usize; ET_MAX_RANK], usize)>,
}

impl<'a> Target<'a> {
    /// An output that has the shape of the results of reducing `dims` of `input`.
    pub fn new(out: TensorMut<'a>, input: TensorRef<'_>, dims: Dims) -> Self {
        let view = out.view();
        let keeps = view.rank() == input.rank();
        let (mut sizes, mut steps, mut rank) = ([1; ET_MAX_RANK], [0; ET_MAX_RANK], 0);
        for &d in input.dim_order() {
            let d = usize::from(d);
            if dims.contains(d) {
                continue;
            }
            let own = if keeps { d } else { (0..d).filter(|&e| !dims.contains(e)).count() };
            let size = view.sizes().get(own).copied().unwrap_or(1) as usize;
            if let (Some(s), Some(step), true) = (sizes.get_mut(rank), steps.get_mut(rank), size != 1) {
                (*s, *step) = (size, view.strides().get(own).copied().unwrap_or(1) as usize);
                rank += 1;
            }
        }
        let mut expected = 1;
        let in_order = (0..rank).rev().all(|i| {
            let fits = steps[i] == expected;
            expected *= sizes[i];
            fits
        });
        Self { out, places: (!in_order && expected > 0).then_some((sizes, steps, rank)) }
    }

    /// The output's elements, if they are of this type and in the order of the results.
    pub fn direct<T: Item>(&mut self) -> Result<Option<&'a mut [T]>> {
        if self.places.is_some() || self.out.view().dtype()? != T::DTYPE {
            return Ok(None);
        }
        items_mut(&mut self.out).map(Some)
    }

    /// The output's memory as numbers, for results that are made of several; an error if their order is another.
    pub fn plain<T: Pod>(&mut self) -> Result<&'a mut [T]> {
        if self.places.is_some() {
            return Err(bad("the output's dim order should be the input's"));
        }
        plain_mut(&mut self.out)
    }

    /// Converts results to the output's type and stores them.
    pub fn store<C: Element>(&mut self, values: &[C]) -> Result<()> {
        let (target, dtype) = writable(&mut self.out)?;
        let Some((sizes, steps, rank)) = &self.places else {
            store(values, dtype, target);
            return Ok(());
        };
        let size = dtype.size();
        let mut at = [0_usize; ET_MAX_RANK];
        let mut place = 0;
        for value in values {
            store(
                std::slice::from_ref(value),
                dtype,
                target.get_mut(place * size..(place + 1) * size).unwrap_or_default(),
            );
            for d in (0..*rank).rev() {
                at[d] += 1;
                place += steps[d];
                if at[d] < sizes[d] {
                    break;
                }
                place -= steps[d] * sizes[d];
                at[d] = 0;
            }
        }
        Ok(())
    }
}

/// Reduces to one value each, which `finish` may change, and stores them.
pub fn reduce_to<R: Reduction<First: Item, Second = ()>>(
    context: &mut Context,
    runs: Runs,
    reduction: &R,
    x: &[R::Item],
    mut target: Target<'_>,
    finish: impl FnOnce(&mut [R::First]),
) -> Result<()> {
    let count = runs.outputs();
    if let Some(out) = target.direct::<R::First>()? {
        let none = context.scratch(count)?;
        reduce(context, runs, reduction, x, out, none)?;
        finish(out);
        return Ok(());
    }
    let (results, none) = scratch::<R>(context, count)?;
    reduce(context, runs, reduction, x, results, none)?;
    finish(results);
    target.store(results)
}

/// Calls `body` on the pool's threads with parts of a slice of `out`, whole units (of `unit` elements) each, and with
/// scratch of `length` values that each part has to itself. A part is of `grain` units or more.
pub fn split_with_scratch<T: Send, C: Pod + Send>(
    context: &mut Context,
    out: &mut [T],
    unit: usize,
    grain: usize,
    length: usize,
    body: impl Fn(usize, &mut [T], &mut [C]) + Sync,
) -> Result<()> {
    let units = out.len() / unit.max(1);
    if units == 0 {
        return Ok(());
    }
    let lots = (units / grain.max(1)).clamp(1, 4 * ProcessPool::now().threads());
    let each = units.div_ceil(lots);
    let lots = units.div_ceil(each);
    let scratch = context.scratch::<C>(lots * length)?;
    split_two_mut(out, each * unit, scratch, length, 1, |first, part, scratch| {
        let mut at = first * each;
        for (i, part) in part.chunks_mut(each * unit).enumerate() {
            body(at, part, &mut scratch[i * length..(i + 1) * length]);
            at += each;
        }
    });
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
