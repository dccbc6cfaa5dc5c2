//! Resizing of images, nearest and bilinear with and without antialiasing, by tables of taps: for each output row and
//! column, the input rows and columns that it reads, and their weights. Sampling at any places is in [`grid`].

pub mod grid;

use super::pooling::Images;
use crate::elements::{Item, items, items_mut};
use crate::op::{Context, Table, bad, entry, output};
use crate::pool;
use crate::with_item;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};
use executorch_simd::Real;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::upsample_nearest2d.vec_out", c"Tlf>T", nearest),
    entry(c"aten::upsample_bilinear2d.vec_out", c"TlBf>T", bilinear),
    entry(c"aten::_upsample_bilinear2d_aa.out", c"TLBdd>T", antialiased),
    entry(c"aten::grid_sampler_2d.out", c"TTIIB>T", grid::grid_sampler),
]);

/// Products below which a part is no work for another thread.
const GRAIN: usize = 16 * 1024;

/// f32 or f64, which places and weights are computed in.
pub trait Coordinate: Real + bytemuck::Pod {
    /// The greatest integer that is not greater.
    fn floor(self) -> Self;
    /// The nearest integer, of two the even one.
    fn round(self) -> Self;
    /// A number in this type.
    fn of(value: f64) -> Self;
}

macro_rules! coordinate {
    ($($t:ident)*) => {$(
        impl Coordinate for $t {
            fn floor(self) -> Self {
                self.floor()
            }
            fn round(self) -> Self {
                self.round_ties_even()
            }
            fn of(value: f64) -> Self {
                value as $t
            }
        }
    )*};
}
coordinate!(f32 f64);

/// Evaluates an expression for an element type `T` and the type `C` that its places and sums are computed in.
macro_rules! with_coordinate {
    ($dtype:expr, $t:ident $c:ident => $body:expr) => {
        match $dtype {
            Dtype::Float16 | Dtype::BFloat16 | Dtype::Float32 => {
                type $c = f32;
                with_item!($dtype, number $t => $body)
            }
            _ => {
                type $c = f64;
                with_item!($dtype, number $t => $body)
            }
        }
    };
}
pub(crate) use with_coordinate;

/// The images of an argument that must be `[N, C, H, W]`.
fn batch(tensor: TensorRef<'_>, what: &str) -> Result<Images> {
    let images = Images::of(tensor, what)?;
    if images.rank != 4 {
        return Err(bad(format!("{what} should be [N, C, H, W], found sizes {:?}", tensor.sizes())));
    }
    Ok(images)
}

/// The output's height and width, and the factors that it was given as, if it was.
fn target(
    args: &Args<'_>,
    size: usize,
    factors: usize,
    images: &Images,
) -> Result<([usize; 2], [Option<f64>; 2])> {
    let from = images.area();
    let factors = if args.is_none(factors)? { None } else { Some(args.doubles(factors)?) };
    let (size, factors) = match (args.optional_ints(size)?, factors) {
        (Some(size), None) => match *size {
            [height, width] => ([height, width], [None; 2]),
            _ => return Err(bad(format!("the output size should have two values, found {size:?}"))),
        },
        (None, Some(factors)) => match *factors {
            [y, x] => ([from[0] as f64 * y, from[1] as f64 * x].map(|s| s as i64), [Some(y), Some(x)]),
            _ => return Err(bad(format!("there should be two scale factors, found {factors:?}"))),
        },
        _ => return Err(bad("either the output size or the scale factors should be given")),
    };
    sized(size, from).map(|size| (size, factors))
}

/// Checks the height and width of an output.
fn sized(size: [i64; 2], from: [usize; 2]) -> Result<[usize; 2]> {
    if size.iter().any(|&s| s < 1 || s > i64::from(i32::MAX)) {
        return Err(bad(format!("an image resized to {size:?} would be empty or too large")));
    }
    if from.contains(&0) {
        return Err(bad(format!("an image of {from:?} has no elements to resize")));
    }
    Ok(size.map(|s| s as usize))
}

/// Input elements between neighbouring outputs.
fn step<C: Coordinate>(from: usize, to: usize, align: bool, factor: Option<f64>) -> C {
    let of = |v: usize| C::of(v as f64);
    match factor {
        _ if align && to > 1 => of(from - 1) / of(to - 1),
        _ if align => C::of(0.0),
        Some(factor) if factor > 0.0 => C::of(1.0 / factor),
        _ => of(from) / of(to),
    }
}

/// For each output row or column, what it reads.
struct Taps<'a, C> {
    /// Room for each output.
    width: usize,
    /// How many of it are used.
    used: &'a mut [u32],
    places: &'a mut [u32],
    weights: &'a mut [C],
}

impl<'a, C: Coordinate> Taps<'a, C> {
    fn new(context: &mut Context, outputs: usize, width: usize) -> Result<Self> {
        let all = outputs.checked_mul(width).ok_or_else(|| bad("an image is resized by too much"))?;
        Ok(Self {
            width,
            used: context.scratch(outputs)?,
            places: context.scratch(all)?,
            weights: context.scratch(all)?,
        })
    }

    /// Fills the table: `each` is called with an output and the room for its taps, and tells how many it used.
    fn fill(&mut self, mut each: impl FnMut(usize, &mut [u32], &mut [C]) -> usize) {
        let taps = self.places.chunks_exact_mut(self.width).zip(self.weights.chunks_exact_mut(self.width));
        for (at, ((places, weights), used)) in taps.zip(self.used.iter_mut()).enumerate() {
            *used = each(at, places, weights) as u32;
        }
    }

    /// The taps of an output.
    fn of(&self, at: usize) -> impl Iterator<Item = (usize, C)> + Clone {
        let range = at * self.width..at * self.width + self.used[at] as usize;
        self.places[range.clone()].iter().map(|&p| p as usize).zip(self.weights[range].iter().copied())
    }

    /// The two neighbours of each output's place.
    fn bilinear(
        context: &mut Context,
        from: usize,
        to: usize,
        align: bool,
        factor: Option<f64>,
    ) -> Result<Self> {
        let step = step::<C>(from, to, align, factor);
        let (zero, half, one) = (C::of(0.0), C::of(0.5), C::of(1.0));
        let mut taps = Self::new(context, to, 2)?;
        taps.fill(|at, places, weights| {
            let at = C::of(at as f64);
            let place = if align { step * at } else { step * (at + half) - half };
            let place = if place > zero { place } else { zero };
            let first = place.floor().cast::<i64>().min(from as i64 - 1) as usize;
            let share = place - C::of(first as f64);
            let share = if share < one { share } else { one };
            let share = if from == to { zero } else { share };
            let next = if from == to { first } else { (first + 1).min(from - 1) };
            places.copy_from_slice(&[first as u32, next as u32]);
            weights.copy_from_slice(&[one - share, share]);
            2
        });
        Ok(taps)
    }

    /// All elements that a triangle as wide as two outputs covers, if these are wider than inputs.
    fn triangle(
        context: &mut Context,
        from: usize,
        to: usize,
        align: bool,
        factor: Option<f64>,
    ) -> Result<Self> {
        let step = step::<C>(from, to, align, factor);
        let (zero, half, one) = (C::of(0.0), C::of(0.5), C::of(1.0));
        let reach = if step > one { step } else { one };
        let width = (reach.cast::<f64>().ceil() as usize).saturating_mul(2).saturating_add(1).min(from);
        let mut taps = Self::new(context, to, width)?;
        taps.fill(|at, places, weights| {
            let centre = step * (C::of(at as f64) + half);
            let clip = |v: C| v.cast::<i64>().clamp(0, from as i64) as usize;
            let (first, end) = (clip(centre - reach + half), clip(centre + reach + half));
            let used = (end - first).min(width);
            let mut total = zero;
            for (i, (place, weight)) in places.iter_mut().zip(weights.iter_mut()).enumerate().take(used) {
                let distance = (C::of((first + i) as f64) - centre + half) / reach;
                let distance = if distance < zero { zero - distance } else { distance };
                *weight = if distance < one { one - distance } else { zero };
                *place = (first + i) as u32;
                total = total + *weight;
            }
            if total != zero {
                weights.iter_mut().take(used).for_each(|w| *w = *w / total);
            }
            used
        });
        Ok(taps)
    }
}

fn nearest(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let from = batch(input, "the input")?;
    let (size, factors) = target(args, 1, 2, &from)?;
    let mut out = output(args, 3, from.shape(size)?.sizes(), &[input])?;
    if out.view().numel() == 0 {
        return Ok(());
    }
    let mut axis = |d: usize| -> Result<Taps<'_, f32>> {
        let last = from.area()[d] - 1;
        let step = step::<f32>(last + 1, size[d], false, factors[d]);
        let mut taps = Taps::new(context, size[d], 1)?;
        taps.fill(|at, places, weights| {
            // A given factor does not count where an image keeps its size, or doubles it.
            let place = match size[d] {
                same if same == last + 1 => at,
                double if double == 2 * (last + 1) => at / 2,
                _ => (at as f32 * step) as usize,
            };
            places.fill(place.min(last) as u32);
            weights.fill(1.0);
            1
        });
        Ok(taps)
    };
    let taps = [axis(0)?, axis(1)?];
    let to = batch(out.view(), "the output")?;
    with_item!(input.dtype()?, any T => {
        let data = items::<T>(input)?;
        each_row(items_mut::<T>(&mut out)?, &to, 1, |[image, y], channels, row| {
            let (y, _) = taps[0].of(y).next().unwrap_or_default();
            let base = image * from.strides[0] + y * from.strides[2];
            match channels {
                Channels::One(channel) => {
                    let base = base + channel * from.strides[1];
                    for (out, &x) in row.iter_mut().zip(taps[1].places.iter()) {
                        *out = data[base + x as usize * from.strides[3]];
                    }
                }
                Channels::All(count) => {
                    for (pixel, &x) in row.chunks_exact_mut(count).zip(taps[1].places.iter()) {
                        let base = base + x as usize * from.strides[3];
                        for (c, out) in pixel.iter_mut().enumerate() {
                            *out = data[base + c * from.strides[1]];
                        }
                    }
                }
            }
        });
        Ok(())
    })
}

/// The channels that a row of an output holds.
#[derive(Clone, Copy)]
enum Channels {
    /// One, whose pixels are neighbours.
    One(usize),
    /// So many, side by side in each pixel.
    All(usize),
}

/// Calls `body` on the pool's threads with each image, row and channel of an output, or each image and row with all
/// channels if they are last, and with the row's elements, each of which costs `cost`.
fn each_row<T: Send>(
    out: &mut [T],
    to: &Images,
    cost: usize,
    body: impl Fn([usize; 2], Channels, &mut [T]) + Sync,
) {
    let [_, channels, rows, width] = to.sizes;
    let row = if to.channels_last { width * channels } else { width };
    pool::split_mut(out, row, GRAIN / (row * cost).max(1), |first, part| {
        for (at, part) in part.chunks_exact_mut(row).enumerate().map(|(i, p)| (first + i, p)) {
            let (outer, y) = (at / rows, at % rows);
            if to.channels_last {
                body([outer, y], Channels::All(channels), part);
            } else {
                body([outer / channels, y], Channels::One(outer % channels), part);
            }
        }
    });
}

fn bilinear(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let from = batch(input, "the input")?;
    let align = args.bool(2)?;
    let (size, factors) = target(args, 1, 3, &from)?;
    let mut out = output(args, 4, from.shape(size)?.sizes(), &[input])?;
    if out.view().numel() == 0 {
        return Ok(());
    }
    let area = from.area();
    with_coordinate!(input.dtype()?, T C => {
        let mut axis = |d: usize| Taps::<C>::bilinear(context, area[d], size[d], align, factors[d]);
        resize::<T, C>(input, &from, &[axis(0)?, axis(1)?], &mut out)
    })
}

fn antialiased(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let from = batch(input, "the input")?;
    let align = args.bool(2)?;
    let factors = [args.optional_double(3)?, args.optional_double(4)?];
    let area = from.area();
    let size = match *args.ints(1)? {
        [height, width] => sized([height, width], area)?,
        ref size => return Err(bad(format!("the output size should have two values, found {size:?}"))),
    };
    let mut out = output(args, 5, from.shape(size)?.sizes(), &[input])?;
    if out.view().numel() == 0 {
        return Ok(());
    }
    with_coordinate!(input.dtype()?, T C => {
        let mut axis = |d: usize| Taps::<C>::triangle(context, area[d], size[d], align, factors[d]);
        resize::<T, C>(input, &from, &[axis(0)?, axis(1)?], &mut out)
    })
}

/// Sums over the taps of each row and column.
fn resize<T: Item, C: Coordinate>(
    input: TensorRef<'_>,
    from: &Images,
    [ys, xs]: &[Taps<'_, C>; 2],
    out: &mut TensorMut<'_>,
) -> Result<()> {
    /// Sums of so many channels are kept at a time.
    const BLOCK: usize = 64;
    let to = batch(out.view(), "the output")?;
    let data = items::<T>(input)?;
    let [image_stride, channel_stride, y_stride, x_stride] = from.strides;
    let cost = ys.width * xs.width;
    let (zero, whole) = (C::of(0.0), is_whole::<T>());
    each_row(items_mut::<T>(out)?, &to, cost, |[image, y], channels, row| match channels {
        Channels::One(channel) => {
            let base = image * image_stride + channel * channel_stride;
            for (x, out) in row.iter_mut().enumerate() {
                let mut sum = zero;
                for (y, down) in ys.of(y) {
                    let mut line = zero;
                    for (x, across) in xs.of(x) {
                        line = line + across * data[base + y * y_stride + x * x_stride].cast();
                    }
                    sum = sum + down * line;
                }
                *out = rounded(sum, whole);
            }
        }
        Channels::All(channels) => {
            for (x, pixel) in row.chunks_exact_mut(channels).enumerate() {
                for (block, out) in pixel.chunks_mut(BLOCK).enumerate() {
                    let base = image * image_stride + block * BLOCK * channel_stride;
                    let mut sums = [zero; BLOCK];
                    for ((y, down), (x, across)) in ys.of(y).flat_map(|y| xs.of(x).map(move |x| (y, x))) {
                        let base = base + y * y_stride + x * x_stride;
                        for (c, sum) in sums.iter_mut().enumerate().take(out.len()) {
                            *sum = *sum + down * across * data[base + c * channel_stride].cast();
                        }
                    }
                    for (out, &sum) in out.iter_mut().zip(&sums) {
                        *out = rounded(sum, whole);
                    }
                }
            }
        }
    });
    Ok(())
}

/// Whether a type holds whole numbers alone.
pub fn is_whole<T: Item>() -> bool {
    !crate::number::is_float(T::DTYPE)
}

/// A sum as an element: the nearest one, if elements are whole.
#[inline(always)]
pub fn rounded<T: Item, C: Coordinate>(sum: C, whole: bool) -> T {
    if whole { (sum + C::of(0.5)).floor().cast() } else { sum.cast() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use crate::testing::{Tensor, call, ints};
    use executorch_abi::Dtype;
    use executorch_abi::value::*;

    fn value(i: usize) -> f64 {
        ((i * 7) % 11) as f64 - 3.0
    }

    fn doubles(list: &[f64]) -> et_value_t {
        let list = et_double_list_t { data: list.as_ptr(), length: list.len() };
        et_value_t { payload: et_payload_t { as_double_list: list }, tag: ET_TAG_LIST_DOUBLE, reserved: 0 }
    }

    #[track_caller]
    fn check(name: &str, args: &mut [et_value_t], out: &Tensor, want: &[f64]) {
        call(name, args).unwrap();
        for (i, (got, want)) in out.values().into_iter().zip(want).enumerate() {
            assert!((got - want).abs() < 2e-5, "{name}: element {i} is {got}, not {want}");
        }
    }

    // The expected values are PyTorch's.

    #[test]
    fn antialiasing_is_pytorch_s() {
        let name = "aten::_upsample_bilinear2d_aa.out";
        let none = et_value_t::NONE;
        let aligned =
            [1.88889, 3.22222, 1.74667, 1.68, 2.54815, 2.4, 1.96296, 1.66667, 2.25778, 1.45778, 2.12222, 3.4];
        let scaled = [
            1.44156, 2.78409, 0.91775, 2.07576, 2.03084, 1.58097, 2.44156, 1.14123, 1.91775, 1.75631,
            2.51299, 2.58097,
        ];
        for order in [[0, 1, 2, 3], [0, 2, 3, 1]] {
            let mut x = Tensor::new(Dtype::Float32, &[1, 2, 6, 5], &order, value);
            let mut out = Tensor::new(Dtype::Float32, &[1, 2, 3, 2], &order, |_| 0.0);
            let (size, to) = (ints(&[3, 2]), et_value_t::from(&mut out));
            check(name, &mut [(&mut x).into(), size, et_value_t::bool(true), none, none, to], &out, &aligned);
            let factors = [et_value_t::double(0.6), et_value_t::double(0.45)];
            let mut args =
                [(&mut x).into(), size, et_value_t::bool(false), factors[0], factors[1], (&mut out).into()];
            check(name, &mut args, &out, &scaled);
        }
    }

    #[test]
    fn factors_and_whole_numbers_are_as_in_pytorch() {
        let none = et_value_t::NONE;
        // The corner of a larger image.
        let value = |i: usize| value(i % 3 + i / 3 * 5);
        let mut x = Tensor::contiguous(Dtype::Float32, &[1, 1, 2, 3], value);
        let mut out = Tensor::contiguous(Dtype::Float32, &[1, 1, 3, 5], |_| 0.0);
        let want = [-3.0, 0.5, 4.0, 2.0, 0.0, -2.0, 1.5, 5.0, 3.0, 1.0, -1.0, 2.5, 6.0, 4.0, 2.0];
        let name = "aten::upsample_bilinear2d.vec_out";
        let size = ints(&[3, 5]);
        let mut args = [(&mut x).into(), size, et_value_t::bool(true), none, (&mut out).into()];
        check(name, &mut args, &out, &want);
        // Both or none of the two ways to tell the size.
        let mut args = [(&mut x).into(), none, et_value_t::bool(true), none, (&mut out).into()];
        assert!(call(name, &mut args).unwrap_err().message.contains("should be given"));

        let mut out = Tensor::contiguous(Dtype::Float32, &[1, 1, 3, 1], |_| 0.0);
        let factors = doubles(&[1.7, 0.6]);
        let mut args = [(&mut x).into(), none, et_value_t::bool(false), factors, (&mut out).into()];
        check(name, &mut args, &out, &[-0.66667, 0.09804, 1.27451]);

        let mut out = Tensor::contiguous(Dtype::Float32, &[1, 1, 5, 4], |_| 0.0);
        let rows = [[-3.0, -3.0, 4.0, 0.0], [-1.0, -1.0, 6.0, 2.0]];
        let want = [rows[0], rows[0], rows[0], rows[1], rows[1]].concat();
        let mut args = [(&mut x).into(), none, doubles(&[2.6, 1.4]), (&mut out).into()];
        check("aten::upsample_nearest2d.vec_out", &mut args, &out, &want);

        let mut x = Tensor::contiguous(Dtype::UInt8, &[1, 1, 2, 3], |i| value(i) * 20.0 + 90.0);
        let mut out = Tensor::contiguous(Dtype::UInt8, &[1, 1, 3, 4], |_| 0.0);
        let want = [30, 118, 140, 90, 50, 138, 160, 110, 70, 158, 180, 130].map(f64::from);
        let size = ints(&[3, 4]);
        let mut args = [(&mut x).into(), size, et_value_t::bool(false), none, (&mut out).into()];
        check(name, &mut args, &out, &want);
    }

    #[test]
    fn bicubic_sampling_is_pytorch_s() {
        let places = [-1.2, -0.4, 0.3, 0.9, 1.3, -1.6, 0.05, 0.0, -0.7, 2.2, 0.999, -1.0];
        let want = [
            [0.0, 4.06094, 0.0, 6.14062, 0.0, 0.37435],
            [-0.162, 3.22884, -0.08213, 6.15911, 0.0, 3.01051],
            [-0.316, 4.88731, 3.0, 6.14062, 6.23437, 2.33847],
            [-0.162, 2.8673, 2.712, 6.15911, 4.984, 3.00603],
            [-0.316, 4.93531, 4.04203, 6.14062, -0.18827, 1.48831],
            [0.312, 3.07823, 1.59413, 6.15911, -1.916, 3.00006],
        ];
        for (i, want) in want.iter().enumerate() {
            let mut x = Tensor::contiguous(Dtype::Float32, &[1, 1, 6, 5], value);
            let mut grid = Tensor::contiguous(Dtype::Float32, &[1, 2, 3, 2], |i| places[i]);
            let mut out = Tensor::contiguous(Dtype::Float32, &[1, 1, 2, 3], |_| 0.0);
            let modes = [et_value_t::int(2), et_value_t::int(i as i64 / 2), et_value_t::bool(i % 2 == 1)];
            let mut args =
                [(&mut x).into(), (&mut grid).into(), modes[0], modes[1], modes[2], (&mut out).into()];
            check("aten::grid_sampler_2d.out", &mut args, &out, want);
        }
    }
}
