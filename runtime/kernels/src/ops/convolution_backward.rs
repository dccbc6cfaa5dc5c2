//! Gradients of convolutions.

use super::convolution::{Geometry, Options, image};
use crate::elements::{Source, narrow};
use crate::op::{Context, Table, bad, entry, output};
use crate::pool;
use executorch_abi::{Args, Dtype, Result, TensorRef};
use executorch_simd::Real;

/// What this family registers.
pub static TABLE: Table =
    Table::new(&[entry(c"aten::convolution_backward.out", c"TTTlLLLBLIO>ttt", convolution_backward)]);

/// Multiply-adds below which a part is no work for another thread.
const GRAIN: usize = 64 * 1024;

fn convolution_backward(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (gradient, input, weight) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let geometry = Geometry::of(args, Options { weight: 2, first: 4 })?;
    let (_, _, out_sizes) = geometry.sizes(input)?;
    let expected = geometry.shape(out_sizes)?;
    if gradient.sizes() != expected.sizes() {
        return Err(bad(format!(
            "the gradient should have the output's sizes {:?}, found {:?}",
            expected.sizes(),
            gradient.sizes()
        )));
    }
    let dtype = input.dtype()?;
    for (tensor, what) in [(gradient, "the gradient"), (weight, "the weight")] {
        if tensor.dtype()? != dtype {
            return Err(bad(format!(
                "{what} should be of the input's dtype {dtype}, found {}",
                tensor.dtype()?
            )));
        }
    }
    let &[for_input, for_weight, for_bias] = args.bools(10)? else {
        return Err(bad("the output mask should have three values"));
    };
    let call = Call { geometry, gradient, input, weight };
    let mask = [for_input, for_weight, for_bias];
    match dtype {
        Dtype::Float64 => call.run::<f64>(context, args, mask),
        Dtype::Float32 | Dtype::Float16 | Dtype::BFloat16 => call.run::<f32>(context, args, mask),
        other => Err(bad(format!("gradients are of floating-point numbers, found {other}"))),
    }
}

/// The tensors that gradients are made of.
struct Call<'a> {
    geometry: Geometry,
    gradient: TensorRef<'a>,
    input: TensorRef<'a>,
    weight: TensorRef<'a>,
}

/// The elements of an image and how to find them.
#[derive(Clone, Copy)]
struct View<'a, C> {
    data: &'a [C],
    sizes: [usize; 4],
    strides: [usize; 4],
}

impl Call<'_> {
    fn run<C: Real + bytemuck::Pod>(
        &self,
        context: &mut Context,
        args: &Args<'_>,
        [for_input, for_weight, for_bias]: [bool; 3],
    ) -> Result<()> {
        let inputs = [self.gradient, self.input, self.weight];
        let gradient = wide::<C>(context, self.gradient)?;
        let input = wide::<C>(context, self.input)?;
        let weight = wide::<C>(context, self.weight)?;
        let links = Links { geometry: self.geometry };
        // A transposed convolution is the other one seen from its output.
        let (small, large) = if self.geometry.transposed { (input, gradient) } else { (gradient, input) };
        if for_input {
            let mut out = output(args, 11, self.input.sizes(), &inputs)?;
            let (sizes, strides) = image(out.view());
            let sums = context.scratch::<C>(out.view().numel())?;
            sums.fill(C::default());
            if self.geometry.transposed {
                links.gather(large, weight, sums, sizes, strides);
            } else {
                links.scatter(small, weight, sums, sizes, strides);
            }
            narrow(sums, &mut out)?;
        }
        if for_weight {
            let mut out = output(args, 12, self.weight.sizes(), &inputs)?;
            let (sizes, strides) = image(out.view());
            let sums = context.scratch::<C>(out.view().numel())?;
            links.correlate(small, large, sums, sizes, strides);
            narrow(sums, &mut out)?;
        }
        if for_bias {
            let channels = self.geometry.params.out_channels;
            let sizes = [i32::try_from(channels).map_err(|_| bad("too many channels"))?];
            if let Some(given) = args.optional_ints(3)?
                && *given != sizes.map(i64::from)
            {
                return Err(bad(format!("the bias should have the sizes {sizes:?}, found {given:?}")));
            }
            let mut out = output(args, 13, &sizes, &inputs)?;
            let sums = context.scratch::<C>(channels)?;
            let [n, _, h, w] = gradient.sizes;
            let s = gradient.strides;
            for (channel, sum) in sums.iter_mut().enumerate() {
                *sum = C::default();
                for (image, y) in (0..n).flat_map(|i| (0..h).map(move |y| (i, y))) {
                    let line = image * s[0] + channel * s[1] + y * s[2];
                    for x in 0..w {
                        *sum = *sum + gradient.data[line + x * s[3]];
                    }
                }
            }
            narrow(sums, &mut out)?;
        }
        Ok(())
    }
}

/// Which pixels a convolution connects.
struct Links {
    geometry: Geometry,
}

impl Links {
    /// Calls `body` with each run of pairs of a row of the small image and one of the large one that one kernel
    /// element at `ky, kx` connects: the places of the two firsts, and how many.
    fn pairs(
        &self,
        [small_height, small_width]: [usize; 2],
        [height, width]: [usize; 2],
        [ky, kx]: [usize; 2],
        mut body: impl FnMut([usize; 2], [usize; 2], usize),
    ) {
        let p = &self.geometry.params;
        let range = |d: usize, k: usize, small: usize, large: usize| {
            let (offset, before) = (k * p.dilation[d], p.padding[d][0]);
            let first = before.saturating_sub(offset).div_ceil(p.stride[d]);
            let end = (large + before).saturating_sub(offset).div_ceil(p.stride[d]).min(small);
            (first, end, (first * p.stride[d] + offset).wrapping_sub(before))
        };
        let (first_y, end_y, mut large_y) = range(0, ky, small_height, height);
        let (first_x, end_x, large_x) = range(1, kx, small_width, width);
        if first_x >= end_x {
            return;
        }
        for y in first_y..end_y {
            body([y, first_x], [large_y, large_x], end_x - first_x);
            large_y += p.stride[0];
        }
    }

    /// Channels of the small and the large image that are in a group.
    fn grouped(&self) -> [usize; 2] {
        let p = &self.geometry.params;
        let [ins, outs] = [p.in_channels / p.groups, p.out_channels / p.groups];
        if self.geometry.transposed { [ins, outs] } else { [outs, ins] }
    }

    /// What each pixel of the small image adds to the large one.
    fn scatter<C: Real>(
        &self,
        small: View<'_, C>,
        weight: View<'_, C>,
        sums: &mut [C],
        sizes: [usize; 4],
        strides: [usize; 4],
    ) {
        let step = self.geometry.params.stride[1] * strides[3];
        let [outs, ins] = self.grouped();
        let [_, _, kh, kw] = weight.sizes;
        for (image, channel) in (0..sizes[0]).flat_map(|i| (0..sizes[1]).map(move |c| (i, c))) {
            for other in channel / ins * outs..(channel / ins + 1) * outs {
                for (ky, kx) in (0..kh).flat_map(|y| (0..kw).map(move |x| (y, x))) {
                    let factor = weight.at([other, channel % ins, ky, kx]);
                    self.pairs(
                        [small.sizes[2], small.sizes[3]],
                        [sizes[2], sizes[3]],
                        [ky, kx],
                        |s, l, n| {
                            let from = small.place([image, other, s[0], s[1]]);
                            let to = place(strides, [image, channel, l[0], l[1]]);
                            for i in 0..n {
                                let product = factor * small.data[from + i * small.strides[3]];
                                sums[to + i * step] = sums[to + i * step] + product;
                            }
                        },
                    );
                }
            }
        }
    }

    /// What the pixels of the large image add to each of the small one.
    fn gather<C: Real>(
        &self,
        large: View<'_, C>,
        weight: View<'_, C>,
        sums: &mut [C],
        sizes: [usize; 4],
        strides: [usize; 4],
    ) {
        let step = self.geometry.params.stride[1] * large.strides[3];
        let [ins, outs] = self.grouped();
        let [_, _, kh, kw] = weight.sizes;
        for (image, channel) in (0..sizes[0]).flat_map(|i| (0..sizes[1]).map(move |c| (i, c))) {
            for other in 0..outs {
                let from_channel = channel / ins * outs + other;
                for (ky, kx) in (0..kh).flat_map(|y| (0..kw).map(move |x| (y, x))) {
                    let factor = weight.at([channel, other, ky, kx]);
                    self.pairs(
                        [sizes[2], sizes[3]],
                        [large.sizes[2], large.sizes[3]],
                        [ky, kx],
                        |s, l, n| {
                            let from = large.place([image, from_channel, l[0], l[1]]);
                            let to = place(strides, [image, channel, s[0], s[1]]);
                            for i in 0..n {
                                let at = to + i * strides[3];
                                sums[at] = sums[at] + factor * large.data[from + i * step];
                            }
                        },
                    );
                }
            }
        }
    }

    /// Products of the two images' pixels that each kernel element connects.
    fn correlate<C: Real>(
        &self,
        small: View<'_, C>,
        large: View<'_, C>,
        sums: &mut [C],
        sizes: [usize; 4],
        strides: [usize; 4],
    ) {
        let step = self.geometry.params.stride[1] * large.strides[3];
        let [small_channels, large_channels] = self.grouped();
        let [_, inner, kh, kw] = sizes;
        let taps = inner * kh * kw;
        let cost = small.sizes.iter().product::<usize>() / small.sizes[1].max(1);
        let values = |first: usize, part: &mut [C]| {
            for (at, sum) in part.iter_mut().enumerate().map(|(i, s)| (first + i, s)) {
                let (channel, other, ky, kx) = (at / taps, at / (kh * kw) % inner, at / kw % kh, at % kw);
                let from = channel / small_channels * large_channels + other;
                *sum = C::default();
                for image in 0..small.sizes[0] {
                    let areas = [[small.sizes[2], small.sizes[3]], [large.sizes[2], large.sizes[3]]];
                    self.pairs(areas[0], areas[1], [ky, kx], |s, l, n| {
                        let a = small.place([image, channel, s[0], s[1]]);
                        let b = large.place([image, from, l[0], l[1]]);
                        for i in 0..n {
                            let pair = small.data[a + i * small.strides[3]] * large.data[b + i * step];
                            *sum = *sum + pair;
                        }
                    });
                }
            }
        };
        let dense = [taps, kh * kw, kw, 1];
        if (0..4).all(|d| sizes[d] == 1 || strides[d] == dense[d]) {
            pool::split_mut(sums, 1, GRAIN / cost.max(1), values);
            return;
        }
        for (o, i) in (0..sizes[0]).flat_map(|o| (0..inner).map(move |i| (o, i))) {
            for (y, x) in (0..kh).flat_map(|y| (0..kw).map(move |x| (y, x))) {
                let mut one = [C::default()];
                values(place(dense, [o, i, y, x]), &mut one);
                sums[place(strides, [o, i, y, x])] = one[0];
            }
        }
    }
}

fn place(strides: [usize; 4], at: [usize; 4]) -> usize {
    strides.iter().zip(at).map(|(s, i)| s * i).sum()
}

impl<C: Copy> View<'_, C> {
    fn place(&self, at: [usize; 4]) -> usize {
        place(self.strides, at)
    }

    fn at(&self, at: [usize; 4]) -> C {
        self.data[self.place(at)]
    }
}

/// A tensor's elements in the type that sums are made in.
fn wide<C: Real + bytemuck::Pod>(context: &mut Context, tensor: TensorRef<'_>) -> Result<View<'static, C>> {
    let data = context.scratch::<C>(tensor.numel())?;
    let source = Source::of(tensor)?;
    pool::split_mut(data, 1, GRAIN, |at, part| source.load(at, part));
    let (sizes, strides) = image(tensor);
    Ok(View { data, sizes, strides })
}
