//! Depthwise convolution with channels last: strips of neighbouring pixels, over vectors of channels.
//!
//! The image is read where it lies, and never padded: taps outside of it are left out. So strips are of
//! pixels that see the same taps: many inside of a row, single ones at its ends.

use super::call::{Algorithm, Call, check_scratch, total_scratch};
use super::stage::Source;
use super::{ConvPacking, ConvParams, Layout, Weight};
use crate::error::{Result, product};
use crate::isa::{Element, Kernels};
use crate::micro::Strip;
use crate::pack::panel_rows;
use crate::pool::{self, Pool, Slots, TASKS_PER_THREAD};
use std::ops::Range;

/// Elements of the input that a row of outputs should see at most: what stays in a core's L1 cache.
const NEAR: usize = 6 * 1024;

/// Weights are packed as `[taps][C]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips {
    kernels: &'static Kernels<f32>,
}

/// How the work on one image is cut.
struct Cut {
    /// Channels of a block, and blocks.
    channels: usize,
    blocks: usize,
    threads: usize,
    /// Parts that rows and blocks are cut into.
    row_parts: usize,
    block_parts: usize,
    /// Whether neighbouring tasks have the same rows, else the same blocks.
    rows_first: bool,
    /// Scratch of a task.
    each: usize,
}

impl Strips {
    /// Gives nothing if the convolution is not of this kind.
    pub(super) fn new(packing: &ConvPacking) -> Result<Option<Self>> {
        let p = &packing.params;
        let kernels = f32::kernels(packing.isa)?;
        let fits = p.groups == p.in_channels && p.groups > 1 && p.out_channels == p.in_channels;
        Ok((fits && packing.layout == Layout::ChannelsLast).then_some(Self { kernels }))
    }

    fn cut(
        &self,
        p: &ConvParams,
        images: usize,
        [h, w]: [usize; 2],
        [oh, ow]: [usize; 2],
        pool: &dyn Pool,
    ) -> Result<Cut> {
        let [kh, kw] = p.kernel;
        // A multiply-add costs about twice as much here as in a matrix product.
        let work = [2, images, p.out_channels, oh, ow, kh, kw];
        let work = work.iter().fold(1usize, |acc, &size| acc.saturating_mul(size));
        let threads = pool::useful_threads(pool, work);
        let unit = self.kernels.nr();
        let channels = (NEAR / kh.saturating_mul(w).max(1) / unit).max(1) * unit;
        // A small rest would be a block of its own.
        let blocks = (p.in_channels / channels).max(1);
        let channels = p.in_channels.div_ceil(blocks).next_multiple_of(unit);
        let blocks = p.in_channels.div_ceil(channels);
        // A thread finds its input in its own cache if it has the rows, or the channels, that it had in
        // the product before: that one is cut by rows if the image is large, else by channels.
        let rows_first = p.in_channels <= 2 * h.saturating_mul(w);
        let tasks = if threads == 1 { 1 } else { (threads * TASKS_PER_THREAD).div_ceil(images.max(1)) };
        let block_parts = blocks.min(if rows_first { tasks.min(TASKS_PER_THREAD) } else { tasks });
        let row_parts = (tasks / block_parts.max(1)).clamp(1, oh.max(1));
        let each = product("depthwise scratch", &[kh, w, channels])?;
        Ok(Cut { channels, blocks, threads, row_parts, block_parts, rows_first, each })
    }
}

impl Algorithm for Strips {
    fn packed_len(&self, p: &ConvParams) -> Result<usize> {
        product("depthwise weights", &[p.kernel[0], p.kernel[1], p.out_channels])
    }

    fn pack(&self, p: &ConvParams, weight: &Weight<'_>, _pool: &dyn Pool, to: &mut [f32]) {
        for (tap, row) in to.chunks_exact_mut(p.out_channels.max(1)).enumerate() {
            let (y, x) = (tap / p.kernel[1], tap % p.kernel[1]);
            if y < p.kernel[0] {
                row.iter_mut().enumerate().for_each(|(oc, value)| *value = weight.get(oc, 0, y, x));
            }
        }
    }

    fn scratch_len(
        &self,
        p: &ConvParams,
        images: usize,
        input: [usize; 2],
        pool: &dyn Pool,
    ) -> Result<usize> {
        let cut = self.cut(p, images, input, p.out_size(input)?, pool)?;
        total_scratch(cut.threads, cut.each)
    }

    fn run(&self, call: &Call<'_>, pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        let p = call.p;
        let cut = self.cut(p, call.images, call.size, call.out_size, pool)?;
        check_scratch(scratch, cut.threads, cut.each)?;
        let slots = Slots::new(scratch, cut.threads, cut.each);
        let oh = call.out_size[0];
        let parts = cut.row_parts * cut.block_parts;
        let units = call.images * parts;
        let tasks = if cut.threads == 1 { 1 } else { units };
        pool::run(pool, tasks, &|task| {
            let mut slot = slots.take();
            for unit in pool::part(units, tasks, task) {
                let (image, part) = (unit / parts, unit % parts);
                let (row, block) = if cut.rows_first {
                    (part / cut.block_parts, part % cut.block_parts)
                } else {
                    (part % cut.row_parts, part / cut.row_parts)
                };
                for block in pool::part(cut.blocks, cut.block_parts, block) {
                    let first = block * cut.channels;
                    let channels = first..(first + cut.channels).min(p.in_channels);
                    for row in pool::part(oh, cut.row_parts, row) {
                        // SAFETY: the call is checked, this row of these channels is this task's, and
                        // the slot has what `cut` says.
                        unsafe { self.row(call, image, channels.clone(), row, slot.get()) };
                    }
                }
            }
        });
        Ok(())
    }
}

/// The taps of a kernel that fall into the image: those of `0..kernel` for which
/// `start + tap * dilation - before` lies in `0..size`.
fn inside(kernel: usize, start: usize, dilation: usize, before: usize, size: usize) -> Range<usize> {
    let low = before.saturating_sub(start).div_ceil(dilation).min(kernel);
    let high = (size + before).saturating_sub(start).div_ceil(dilation).min(kernel);
    low..high.max(low)
}

impl Strips {
    /// One row of outputs, for some channels.
    ///
    /// # Safety
    /// The call is checked; nobody else writes these outputs; `scratch` has [`Cut::each`] elements.
    unsafe fn row(
        &self,
        call: &Call<'_>,
        image: usize,
        channels: Range<usize>,
        row: usize,
        scratch: &mut [f32],
    ) {
        let p = call.p;
        let ow = call.out_size[1];
        let [image_stride, channel_stride, y_stride, x_stride] = call.in_strides;
        let [[top, _], [left, _]] = p.padding;
        let ys = inside(p.kernel[0], row * p.stride[0], p.dilation[0], top, call.size[0]);
        let first_y = (row * p.stride[0] + ys.start * p.dilation[0]).wrapping_sub(top);
        let at = image * image_stride + channels.start * channel_stride;
        let mut data = call.input.get().cast_const().wrapping_add(at);
        let (mut y_step, mut x_step) = (p.dilation[0] * y_stride, x_stride);
        if ys.is_empty() {
            // No tap is read.
        } else if channel_stride == 1 {
            data = data.wrapping_add(first_y * y_stride);
        } else {
            // Rows that the taps see, with contiguous channels.
            let n = channels.len();
            let source = Source {
                params: p,
                data,
                channels: n,
                size: call.size,
                strides: [channel_stride, y_stride, x_stride],
                out_width: ow,
            };
            (y_step, x_step) = (call.size[1] * n, n);
            for y in 0..ys.len() {
                let to = scratch[y * y_step..(y + 1) * y_step].as_mut_ptr();
                // SAFETY: the row lies in the image; `to` has room for a row of these channels.
                unsafe { source.pixels(first_y + y * p.dilation[0], 0..call.size[1], to) };
            }
            data = scratch.as_ptr();
        }
        let at = image * call.out_strides[0] + row * call.out_strides[2] + channels.start;
        let out = call.out.get().wrapping_add(at);
        let s = call.residual_strides;
        let at = image * s[0] + row * s[2] + channels.start;
        let adds = !call.residual.get().is_null();
        let residual = call.residual.get().wrapping_add(at);
        let weight = call.weight[channels.start..].as_ptr();
        let mut strip = Strip {
            taps: [ys.len(), 0],
            source: data,
            source_tap: [y_step, p.dilation[1] * x_step],
            source_pixel: p.stride[1] * x_step,
            weight,
            weight_tap: [p.kernel[1] * p.out_channels, p.out_channels],
            bias: call.bias[channels.start..].as_ptr(),
            out,
            out_pixel: call.out_strides[3],
            residual: std::ptr::null(),
            residual_pixel: s[3],
            n: channels.len(),
            post: call.post,
        };
        let mut compute = |x: usize, pixels: usize, xs: Range<usize>| {
            strip.taps[1] = xs.len();
            // Not used if there are no taps.
            let source_x = (x * p.stride[1] + xs.start * p.dilation[1]).wrapping_sub(left);
            strip.source = data.wrapping_add(source_x.wrapping_mul(x_step));
            strip.weight = weight.wrapping_add((ys.start * p.kernel[1] + xs.start) * p.out_channels);
            strip.out = out.wrapping_add(x * call.out_strides[3]);
            if adds {
                strip.residual = residual.wrapping_add(x * s[3]);
            }
            // SAFETY: every tap in `ys` and `xs` lies in the image, for all these pixels; the other
            // pointers reach over the block's channels of pixels of the checked tensors.
            unsafe { self.kernels.strips[pixels - 1](&strip) };
        };
        // Outputs whose taps all lie in the image.
        let reach = p.dilation[1] * (p.kernel[1] - 1);
        let low = left.div_ceil(p.stride[1]).min(ow);
        let high = (call.size[1] + left).saturating_sub(reach).div_ceil(p.stride[1]).clamp(low, ow);
        let single = |x: usize| inside(p.kernel[1], x * p.stride[1], p.dilation[1], left, call.size[1]);
        for x in 0..low {
            compute(x, 1, single(x));
        }
        let most = panel_rows(high - low, self.kernels.strips.len());
        for x in (low..high).step_by(most) {
            compute(x, (high - x).min(most), 0..p.kernel[1]);
        }
        for x in high..ow {
            compute(x, 1, single(x));
        }
    }
}
