//! Depthwise convolution: each output channel sees one input channel, so there is nothing to multiply
//! as matrices, and the work is in moving data.
//!
//! Channels first: a channel is copied, between its padding, into one small plane for each phase of the
//! stride. In those planes every tap is at a constant distance, so all outputs of a row (or, for
//! narrow images, of the whole channel at once) are plain sums of shifted vectors.
//!
//! Channels last: each output pixel is a sum over taps of vectors of channels.

use super::stage::copy;
use super::{ConvPacking, ConvParams, Layout, Tensor4, Tensor4Mut, Weight};
use crate::error::{Error, Result, product};
use crate::isa::{Element, Kernels};
use crate::micro::Taps;
use crate::pool::{self, Pool, Shared, Slots, TASKS_PER_THREAD};

/// Larger kernels take the general path.
const MAX_TAPS: usize = 64;
/// Elements that a row may read past its end: four of the widest vectors.
const SLACK: usize = 64;
/// Narrower outputs are computed for all rows at once: their rows would not fill the vectors.
const FLAT_WIDTH: usize = 48;

/// How a depthwise convolution is done, with weights packed as `[OC][taps]` (channels first) or
/// `[taps][C]` (channels last).
#[derive(Clone, Copy)]
pub(super) struct Depthwise {
    kernels: &'static Kernels<f32>,
    layout: Layout,
}

impl std::fmt::Debug for Depthwise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Depthwise({:?})", self.layout)
    }
}

/// The planes that one channel is copied into.
struct Planes {
    rows: usize,
    pitch: usize,
    /// Elements of all planes, with slack.
    len: usize,
    /// Elements of an output computed for all rows at once, 0 if rows are computed one by one.
    flat: usize,
}

impl Planes {
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

impl Depthwise {
    /// Gives nothing if the convolution is not of this kind.
    pub(super) fn new(packing: &ConvPacking) -> Result<Option<Self>> {
        let (p, layout) = (&packing.params, packing.layout);
        let kernels = f32::kernels(packing.isa)?;
        let taps = p.kernel[0].saturating_mul(p.kernel[1]);
        let same = p.out_channels == p.in_channels || layout == Layout::ChannelsFirst;
        let fits = p.groups == p.in_channels && p.groups > 1 && taps <= MAX_TAPS && same;
        Ok(fits.then_some(Self { kernels, layout }))
    }

    /// Elements of packed weights.
    pub(super) fn packed_len(&self, p: &ConvParams) -> Result<usize> {
        product("depthwise weights", &[p.kernel[0], p.kernel[1], p.out_channels])
    }

    /// Packs into at least [`Depthwise::packed_len`] elements.
    pub(super) fn pack(&self, p: &ConvParams, weight: &Weight<'_>, to: &mut [f32]) {
        let taps = p.kernel[0] * p.kernel[1];
        let tap = |oc: usize, t: usize| weight.get(oc, 0, t / p.kernel[1], t % p.kernel[1]);
        for (i, value) in to.iter_mut().enumerate().take(taps * p.out_channels) {
            *value = match self.layout {
                Layout::ChannelsFirst => tap(i / taps, i % taps),
                Layout::ChannelsLast => tap(i % p.out_channels, i / p.out_channels),
            };
        }
    }

    /// Threads, and scratch of a task.
    fn cut(&self, p: &ConvParams, n: usize, out: [usize; 2], pool: &dyn Pool) -> Result<(usize, usize)> {
        let taps = p.kernel[0] * p.kernel[1];
        // A multiply-add costs about four times as much here as in a matrix product.
        let work =
            [4, n, p.out_channels, out[0], out[1], taps].iter().fold(1usize, |acc, &s| acc.saturating_mul(s));
        let each = match self.layout {
            Layout::ChannelsFirst => {
                let planes = Planes::new(p, out)?;
                planes.len + planes.flat
            }
            Layout::ChannelsLast => product("depthwise scratch", &[p.in_channels, taps + 1])?,
        };
        Ok((pool::useful_threads(pool, work), each))
    }

    pub(super) fn scratch_len(
        &self,
        p: &ConvParams,
        [n, ..]: [usize; 4],
        out: [usize; 2],
        pool: &dyn Pool,
    ) -> Result<usize> {
        let (threads, each) = self.cut(p, n, out, pool)?;
        product("depthwise scratch", &[threads, each])
    }

    #[allow(clippy::too_many_arguments)] // One call site, which has just checked them all.
    pub(super) fn run(
        &self,
        p: &ConvParams,
        bias: &[f32],
        weight: &[f32],
        pool: &dyn Pool,
        scratch: &mut [f32],
        input: &Tensor4<'_, f32>,
        output: &mut Tensor4Mut<'_, f32>,
        clamp: Option<(f32, f32)>,
    ) -> Result<()> {
        let [n, _, oh, ow] = output.sizes();
        let (threads, each) = self.cut(p, n, [oh, ow], pool)?;
        let slots = Slots::new(scratch, threads, each);
        let out_strides = output.strides();
        let call = Call {
            p,
            bias,
            weight,
            clamp,
            input: Shared::from_const(input.data().as_ptr()),
            size: [input.sizes()[2], input.sizes()[3]],
            in_strides: input.strides(),
            out: Shared::new(output.data),
            out_size: [oh, ow],
            out_strides,
        };
        let planes = Planes::new(p, [oh, ow])?;
        let units = match self.layout {
            Layout::ChannelsFirst => n * p.in_channels,
            Layout::ChannelsLast => n * oh,
        };
        let tasks = if threads == 1 { 1 } else { (threads * TASKS_PER_THREAD).min(units) };
        pool::run(pool, tasks, &|task| {
            let mut slot = slots.take();
            if self.layout == Layout::ChannelsFirst {
                // The padding is at the same places for every channel: it is written once.
                slot.get()[..planes.len].fill(0.0);
            }
            for unit in pool::part(units, tasks, task) {
                // SAFETY: the tensors were checked, each unit is one task's, and the slot has the
                // elements that `cut` asked for.
                unsafe {
                    match self.layout {
                        Layout::ChannelsFirst => self.channel(&call, &planes, unit, slot.get()),
                        Layout::ChannelsLast => self.row(&call, unit, slot.get()),
                    }
                }
            }
        });
        Ok(())
    }

    /// One input channel of one image, and the outputs made from it.
    ///
    /// # Safety
    /// `call` describes checked tensors; nobody else writes these outputs; `scratch` has the elements
    /// that `planes` says.
    unsafe fn channel(&self, call: &Call<'_>, planes: &Planes, unit: usize, scratch: &mut [f32]) {
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
            let mut row = Taps {
                sources: &sources[..taps],
                weight: call.weight[oc * taps..].as_ptr(),
                weight_row: 1,
                bias: &raw const call.bias[oc],
                out,
                n: ow,
                clamp: call.clamp,
            };
            // SAFETY: the planes hold `oh` rows of every tap, with slack after the last.
            unsafe {
                if planes.flat > 0 {
                    row.out = flat.as_mut_ptr();
                    row.n = (oh - 1) * planes.pitch + ow;
                    (self.kernels.taps_pixels)(&row);
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
                    let row = Taps { sources: &shifted[..taps], out: out.add(y * ow), ..row };
                    (self.kernels.taps_pixels)(&row);
                }
            }
        }
    }

    /// One row of output pixels, all channels of each.
    ///
    /// # Safety
    /// `call` describes checked tensors; nobody else writes this row; `scratch` has room for
    /// `taps + 1` pixels.
    unsafe fn row(&self, call: &Call<'_>, unit: usize, scratch: &mut [f32]) {
        let p = call.p;
        let channels = p.in_channels;
        let [oh, ow] = call.out_size;
        let (image, out_y) = (unit / oh, unit % oh);
        let (zeros, gathered) = scratch.split_at_mut(channels);
        zeros.fill(0.0);
        let [image_stride, channel_stride, y_stride, x_stride] = call.in_strides;
        let taps = p.kernel[0] * p.kernel[1];
        let mut sources = [std::ptr::null(); MAX_TAPS];
        for out_x in 0..ow {
            for (t, source) in sources.iter_mut().enumerate().take(taps) {
                let (ky, kx) = (t / p.kernel[1], t % p.kernel[1]);
                let y = (out_y * p.stride[0] + ky * p.dilation[0]).wrapping_sub(p.padding[0][0]);
                let x = (out_x * p.stride[1] + kx * p.dilation[1]).wrapping_sub(p.padding[1][0]);
                if y >= call.size[0] || x >= call.size[1] {
                    *source = zeros.as_ptr();
                    continue;
                }
                let at = image * image_stride + y * y_stride + x * x_stride;
                *source = call.input.get().wrapping_add(at);
                if channel_stride != 1 {
                    let copy = &mut gathered[t * channels..(t + 1) * channels];
                    for (c, value) in copy.iter_mut().enumerate() {
                        // SAFETY: the pixel lies in the checked input.
                        *value = unsafe { *source.add(c * channel_stride) };
                    }
                    *source = copy.as_ptr();
                }
            }
            let [image_stride, _, y_stride, x_stride] = call.out_strides;
            let at = image * image_stride + out_y * y_stride + out_x * x_stride;
            // SAFETY: each source has `channels` elements, as have weights, bias and the output pixel.
            unsafe {
                (self.kernels.taps_channels)(&Taps {
                    sources: &sources[..taps],
                    weight: call.weight.as_ptr(),
                    weight_row: channels,
                    bias: call.bias.as_ptr(),
                    out: call.out.get().add(at),
                    n: channels,
                    clamp: call.clamp,
                });
            }
        }
    }
}

/// What every task of one call shares.
struct Call<'a> {
    p: &'a ConvParams,
    bias: &'a [f32],
    weight: &'a [f32],
    clamp: Option<(f32, f32)>,
    input: Shared<f32>,
    size: [usize; 2],
    in_strides: [usize; 4],
    out: Shared<f32>,
    out_size: [usize; 2],
    out_strides: [usize; 4],
}

/// Copies one channel into a plane for each phase of the stride, leaving its padding as it is.
///
/// # Safety
/// `from` is a plane of `call`'s checked input.
unsafe fn fill_planes(call: &Call<'_>, planes: &Planes, from: *const f32, stage: &mut [f32]) {
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
