//! New tensors: of one value, of nothing in particular, of evenly spaced numbers.

use crate::elements::items_mut;
use crate::moves::fill;
use crate::number::is_float;
use crate::op::{Context, Table, bad, entry, impure, output};
use crate::pool::split_mut;
use crate::strided::View;
use crate::with_item;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result, Scalar, TensorMut};
use executorch_simd::{Bool8, Element};
use half::{bf16, f16};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::full.out", c"LS>T", |_, a| new(a, 2, a.scalar(1)?)),
    entry(c"aten::zeros.out", c"L>T", |_, a| new(a, 1, Scalar::Int(0))),
    entry(c"aten::ones.out", c"L>T", |_, a| new(a, 1, Scalar::Int(1))),
    entry(c"aten::full_like.out", c"TSi>T", |_, a| like(a, 3)),
    entry(c"aten::fill.Scalar_out", c"TS>T", |_, a| like(a, 2)),
    entry(c"aten::fill.Tensor_out", c"TT>T", fill_tensor),
    entry(c"aten::scalar_tensor.out", c"S>T", scalar_tensor),
    impure(c"aten::empty.out", c"Li>T", |_, a| empty(a, 2)),
    impure(c"dim_order_ops::_empty_dim_order.out", c"Ll>T", |_, a| empty(a, 2)),
    entry(c"aten::arange.out", c"S>T", |_, a| arange(a, Scalar::Int(0), a.scalar(0)?, Scalar::Int(1), 1)),
    entry(c"aten::arange.start_out", c"SSS>T", |_, a| arange(a, a.scalar(0)?, a.scalar(1)?, a.scalar(2)?, 3)),
]);

/// A number as a tensor of some dtype stores it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    bytes: [u8; 16],
    size: usize,
}

impl Stored {
    /// Converts a number; one that the dtype does not hold is an error.
    pub fn new(value: Scalar, dtype: Dtype) -> Result<Self> {
        // The imaginary part stays zero.
        let part = match dtype {
            Dtype::Complex32 => Dtype::Float16,
            Dtype::Complex64 => Dtype::Float32,
            Dtype::Complex128 => Dtype::Float64,
            real => real,
        };
        in_range(value, part)?;
        let mut bytes = [0; 16];
        with_item!(part, any T => {
            let item: T = match value {
                Scalar::Int(v) => v.cast(),
                Scalar::Double(v) => v.cast(),
                Scalar::Bool(v) => Bool8(v.into()).cast(),
            };
            bytes[..part.size()].copy_from_slice(bytemuck::bytes_of(&item));
            Ok(())
        })?;
        Ok(Self { bytes, size: dtype.size() })
    }

    /// The element's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.size).unwrap_or_default()
    }
}

/// Checks that a dtype holds a number, as PyTorch does: a negative one may stand for an unsigned one of the same
/// magnitude's bits, and infinities are no overflow.
fn in_range(value: Scalar, dtype: Dtype) -> Result<()> {
    let (low, high) = match dtype {
        Dtype::UInt8 => (-255, 255),
        Dtype::Int8 => (i8::MIN.into(), i8::MAX.into()),
        Dtype::Int16 => (i16::MIN.into(), i16::MAX.into()),
        Dtype::Int32 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    let most = match dtype {
        Dtype::Float16 => f16::MAX.to_f64(),
        Dtype::BFloat16 => bf16::MAX.to_f64(),
        Dtype::Float32 => f32::MAX.into(),
        _ => f64::INFINITY,
    };
    let holds = match value {
        Scalar::Bool(_) => true,
        _ if dtype == Dtype::Bool => true,
        number if is_float(dtype) => !number.to_f64().is_finite() || number.to_f64().abs() <= most,
        Scalar::Int(v) => (low..=high).contains(&v),
        Scalar::Double(v) => v.trunc() >= low as f64 && v.trunc() <= high as f64,
    };
    if holds { Ok(()) } else { Err(bad(format!("the value {value:?} does not fit an element of {dtype}"))) }
}

/// The sizes that a list of ints names.
pub(super) fn sizes_of<'a>(list: &[i64], room: &'a mut [i32; ET_MAX_RANK]) -> Result<&'a [i32]> {
    let place = room.get_mut(..list.len());
    let place = place.ok_or_else(|| bad(format!("{} sizes, at most {ET_MAX_RANK}", list.len())))?;
    for (size, &wanted) in place.iter_mut().zip(list) {
        let fits = i32::try_from(wanted).ok().filter(|&s| s >= 0);
        *size =
            fits.ok_or_else(|| bad(format!("the size {wanted} in {list:?}; sizes are 0 to {}", i32::MAX)))?;
    }
    Ok(place)
}

/// Sets every element of a tensor.
fn set(out: &mut TensorMut<'_>, value: Scalar) -> Result<()> {
    let value = Stored::new(value, out.view().dtype()?)?;
    let memory =
        View::contiguous(&[i32::try_from(out.view().numel()).map_err(|_| bad("too many elements"))?]);
    fill(value.bytes(), out.bytes()?, &memory)
}

fn new(args: &Args<'_>, out: usize, value: Scalar) -> Result<()> {
    let mut room = [0; ET_MAX_RANK];
    let mut out = output(args, out, sizes_of(args.ints(0)?, &mut room)?, &[])?;
    set(&mut out, value)
}

fn like(args: &Args<'_>, out: usize) -> Result<()> {
    let input = args.tensor(0)?;
    set(&mut output(args, out, input.sizes(), &[input])?, args.scalar(1)?)
}

fn fill_tensor(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, value) = (args.tensor(0)?, args.tensor(1)?);
    if value.numel() != 1 || value.rank() > 0 {
        return Err(bad(format!("the value should have no dimensions, found sizes {:?}", value.sizes())));
    }
    let mut out = output(args, 2, input.sizes(), &[input, value])?;
    let number = with_item!(value.dtype()?, any T => {
        let item = crate::elements::items::<T>(value)?.first().copied().unwrap_or_default();
        Ok(if is_float(value.dtype()?) { Scalar::Double(item.cast()) } else { Scalar::Int(item.cast()) })
    })?;
    set(&mut out, number)
}

fn scalar_tensor(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let value = args.scalar(0)?;
    set(&mut output(args, 1, &[], &[])?, value)
}

/// Gives the output its sizes, and leaves what is in it.
fn empty(args: &Args<'_>, out: usize) -> Result<()> {
    let mut room = [0; ET_MAX_RANK];
    output(args, out, sizes_of(args.ints(0)?, &mut room)?, &[]).map(drop)
}

fn arange(args: &Args<'_>, start: Scalar, end: Scalar, step: Scalar, out: usize) -> Result<()> {
    let integers = [start, end, step].iter().all(|s| !matches!(s, Scalar::Double(_)));
    let (from, to, by) = (start.to_f64(), end.to_f64(), step.to_f64());
    if !(from.is_finite() && to.is_finite()) || by == 0.0 || by.is_nan() || (to - from) / by < 0.0 {
        return Err(bad(format!("a range from {start:?} to {end:?} in steps of {step:?}")));
    }
    let count = if integers {
        let (span, by) = (i128::from(end.to_i64()) - i128::from(start.to_i64()), i128::from(step.to_i64()));
        (span.abs() + by.abs() - 1) / by.abs()
    } else {
        ((to - from) / by).ceil() as i128
    };
    let size = i32::try_from(count).map_err(|_| bad(format!("a range of {count} numbers is too long")))?;
    let mut out = output(args, out, &[size], &[])?;
    let (first, step) = (start.to_i64(), step.to_i64());
    with_item!(out.view().dtype()?, number T => {
        split_mut(items_mut::<T>(&mut out)?, 1, 1 << 15, |at, part| {
            for (i, item) in part.iter_mut().enumerate() {
                let i = at + i;
                *item = if integers {
                    first.wrapping_add(step.wrapping_mul(i as i64)).cast()
                } else {
                    (from + by * i as f64).cast()
                };
            }
        });
        Ok(())
    })
}
