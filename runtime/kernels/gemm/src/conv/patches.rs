//! Convolution with channels first: a product of packed weights with patches that are gathered block by
//! block.

use super::call::{Algorithm, Call, check_scratch, total_scratch};
use super::stage::Source;
use super::{ConvPacking, ConvParams, Layout, Weight};
use crate::block::{ASource, BSource, Block};
use crate::error::{Result, product};
use crate::isa::{Element, Kernels};
use crate::matrix::Matrix;
use crate::micro::Init;
use crate::pack::{align_offset, line, pack_a, packed_a_len, panel_rows};
use crate::pool::{self, Pool, Slots, TASKS_PER_THREAD};

/// Elements of patches that one task gathers at a time: what stays in a core's L2 cache.
const STAGE: usize = 160 * 1024;

/// Most output channels for which pixels are read in place.
const IN_PLACE_CHANNELS: usize = 128;

/// Weights are packed, group after group, as `[OC, K]` with `K = (channel, y, x)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patches {
    kernels: &'static Kernels<f32>,
    /// Elements of each group's packed weights.
    group: usize,
}

/// How the work on one image and group is cut.
struct Cut {
    /// Pixels gathered at a time.
    block: usize,
    pixel_tasks: usize,
    channel_tasks: usize,
    threads: usize,
    /// Scratch of a task.
    each: usize,
}

impl Patches {
    pub(super) fn new(packing: &ConvPacking) -> Result<Self> {
        let kernels = f32::kernels(packing.isa)?;
        let p = &packing.params;
        Ok(Self { kernels, group: packed_a_len(kernels, [p.out_group(), p.depth()?])? })
    }

    fn cut(&self, p: &ConvParams, n: usize, [oh, ow]: [usize; 2], pool: &dyn Pool) -> Result<Cut> {
        let pixels = product("convolution output", &[oh, ow])?;
        let depth = p.depth()?;
        // Blocks are whole panels of pixels; channel tasks are whole panels of channels.
        let unit = self.kernels.nr();
        let channel_panels = p.out_group().div_ceil(panel_rows(p.out_group(), self.kernels.mr));
        let macs = pixels.saturating_mul(depth).saturating_mul(p.out_group());
        let units = n * p.groups;
        let threads = pool::useful_threads(pool, macs.saturating_mul(units));
        let fits = (STAGE / depth.max(1) / unit).max(1) * unit;
        let (mut pixel_tasks, mut channel_tasks) = (1, 1);
        if threads > 1 {
            let want = (threads * TASKS_PER_THREAD).div_ceil(units.max(1));
            let want = want.min(macs / (pool::GRAIN_MACS / 2)).max(1);
            pixel_tasks = want.min(pixels.div_ceil(4 * unit)).max(1);
            // Splitting channels gathers the same patches again, so only as far as threads need.
            let missing = threads.div_ceil(units.max(1) * pixel_tasks);
            channel_tasks = missing.min(channel_panels).max(1);
        }
        let share = pixels.div_ceil(pixel_tasks).next_multiple_of(unit);
        let block = share.div_ceil(share.div_ceil(fits).max(1)).next_multiple_of(unit);
        let each = product("convolution scratch", &[block, depth])?.next_multiple_of(line::<f32>());
        Ok(Cut { block, pixel_tasks, channel_tasks, threads, each })
    }
}

impl Algorithm for Patches {
    fn packed_len(&self, p: &ConvParams) -> Result<usize> {
        product("convolution weights", &[p.groups, self.group])
    }

    fn pack(&self, p: &ConvParams, weight: &Weight<'_>, _pool: &dyn Pool, to: &mut [f32]) {
        let outs = p.out_group();
        let depth = p.in_group() * p.kernel[0] * p.kernel[1];
        let mr = panel_rows(outs, self.kernels.mr);
        let mut dense = vec![0.0; outs * depth];
        for (g, to) in to.chunks_exact_mut(self.group).take(p.groups).enumerate() {
            for (o, row) in dense.chunks_exact_mut(depth).enumerate() {
                weight.row(p, Layout::ChannelsFirst, g * outs + o, row);
            }
            let Ok(view) = Matrix::row_major(&dense, outs, depth) else { unreachable!("made so") };
            // SAFETY: `to` has the elements that `packed_a_len` counts.
            unsafe { pack_a(self.kernels, &view, 0..outs, 0..depth, mr, to.as_mut_ptr()) };
        }
    }

    fn scratch_len(
        &self,
        p: &ConvParams,
        images: usize,
        input: [usize; 2],
        pool: &dyn Pool,
    ) -> Result<usize> {
        let cut = self.cut(p, images, p.out_size(input)?, pool)?;
        total_scratch(cut.threads, cut.each)
    }

    fn run(&self, call: &Call<'_>, pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        let p = call.p;
        let cut = self.cut(p, call.images, call.out_size, pool)?;
        check_scratch(scratch, cut.threads, cut.each)?;
        let start = align_offset(scratch);
        let slots = Slots::new(&mut scratch[start..], cut.threads, cut.each);
        let [oh, ow] = call.out_size;
        let [h, w] = call.size;
        let pixels = oh * ow;
        let kernels = self.kernels;
        let nr = kernels.nr();
        let mr = panel_rows(p.out_group(), kernels.mr);
        let k = p.depth()?;
        let (ins, outs) = (p.in_group(), p.out_group());
        let [image_step, channel_step, y_step, x_step] = call.in_strides;
        // A pointwise convolution with few outputs reads pixels as they lie: packing would not pay.
        let in_place = p.kernel == [1, 1]
            && p.stride == [1, 1]
            && p.padding == [[0; 2]; 2]
            && x_step == 1
            && (y_step == w || h == 1)
            && outs <= IN_PLACE_CHANNELS;
        let per_unit = cut.pixel_tasks * cut.channel_tasks;
        let units = call.images * p.groups * per_unit;
        let tasks = if cut.threads == 1 { 1 } else { units };
        pool::run(pool, tasks, &|task| {
            let mut slot = slots.take();
            for unit in pool::part(units, tasks, task) {
                let (unit, part) = (unit / per_unit, unit % per_unit);
                let (image, group) = (unit / p.groups, unit % p.groups);
                let source = Source {
                    params: p,
                    data: call.input.get().wrapping_add(image * image_step + group * ins * channel_step),
                    channels: ins,
                    size: [h, w],
                    strides: [channel_step, y_step, x_step],
                    out_width: ow,
                };
                let at = image * call.out_strides[0] + group * outs * call.out_strides[1];
                let base = call.out.get().wrapping_add(at);
                let stage = slot.get().as_mut_ptr();
                let rows = pool::part(outs.div_ceil(mr), cut.channel_tasks, part % cut.channel_tasks);
                let rows = rows.start * mr..(rows.end * mr).min(outs);
                let mine = pool::part(pixels.div_ceil(nr), cut.pixel_tasks, part / cut.channel_tasks);
                let mine = mine.start * nr..(mine.end * nr).min(pixels);
                for first in mine.clone().step_by(cut.block) {
                    let some = first..(first + cut.block).min(mine.end);
                    // SAFETY: the call is checked; tasks own disjoint pixels and channels of the output;
                    // a block of patches fits the task's slot.
                    unsafe {
                        let b = if in_place {
                            // Only a partial last panel is copied.
                            let whole = some.len() / nr * nr;
                            source.panels(first + whole..some.end, nr, stage);
                            let data = source.data.wrapping_add(first);
                            BSource::Direct { data, ld: channel_step, tail: stage, n: some.len() }
                        } else {
                            source.panels(some.clone(), nr, stage);
                            BSource::Packed { data: stage }
                        };
                        let a = call.weight[group * self.group..].as_ptr();
                        Block {
                            kernels,
                            k,
                            a: ASource::Packed { data: a, mr },
                            b,
                            c: base.wrapping_add(first),
                            c_row: call.out_strides[1],
                            init: Init::Splat,
                            init_at: call.bias[group * outs..].as_ptr(),
                            init_row: 1,
                            residual: std::ptr::null(),
                            residual_row: 0,
                            post: call.post,
                        }
                        .run(rows.clone(), 0..some.len(), &mut []);
                    }
                }
            }
        });
        Ok(())
    }
}
