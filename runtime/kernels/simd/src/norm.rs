//! Rows of normalisations.

use crate::fold::{self, BLOCK};
use crate::isa::{Kernel, Level, dispatch};
use crate::real::Real;
use crate::reduce::{Add, AddDistances, moments};

/// Layer norm of one row: `y = (x - mean) * rstd * weight + bias`, with the row's own mean and
/// `rstd = 1 / sqrt(variance + eps)`. Returns `(mean, rstd)`.
///
/// # Panics
/// If the slices differ in length.
pub fn layer_norm_row<T: Real<Acc = T>>(
    x: &[T],
    weight: Option<&[T]>,
    bias: Option<&[T]>,
    eps: f64,
    y: &mut [T],
) -> (T, T) {
    let n = x.len();
    let fits = |other: Option<&[T]>| other.is_none_or(|other| other.len() == n);
    assert!(y.len() == n && fits(weight) && fits(bias), "operands and output differ in length");
    if n <= BLOCK {
        return dispatch(LayerNorm { x, weight, bias, eps, y });
    }
    let (mut mean, mut squares) = ([0.0], [0.0]);
    moments(x, [1, n, 1], &mut mean, &mut squares);
    let rstd = T::of_f64(1.0 / (squares[0] / n as f64 + eps).sqrt());
    let mean = T::of_f64(mean[0]);
    dispatch(Normalize { x, weight, bias, mean, rstd, y });
    (mean, rstd)
}

/// [`layer_norm_row`] in one go, of a row that is short enough for its sums not to need widening.
struct LayerNorm<'a, T> {
    x: &'a [T],
    weight: Option<&'a [T]>,
    bias: Option<&'a [T]>,
    eps: f64,
    y: &'a mut [T],
}

impl<T: Real<Acc = T>> Kernel for LayerNorm<'_, T> {
    type Output = (T, T);

    #[inline(always)]
    fn run<L: Level>(self) -> (T, T) {
        let Self { x, weight, bias, eps, y } = self;
        let n = x.len() as f64;
        let sum: T = fold::Row { x, f: Add }.run::<L>();
        let mean = T::of_f64(sum.cast::<f64>() / n);
        let squares: T = fold::Row { x, f: AddDistances(mean) }.run::<L>();
        let rstd = T::of_f64(1.0 / (squares.cast::<f64>() / n + eps).sqrt());
        Normalize { x, weight, bias, mean, rstd, y }.run::<L>();
        (mean, rstd)
    }
}

struct Normalize<'a, T> {
    x: &'a [T],
    weight: Option<&'a [T]>,
    bias: Option<&'a [T]>,
    mean: T,
    rstd: T,
    y: &'a mut [T],
}

impl<T: Real> Kernel for Normalize<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self) {
        let Self { x, weight, bias, mean, rstd, y } = self;
        let x = x.iter().map(|&x| (x - mean) * rstd);
        match (weight, bias) {
            (Some(weight), Some(bias)) => {
                for (((y, x), &w), &b) in y.iter_mut().zip(x).zip(weight).zip(bias) {
                    *y = x.fma::<L>(w, b);
                }
            }
            (Some(weight), None) => y.iter_mut().zip(x).zip(weight).for_each(|((y, x), &w)| *y = x * w),
            (None, Some(bias)) => y.iter_mut().zip(x).zip(bias).for_each(|((y, x), &b)| *y = x + b),
            (None, None) => y.iter_mut().zip(x).for_each(|(y, x)| *y = x),
        }
    }
}

/// RMS norm of one row: `y = x * rstd * weight`, where `rstd = 1 / sqrt(mean(x²) + eps)`. Returns `rstd`.
///
/// # Panics
/// If the slices differ in length.
pub fn rms_norm_row<T: Real<Acc = T>>(x: &[T], weight: Option<&[T]>, eps: f64, y: &mut [T]) -> T {
    let n = x.len();
    assert!(y.len() == n && weight.is_none_or(|w| w.len() == n), "operands and output differ in length");
    let mean_square = crate::reduce::dot(x, x).cast::<f64>() / n as f64;
    let rstd = T::of_f64(1.0 / (mean_square + eps).sqrt());
    dispatch(Normalize { x, weight, bias: None, mean: T::default(), rstd, y });
    rstd
}
