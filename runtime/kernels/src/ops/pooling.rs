//! Pooling of images: greatest values, means, and means over cells of a grid.

use crate::elements::{Item, items, items_mut};
use crate::op::{Context, Table, bad, entry, output};
use crate::pool;
use crate::shape::Shape;
use crate::with_item;
use executorch_abi::error::ET_ERROR_INVALID_ARGUMENT;
use executorch_abi::{Args, Dtype, Error, Result, TensorRef};
use executorch_simd::{Accumulator, Element, PoolRow, max_pool_row, max_with_place};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::max_pool2d_with_indices.out", c"TLLLLB>TT", max_pool),
    entry(c"aten::max_pool2d_with_indices_backward.grad_input", c"TTLLLLBT>T", max_pool_backward),
    entry(c"aten::avg_pool2d.out", c"TLLLBBi>T", avg_pool),
    entry(c"aten::_adaptive_avg_pool2d.out", c"TL>T", adaptive_avg_pool),
]);

/// Elements read below which a part is no work for another thread.
const GRAIN: usize = 32 * 1024;

/// An image, or a batch of them, as `[N, C, H, W]`: `[C, H, W]` is a batch of one.
#[derive(Debug, Clone, Copy)]
pub struct Images {
    /// `[N, C, H, W]`.
    pub sizes: [usize; 4],
    /// Elements between neighbours.
    pub strides: [usize; 4],
    /// Dimensions of the tensor: 3 or 4.
    pub rank: usize,
    /// Whether the channels of a pixel are neighbours in memory, not the pixels of a channel.
    pub channels_last: bool,
}

impl Images {
    /// A tensor's images.
    pub fn of(tensor: TensorRef<'_>, what: &str) -> Result<Self> {
        let rank = tensor.rank();
        if rank != 3 && rank != 4 {
            return Err(bad(format!(
                "{what} should be [N, C, H, W] or [C, H, W], found {:?}",
                tensor.sizes()
            )));
        }
        let (mut sizes, mut strides) = ([1; 4], [0; 4]);
        let dims = tensor.sizes().iter().zip(tensor.strides());
        for ((size, stride), (&s, &t)) in sizes.iter_mut().zip(&mut strides).skip(4 - rank).zip(dims) {
            (*size, *stride) = (s.max(0) as usize, t.max(0) as usize);
        }
        let channels_last = match *tensor.dim_order() {
            [0, 2, 3, 1] | [1, 2, 0] => true,
            _ if tensor.is_contiguous() => false,
            _ => {
                return Err(bad(format!(
                    "{what} has the dim order {:?}, expected the contiguous one or channels last",
                    tensor.dim_order()
                )));
            }
        };
        Ok(Self { sizes, strides, rank, channels_last })
    }

    /// The shape of the tensor if its images had this height and width.
    pub fn shape(&self, [height, width]: [usize; 2]) -> Result<Shape> {
        let [n, c, ..] = self.sizes;
        let size = |s: usize| i32::try_from(s).map_err(|_| bad(format!("a size of {s} is too large")));
        let sizes = [size(n)?, size(c)?, size(height)?, size(width)?];
        Shape::new(sizes.get(4 - self.rank..).unwrap_or_default())
    }

    /// Height and width.
    pub fn area(&self) -> [usize; 2] {
        [self.sizes[2], self.sizes[3]]
    }

    /// The units that an output is split in for threads, and the elements of each: channels (of `[H, W]`), or rows
    /// (of `[W, C]`) if channels are last.
    pub fn units(&self) -> (usize, usize) {
        let [n, c, h, w] = self.sizes;
        if self.channels_last { (n * h, w * c) } else { (n * c, h * w) }
    }
}

/// A window sliding over one dimension.
#[derive(Debug, Clone, Copy)]
struct Axis {
    size: usize,
    out: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

impl Axis {
    fn new(size: usize, [kernel, stride, padding, dilation]: [usize; 4], ceil: bool) -> Result<Self> {
        let reach = (kernel - 1).checked_mul(dilation).and_then(|r| r.checked_add(1));
        let reach =
            reach.ok_or_else(|| bad(format!("a window of {kernel} with dilation {dilation} overflows")))?;
        if padding > reach / 2 {
            return Err(bad(format!("a padding of {padding} is more than half of a window of {reach}")));
        }
        let padded = padding.checked_mul(2).and_then(|p| p.checked_add(size)).filter(|&p| p >= reach);
        let room = padded.ok_or_else(|| {
            bad(format!("a window of {reach} does not fit {size} elements padded by {padding}"))
        })? - reach;
        let mut out = if ceil { room.div_ceil(stride) } else { room / stride } + 1;
        // The last window must start within the image or the padding before it.
        if ceil && (out - 1) * stride >= size + padding {
            out -= 1;
        }
        Ok(Self { size, out, kernel, stride, padding, dilation })
    }

    /// The first element of window `at`, and how many more follow, a dilation apart.
    fn taps(&self, at: usize) -> (usize, usize) {
        let start = at * self.stride;
        // Elements of the window that lie in the padding before the image.
        let before = self.padding.saturating_sub(start).div_ceil(self.dilation);
        let first = (start + before * self.dilation).wrapping_sub(self.padding);
        let inside = self.size.saturating_sub(first).div_ceil(self.dilation);
        (first, inside.min(self.kernel.saturating_sub(before)))
    }

    /// The length of window `at` with the padding that counts.
    fn padded(&self, at: usize) -> usize {
        let start = at * self.stride;
        (start + self.kernel).min(self.size + 2 * self.padding) - start
    }
}

/// `[height, width]` of a list with one value for both or one for each.
fn pair(list: &[i64], what: &str, least: i64) -> Result<[usize; 2]> {
    let found = match *list {
        [both] => [both, both],
        [height, width] => [height, width],
        _ => return Err(bad(format!("{what} should have one value or two, found {list:?}"))),
    };
    if found.iter().any(|&v| v < least || v > i64::from(i32::MAX)) {
        return Err(bad(format!("{what} should be at least {least}, found {list:?}")));
    }
    Ok(found.map(|v| v as usize))
}

/// The windows of a pooling operator: kernel, stride (the kernel if empty), padding from argument `first` on.
fn windows(
    args: &Args<'_>,
    first: usize,
    dilation: &[i64],
    ceil: bool,
    images: &Images,
) -> Result<[Axis; 2]> {
    let kernel = pair(args.ints(first)?, "the kernel size", 1)?;
    let stride = args.ints(first + 1)?;
    let stride = if stride.is_empty() { kernel } else { pair(stride, "the stride", 1)? };
    let padding = pair(args.ints(first + 2)?, "the padding", 0)?;
    let dilation = pair(dilation, "the dilation", 1)?;
    let axis = |d: usize| Axis::new(images.area()[d], [kernel[d], stride[d], padding[d], dilation[d]], ceil);
    Ok([axis(0)?, axis(1)?])
}

/// Units of an output ([`Images::units`]) that are work for a thread.
fn grain(out: &Images, per_element: usize) -> usize {
    (GRAIN / (out.units().1 * per_element).max(1)).max(1)
}

fn max_pool(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let images = Images::of(input, "the input")?;
    let axes = windows(args, 1, args.ints(4)?, args.bool(5)?, &images)?;
    let shape = images.shape([axes[0].out, axes[1].out])?;
    let mut out = output(args, 6, shape.sizes(), &[input])?;
    let mut indices = output(args, 7, shape.sizes(), &[input, out.view()])?;
    let (to, places) = (Images::of(out.view(), "the output")?, Images::of(indices.view(), "the indices")?);
    if to.channels_last != places.channels_last {
        return Err(bad("the output and the indices should have the same dim order"));
    }
    let places = items_mut::<i64>(&mut indices).map_err(|e| e.within("the indices"))?;
    with_item!(input.dtype()?, number T => {
        max_pool_of::<T>(items(input)?, &images, &axes, items_mut(&mut out)?, places, &to);
        Ok(())
    })
}

/// Whether a value takes the place of the greatest so far: the first of equal ones stays, NaN wins.
#[inline(always)]
#[allow(clippy::eq_op, reason = "the one test for NaN that integers have too")]
fn wins<T: Element>(value: T, best: T) -> bool {
    value > best || value != value
}

fn max_pool_of<T: Item>(
    data: &[T],
    from: &Images,
    [ys, xs]: &[Axis; 2],
    out: &mut [T],
    indices: &mut [i64],
    to: &Images,
) {
    let [_, channels, rows, width] = to.sizes;
    let [image_stride, channel_stride, y_stride, x_stride] = from.strides;
    let (_, unit) = to.units();
    let grain = grain(to, ys.kernel * xs.kernel);
    // Rows are followed by rows, and the place of an element in them is its index.
    let dense = x_stride == 1 && y_stride == xs.size;
    pool::split_two_mut(out, unit, indices, unit, grain, |first, out, indices| {
        let units = out.chunks_exact_mut(unit).zip(indices.chunks_exact_mut(unit));
        for (at, (out, indices)) in units.enumerate().map(|(i, u)| (first + i, u)) {
            if to.channels_last {
                let (image, y) = (at / rows, at % rows);
                let base = image * image_stride;
                let pixels = out.chunks_exact_mut(channels).zip(indices.chunks_exact_mut(channels));
                for (x, (best, place)) in pixels.enumerate() {
                    best.fill(T::LOWEST);
                    let ((y, tall), (x, wide)) = (ys.taps(y), xs.taps(x));
                    place.fill((y * xs.size + x) as i64);
                    for (ky, kx) in (0..tall).flat_map(|ky| (0..wide).map(move |kx| (ky, kx))) {
                        let (y, x) = (y + ky * ys.dilation, x + kx * xs.dilation);
                        let index = (y * xs.size + x) as i64;
                        let pixel = base + y * y_stride + x * x_stride;
                        if channel_stride == 1 {
                            max_with_place(&data[pixel..pixel + channels], index, best, place);
                            continue;
                        }
                        for (c, (best, place)) in best.iter_mut().zip(place.iter_mut()).enumerate() {
                            let value = data[pixel + c * channel_stride];
                            if wins(value, *best) {
                                (*best, *place) = (value, index);
                            }
                        }
                    }
                }
            } else {
                let base = at / channels * image_stride + at % channels * channel_stride;
                let lines = out.chunks_exact_mut(width).zip(indices.chunks_exact_mut(width));
                for (y, (out, indices)) in lines.enumerate() {
                    let (y, tall) = ys.taps(y);
                    let row = PoolRow {
                        width: xs.size,
                        first: y,
                        rows: tall,
                        dilation: [ys.dilation, xs.dilation],
                        kernel: xs.kernel,
                        stride: xs.stride,
                        padding: xs.padding,
                    };
                    if dense && max_pool_row(&data[base..base + ys.size * xs.size], row, out, indices) {
                        continue;
                    }
                    for (x, (out, index)) in out.iter_mut().zip(indices).enumerate() {
                        let (x, wide) = xs.taps(x);
                        let (mut best, mut place) = (T::LOWEST, y * xs.size + x);
                        for y in (0..tall).map(|k| y + k * ys.dilation) {
                            let line = base + y * y_stride;
                            for x in (0..wide).map(|k| x + k * xs.dilation) {
                                let value = data[line + x * x_stride];
                                if wins(value, best) {
                                    (best, place) = (value, y * xs.size + x);
                                }
                            }
                        }
                        (*out, *index) = (best, place as i64);
                    }
                }
            }
        }
    });
}

fn max_pool_backward(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let (gradient, input, indices) = (args.tensor(0)?, args.tensor(1)?, args.tensor(7)?);
    let images = Images::of(input, "the input")?;
    let axes = windows(args, 2, args.ints(5)?, args.bool(6)?, &images)?;
    let shape = images.shape([axes[0].out, axes[1].out])?;
    for (tensor, what) in [(gradient, "the gradient"), (indices, "the indices")] {
        if tensor.sizes() != shape.sizes() {
            let expected = shape.sizes();
            return Err(bad(format!(
                "{what} should have the sizes {expected:?}, found {:?}",
                tensor.sizes()
            )));
        }
    }
    let mut out = output(args, 8, input.sizes(), &[gradient, indices])?;
    let views = [Images::of(gradient, "the gradient")?, Images::of(indices, "the indices")?];
    let to = Images::of(out.view(), "the output")?;
    let places = items::<i64>(indices).map_err(|e| e.within("the indices"))?;
    with_item!(input.dtype()?, number T => {
        scatter::<T>(items(gradient)?, places, views, items_mut(&mut out)?, &to)
    })
}

/// Adds every gradient to the element that its index names.
fn scatter<T: Item>(
    data: &[T],
    places: &[i64],
    [from, index]: [Images; 2],
    out: &mut [T],
    to: &Images,
) -> Result<()> {
    let [n, c, h, w] = from.sizes;
    let [height, width] = to.area();
    out.fill(T::default());
    let place = |s: [usize; 4], at: [usize; 4]| -> usize { s.iter().zip(at).map(|(s, i)| s * i).sum() };
    for (image, channel) in (0..n).flat_map(|i| (0..c).map(move |c| (i, c))) {
        for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
            let at = [image, channel, y, x];
            let index = places[place(index.strides, at)];
            let target = usize::try_from(index).ok().filter(|&i| i < height * width).ok_or_else(|| {
                bad(format!("index {index} at {at:?} is not within an image of {height} by {width}"))
            })?;
            let target = place(to.strides, [image, channel, target / width, target % width]);
            let sum = out[target].acc().plus(data[place(from.strides, at)].acc());
            out[target] = sum.cast();
        }
    }
    Ok(())
}

/// An accumulator that has a quotient.
trait Mean: Accumulator {
    fn over(self, divisor: i64) -> Self;
}

impl Mean for i64 {
    fn over(self, divisor: i64) -> Self {
        self.wrapping_div(divisor)
    }
}

impl Mean for f32 {
    #[inline(always)]
    fn over(self, divisor: i64) -> Self {
        self / divisor as f32
    }
}

impl Mean for f64 {
    #[inline(always)]
    fn over(self, divisor: i64) -> Self {
        self / divisor as f64
    }
}

fn avg_pool(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let images = Images::of(input, "the input")?;
    let axes = windows(args, 1, &[1], args.bool(4)?, &images)?;
    let (include_padding, divisor) = (args.bool(5)?, args.optional_int(6)?);
    if divisor == Some(0) {
        return Err(bad("the divisor of a mean should not be 0"));
    }
    let divide = |y: usize, x: usize, inside: usize| -> i64 {
        divisor.unwrap_or(if include_padding { axes[0].padded(y) * axes[1].padded(x) } else { inside } as i64)
    };
    let taps = |d: usize, at: usize| axes[d].taps(at);
    means(args, input, &images, 7, [axes[0].out, axes[1].out], taps, divide)
}

fn adaptive_avg_pool(_: &mut Context, args: &Args<'_>) -> Result<()> {
    let input = args.tensor(0)?;
    let images = Images::of(input, "the input")?;
    let size = match args.ints(1)? {
        [both] => pair(&[*both], "the output size", 0)?,
        two => pair(two, "the output size", 0)?,
    };
    let from = images.area();
    if from.contains(&0) && !size.contains(&0) {
        return Err(bad(format!("an image of {from:?} has no elements to take a mean of")));
    }
    let taps = |d: usize, at: usize| {
        let first = at * from[d] / size[d];
        (first, ((at + 1) * from[d]).div_ceil(size[d]) - first)
    };
    means(args, input, &images, 2, size, taps, |_, _, inside| inside as i64)
}

/// Means over windows: `taps` tells the first element and the number of elements of a window in a dimension, `divide`
/// what the sum is divided by, from the window's place and the number of its elements.
fn means(
    args: &Args<'_>,
    input: TensorRef<'_>,
    images: &Images,
    at: usize,
    size: [usize; 2],
    taps: impl Fn(usize, usize) -> (usize, usize) + Sync,
    divide: impl Fn(usize, usize, usize) -> i64 + Sync,
) -> Result<()> {
    let mut out = output(args, at, images.shape(size)?.sizes(), &[input])?;
    let to = Images::of(out.view(), "the output")?;
    let dtype = input.dtype()?;
    if !matches!(dtype, Dtype::Int64 | Dtype::Float16 | Dtype::BFloat16 | Dtype::Float32 | Dtype::Float64) {
        let message = format!("means are of floating-point numbers or int64, found {dtype}");
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, message));
    }
    with_item!(dtype, number T => {
        means_of::<T>(items(input)?, images, items_mut(&mut out)?, &to, taps, divide);
        Ok(())
    })
}

fn means_of<T: Item<Acc: Mean>>(
    data: &[T],
    from: &Images,
    out: &mut [T],
    to: &Images,
    taps: impl Fn(usize, usize) -> (usize, usize) + Sync,
    divide: impl Fn(usize, usize, usize) -> i64 + Sync,
) {
    let [_, channels, rows, width] = to.sizes;
    let [image_stride, channel_stride, y_stride, x_stride] = from.strides;
    let [height, across] = from.area();
    let (_, unit) = to.units();
    let each = (height / rows.max(1) * (across / width.max(1))).max(1);
    // Sums of so many channels are kept at a time.
    const BLOCK: usize = 64;
    pool::split_mut(out, unit, grain(to, each), |first, out| {
        for (at, out) in out.chunks_exact_mut(unit).enumerate().map(|(i, u)| (first + i, u)) {
            if to.channels_last {
                let (image, out_y) = (at / rows, at % rows);
                let (y, tall) = taps(0, out_y);
                for (out_x, out) in out.chunks_exact_mut(channels).enumerate() {
                    let (x, wide) = taps(1, out_x);
                    let divisor = divide(out_y, out_x, tall * wide);
                    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                        let mut sums = [T::Acc::default(); BLOCK];
                        let base = image * image_stride + block * BLOCK * channel_stride;
                        for (y, x) in (y..y + tall).flat_map(|y| (x..x + wide).map(move |x| (y, x))) {
                            let pixel = base + y * y_stride + x * x_stride;
                            for (c, sum) in sums.iter_mut().enumerate().take(out.len()) {
                                *sum = sum.plus(data[pixel + c * channel_stride].acc());
                            }
                        }
                        for (out, &sum) in out.iter_mut().zip(&sums) {
                            *out = mean(sum, tall * wide, divisor);
                        }
                    }
                }
            } else {
                let base = at / channels * image_stride + at % channels * channel_stride;
                for (out_y, out) in out.chunks_exact_mut(width).enumerate() {
                    let (y, tall) = taps(0, out_y);
                    for (out_x, out) in out.iter_mut().enumerate() {
                        let (x, wide) = taps(1, out_x);
                        let mut sum = T::Acc::default();
                        for y in y..y + tall {
                            let line = base + y * y_stride;
                            for x in x..x + wide {
                                sum = sum.plus(data[line + x * x_stride].acc());
                            }
                        }
                        *out = mean(sum, tall * wide, divide(out_y, out_x, tall * wide));
                    }
                }
            }
        }
    });
}

/// A mean; 0 of a window that lies in the padding alone.
fn mean<T: Item<Acc: Mean>>(sum: T::Acc, elements: usize, divisor: i64) -> T {
    if elements == 0 { T::default() } else { sum.over(divisor).cast() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use crate::testing::{Tensor, call, ints};
    use executorch_abi::Dtype;
    use executorch_abi::value::et_value_t;

    #[test]
    fn maxima_are_those_of_a_plain_loop() {
        let (h, w, kernel, stride, padding) = (9_i64, 140_i64, [3_i64, 2], [2_i64, 1], [1_i64, 1]);
        let (oh, ow) = ((h + 2 - 3) / 2 + 1, w + 2 - 2 + 1);
        for order in [[0, 1, 2, 3], [0, 2, 3, 1]] {
            for dtype in [Dtype::Float32, Dtype::Int32, Dtype::BFloat16] {
                // Few values, so that many are equal, and in floats a NaN.
                let value = move |i: usize| if i == 700 { f64::NAN } else { (i * 31 % 7) as f64 - 9.0 };
                let sizes = [2, 3, h as i32, w as i32];
                let mut input = Tensor::new(dtype, &sizes, &order, value);
                let data = input.values();
                let out_sizes = [2, 3, oh as i32, ow as i32];
                let mut out = Tensor::new(dtype, &out_sizes, &order, |_| 0.0);
                let mut places = Tensor::new(Dtype::Int64, &out_sizes, &order, |_| 0.0);
                let mut args = [
                    (&mut input).into(),
                    ints(&kernel),
                    ints(&stride),
                    ints(&padding),
                    ints(&[1]),
                    et_value_t::bool(false),
                    (&mut out).into(),
                    (&mut places).into(),
                ];
                call("aten::max_pool2d_with_indices.out", &mut args).unwrap();
                let (out, places) = (out.values(), places.values());
                for at in 0..(6 * oh * ow) as usize {
                    let plane = at as i64 / (oh * ow);
                    let (y, x) = (at as i64 / ow % oh * 2 - 1, at as i64 % ow - 1);
                    let (mut best, mut place) = (f64::NEG_INFINITY, -1);
                    for (ky, kx) in (0..3).flat_map(|ky| (0..2).map(move |kx| (ky, kx))) {
                        let (y, x) = (y + ky, x + kx);
                        if y < 0 || x < 0 || y >= h || x >= w {
                            continue;
                        }
                        let value = data[(plane * h * w + y * w + x) as usize];
                        if value > best || value.is_nan() {
                            (best, place) = (value, y * w + x);
                        }
                    }
                    assert!(out[at] == best || (out[at].is_nan() && best.is_nan()), "{dtype} {at}");
                    assert_eq!(places[at], place as f64, "{dtype} {at}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut input = Tensor::contiguous(Dtype::Float32, &[1, 4, 4], |_| 0.0);
        let mut out = Tensor::contiguous(Dtype::Float32, &[1, 2, 2], |_| 0.0);
        let mut mean = |kernel: &[i64], padding: &[i64]| {
            let mut args = [
                (&mut input).into(),
                ints(kernel),
                ints(&[]),
                ints(padding),
                et_value_t::bool(false),
                et_value_t::bool(true),
                et_value_t::NONE,
                (&mut out).into(),
            ];
            call("aten::avg_pool2d.out", &mut args).map_err(|e| e.message)
        };
        assert!(mean(&[2], &[0]).is_ok());
        assert!(mean(&[2], &[2]).unwrap_err().contains("more than half"));
        assert!(mean(&[5], &[0]).unwrap_err().contains("does not fit"));
        assert!(mean(&[0], &[0]).unwrap_err().contains("at least 1"));
    }
}
