//! Fourier transforms from real to complex numbers and back.

use crate::elements::{plain, plain_mut};
use crate::fourier::{Halves, Plan, Scalar};
use crate::op::{Context, Table, bad, contiguous, entry, output};
use crate::reduction::{Dims, split_with_scratch};
use crate::shape::{Shape, dimension};
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result, TensorRef};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::_fft_r2c.out", c"TLIB>T", real_to_complex),
    entry(c"aten::_fft_c2r.out", c"TLII>T", complex_to_real),
]);

/// Numbers that are worth a task of their own.
const GRAIN: usize = 4 * 1024;

/// The dimensions of a transform, the last of which goes between real and complex numbers.
struct Axes {
    list: [usize; ET_MAX_RANK],
    length: usize,
}

impl Axes {
    fn of(list: &[i64], rank: usize) -> Result<Self> {
        // Also refuses one that is named twice.
        Dims::listed(list, rank)?;
        let mut axes = Self { list: [0; ET_MAX_RANK], length: list.len() };
        for (place, &dim) in axes.list.iter_mut().zip(list) {
            *place = dimension(dim, rank)?;
        }
        if list.is_empty() || rank == 0 {
            return Err(bad("a transform needs a dimension to be along"));
        }
        Ok(axes)
    }

    fn last(&self) -> usize {
        self.list[self.length - 1]
    }

    /// All but the last.
    fn others(&self) -> &[usize] {
        &self.list[..self.length - 1]
    }

    /// The factor of the results, of transforms over real numbers of some sizes.
    fn factor(&self, sizes: &[i32], normalization: i64) -> Result<f64> {
        let n: f64 = self.list[..self.length].iter().map(|&d| f64::from(sizes[d])).product();
        match normalization {
            0 => Ok(1.0),
            1 => Ok(1.0 / n.sqrt()),
            2 => Ok(1.0 / n),
            other => {
                Err(bad(format!("the normalization is {other}, expected 0 (none), 1 (by √n) or 2 (by n)")))
            }
        }
    }
}

/// The dtype of complex numbers of real ones.
fn complex_of(real: Dtype) -> Result<Dtype> {
    match real {
        Dtype::Float32 => Ok(Dtype::Complex64),
        Dtype::Float64 => Ok(Dtype::Complex128),
        other => Err(bad(format!("transforms are of float32 and float64; found {other}"))),
    }
}

fn with_size(sizes: &[i32], dim: usize, size: i32) -> Result<Shape> {
    let mut changed = [0; ET_MAX_RANK];
    for (d, (place, &old)) in changed.iter_mut().zip(sizes).enumerate() {
        *place = if d == dim { size } else { old };
    }
    Shape::new(&changed[..sizes.len()])
}

/// A contiguous tensor's `[outer, size, inner]` around a dimension.
fn around(sizes: &[i32], dim: usize) -> [usize; 3] {
    let product = |part: &[i32]| part.iter().map(|&s| s as usize).product();
    [product(&sizes[..dim]), sizes[dim] as usize, product(&sizes[dim + 1..])]
}

fn real_to_complex(context: &mut Context, args: &Args<'_>) -> Result<()> {
    match args.tensor(0)?.dtype()? {
        Dtype::Float64 => forward::<f64>(context, args),
        _ => forward::<f32>(context, args),
    }
}

fn forward<T: Scalar>(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    contiguous(input, "the input")?;
    let axes = Axes::of(args.ints(1)?, input.rank())?;
    let factor = T::of_f64(axes.factor(input.sizes(), args.int(2)?)?);
    let [_, n, inner] = around(input.sizes(), axes.last());
    if n == 0 {
        return Err(bad(format!("the transformed dimension of {:?} is empty", input.sizes())));
    }
    let count = if args.bool(3)? { n / 2 + 1 } else { n };
    let shape = with_size(input.sizes(), axes.last(), count as i32)?;
    let mut out = output(args, 4, shape.sizes(), &[input])?;
    expect(out.view(), complex_of(input.dtype()?)?)?;
    let (x, y) = (plain::<T>(input)?, plain_mut::<[T; 2]>(&mut out)?);
    if y.is_empty() {
        return Ok(());
    }
    let halves = if n.is_multiple_of(2) { Some(Halves::new(context, n)?) } else { None };
    let plan = Plan::<T>::new(context, if halves.is_some() { n / 2 } else { n })?;
    let scratch = n + plan.scratch_len() + 1;
    let unit = count * inner;
    split_with_scratch(context, y, unit, GRAIN.div_ceil(n * inner), scratch, |first, y, scratch| {
        let (line, scratch) = scratch.split_at_mut(n + 1);
        for (at, y) in (first..).zip(y.chunks_mut(unit)) {
            let x = &x[at * n * inner..(at + 1) * n * inner];
            for i in 0..inner {
                let real = |t: usize| x[t * inner + i] * factor;
                if let Some(halves) = &halves {
                    let half = &mut line[..n / 2];
                    for (t, value) in half.iter_mut().enumerate() {
                        *value = [real(2 * t), real(2 * t + 1)];
                    }
                    plan.run(false, half, scratch);
                    halves.forward(line);
                } else {
                    let line = &mut line[..n];
                    for (t, value) in line.iter_mut().enumerate() {
                        *value = [real(t), T::default()];
                    }
                    plan.run(false, line, scratch);
                }
                for f in 0..count {
                    // The rest mirrors the first half.
                    let mirrored = f > n / 2;
                    let [re, im] = line[if mirrored { n - f } else { f }];
                    y[f * inner + i] = [re, if mirrored { T::default() - im } else { im }];
                }
            }
        }
    })?;
    for &dim in axes.others() {
        along(context, y, around(shape.sizes(), dim), false)?;
    }
    Ok(())
}

fn expect(out: TensorRef<'_>, dtype: Dtype) -> Result<()> {
    contiguous(out, "the output")?;
    let found = out.dtype()?;
    if found != dtype {
        return Err(bad(format!("the output is {found}, expected {dtype}")));
    }
    Ok(())
}

fn complex_to_real(context: &mut Context, args: &Args<'_>) -> Result<()> {
    match args.tensor(0)?.dtype()? {
        Dtype::Complex64 => backward::<f32>(context, args, Dtype::Float32),
        Dtype::Complex128 => backward::<f64>(context, args, Dtype::Float64),
        other => Err(bad(format!("expected complex64 or complex128, found {other}"))),
    }
}

fn backward<T: Scalar>(context: &mut Context, args: &Args<'_>, dtype: Dtype) -> Result<()> {
    let input = args.tensor(0)?;
    contiguous(input, "the input")?;
    let axes = Axes::of(args.ints(1)?, input.rank())?;
    let asked = args.int(3)?;
    let [_, count, inner] = around(input.sizes(), axes.last());
    let n = usize::try_from(asked).ok().filter(|&n| n > 0 && i32::try_from(n).is_ok() && n / 2 + 1 == count);
    let n = n.ok_or_else(|| {
        bad(format!(
            "{asked} real numbers need half as many complex ones and one more; the input has {count}"
        ))
    })?;
    let shape = with_size(input.sizes(), axes.last(), n as i32)?;
    let factor = T::of_f64(axes.factor(shape.sizes(), args.int(2)?)?);
    let mut out = output(args, 4, shape.sizes(), &[input])?;
    expect(out.view(), dtype)?;
    let mut x = plain::<[T; 2]>(input)?;
    let y = plain_mut::<T>(&mut out)?;
    if y.is_empty() {
        return Ok(());
    }
    if !axes.others().is_empty() {
        let copy = context.scratch::<[T; 2]>(x.len())?;
        copy.copy_from_slice(x);
        for &dim in axes.others() {
            along(context, copy, around(input.sizes(), dim), true)?;
        }
        x = copy;
    }
    let halves = if n.is_multiple_of(2) { Some(Halves::new(context, n)?) } else { None };
    let plan = Plan::<T>::new(context, if halves.is_some() { n / 2 } else { n })?;
    let scratch = n + plan.scratch_len() + 1;
    let unit = n * inner;
    split_with_scratch(context, y, unit, GRAIN.div_ceil(unit), scratch, |first, y, scratch| {
        let (line, scratch) = scratch.split_at_mut(n + 1);
        for (at, y) in (first..).zip(y.chunks_mut(unit)) {
            let x = &x[at * count * inner..(at + 1) * count * inner];
            for i in 0..inner {
                for (f, value) in line.iter_mut().enumerate().take(count) {
                    *value = x[f * inner + i].map(|v| v * factor);
                }
                // What comes from real numbers is real at both ends.
                line[0][1] = T::default();
                if let Some(halves) = &halves {
                    line[n / 2][1] = T::default();
                    halves.backward(line);
                    plan.run(true, &mut line[..n / 2], scratch);
                    for (t, value) in line.iter().enumerate().take(n / 2) {
                        (y[2 * t * inner + i], y[(2 * t + 1) * inner + i]) = (value[0], value[1]);
                    }
                } else {
                    for f in count..n {
                        let [re, im] = line[n - f];
                        line[f] = [re, T::default() - im];
                    }
                    plan.run(true, &mut line[..n], scratch);
                    for (t, value) in line.iter().enumerate().take(n) {
                        y[t * inner + i] = value[0];
                    }
                }
            }
        }
    })
}

/// Transforms complex numbers along the middle of three dimensions, in place.
fn along<T: Scalar>(
    context: &mut Context,
    y: &mut [[T; 2]],
    [_, n, inner]: [usize; 3],
    backward: bool,
) -> Result<()> {
    if n == 0 {
        return Err(bad("a transformed dimension is empty"));
    }
    let plan = Plan::<T>::new(context, n)?;
    let unit = n * inner;
    split_with_scratch(context, y, unit, GRAIN.div_ceil(unit), n + plan.scratch_len(), |_, y, scratch| {
        let (line, scratch) = scratch.split_at_mut(n);
        for y in y.chunks_mut(unit) {
            for i in 0..inner {
                for (t, value) in line.iter_mut().enumerate() {
                    *value = y[t * inner + i];
                }
                plan.run(backward, line, scratch);
                for (t, value) in line.iter().enumerate() {
                    y[t * inner + i] = *value;
                }
            }
        }
    })
}
