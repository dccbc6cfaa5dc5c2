//! The loops that element-wise operations share: a function of one or two elements becomes a function of slices.

use crate::isa::{Baseline, Kernel, Level, dispatch, dispatch_narrow};

/// An operand of an element-wise function.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a, T> {
    /// One element per output element; the lengths have to be equal.
    Slice(&'a [T]),
    /// The same value for every output element.
    Scalar(T),
    /// What the output slice holds before the call: the operation works in place.
    Out,
}

impl<'a, T> From<&'a [T]> for Arg<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        Arg::Slice(slice)
    }
}

/// Parameters of an operation; most use none of them.
pub(crate) type Params<T> = [T; 3];
/// A loop over one operand. The slices have equal lengths and do not overlap.
pub(crate) type Loop1<S, D> = fn(&[S], &mut [D], Params<S>);
/// A loop over two operands. The slices have equal lengths and do not overlap.
pub(crate) type Loop2<S, D> = fn(&[S], &[S], &mut [D], Params<S>);

/// A function of one element.
pub(crate) trait Map1<S, D = S> {
    /// Whether some arguments need [`Map1::slow`].
    const HAS_RARE: bool = false;
    /// The vectorisable function.
    fn apply<L: Level>(x: S, p: Params<S>) -> D;
    /// Whether `apply` is wrong for `x`.
    #[inline(always)]
    fn is_rare(_x: S) -> bool {
        false
    }
    /// The function for rare arguments.
    #[inline(always)]
    fn slow(x: S, p: Params<S>) -> D {
        Self::apply::<Baseline>(x, p)
    }
}

/// A function of two elements.
pub(crate) trait Map2<S, D = S> {
    /// Whether some arguments need [`Map2::slow`].
    const HAS_RARE: bool = false;
    /// The vectorisable function.
    fn apply<L: Level>(a: S, b: S, p: Params<S>) -> D;
    /// Whether `apply` is wrong for the arguments.
    #[inline(always)]
    fn is_rare(_a: S, _b: S) -> bool {
        false
    }
    /// The function for rare arguments.
    #[inline(always)]
    fn slow(a: S, b: S, p: Params<S>) -> D {
        Self::apply::<Baseline>(a, b, p)
    }
}

struct Run1<'a, S, D, F> {
    x: &'a [S],
    y: &'a mut [D],
    p: Params<S>,
    f: std::marker::PhantomData<F>,
}

impl<S: Copy, D: Copy, F: Map1<S, D>> Kernel for Run1<'_, S, D, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self) {
        let Self { x, y, p, .. } = self;
        for (y, &x) in y.iter_mut().zip(x) {
            *y = F::apply::<L>(x, p);
        }
        if F::HAS_RARE && x.iter().fold(false, |any, &x| any | F::is_rare(x)) {
            for (y, &x) in y.iter_mut().zip(x) {
                if F::is_rare(x) {
                    *y = F::slow(x, p);
                }
            }
        }
    }
}

struct Run2<'a, S, D, F> {
    a: &'a [S],
    b: &'a [S],
    y: &'a mut [D],
    p: Params<S>,
    f: std::marker::PhantomData<F>,
}

impl<S: Copy, D: Copy, F: Map2<S, D>> Kernel for Run2<'_, S, D, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self) {
        let Self { a, b, y, p, .. } = self;
        for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
            *y = F::apply::<L>(a, b, p);
        }
        if F::HAS_RARE && a.iter().zip(b).fold(false, |any, (&a, &b)| any | F::is_rare(a, b)) {
            for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
                if F::is_rare(a, b) {
                    *y = F::slow(a, b, p);
                }
            }
        }
    }
}

/// The loop of `F`, compiled for every level.
pub(crate) fn wide1<S: Copy, D: Copy, F: Map1<S, D>>(x: &[S], y: &mut [D], p: Params<S>) {
    dispatch(Run1::<S, D, F> { x, y, p, f: std::marker::PhantomData });
}

/// The loop of `F`, compiled for every level but AVX-512.
pub(crate) fn narrow1<S: Copy, D: Copy, F: Map1<S, D>>(x: &[S], y: &mut [D], p: Params<S>) {
    dispatch_narrow(Run1::<S, D, F> { x, y, p, f: std::marker::PhantomData });
}

/// The loop of `F`, one element at a time: for functions that are calls into the C library.
pub(crate) fn plain1<S: Copy, D: Copy, F: Map1<S, D>>(x: &[S], y: &mut [D], p: Params<S>) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = F::slow(x, p);
    }
}

/// The loop of `F`, compiled for every level.
pub(crate) fn wide2<S: Copy, D: Copy, F: Map2<S, D>>(a: &[S], b: &[S], y: &mut [D], p: Params<S>) {
    dispatch(Run2::<S, D, F> { a, b, y, p, f: std::marker::PhantomData });
}

/// The loop of `F`, compiled for every level but AVX-512.
pub(crate) fn narrow2<S: Copy, D: Copy, F: Map2<S, D>>(a: &[S], b: &[S], y: &mut [D], p: Params<S>) {
    dispatch_narrow(Run2::<S, D, F> { a, b, y, p, f: std::marker::PhantomData });
}

/// The loop of `F`, one element at a time: for functions that are calls into the C library.
pub(crate) fn plain2<S: Copy, D: Copy, F: Map2<S, D>>(a: &[S], b: &[S], y: &mut [D], p: Params<S>) {
    for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
        *y = F::slow(a, b, p);
    }
}

/// Elements per block where an operand has to be copied or spread first: small enough for the first-level cache.
const BLOCK: usize = 512;
/// Outputs no longer than this use a block of this size instead, which costs less to fill.
const SMALL: usize = 64;

/// Runs a loop over one operand of any kind.
///
/// # Panics
/// If `x` is a slice of another length than `y`.
pub(crate) fn apply1<T: Copy + Default>(f: Loop1<T, T>, x: Arg<T>, y: &mut [T], p: Params<T>) {
    match x {
        Arg::Slice(x) => {
            assert_eq!(x.len(), y.len(), "operand and output differ in length");
            f(x, y, p);
        }
        Arg::Scalar(x) => {
            let mut value = [x];
            f(&[x], &mut value, p);
            y.fill(value[0]);
        }
        Arg::Out if y.len() <= SMALL => in_place1::<T, SMALL>(f, y, p),
        Arg::Out => in_place1::<T, BLOCK>(f, y, p),
    }
}

fn in_place1<T: Copy + Default, const N: usize>(f: Loop1<T, T>, y: &mut [T], p: Params<T>) {
    let mut old = [T::default(); N];
    for y in y.chunks_mut(N) {
        let old = &mut old[..y.len()];
        old.copy_from_slice(y);
        f(old, y, p);
    }
}

/// Runs a loop over two operands of any kind; the output has the operands' type.
///
/// # Panics
/// If an operand is a slice of another length than `y`.
pub(crate) fn apply2<T: Copy + Default>(f: Loop2<T, T>, a: Arg<T>, b: Arg<T>, y: &mut [T], p: Params<T>) {
    if let (Arg::Slice(a), Arg::Slice(b)) = (a, b) {
        assert!(a.len() == y.len() && b.len() == y.len(), "operands and output differ in length");
        f(a, b, y, p);
    } else if y.len() <= SMALL {
        blocks2::<T, T, SMALL>(f, a, b, y, p, |old, y| old.copy_from_slice(y));
    } else {
        blocks2::<T, T, BLOCK>(f, a, b, y, p, |old, y| old.copy_from_slice(y));
    }
}

/// Runs a loop over two operands; the output has another type, so that neither operand can be [`Arg::Out`], which
/// reads as zeros here.
///
/// # Panics
/// If an operand is a slice of another length than `y`.
pub(crate) fn apply2_to<T: Copy + Default, D: Copy>(f: Loop2<T, D>, a: Arg<T>, b: Arg<T>, y: &mut [D]) {
    let p = [T::default(); 3];
    if let (Arg::Slice(a), Arg::Slice(b)) = (a, b) {
        assert!(a.len() == y.len() && b.len() == y.len(), "operands and output differ in length");
        f(a, b, y, p);
    } else if y.len() <= SMALL {
        blocks2::<T, D, SMALL>(f, a, b, y, p, |_, _| ());
    } else {
        blocks2::<T, D, BLOCK>(f, a, b, y, p, |_, _| ());
    }
}

fn blocks2<T: Copy + Default, D: Copy, const N: usize>(
    f: Loop2<T, D>,
    a: Arg<T>,
    b: Arg<T>,
    y: &mut [D],
    p: Params<T>,
    save: impl Fn(&mut [T], &[D]),
) {
    for arg in [a, b] {
        if let Arg::Slice(x) = arg {
            assert_eq!(x.len(), y.len(), "operand and output differ in length");
        }
    }
    // The usual case fills one block alone.
    match (a, b) {
        (Arg::Slice(a), Arg::Scalar(b)) => {
            let block = [b; N];
            for (a, y) in a.chunks(N).zip(y.chunks_mut(N)) {
                f(a, &block[..y.len()], y, p);
            }
            return;
        }
        (Arg::Scalar(a), Arg::Slice(b)) => {
            let block = [a; N];
            for (b, y) in b.chunks(N).zip(y.chunks_mut(N)) {
                f(&block[..y.len()], b, y, p);
            }
            return;
        }
        _ => {}
    }
    let spread = |arg: Arg<T>| match arg {
        Arg::Scalar(value) => [value; N],
        Arg::Slice(_) | Arg::Out => [T::default(); N],
    };
    let (mut a_block, mut b_block) = (spread(a), spread(b));
    for (i, y) in y.chunks_mut(N).enumerate() {
        let (start, end) = (i * N, i * N + y.len());
        let a = match a {
            Arg::Slice(a) => &a[start..end],
            Arg::Scalar(_) => &a_block[..y.len()],
            Arg::Out => {
                save(&mut a_block[..y.len()], y);
                &a_block[..y.len()]
            }
        };
        let b = match b {
            Arg::Slice(b) => &b[start..end],
            Arg::Scalar(_) => &b_block[..y.len()],
            Arg::Out => {
                save(&mut b_block[..y.len()], y);
                &b_block[..y.len()]
            }
        };
        f(a, b, y, p);
    }
}
