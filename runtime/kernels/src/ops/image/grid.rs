//! Sampling of images at places that a grid tells: nearest, bilinear and bicubic.

use super::{Coordinate, batch, is_whole, rounded, with_coordinate};
use crate::elements::{Item, Source, items, items_mut};
use crate::op::{Context, bad, contiguous, output};
use crate::ops::pooling::Images;
use crate::pool;
use crate::with_item;
use executorch_abi::{Args, Dtype, Result, TensorMut, TensorRef};

/// Products below which a part is no work for another thread.
const GRAIN: usize = 8 * 1024;

/// What stands for pixels outside the image.
#[derive(Clone, Copy)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// How places between pixels are sampled.
#[derive(Clone, Copy)]
enum Mode {
    Bilinear,
    Nearest,
    Bicubic,
}

impl Mode {
    /// Pixels that a sample is made of.
    fn taps(self) -> usize {
        match self {
            Self::Nearest => 1,
            Self::Bilinear => 4,
            Self::Bicubic => 16,
        }
    }
}

/// `aten::grid_sampler_2d.out`
pub fn grid_sampler(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (input, grid) = (args.tensor(0)?, args.tensor(1)?);
    let from = batch(input, "the input")?;
    contiguous(grid, "the grid")?;
    let mode = match args.int(2)? {
        0 => Mode::Bilinear,
        1 => Mode::Nearest,
        2 => Mode::Bicubic,
        other => return Err(bad(format!("interpolation mode {other}, expected 0, 1 or 2"))),
    };
    let outside = match args.int(3)? {
        0 => Outside::Zeros,
        1 => Outside::Border,
        2 => Outside::Reflection,
        other => return Err(bad(format!("padding mode {other}, expected 0, 1 or 2"))),
    };
    let align = args.bool(4)?;
    let [n, c, h, w] = from.sizes;
    let size = match *grid.sizes() {
        [images, height, width, 2] if images as usize == n => [height as usize, width as usize],
        _ => return Err(bad(format!("the grid should be [{n}, H, W, 2], found sizes {:?}", grid.sizes()))),
    };
    if h * w == 0 && n * c * size[0] * size[1] > 0 {
        return Err(bad(format!("an image of {:?} has no elements to sample", [h, w])));
    }
    if !crate::number::is_float(grid.dtype()?) {
        return Err(bad(format!("the grid should hold floating-point numbers, found {}", grid.dtype()?)));
    }
    if from.strides[2].saturating_mul(h).max(from.strides[3].saturating_mul(w)) > NOWHERE as usize {
        return Err(bad(format!("an image of {:?} is too large to sample", [h, w])));
    }
    let mut out = output(args, 5, from.shape(size)?.sizes(), &[input, grid])?;
    with_coordinate!(input.dtype()?, T C => {
        let axes = [h, w].map(|size| Axis { size, align, outside });
        sample::<T, C>(context, input, &from, Source::of(grid)?, axes, mode, &mut out)
    })
}

/// One dimension of the image.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    align: bool,
    outside: Outside,
}

impl Axis {
    /// The pixel, with a fraction, that a coordinate from -1 to 1 means.
    fn place<C: Coordinate>(&self, at: C) -> C {
        let (one, two, size) = (C::of(1.0), C::of(2.0), C::of(self.size as f64));
        if self.align { (at + one) / two * (size - one) } else { ((at + one) * size - one) / two }
    }

    /// A place moved into the image, unless zeros are around it.
    fn inside<C: Coordinate>(&self, at: C) -> C {
        let last = C::of(self.size as f64 - 1.0);
        match self.outside {
            Outside::Zeros => at,
            Outside::Border => clip(at, last),
            Outside::Reflection if self.align => clip(reflect(at, C::of(0.0), last), last),
            Outside::Reflection => clip(reflect(at, C::of(-0.5), last + C::of(1.0)), last),
        }
    }

    /// The pixel at a whole place, if there is one.
    fn pixel<C: Coordinate>(&self, at: C) -> Option<usize> {
        // Not so for NaN.
        let within = at >= C::of(0.0) && at < C::of(self.size as f64);
        within.then(|| at.cast::<i64>() as usize)
    }
}

fn clip<C: Coordinate>(at: C, last: C) -> C {
    let zero = C::of(0.0);
    let low = if at > zero { at } else { zero };
    if low < last { low } else { last }
}

/// A place reflected at `low` and at `span` after it, as often as needed.
fn reflect<C: Coordinate>(at: C, low: C, span: C) -> C {
    let zero = C::of(0.0);
    if span == zero {
        return zero;
    }
    let at = if at < low { low - at } else { at - low };
    let flips = (at / span).floor();
    let extra = at - flips * span;
    let even = (flips / C::of(2.0)).floor() * C::of(2.0) == flips;
    if even { extra + low } else { span - extra + low }
}

/// Weights of the pixels one before, at, and one and two after a place, `t` after the second.
fn cubic<C: Coordinate>(t: C) -> [C; 4] {
    let (a, one) = (C::of(-0.75), C::of(1.0));
    // Within a pixel of the place, and farther off.
    let near = |x: C| ((a + C::of(2.0)) * x - (a + C::of(3.0))) * x * x + one;
    let far = |x: C| ((a * x - C::of(5.0) * a) * x + C::of(8.0) * a) * x - C::of(4.0) * a;
    [far(t + one), near(t), near(one - t), far(C::of(2.0) - t)]
}

/// Writes the places in the image (of an image's rows and columns at these strides) and the weights of one sample.
fn taps<C: Coordinate>(
    [ys, xs]: [Axis; 2],
    [y, x]: [C; 2],
    mode: Mode,
    strides: [usize; 2],
    mut put: impl FnMut(Option<usize>, C),
) {
    let one = C::of(1.0);
    let at = |y: C, x: C| Some(ys.pixel(y)? * strides[0] + xs.pixel(x)? * strides[1]);
    let (y, x) = (ys.place(y), xs.place(x));
    match mode {
        Mode::Nearest => put(at(ys.inside(y).round(), xs.inside(x).round()), one),
        Mode::Bilinear => {
            let (y, x) = (ys.inside(y), xs.inside(x));
            let (top, left) = (y.floor(), x.floor());
            let (down, across) = (y - top, x - left);
            put(at(top, left), (one - down) * (one - across));
            put(at(top, left + one), (one - down) * across);
            put(at(top + one, left), down * (one - across));
            put(at(top + one, left + one), down * across);
        }
        Mode::Bicubic => {
            let (top, left) = (y.floor(), x.floor());
            let (down, across) = (cubic(y - top), cubic(x - left));
            for (i, &down) in down.iter().enumerate() {
                for (j, &across) in across.iter().enumerate() {
                    let y = ys.inside(top + C::of(i as f64 - 1.0));
                    let x = xs.inside(left + C::of(j as f64 - 1.0));
                    put(at(y, x), down * across);
                }
            }
        }
    }
}

/// A place outside the image, which counts as 0.
const NOWHERE: u32 = u32::MAX;

fn sample<T: Item, C: Coordinate>(
    context: &mut Context,
    input: TensorRef<'_>,
    from: &Images,
    grid: Source<'_>,
    axes: [Axis; 2],
    mode: Mode,
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let to = batch(out.view(), "the output")?;
    let [n, channels, height, width] = to.sizes;
    let [image_stride, channel_stride, y_stride, x_stride] = from.strides;
    let each = mode.taps();
    let samples = n * height * width;
    // All channels sample the same places: these are found once.
    let places = context.scratch::<u32>(samples * each)?;
    let weights = context.scratch::<C>(samples * each)?;
    pool::split_two_mut(places, each, weights, each, GRAIN / each, |first, places, weights| {
        let samples = places.chunks_exact_mut(each).zip(weights.chunks_exact_mut(each));
        for (at, (places, weights)) in samples.enumerate().map(|(i, s)| (first + i, s)) {
            let place = [grid.get(2 * at + 1), grid.get(2 * at)];
            let mut room = places.iter_mut().zip(weights);
            taps::<C>(axes, place, mode, [y_stride, x_stride], |at, weight| {
                if let Some((p, w)) = room.next() {
                    (*p, *w) = (at.map_or(NOWHERE, |at| at as u32), weight);
                }
            });
        }
    });
    let data = items::<T>(input)?;
    let whole = is_whole::<T>();
    let value = |base: usize, sample: usize| -> T {
        let range = sample * each..(sample + 1) * each;
        let mut sum = C::of(0.0);
        for (&place, &weight) in places[range.clone()].iter().zip(&weights[range]) {
            if place != NOWHERE {
                sum = sum + weight * data[base + place as usize].cast();
            }
        }
        rounded(sum, whole)
    };
    let area = height * width;
    let (unit, grain) = if to.channels_last { (channels, 1) } else { (area, 1) };
    let grain = grain.max(GRAIN / (unit * each).max(1));
    pool::split_mut(items_mut::<T>(out)?, unit, grain, |first, part| {
        for (at, part) in part.chunks_exact_mut(unit).enumerate().map(|(i, p)| (first + i, p)) {
            if to.channels_last {
                let base = at / area * image_stride;
                for (c, out) in part.iter_mut().enumerate() {
                    *out = value(base + c * channel_stride, at);
                }
            } else {
                let (image, channel) = (at / channels, at % channels);
                let base = image * image_stride + channel * channel_stride;
                for (i, out) in part.iter_mut().enumerate() {
                    *out = value(base, image * area + i);
                }
            }
        }
    });
    Ok(())
}
