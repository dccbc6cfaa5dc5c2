//! Element-wise functions whose operands and result differ in type, or are f16 or bf16: blocks are converted to the
//! type that the function is computed in, and the results from it.

use crate::binary::{Binary, Compare, Error, Number, binary, compare};
use crate::convert::convert;
use crate::element::Element;
use crate::loops::Arg;
use crate::unary::{Float, Unary, unary_in_place};

/// Elements per block: a few blocks fit the first-level cache.
const BLOCK: usize = 512;

/// `y[i] = op(x[i])`, computed in `C`: f32 for f16, bf16 and integers. [`Arg::Out`] reads the output.
///
/// # Panics
/// If `x` is a slice of another length than `y`.
pub fn unary_via<C: Float + Element, S: Element, D: Element>(op: Unary, x: Arg<S>, y: &mut [D]) {
    check(x, y.len());
    let mut block = [C::default(); BLOCK];
    for (i, y) in y.chunks_mut(BLOCK).enumerate() {
        let block = &mut block[..y.len()];
        load(x, i * BLOCK, y, block);
        unary_in_place(op, block);
        convert(block, y);
    }
}

/// `y[i] = op(a[i], b[i])`, computed in `C`. [`Arg::Out`] reads the output.
///
/// # Errors
/// As [`binary`].
///
/// # Panics
/// If an operand is a slice of another length than `y`.
pub fn binary_via<C: Number + Element, A: Element, B: Element, D: Element>(
    op: Binary,
    a: Arg<A>,
    b: Arg<B>,
    y: &mut [D],
) -> Result<(), Error> {
    let mut result = Ok(());
    blocks(a, b, y, |a: &mut [C], b: &[C], y| match binary(op, Arg::Out, Arg::Slice(b), a) {
        Err(e @ Error::Undefined(..)) => result = Err(e),
        done => {
            convert(a, y);
            result = result.and(done);
        }
    });
    result
}

/// `y[i] = a[i] + alpha * b[i]`, computed in `C`. [`Arg::Out`] reads the output.
///
/// # Panics
/// If an operand is a slice of another length than `y`.
pub fn add_scaled_via<C: Number + Element, A: Element, B: Element, D: Element>(
    a: Arg<A>,
    b: Arg<B>,
    alpha: C,
    y: &mut [D],
) {
    blocks(a, b, y, |a: &mut [C], b: &[C], y| {
        crate::binary::add_scaled(Arg::Out, Arg::Slice(b), alpha, a);
        convert(a, y);
    });
}

/// `y[i] = op(a[i], b[i])` as 0 or 1, compared in `C`.
///
/// # Panics
/// If an operand is a slice of another length than `y`, or [`Arg::Out`].
pub fn compare_via<C: Number + Element, A: Element, B: Element>(
    op: Compare,
    a: Arg<A>,
    b: Arg<B>,
    y: &mut [u8],
) {
    assert!(!matches!(a, Arg::Out) && !matches!(b, Arg::Out), "a comparison cannot work in place");
    blocks(a, b, y, |a: &mut [C], b: &[C], y| compare(op, Arg::Slice(a), Arg::Slice(b), y));
}

/// Calls `f` with blocks of both operands and of the output.
fn blocks<C: Element, A: Element, B: Element, D: Element>(
    a: Arg<A>,
    b: Arg<B>,
    y: &mut [D],
    mut f: impl FnMut(&mut [C], &[C], &mut [D]),
) {
    check(a, y.len());
    check(b, y.len());
    let (mut a_block, mut b_block) = ([C::default(); BLOCK], [C::default(); BLOCK]);
    for (i, y) in y.chunks_mut(BLOCK).enumerate() {
        let (a_block, b_block) = (&mut a_block[..y.len()], &mut b_block[..y.len()]);
        load(a, i * BLOCK, y, a_block);
        load(b, i * BLOCK, y, b_block);
        f(a_block, b_block, y);
    }
}

/// Converts the elements of an operand from `start` on.
fn load<C: Element, S: Element, D: Element>(x: Arg<S>, start: usize, y: &[D], block: &mut [C]) {
    match x {
        Arg::Slice(x) => convert(&x[start..start + block.len()], block),
        Arg::Scalar(x) => block.fill(x.cast()),
        Arg::Out => convert(y, block),
    }
}

fn check<T>(x: Arg<T>, len: usize) {
    if let Arg::Slice(x) = x {
        assert_eq!(x.len(), len, "operand and output differ in length");
    }
}
