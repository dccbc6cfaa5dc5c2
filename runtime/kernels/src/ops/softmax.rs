//! Softmax and its logarithm.

use crate::elements::{Item, Source, items, items_mut, store, writable};
use crate::number::is_float;
use crate::op::{Context, Table, bad, entry, output};
use crate::pool::split_mut;
use crate::reduction::{Dims, Runs, split_with_scratch};
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::{Real, softmax};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::_softmax.out", c"TIB>T", |c, a| run(c, a, false)),
    entry(c"aten::_log_softmax.out", c"TIB>T", |c, a| run(c, a, true)),
]);

/// Elements that are worth a task of their own.
const GRAIN: usize = 16 * 1024;

fn run(context: &mut Context, args: &Args<'_>, log: bool) -> Result<()> {
    let input = args.tensor(0)?;
    let dims = Dims::one(args.int(1)?, input.rank())?;
    let mut out = output(args, 3, input.sizes(), &[input])?;
    let (from, to) = (input.dtype()?, out.view().dtype()?);
    if !is_float(from) || !is_float(to) {
        return Err(bad(format!("softmax is of floats, to floats; found {from} to {to}")));
    }
    if input.dim_order() != out.view().dim_order() {
        return Err(bad(format!(
            "the input has the dim order {:?}, the output {:?}; they should be one",
            input.dim_order(),
            out.view().dim_order()
        )));
    }
    let shape = Runs::of(input, dims, 1).middle().unwrap_or([1, 1, input.numel()]);
    match (from, to) {
        (Dtype::Float32, Dtype::Float32) => direct::<f32>(log, input, shape, &mut out),
        (Dtype::Float64, Dtype::Float64) => direct::<f64>(log, input, shape, &mut out),
        (Dtype::Float64, _) | (_, Dtype::Float64) => converted::<f64>(context, log, input, shape, &mut out),
        _ => converted::<f32>(context, log, input, shape, &mut out),
    }
}

fn direct<T: Item + Real>(
    log: bool,
    input: TensorRef<'_>,
    [_, reduce, inner]: [usize; 3],
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let (x, y) = (items::<T>(input)?, items_mut::<T>(out)?);
    let slab = reduce * inner;
    split_mut(y, slab, GRAIN.div_ceil(slab.max(1)), |first, y| {
        softmax(log, &x[first * slab..first * slab + y.len()], [y.len() / slab, reduce, inner], y);
    });
    Ok(())
}

/// By way of another type, a slab at a time.
fn converted<C: Item + Real>(
    context: &mut Context,
    log: bool,
    input: TensorRef<'_>,
    [_, reduce, inner]: [usize; 3],
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let x = Source::of(input)?;
    let (y, dtype) = writable(out)?;
    let slab = reduce * inner;
    let bytes = slab * dtype.size();
    let grain = (GRAIN / 2).div_ceil(slab.max(1));
    split_with_scratch(context, y, bytes, grain, 2 * slab, |first, y, scratch: &mut [C]| {
        let (from, to) = scratch.split_at_mut(slab);
        for (i, y) in y.chunks_mut(bytes).enumerate() {
            x.load((first + i) * slab, from);
            softmax(log, from, [1, reduce, inner], to);
            store(to, dtype, y);
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use crate::testing::{Tensor, call};
    use executorch_abi::Dtype::{self, *};
    use executorch_abi::value::et_value_t;

    fn softmax(
        name: &str,
        dtype: Dtype,
        out: Dtype,
        order: &[u8],
        dim: i64,
        value: fn(usize) -> f64,
    ) -> Vec<f64> {
        let sizes = [3, 5, 4];
        let mut input = Tensor::new(dtype, &sizes, order, value);
        let mut result = Tensor::new(out, &sizes, order, |_| 0.0);
        let half_to_float = et_value_t::bool(dtype != out);
        call(name, &mut [(&mut input).into(), et_value_t::int(dim), half_to_float, (&mut result).into()])
            .unwrap();
        result.values()
    }

    /// By definition, in row-major order.
    fn expected(dim: usize, value: fn(usize) -> f64) -> Vec<f64> {
        let (sizes, strides) = ([3, 5, 4], [20, 4, 1]);
        let of = |i: usize| {
            let start = i - i / strides[dim] % sizes[dim] * strides[dim];
            let row = (0..sizes[dim]).map(|r| value(start + r * strides[dim]));
            let greatest = row.clone().fold(f64::NEG_INFINITY, f64::max);
            (value(i) - greatest).exp() / row.map(|v| (v - greatest).exp()).sum::<f64>()
        };
        (0..60).map(of).collect()
    }

    #[test]
    fn softmax_of_every_order_and_type() {
        let value = |i: usize| ((i * 29) % 17) as f64 / 2.0 - 4.0;
        for order in [[0, 1, 2], [0, 2, 1], [2, 0, 1]] {
            for dim in [0, 1, 2, -1] {
                let want = expected((dim + 3) as usize % 3, value);
                for (from, to, error) in [
                    (Float32, Float32, 1e-6),
                    (Float64, Float64, 1e-14),
                    (Float16, Float16, 1e-3),
                    (BFloat16, BFloat16, 8e-3),
                    (Float16, Float32, 1e-6),
                ] {
                    let close = |a: &f64, b: f64| (a - b).abs() <= error * (1.0 + b.abs());
                    let got = softmax("aten::_softmax.out", from, to, &order, dim, value);
                    assert!(got.iter().zip(&want).all(|(a, &b)| close(a, b)), "{order:?} {dim} {from} {to}");
                    let got = softmax("aten::_log_softmax.out", from, to, &order, dim, value);
                    assert!(
                        got.iter().zip(&want).all(|(a, &b)| close(a, b.ln())),
                        "log {order:?} {dim} {from}"
                    );
                }
            }
        }
    }

    #[test]
    fn infinities_and_nan_are_pytorch_s() {
        for (row, want) in [
            ([f64::NEG_INFINITY, 0.0], [0.0, 1.0]),
            ([f64::NEG_INFINITY, f64::NEG_INFINITY], [f64::NAN, f64::NAN]),
            ([f64::INFINITY, 0.0], [f64::NAN, f64::NAN]),
            ([f64::NAN, 0.0], [f64::NAN, f64::NAN]),
        ] {
            for (sizes, dim) in [([1, 2, 1], 1), ([1, 2, 2], 1)] {
                let mut input = Tensor::contiguous(Float32, &sizes, |i| row[i * 2 / (sizes[2] as usize * 2)]);
                let mut out = Tensor::contiguous(Float32, &sizes, |_| 0.0);
                let args = &mut [
                    (&mut input).into(),
                    et_value_t::int(dim),
                    et_value_t::bool(false),
                    (&mut out).into(),
                ];
                call("aten::_softmax.out", args).unwrap();
                let got = out.values();
                let (a, b) = (got[0], got[got.len() - 1]);
                assert!(
                    [a, b].iter().zip(&want).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())),
                    "{row:?}: {got:?}"
                );
            }
        }
    }
}
