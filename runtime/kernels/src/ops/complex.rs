//! Arithmetic of complex tensors. Each result is computed in f64 and rounded once.

use crate::elements::{Item, items_mut, plain, plain_mut};
use crate::elementwise::Operand;
use crate::op::{Context, Table, bad, entry, output};
use crate::pool::split_mut;
use crate::shape::{Layout, Rows, Shape};
use bytemuck::Pod;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::Element;
use half::f16;

/// What this family registers; the arithmetic of [`super::arithmetic`] and `abs` call it for complex tensors.
pub static TABLE: Table = Table::new(&[entry(c"aten::_conj_physical.out", c"T>T", conjugate)]);

/// Results that a thread computes at least.
const GRAIN: usize = 1 << 13;

/// A complex number: its real and its imaginary part.
type Number = [f64; 2];

/// Whether a dtype is a complex one.
pub fn is_complex(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Complex32 | Dtype::Complex64 | Dtype::Complex128)
}

/// Whether a complex tensor is among the operands.
pub fn among(operands: &[Operand<'_>]) -> Result<bool> {
    for operand in operands {
        if let Operand::Tensor(tensor) = operand
            && is_complex(tensor.dtype()?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// a + αb
pub fn add(alpha: f64) -> impl Fn(Number, Number) -> Number + Sync {
    move |[a, b], [c, d]| [a + alpha * c, b + alpha * d]
}

/// a b
pub fn mul([a, b]: Number, [c, d]: Number) -> Number {
    [a * c - b * d, a * d + b * c]
}

/// a / b, scaled so that no square overflows.
pub fn div([a, b]: Number, [c, d]: Number) -> Number {
    if c.abs() >= d.abs() {
        let ratio = d / c;
        let norm = c + d * ratio;
        // 0 / 0 has no ratio; PyTorch divides the parts.
        if c == 0.0 { [a / c, b / c] } else { [(a + b * ratio) / norm, (b - a * ratio) / norm] }
    } else {
        let ratio = c / d;
        let norm = c * ratio + d;
        [(a * ratio + b) / norm, (b * ratio - a) / norm]
    }
}

/// Evaluates an expression in which a type stands for the parts of a complex dtype.
macro_rules! with_part {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            Dtype::Complex32 => {
                type $t = f16;
                $body
            }
            Dtype::Complex64 => {
                type $t = f32;
                $body
            }
            Dtype::Complex128 => {
                type $t = f64;
                $body
            }
            other => Err(bad(format!("expected a tensor of complex numbers, found {other}"))),
        }
    };
}

fn load<T: Item>(value: [T; 2]) -> Number {
    value.map(|part| part.cast())
}

/// Computes a function of two operands, broadcast to one shape. The tensors among them and the output have one dtype.
pub fn binary(
    args: &Args<'_>,
    out: usize,
    operands: [Operand<'_>; 2],
    function: impl Fn(Number, Number) -> Number + Sync,
) -> Result<()> {
    let layouts = operands.map(|operand| match operand {
        Operand::Tensor(tensor) => Layout::of(tensor),
        _ => Layout::default(),
    });
    let shape = Shape::broadcast(layouts[0].sizes, layouts[1].sizes)?;
    let [a, b] = operands.map(|operand| match operand {
        Operand::Tensor(tensor) => Some(tensor),
        _ => None,
    });
    let first = a.or(b).ok_or_else(|| bad("expected a tensor among the operands"))?;
    let mut out = output(args, out, shape.sizes(), &[first, b.unwrap_or(first)])?;
    let dtype = same_dtype(&out, &[first, b.unwrap_or(first)])?;
    let rows = Rows::new(out.view().sizes(), out.view().dim_order(), layouts);
    with_part!(dtype, T => {
        let operand = |operand| match operand {
            Operand::Number(number) => Ok(Values::One([number.to_f64(), 0.0])),
            Operand::Tensor(tensor) | Operand::Part(tensor, ..) => plain::<[T; 2]>(tensor).map(Values::Many),
        };
        let [a, b] = [operand(operands[0])?, operand(operands[1])?];
        split_mut(plain_mut::<[T; 2]>(&mut out)?, 1, GRAIN, |at, mut part| {
            let mut walk = rows.walk(at);
            while !part.is_empty() {
                let n = walk.left().min(part.len());
                let (run, rest) = part.split_at_mut(n);
                for (i, y) in run.iter_mut().enumerate() {
                    let get = |k, values: &Values<'_, T>| values.get(walk.at(k) + i * rows.steps[k]);
                    *y = function(get(0, &a), get(1, &b)).map(|part| part.cast());
                }
                walk.advance(n);
                part = rest;
            }
        });
        Ok(())
    })
}

/// The values of an operand.
enum Values<'a, T> {
    One(Number),
    Many(&'a [[T; 2]]),
}

impl<T: Item> Values<'_, T> {
    fn get(&self, at: usize) -> Number {
        match self {
            Self::One(value) => *value,
            Self::Many(values) => load(values[at]),
        }
    }
}

fn same_dtype(out: &TensorMut<'_>, inputs: &[TensorRef<'_>]) -> Result<Dtype> {
    let dtype = out.view().dtype()?;
    for input in inputs {
        let found = input.dtype()?;
        if found != dtype {
            return Err(bad(format!(
                "an input is {found} and the output {dtype}; complex operators convert no dtypes"
            )));
        }
    }
    Ok(dtype)
}

/// The output for one input, with the memory order of the input.
fn output_like<'a>(args: &Args<'a>, input: TensorRef<'_>) -> Result<TensorMut<'a>> {
    let out = output(args, 1, input.sizes(), &[input])?;
    let (expected, found) = (input.dim_order(), out.view().dim_order());
    if expected != found {
        return Err(bad(format!(
            "the output has the dim order {found:?}, expected the input's, {expected:?}"
        )));
    }
    Ok(out)
}

/// The magnitudes, which are real.
pub fn abs(args: &Args<'_>) -> Result<()> {
    fn magnitudes<T: Item>(input: TensorRef<'_>, out: &mut TensorMut<'_>) -> Result<()> {
        let from = plain::<[T; 2]>(input)?;
        split_mut(items_mut::<T>(out)?, 1, GRAIN, |at, part| {
            for (y, &x) in part.iter_mut().zip(&from[at..]) {
                let [re, im] = load(x);
                *y = re.hypot(im).cast();
            }
        });
        Ok(())
    }
    let input = args.tensor(0)?;
    let mut out = output_like(args, input)?;
    with_part!(input.dtype()?, T => magnitudes::<T>(input, &mut out))
}

/// Changes the sign of the imaginary parts; real numbers stay.
fn conjugate(_: &mut Context, args: &Args<'_>) -> Result<()> {
    fn negate<T: Pod + std::ops::Neg<Output = T> + Send + Sync>(
        input: TensorRef<'_>,
        out: &mut TensorMut<'_>,
    ) -> Result<()> {
        let from = plain::<[T; 2]>(input)?;
        split_mut(plain_mut::<[T; 2]>(out)?, 1, GRAIN, |at, part| {
            for (y, &[re, im]) in part.iter_mut().zip(&from[at..]) {
                *y = [re, -im];
            }
        });
        Ok(())
    }
    let input = args.tensor(0)?;
    let mut out = output_like(args, input)?;
    let dtype = same_dtype(&out, &[input])?;
    if !is_complex(dtype) {
        out.bytes()?.copy_from_slice(input.bytes()?);
        return Ok(());
    }
    with_part!(dtype, T => negate::<T>(input, &mut out))
}

/// Products of contiguous matrices, `[batch, m, k]` by `[batch, k, n]`, by definition: nothing that calls for speed
/// has complex matrices.
pub fn products(
    a: TensorRef<'_>,
    b: TensorRef<'_>,
    [m, k, n]: [usize; 3],
    out: &mut TensorMut<'_>,
) -> Result<()> {
    fn multiply<T: Item>(
        a: TensorRef<'_>,
        b: TensorRef<'_>,
        [m, k, n]: [usize; 3],
        out: &mut TensorMut<'_>,
    ) -> Result<()> {
        let (a, b) = (plain::<[T; 2]>(a)?, plain::<[T; 2]>(b)?);
        split_mut(plain_mut::<[T; 2]>(out)?, n, GRAIN.div_ceil((n * k).max(1)), |first, rows| {
            for (row, y) in (first..).zip(rows.chunks_mut(n)) {
                let a = &a[row * k..(row + 1) * k];
                for (column, y) in y.iter_mut().enumerate() {
                    let of = |i: usize| mul(load(a[i]), load(b[(row / m * k + i) * n + column]));
                    *y = (0..k)
                        .map(of)
                        .fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d])
                        .map(|part| part.cast());
                }
            }
        });
        Ok(())
    }
    let dtype = same_dtype(out, &[a, b])?;
    with_part!(dtype, T => multiply::<T>(a, b, [m, k, n], out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_times_divisors_are_dividends() {
        for a in [[1.0, 2.0], [-3.0, 0.5], [0.0, -4.0], [1e200, 1e-200]] {
            for b in [[2.0, -1.0], [0.25, 7.0], [0.0, 3.0], [1e200, 1e200]] {
                let [re, im] = mul(div(a, b), b);
                let scale = a[0].abs().max(a[1].abs());
                assert!(
                    (re - a[0]).abs() <= 1e-15 * scale && (im - a[1]).abs() <= 1e-15 * scale,
                    "{a:?} / {b:?}"
                );
            }
        }
        assert_eq!(mul([1.0, 2.0], [3.0, -1.0]), [5.0, 5.0]);
        assert_eq!(add(2.0)([1.0, 2.0], [3.0, -1.0]), [7.0, 0.0]);
        assert!(div([1.0, -1.0], [0.0, 0.0]).iter().all(|part| part.is_infinite()));
    }
}
