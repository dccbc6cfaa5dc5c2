//! Reductions. Shapes are `[outer, reduce, inner]`: the input is contiguous, the middle dimension is reduced, and the
//! output is `[outer, inner]`. A contiguous row is `[1, n, 1]`.

use crate::element::{Accumulator, Element};
use crate::fold::{Fold, fold, fold_row};
use crate::isa::{Kernel, Level, dispatch};
use crate::real::Real;

/// Reductions whose result is an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sum {
    /// Σ x
    Sum,
    /// Π x
    Product,
    /// Σ x²
    Squares,
}

/// The greatest or the least element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The greatest.
    Max,
    /// The least.
    Min,
}

/// Logical reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logical {
    /// Whether one or more elements differ from 0.
    Any,
    /// Whether no element is 0.
    All,
}

fn check<T>(x: &[T], [outer, reduce, inner]: [usize; 3], out: usize) {
    assert_eq!(
        Some(x.len()),
        outer.checked_mul(reduce).and_then(|n| n.checked_mul(inner)),
        "input and shape differ"
    );
    assert_eq!(Some(out), outer.checked_mul(inner), "output and shape differ");
}

/// Sums, products or sums of squares over the middle dimension. f16 and bf16 are summed in f32, integers in i64
/// (wrapping). f32 sums are made in many lanes, whose totals are added in f64.
///
/// # Panics
/// If the slices do not fit the shape.
pub fn sum<T: Element>(op: Sum, x: &[T], shape: [usize; 3], out: &mut [T::Acc]) {
    check(x, shape, out.len());
    match op {
        Sum::Sum => fold(x, shape, Add, |i, wide| out[i] = T::Acc::narrow(wide)),
        Sum::Squares => fold(x, shape, AddSquares, |i, wide| out[i] = T::Acc::narrow(wide)),
        Sum::Product => fold(x, shape, Multiply, |i, wide| out[i] = wide),
    }
}

/// The greatest or least elements over the middle dimension; NaN if there is one; of nothing, the least or greatest
/// value of the type.
///
/// # Panics
/// If the slices do not fit the shape.
pub fn extreme<T: Element>(op: Extreme, x: &[T], shape: [usize; 3], out: &mut [T]) {
    check(x, shape, out.len());
    match op {
        Extreme::Max => fold(x, shape, Greatest, |i, wide| out[i] = wide),
        Extreme::Min => fold(x, shape, Least, |i, wide| out[i] = wide),
    }
}

/// The index of the first greatest or least element over the middle dimension; of the first NaN if there is one; 0 of
/// nothing.
///
/// # Panics
/// If the slices do not fit the shape.
pub fn arg_extreme<T: Element>(op: Extreme, x: &[T], shape: [usize; 3], out: &mut [i64]) {
    check(x, shape, out.len());
    let [outer, reduce, inner] = shape;
    if inner == 1 {
        for (o, out) in out.iter_mut().enumerate() {
            let row = &x[o * reduce..(o + 1) * reduce];
            let best = match op {
                Extreme::Max => fold_row(row, Greatest),
                Extreme::Min => fold_row(row, Least),
            };
            let found = row.iter().position(|&v| v == best || (is_nan(best) && is_nan(v)));
            *out = found.unwrap_or(0) as i64;
        }
        return;
    }
    for o in 0..outer {
        let x = &x[o * reduce * inner..(o + 1) * reduce * inner];
        let out = &mut out[o * inner..(o + 1) * inner];
        out.fill(0);
        for (r, row) in x.chunks(inner.max(1)).enumerate() {
            for (i, (&v, out)) in row.iter().zip(out.iter_mut()).enumerate() {
                let best = x[*out as usize * inner + i];
                let better = match op {
                    Extreme::Max => v > best,
                    Extreme::Min => v < best,
                };
                if better || (is_nan(v) && !is_nan(best)) {
                    *out = r as i64;
                }
            }
        }
    }
}

/// Whether any element, or all elements, over the middle dimension differ from 0, as 0 or 1.
///
/// # Panics
/// If the slices do not fit the shape.
pub fn logical<T: Element>(op: Logical, x: &[T], shape: [usize; 3], out: &mut [u8]) {
    check(x, shape, out.len());
    match op {
        Logical::Any => fold(x, shape, Any, |i, wide| out[i] = wide),
        Logical::All => fold(x, shape, All, |i, wide| out[i] = wide),
    }
}

/// The mean over the middle dimension, and the sum of the squares of the distances from it, both without cancellation
/// (two passes over the data). Variance is the latter divided by `reduce`, or by `reduce - 1`. Of nothing, both are
/// NaN and 0.
///
/// # Panics
/// If the slices do not fit the shape.
pub fn moments<T: Element>(x: &[T], shape: [usize; 3], mean: &mut [f64], squares: &mut [f64])
where
    T::Acc: Real,
{
    check(x, shape, mean.len());
    check(x, shape, squares.len());
    let [outer, reduce, inner] = shape;
    fold(x, shape, Add, |i, wide| mean[i] = T::Acc::narrow(wide).cast::<f64>() / reduce as f64);
    if inner == 1 {
        for o in 0..outer {
            let row = &x[o * reduce..(o + 1) * reduce];
            let distance = fold_row(row, AddDistances(T::Acc::of_f64(mean[o])));
            squares[o] = T::Acc::narrow(distance).cast();
        }
        return;
    }
    squares.fill(0.0);
    for o in 0..outer {
        let out = o * inner..(o + 1) * inner;
        for row in x[o * reduce * inner..(o + 1) * reduce * inner].chunks(inner.max(1)) {
            for ((&v, &mean), squares) in row.iter().zip(&mean[out.clone()]).zip(&mut squares[out.clone()]) {
                let distance = v.acc().cast::<f64>() - mean;
                *squares += distance * distance;
            }
        }
    }
}

/// Σ a b, in the accumulator's type.
///
/// # Panics
/// If the slices differ in length.
pub fn dot<T: Element>(a: &[T], b: &[T]) -> T::Acc {
    assert_eq!(a.len(), b.len(), "operands differ in length");
    let mut total = <T::Acc as Accumulator>::Wide::default();
    for (a, b) in a.chunks(DOT_BLOCK).zip(b.chunks(DOT_BLOCK)) {
        total = dispatch(Dot { a, b }).add_to(total);
    }
    T::Acc::narrow(total)
}

/// Elements of a dot product that are summed without widening.
const DOT_BLOCK: usize = 16 * 1024;

struct Dot<'a, T> {
    a: &'a [T],
    b: &'a [T],
}

impl<T: Element> Kernel for Dot<'_, T> {
    type Output = T::Acc;

    #[inline(always)]
    fn run<L: Level>(self) -> T::Acc {
        const LANES: usize = 64;
        let mut acc = [T::Acc::default(); LANES];
        let (a_chunks, a_rest) = self.a.as_chunks::<LANES>();
        let (b_chunks, b_rest) = self.b.as_chunks::<LANES>();
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            for j in 0..LANES {
                acc[j] = a[j].acc().times_plus::<L>(b[j].acc(), acc[j]);
            }
        }
        for ((acc, a), b) in acc.iter_mut().zip(a_rest).zip(b_rest) {
            *acc = a.acc().times_plus::<L>(b.acc(), *acc);
        }
        let mut width = LANES / 2;
        while width > 0 {
            for j in 0..width {
                acc[j] = acc[j].plus(acc[j + width]);
            }
            width /= 2;
        }
        acc[0]
    }
}

#[inline(always)]
#[allow(clippy::eq_op, reason = "the one test for NaN that integers have too")]
fn is_nan<T: PartialEq>(v: T) -> bool {
    v != v
}

/// One fold: its accumulators and its five functions.
macro_rules! fold {
    ($name:ident, $acc:ty => $wide:ty, start: $start:expr, |$a:ident, $x:ident| $step:expr,
     merge: $merge:expr, start_wide: $start_wide:expr, widen: $widen:expr) => {
        impl<T: Element> Fold<T> for $name {
            type Acc = $acc;
            type Wide = $wide;
            #[inline(always)]
            fn start(self) -> $acc {
                $start
            }
            #[inline(always)]
            fn step<L: Level>(self, $a: $acc, $x: T) -> $acc {
                $step
            }
            #[inline(always)]
            fn merge(self, $a: $acc, $x: $acc) -> $acc {
                $merge
            }
            #[inline(always)]
            fn start_wide(self) -> $wide {
                $start_wide
            }
            #[inline(always)]
            fn widen(self, $a: $wide, $x: $acc) -> $wide {
                $widen
            }
        }
    };
}

#[derive(Clone, Copy)]
pub(crate) struct Add;
#[derive(Clone, Copy)]
struct AddSquares;
/// The squares of the distances from the value.
#[derive(Clone, Copy)]
pub(crate) struct AddDistances<A>(pub(crate) A);
#[derive(Clone, Copy)]
struct Multiply;
#[derive(Clone, Copy)]
struct Greatest;
#[derive(Clone, Copy)]
struct Least;
#[derive(Clone, Copy)]
struct Any;
#[derive(Clone, Copy)]
struct All;

type Wide<T> = <<T as Element>::Acc as Accumulator>::Wide;
fold!(Add, T::Acc => Wide<T>, start: T::Acc::default(), |a, x| a.plus(x.acc()), merge: a.plus(x),
    start_wide: Wide::<T>::default(), widen: x.add_to(a));
fold!(AddSquares, T::Acc => Wide<T>, start: T::Acc::default(), |a, x| x.acc().times_plus::<L>(x.acc(), a), merge: a.plus(x),
    start_wide: Wide::<T>::default(), widen: x.add_to(a));
fold!(Multiply, T::Acc => T::Acc, start: T::Acc::ONE, |a, x| a.times(x.acc()), merge: a.times(x),
    start_wide: T::Acc::ONE, widen: a.times(x));
fold!(Greatest, T => T, start: T::LOWEST, |a, x| greater(a, x), merge: greater(a, x), start_wide: T::LOWEST,
    widen: greater(a, x));
fold!(Least, T => T, start: T::HIGHEST, |a, x| less(a, x), merge: less(a, x), start_wide: T::HIGHEST, widen: less(a, x));
fold!(Any, u8 => u8, start: 0, |a, x| a | u8::from(x.is_true()), merge: a | x, start_wide: 0, widen: a | x);
fold!(All, u8 => u8, start: 1, |a, x| a & u8::from(x.is_true()), merge: a & x, start_wide: 1, widen: a & x);

impl<T: Element> Fold<T> for AddDistances<T::Acc>
where
    T::Acc: Real,
{
    type Acc = T::Acc;
    type Wide = Wide<T>;
    #[inline(always)]
    fn start(self) -> T::Acc {
        T::Acc::default()
    }
    #[inline(always)]
    fn step<L: Level>(self, acc: T::Acc, x: T) -> T::Acc {
        let distance = x.acc() - self.0;
        acc + distance * distance
    }
    #[inline(always)]
    fn merge(self, a: T::Acc, b: T::Acc) -> T::Acc {
        a + b
    }
    #[inline(always)]
    fn start_wide(self) -> Wide<T> {
        Wide::<T>::default()
    }
    #[inline(always)]
    fn widen(self, wide: Wide<T>, acc: T::Acc) -> Wide<T> {
        acc.add_to(wide)
    }
}

/// The greater one; NaN if either is NaN.
#[inline(always)]
fn greater<T: Element>(a: T, x: T) -> T {
    let larger = if x > a { x } else { a };
    if is_nan(x) { x } else { larger }
}

/// The lesser one; NaN if either is NaN.
#[inline(always)]
fn less<T: Element>(a: T, x: T) -> T {
    let smaller = if x < a { x } else { a };
    if is_nan(x) { x } else { smaller }
}
