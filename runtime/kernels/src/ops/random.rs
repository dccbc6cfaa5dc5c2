//! Random numbers, and dropout. No two runs give the same ones.

use super::convert::transfer;
use super::fill::sizes_of;
use super::layout::same_dtype;
use crate::elements::{Item, items, items_mut};
use crate::op::{Context, Table, apart, bad, impure, output};
use crate::pool::{split_mut, split_two_mut};
use crate::with_item;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result};
use executorch_simd::{Bool8, Element};
use fastrand::Rng;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    impure(c"aten::rand.out", c"L>T", |_, a| random(a, uniform)),
    impure(c"aten::randn.out", c"L>T", |_, a| random(a, |rng, part, _| normal(rng, part))),
    impure(c"aten::native_dropout.out", c"TDb>TT", dropout),
]);

/// Numbers that a thread draws at least.
const GRAIN: usize = 1 << 13;

/// Numbers that are drawn at a time.
const BLOCK: usize = 256;

/// Fills a new tensor with what `draw` makes, a block at a time; `draw` is told how many binary digits a number below 1
/// may have without being rounded up.
fn random(args: &Args<'_>, draw: impl Fn(&mut Rng, &mut [f64], u32) + Sync) -> Result<()> {
    let mut room = [0; ET_MAX_RANK];
    let mut out = output(args, 1, sizes_of(args.ints(0)?, &mut room)?, &[])?;
    let dtype = out.view().dtype()?;
    let digits = match dtype {
        Dtype::Float64 => f64::MANTISSA_DIGITS,
        Dtype::Float16 => half::f16::MANTISSA_DIGITS,
        Dtype::BFloat16 => half::bf16::MANTISSA_DIGITS,
        _ => f32::MANTISSA_DIGITS,
    };
    with_item!(dtype, float T => {
        split_mut(items_mut::<T>(&mut out)?, BLOCK, GRAIN / BLOCK, |_, part| {
            let (mut rng, mut block) = (Rng::new(), [0.0; BLOCK]);
            for part in part.chunks_mut(BLOCK) {
                draw(&mut rng, &mut block, digits);
                executorch_simd::convert(&block[..part.len()], part);
            }
        });
        Ok(())
    })
}

/// Numbers from 0 to below 1.
fn uniform(rng: &mut Rng, block: &mut [f64], digits: u32) {
    for number in block {
        *number = (rng.u64(..) >> (u64::BITS - digits)) as f64 * (-f64::from(digits)).exp2();
    }
}

/// Numbers of the standard normal distribution, two from each pair of uniform ones (Box and Muller).
fn normal(rng: &mut Rng, block: &mut [f64]) {
    uniform(rng, block, f64::MANTISSA_DIGITS);
    for [a, b] in block.as_chunks_mut::<2>().0 {
        // 1 - a is never 0.
        let radius = (-2.0 * (1.0 - *a).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * *b).sin_cos();
        (*a, *b) = (radius * cos, radius * sin);
    }
}

fn dropout(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, probability) = (args.tensor(0)?, args.double(1)?);
    if !(0.0..=1.0).contains(&probability) {
        return Err(bad(format!("the probability of dropping should be 0 to 1, found {probability}")));
    }
    let train = args.is_none(2)? || args.bool(2)?;
    let mut out = output(args, 3, input.sizes(), &[input])?;
    same_dtype(&out, input)?;
    let mut mask = output(args, 4, input.sizes(), &[input])?;
    apart(&out, &[mask.view()])?;
    let order = input.dim_order();
    if out.view().dim_order() != order || mask.view().dim_order() != order {
        return Err(bad(format!("the outputs should have the input's dim order, {order:?}")));
    }
    let mask = items_mut::<Bool8>(&mut mask)?;
    if !train {
        mask.fill(Bool8(1));
        return transfer(context, &mut out, input);
    }
    with_item!(input.dtype()?, float T => {
        drop_some(items::<T>(input)?, probability, items_mut::<T>(&mut out)?, mask);
        Ok(())
    })
}

fn drop_some<T: Item>(input: &[T], probability: f64, out: &mut [T], mask: &mut [Bool8]) {
    let scale = if probability < 1.0 { 1.0 / (1.0 - probability) } else { 0.0 };
    split_two_mut(out, 1, mask, 1, GRAIN, |first, out, mask| {
        let mut rng = Rng::new();
        for ((out, mask), value) in out.iter_mut().zip(mask).zip(&input[first..]) {
            let kept = rng.f64() >= probability;
            *mask = Bool8(kept.into());
            // Also a dropped infinity is multiplied, and gives NaN, as in PyTorch.
            *out = (value.cast::<f64>() * f64::from(u8::from(kept)) * scale).cast();
        }
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use crate::testing::{Tensor, call, ints};
    use executorch_abi::Dtype;
    use executorch_abi::value::et_value_t;

    const COUNT: i32 = 100_000;

    fn drawn(name: &str, dtype: Dtype) -> Vec<f64> {
        let mut out = Tensor::contiguous(dtype, &[COUNT], |_| -9.0);
        call(name, &mut [ints(&[COUNT.into()]), (&mut out).into()]).unwrap();
        out.values()
    }

    /// The mean of the values' powers.
    fn moment(values: &[f64], power: i32) -> f64 {
        values.iter().map(|v| v.powi(power)).sum::<f64>() / values.len() as f64
    }

    #[test]
    fn numbers_have_their_distribution() {
        for dtype in [Dtype::Float32, Dtype::Float64, Dtype::Float16, Dtype::BFloat16] {
            let uniform = drawn("aten::rand.out", dtype);
            assert!(uniform.iter().all(|v| (0.0..1.0).contains(v)), "{dtype}");
            // The bounds are ten standard deviations and a rounding of bfloat16.
            assert!((moment(&uniform, 1) - 0.5).abs() < 0.013, "{dtype}: {}", moment(&uniform, 1));
            assert!((moment(&uniform, 2) - 1.0 / 3.0).abs() < 0.013, "{dtype}: {}", moment(&uniform, 2));
            let normal = drawn("aten::randn.out", dtype);
            for (power, expected) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
                let found = moment(&normal, power);
                assert!((found - expected).abs() < 0.35, "{dtype}: moment {power} is {found}");
            }
            assert_ne!(uniform, drawn("aten::rand.out", dtype));
        }
    }

    #[test]
    fn dropout_scales_what_it_keeps() {
        let dropped = |p: f64, train: et_value_t| {
            let mut x = Tensor::contiguous(Dtype::Float32, &[COUNT], |i| i as f64 + 1.0);
            let mut out = Tensor::contiguous(Dtype::Float32, &[COUNT], |_| -1.0);
            let mut mask = Tensor::contiguous(Dtype::Bool, &[COUNT], |_| 0.0);
            let args =
                &mut [(&mut x).into(), et_value_t::double(p), train, (&mut out).into(), (&mut mask).into()];
            call("aten::native_dropout.out", args).map(|()| (out.values(), mask.values()))
        };
        let (out, mask) = dropped(0.2, et_value_t::bool(true)).unwrap();
        for (i, (out, kept)) in out.iter().zip(&mask).enumerate() {
            let expected = (i as f64 + 1.0) * kept / 0.8;
            assert!((out - expected).abs() <= 1e-6 * expected, "{out} instead of {expected}");
        }
        assert!((moment(&mask, 1) - 0.8).abs() < 0.013);
        let (out, mask) = dropped(0.2, et_value_t::bool(false)).unwrap();
        assert!(mask.iter().all(|&m| m == 1.0) && out[..3] == [1.0, 2.0, 3.0]);
        assert!(dropped(1.0, et_value_t::NONE).unwrap().0.iter().all(|&v| v == 0.0));
        assert!(dropped(1.5, et_value_t::NONE).is_err());
    }
}
