//! Depthwise convolution with channels first: each output channel sees one input channel, so there is
//! nothing to multiply as matrices, and the work is in moving data.
//!
//! A channel is copied, between its padding, into one small plane for each phase of the stride. In those
//! planes every tap is at a constant distance, so all outputs of a row (or, for narrow images, of the
//! whole channel at once) are plain sums of shifted vectors.

use super::call::{Algorithm, Call, check_scratch, total_scratch};
use super::stage::copy;
use super::{ConvPacking, ConvParams, Layout, Weight};
use crate::error::{Error, Result, product};
use crate::isa::{Element, Kernels};
use crate::micro::PixelRow;
use crate::pool::{self, Pool, Slots, TASKS_PER_THREAD};

/// Larger kernels take the general path.
const MAX_TAPS: usize = 64;
/// Elements that a row may read past its end: four of the widest vectors.
const SLACK: usize = 64;
/// Narrower outputs are computed for all rows at once: their rows would not fill the vectors.
const FLAT_WIDTH: usize = 48;

/// Weights are packed as `[OC][taps]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes {
    kernels: &'static Kernels<f32>,
}

/// The planes that one channel is copied into.
struct Stage {
    rows: usize,
    pitch: usize,
    /// Elements of all planes, with slack.
    len: usize,
    /// Elements of an output computed for all rows at once, 0 if rows are computed one by one.
    flat: usize,
}

impl Stage {
    fn new(p: &ConvParams, [oh, ow]: [usize; 2]) -> Result<Self> {
        let reach = |d: usize| p.dilation[d] * (p.kernel[d] - 1) / p.stride[d];
        let overflow = || Error::new("depthwise convolution: padded input overflows");
        let rows = oh.checked_add(reach(0)).ok_or_else(overflow)?;
        let pitch = ow.checked_add(reach(1)).ok_or_else(overflow)?;
        // Phases that no tap falls into are not stored.
        let [y_phases, x_phases] = [0, 1].map(|d| p.stride[d].min(p.dilation[d] * (p.kernel[d] - 1) + 1));
        let len = product("depthwise scratch", &[y_phases, x_phases, rows, pitch])?;
        let flat = if ow < FLAT_WIDTH { oh * pitch } else { 0 };
        Ok(Self { rows, pitch, len: len.checked_add(SLACK).ok_or_else(overflow)?, flat })
    }
}

impl Planes {
    /// Gives nothing if the convolution is not of this kind.
    pub(super) fn new(packing: &ConvPacking) -> Result<Option<Self>> {
        let p = &packing.params;
        let kernels = f32::kernels(packing.isa)?;
        let taps = p.kernel[0].saturating_mul(p.kernel[1]);
        let fits = p.groups == p.in_channels && p.groups > 1 && taps <= MAX_TAPS;
        Ok((fits && packing.layout == Layout::ChannelsFirst).then_some(Self { kernels }))
    }

    /// Threads, and scratch of a task.
    fn cut(&self, p: &ConvParams, n: usize, out: [usize; 2], pool: &dyn Pool) -> Result<(usize, usize)> {
        let taps = p.kernel[0] * p.kernel[1];
        // A multiply-add costs about four times as much here as in a matrix product.
        let work =
            [4, n, p.out_channels, out[0], out[1], taps].iter().fold(1usize, |acc, &s| acc.saturating_mul(s));
        let stage = Stage::new(p, out)?;
        Ok((pool::useful_threads(pool, work), stage.len + stage.flat))
    }
}

impl Algorithm for Planes {
    fn packed_len(&self, p: &ConvParams) -> Result<usize> {
        product("depthwise weights", &[p.kernel[0], p.kernel[1], p.out_channels])
    }

    fn pack(&self, p: &ConvParams, weight: &Weight<'_>, _pool: &dyn Pool, to: &mut [f32]) {
        let taps = p.kernel[0] * p.kernel[1];
        for (oc, row) in to.chunks_exact_mut(taps).enumerate().take(p.out_channels) {
            weight.row(p, Layout::ChannelsFirst, oc, row);
        }
    }

    fn scratch_len(
        &self,
        p: &ConvParams,
        images: usize,
        input: [usize; 2],
        pool: &dyn Pool,
    ) -> Result<usize> {
        let (threads, each) = self.cut(p, images, p.out_size(input)?, pool)?;
        total_scratch(threads, each)
    }

    fn run(&self, call: &Call<'_>, pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        let p = call.p;
        let (threads, each) = self.cut(p, call.images, call.out_size, pool)?;
        check_scratch(scratch, threads, each)?;
        let slots = Slots::new(scratch, threads, each);
        let planes = Stage::new(p, call.out_size)?;
        let units = call.images * p.in_channels;
        let tasks = if threads == 1 { 1 } else { (threads * TASKS_PER_THREAD).min(units) };
        pool::run(pool, tasks, &|task| {
            let mut slot = slots.take();
            // The padding is at the same places for every channel: it is written once.
            slot.get()[..planes.len].fill(0.0);
            for unit in pool::part(units, tasks, task) {
                // SAFETY: the call is checked, each unit is one task's, and the slot has the elements
                // that `cut` asked for.
                unsafe { self.channel(call, &planes, unit, slot.get()) };
            }
        });
        Ok(())
    }
}

impl Planes {
    /// One input channel of one image, and the outputs made from it.
    ///
    /// # Safety
    /// `call` describes checked tensors; nobody else writes these outputs; `scratch` has the elements
    /// that `planes` says.
    unsafe fn channel(&self, call: &Call<'_>, planes: &Stage, unit: usize, scratch: &mut [f32]) {
        let p = call.p;
        let [oh, ow] = call.out_size;
        let (image, ic) = (unit / p.in_channels, unit % p.in_channels);
        let (stage, flat) = scratch.split_at_mut(planes.len);
        let from = call.input.get().wrapping_add(image * call.in_strides[0] + ic * call.in_strides[1]);
        // SAFETY: `from` is a checked plane of the input.
        unsafe { fill_planes(call, planes, from, stage) };
        let x_phases = p.stride[1].min(p.dilation[1] * (p.kernel[1] - 1) + 1);
        let mut sources = [std::ptr::null(); MAX_TAPS];
        let taps = p.kernel[0] * p.kernel[1];
        for (t, source) in sources.iter_mut().enumerate().take(taps) {
            let (y, x) = (t / p.kernel[1] * p.dilation[0], t % p.kernel[1] * p.dilation[1]);
            let plane = y % p.stride[0] * x_phases + x % p.stride[1];
            let at = (plane * planes.rows + y / p.stride[0]) * planes.pitch + x / p.stride[1];
            *source = stage.as_ptr().wrapping_add(at);
        }
        let multiplier = p.out_group();
        for oc in ic * multiplier..(ic + 1) * multiplier {
            let out = call.out.get().wrapping_add(image * call.out_strides[0] + oc * call.out_strides[1]);
            let mut row = PixelRow {
                sources: &sources[..taps],
                weight: call.weight[oc * taps..].as_ptr(),
                bias: call.bias[oc],
                out,
                n: ow,
                post: call.post,
            };
            // SAFETY: the planes hold `oh` rows of every tap, with slack after the last.
            unsafe {
                if planes.flat > 0 {
                    row.out = flat.as_mut_ptr();
                    row.n = (oh - 1) * planes.pitch + ow;
                    (self.kernels.pixel_row)(&row);
                    for y in 0..oh {
                        let from = flat.as_ptr().add(y * planes.pitch);
                        copy(from, out.add(y * ow), ow);
                    }
                    continue;
                }
                for y in 0..oh {
                    let mut shifted = sources;
                    for source in &mut shifted[..taps] {
                        *source = source.wrapping_add(y * planes.pitch);
                    }
                    let row = PixelRow { sources: &shifted[..taps], out: out.add(y * ow), ..row };
                    (self.kernels.pixel_row)(&row);
                }
            }
        }
    }
}

/// Copies one channel into a plane for each phase of the stride, leaving its padding as it is.
///
/// # Safety
/// `from` is a plane of `call`'s checked input.
unsafe fn fill_planes(call: &Call<'_>, planes: &Stage, from: *const f32, stage: &mut [f32]) {
    let p = call.p;
    let [_, _, y_stride, x_stride] = call.in_strides;
    let phases = [0, 1].map(|d| p.stride[d].min(p.dilation[d] * (p.kernel[d] - 1) + 1));
    let (top, left) = (p.padding[0][0], p.padding[1][0]);
    let [height, width] = call.size;
    let mut rows = stage.chunks_exact_mut(planes.pitch);
    for y_phase in 0..phases[0] {
        for x_phase in 0..phases[1] {
            // Columns of this plane that fall into the image.
            let step = p.stride[1];
            let low = left.saturating_sub(x_phase).div_ceil(step).min(planes.pitch);
            let high = (width + left).saturating_sub(x_phase).div_ceil(step);
            let high = high.clamp(low, planes.pitch);
            for r in 0..planes.rows {
                let Some(row) = rows.next() else { return };
                let y = (r * p.stride[0] + y_phase).wrapping_sub(top);
                if y >= height || low == high {
                    continue;
                }
                let inside = &mut row[low..high];
                let x = low * step + x_phase - left;
                // SAFETY: columns `low..high` of row `y` lie in the image.
                unsafe {
                    let from = from.add(y * y_stride + x * x_stride);
                    match step * x_stride {
                        1 => copy(from, inside.as_mut_ptr(), inside.len()),
                        2 => {
                            for (i, value) in inside.iter_mut().enumerate() {
                                *value = *from.add(2 * i);
                            }
                        }
                        step => {
                            for (i, value) in inside.iter_mut().enumerate() {
                                *value = *from.add(step * i);
                            }
                        }
                    }
                }
            }
        }
    }
}
