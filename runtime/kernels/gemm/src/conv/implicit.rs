//! Convolution as a product of the weights with patches that are gathered block by block.

use super::stage::Source;
use super::{ConvPacking, ConvParams, Layout, Tensor4, Tensor4Mut, Weight};
use crate::block::{ASource, BSource, Block};
use crate::error::{Result, product};
use crate::isa::{Element, Kernels};
use crate::matrix::Matrix;
use crate::micro::Init;
use crate::pack::{
    align_offset, line, pack_a, pack_panel, packed_a_len, packed_b_len, packing_tasks, panel_rows,
};
use crate::pool::{self, Pool, Shared, Slots, TASKS_PER_THREAD};

/// Elements of patches that one task gathers at a time: what stays in a core's L2 cache.
const STAGE: usize = 160 * 1024;

/// Most output channels for which pixels are read in place.
const IN_PLACE_CHANNELS: usize = 128;

/// How the convolution is done, with the weights of each group packed as the operand that the layout
/// needs: `out[OC, P] = weight[OC, K] · patches[K, P]` (channels first), or
/// `out[P, OC] = patches[P, K] · weight[K, OC]` (channels last).
#[derive(Clone, Copy)]
pub(super) struct Implicit {
    kernels: &'static Kernels<f32>,
    layout: Layout,
    /// Elements of each group's packed weights.
    group: usize,
}

impl std::fmt::Debug for Implicit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Implicit({:?})", self.layout)
    }
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
    /// Elements between rows of patches (channels last).
    ld: usize,
}

impl Implicit {
    pub(super) fn new(packing: &ConvPacking) -> Result<Self> {
        let kernels = f32::kernels(packing.isa)?;
        let (outs, depth) = (packing.params.out_group(), packing.params.depth()?);
        let group = match packing.layout {
            Layout::ChannelsFirst => packed_a_len(kernels, [outs, depth])?,
            Layout::ChannelsLast => packed_b_len(kernels, [depth, outs])?,
        };
        Ok(Self { kernels, layout: packing.layout, group })
    }

    /// Elements of packed weights.
    pub(super) fn packed_len(&self, p: &ConvParams) -> Result<usize> {
        product("convolution weights", &[p.groups, self.group])
    }

    /// Packs into at least [`Implicit::packed_len`] elements.
    pub(super) fn pack(&self, p: &ConvParams, weight: &Weight<'_>, pool: &dyn Pool, to: &mut [f32]) {
        if self.group == 0 {
            return;
        }
        let (outs, depth) = (p.out_group(), self.group_depth(p));
        for (g, to) in to.chunks_exact_mut(self.group).take(p.groups).enumerate() {
            if self.layout == Layout::ChannelsFirst {
                let mut dense = vec![0.0; outs * depth];
                for (o, row) in dense.chunks_exact_mut(depth).enumerate() {
                    weight.row(p, self.layout, g * outs + o, row);
                }
                let mr = panel_rows(outs, self.kernels.mr);
                let Ok(view) = Matrix::row_major(&dense, outs, depth) else { unreachable!("made so") };
                // SAFETY: `to` has the elements that `packed_a_len` counts.
                unsafe { pack_a(self.kernels, &view, 0..outs, 0..depth, mr, to.as_mut_ptr()) };
                continue;
            }
            let nr = self.kernels.nr();
            let panels = outs.div_ceil(nr);
            let tasks = packing_tasks(pool, to.len(), panels);
            let to = Shared::new(to);
            pool::run(pool, tasks, &|task| {
                let mut dense = Vec::new();
                for panel in pool::part(panels, tasks, task) {
                    let first = g * outs + panel * nr;
                    let lanes = (outs - panel * nr).min(nr);
                    let (from, row) = match weight.rows_in_order(p) {
                        Some(row) => (weight.data[first * row..].as_ptr(), row),
                        None => {
                            dense.resize(nr * depth, 0.0);
                            for (o, row) in dense.chunks_exact_mut(depth).enumerate().take(lanes) {
                                weight.row(p, self.layout, first + o, row);
                            }
                            (dense.as_ptr(), depth)
                        }
                    };
                    // SAFETY: `lanes` rows of `depth` elements lie at `from`; `to` holds all panels, and
                    // this one is this task's.
                    unsafe {
                        let to = to.get().add(panel * nr * depth);
                        pack_panel(self.kernels, from, [row, 1], lanes, depth, to, nr);
                    }
                }
            });
        }
    }

    /// Products summed for each output: checked when the convolution was described.
    fn group_depth(&self, p: &ConvParams) -> usize {
        p.in_group() * p.kernel[0] * p.kernel[1]
    }

    fn cut(&self, p: &ConvParams, n: usize, pixels: usize, pool: &dyn Pool) -> Result<Cut> {
        let depth = p.depth()?;
        let kernels = self.kernels;
        // Blocks are whole panels of pixels; channel tasks are whole panels of channels.
        let (unit, channel_panels, ld) = match self.layout {
            Layout::ChannelsFirst => {
                let panel = panel_rows(p.out_group(), kernels.mr);
                (kernels.nr(), p.out_group().div_ceil(panel), 0)
            }
            // An odd number of lines between rows spreads them over the cache's sets.
            Layout::ChannelsLast => {
                let lines = depth.div_ceil(line::<f32>()) | 1;
                (kernels.mr_direct, p.out_group().div_ceil(kernels.nr()), lines * line::<f32>())
            }
        };
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
        let width = if ld == 0 { depth } else { ld };
        let each = block * width + line::<f32>();
        Ok(Cut { block, pixel_tasks, channel_tasks, threads, each, ld })
    }

    pub(super) fn scratch_len(
        &self,
        p: &ConvParams,
        [n, ..]: [usize; 4],
        [oh, ow]: [usize; 2],
        pool: &dyn Pool,
    ) -> Result<usize> {
        let pixels = crate::error::product("convolution output", &[oh, ow])?;
        let cut = self.cut(p, n, pixels, pool)?;
        let each = cut.each.next_multiple_of(line::<f32>());
        Ok(crate::error::product("convolution scratch", &[cut.threads, each])? + line::<f32>())
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
        let pixels = oh * ow;
        let cut = self.cut(p, n, pixels, pool)?;
        let start = align_offset(scratch);
        let each = cut.each.next_multiple_of(line::<f32>());
        let slots = Slots::new(&mut scratch[start..], cut.threads, each);
        let out_strides = output.strides();
        let out = Shared::new(output.data);
        let [_, _, h, w] = input.sizes();
        let in_strides = input.strides();
        let in_data = Shared::from_const(input.data().as_ptr());
        let kernels = self.kernels;
        let mr = panel_rows(p.out_group(), kernels.mr);
        let k = p.depth()?;
        let (ins, outs) = (p.in_group(), p.out_group());
        // A pointwise convolution with few outputs reads pixels as they lie: packing would not pay.
        let in_place = p.kernel == [1, 1]
            && p.stride == [1, 1]
            && p.padding == [[0; 2]; 2]
            && in_strides[3] == 1
            && (in_strides[2] == w || h == 1)
            && outs <= IN_PLACE_CHANNELS;
        let per_unit = cut.pixel_tasks * cut.channel_tasks;
        pool::run(pool, n * p.groups * per_unit, &|task| {
            let (unit, task) = (task / per_unit, task % per_unit);
            let (image, group) = (unit / p.groups, unit % p.groups);
            let (task, channel_task) = (task / cut.channel_tasks, task % cut.channel_tasks);
            let source = Source {
                params: p,
                data: in_data.get().wrapping_add(image * in_strides[0] + group * ins * in_strides[1]),
                channels: ins,
                size: [h, w],
                strides: [in_strides[1], in_strides[2], in_strides[3]],
                out_width: ow,
            };
            let base = out.get().wrapping_add(image * out_strides[0] + group * outs * out_strides[1]);
            let mut slot = slots.take();
            let stage = slot.get().as_mut_ptr();
            let grid = match self.layout {
                Layout::ChannelsFirst => kernels.nr(),
                Layout::ChannelsLast => kernels.mr_direct,
            };
            let mine = pool::part(pixels.div_ceil(grid), cut.pixel_tasks, task);
            let mine = mine.start * grid..(mine.end * grid).min(pixels);
            for first in mine.clone().step_by(cut.block) {
                let some = first..(first + cut.block).min(mine.end);
                // SAFETY: the tensors were checked; tasks own disjoint pixels and channels of the
                // output; a block of patches fits the task's slot.
                unsafe {
                    let weight = weight[group * self.group..].as_ptr();
                    match self.layout {
                        Layout::ChannelsFirst => {
                            let b = if in_place {
                                // Only a partial last panel is copied.
                                let nr = kernels.nr();
                                let whole = some.len() / nr * nr;
                                source.panels(first + whole..some.end, nr, stage);
                                BSource::Direct {
                                    data: source.data.wrapping_add(first),
                                    ld: source.strides[0],
                                    tail: stage,
                                    n: some.len(),
                                }
                            } else {
                                source.panels(some.clone(), kernels.nr(), stage);
                                BSource::Packed { data: stage }
                            };
                            let units = pool::part(outs.div_ceil(mr), cut.channel_tasks, channel_task);
                            Block {
                                kernels,
                                k,
                                a: ASource::Packed { data: weight, mr },
                                b,
                                c: base.wrapping_add(first),
                                c_row: out_strides[1],
                                init: Init::Splat,
                                init_at: bias.as_ptr().add(group * outs),
                                init_row: 1,
                                clamp,
                            }
                            .run(
                                units.start * mr..(units.end * mr).min(outs),
                                0..some.len(),
                                &mut [],
                            );
                        }
                        Layout::ChannelsLast => {
                            source.rows(some.clone(), cut.ld, stage);
                            let staged = std::slice::from_raw_parts(stage, some.len() * cut.ld);
                            let Ok(a) = Matrix::new(staged, [some.len(), k], [cut.ld, 1]) else {
                                unreachable!("the slot holds the block");
                            };
                            let nr = kernels.nr();
                            let units = pool::part(outs.div_ceil(nr), cut.channel_tasks, channel_task);
                            Block {
                                kernels,
                                k,
                                a: ASource::Direct(a),
                                b: BSource::Packed { data: weight },
                                c: base.wrapping_add(first * out_strides[3]),
                                c_row: out_strides[3],
                                init: Init::Rows,
                                init_at: bias.as_ptr().add(group * outs),
                                init_row: 0,
                                clamp,
                            }
                            .run(
                                0..some.len(),
                                units.start * nr..(units.end * nr).min(outs),
                                &mut [],
                            );
                        }
                    }
                }
            }
        });
        Ok(())
    }
}
