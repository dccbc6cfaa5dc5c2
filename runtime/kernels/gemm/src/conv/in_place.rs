//! Convolution with channels last: a product of the input, read where it lies, with packed weights.
//!
//! A patch of an image is, for each row of the kernel, one run of contiguous elements, and the patches
//! of neighbouring outputs are a constant distance apart: that is all that a tile needs to know. Only
//! where the image is padded (or its channels are not contiguous) it is first copied, some rows at a
//! time, with its zeros.

use super::call::{Algorithm, Call, check_scratch, total_scratch};
use super::stage::Source;
use super::{ConvPacking, ConvParams, Layout, Weight};
use crate::error::{Error, Result, product};
use crate::isa::{Element, Kernels};
use crate::micro::{Init, Tile};
use crate::pack::{align_offset, line, pack_panel, packed_b_len, packing_tasks, panel_rows};
use crate::pool::{self, Pool, Shared, Slots, TASKS_PER_THREAD};
use std::ops::Range;

/// Elements that a task copies at a time: a part of a core's L2 cache.
const STAGE: usize = 64 * 1024;
/// Elements of patches between two panels of weights, when nothing is copied.
const BLOCK: usize = 16 * 1024;

/// Weights are packed, group after group, as `[K, OC]` with `K = (y, x, channel)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct InPlace {
    kernels: &'static Kernels<f32>,
    /// Elements of each group's packed weights.
    group: usize,
}

/// How the work on one image and group is cut.
struct Cut {
    pixel_tasks: usize,
    channel_tasks: usize,
    threads: usize,
    /// Output rows whose input is copied at a time, and the elements of one copied row.
    rows: usize,
    pitch: usize,
    /// Scratch of a task.
    each: usize,
}

/// The outputs of one image as rows of tiles.
struct Grid {
    rows: usize,
    width: usize,
    /// Outputs of a tile, and tiles of a row.
    mr: usize,
    per_row: usize,
}

impl Grid {
    fn new([rows, width]: [usize; 2], most: usize) -> Self {
        let mr = panel_rows(width, most);
        Self { rows, width, mr, per_row: width.div_ceil(mr) }
    }
}

/// Rows of the padded image that `rows` rows of outputs see.
fn seen(p: &ConvParams, rows: usize) -> usize {
    (rows - 1) * p.stride[0] + p.dilation[0] * (p.kernel[0] - 1) + 1
}

impl InPlace {
    /// Gives nothing if the convolution is not of this kind.
    pub(super) fn new(packing: &ConvPacking) -> Result<Option<Self>> {
        let kernels = f32::kernels(packing.isa)?;
        let p = &packing.params;
        let group = packed_b_len(kernels, [p.depth()?, p.out_group()])?;
        Ok((packing.layout == Layout::ChannelsLast).then_some(Self { kernels, group }))
    }

    fn cut(
        &self,
        p: &ConvParams,
        images: usize,
        input: [usize; 2],
        [oh, ow]: [usize; 2],
        pool: &dyn Pool,
    ) -> Result<Cut> {
        let (depth, outs) = (p.depth()?, p.out_group());
        let pixels = product("convolution output", &[oh, ow])?;
        let macs = pool::product_work(pixels, outs, depth);
        let units = images.saturating_mul(p.groups).max(1);
        let threads = pool::useful_threads(pool, macs.saturating_mul(units));
        let panels = outs.div_ceil(self.kernels.nr());
        let (mut pixel_tasks, mut channel_tasks) = (1, 1);
        if threads > 1 {
            let want = (threads * TASKS_PER_THREAD).div_ceil(units);
            let want = want.min(macs / (pool::GRAIN_MACS / 2)).max(1);
            // Threads that share the channels read all of the input, others all of the weights.
            let image = [p.in_group(), input[0], input[1]];
            let image = image.iter().fold(2usize, |acc, &size| acc.saturating_mul(size));
            if depth.saturating_mul(outs) > image && panels >= 2 * threads {
                channel_tasks = want.min(panels);
                // A few panels do not divide well.
                if panels % threads != 0 && panels < 4 * threads {
                    pixel_tasks = threads.min(pixels.div_ceil(self.kernels.mr_direct));
                }
            } else {
                pixel_tasks = want.min(oh.max(pixels.div_ceil(4 * self.kernels.mr_direct))).max(1);
                channel_tasks = threads.div_ceil(units.saturating_mul(pixel_tasks)).min(panels).max(1);
            }
        }
        let overflow = || Error::new("convolution: padded input overflows");
        let reach = |d: usize, outs: usize| {
            let steps = (outs.max(1) - 1).checked_mul(p.stride[d])?;
            steps.checked_add(p.dilation[d].checked_mul(p.kernel[d] - 1)?)?.checked_add(1)
        };
        let width = reach(1, ow).ok_or_else(overflow)?;
        reach(0, oh).ok_or_else(overflow)?;
        let pitch = product("convolution scratch", &[width, p.in_group()])?;
        let share = oh.div_ceil(pixel_tasks).max(1);
        // As many rows as fit, in equal blocks.
        let spare = (STAGE / pitch.max(1)).saturating_sub(seen(p, 1));
        let most = (spare / p.stride[0] + 1).min(share);
        let rows = share.div_ceil(share.div_ceil(most));
        let each = product("convolution scratch", &[seen(p, rows), pitch])?;
        let each = product("convolution scratch", &[each.div_ceil(line::<f32>()), line::<f32>()])?;
        Ok(Cut { pixel_tasks, channel_tasks, threads, rows, pitch, each })
    }
}

impl Algorithm for InPlace {
    fn packed_len(&self, p: &ConvParams) -> Result<usize> {
        product("convolution weights", &[p.groups, self.group])
    }

    fn pack(&self, p: &ConvParams, weight: &Weight<'_>, pool: &dyn Pool, to: &mut [f32]) {
        let (outs, nr) = (p.out_group(), self.kernels.nr());
        let depth = p.in_group() * p.kernel[0] * p.kernel[1];
        let per_group = outs.div_ceil(nr);
        let panels = per_group * p.groups;
        let tasks = packing_tasks(pool, panels * nr * depth, panels);
        let to = Shared::new(to);
        pool::run(pool, tasks, &|task| {
            let mut dense = Vec::new();
            for panel in pool::part(panels, tasks, task) {
                let (group, at) = (panel / per_group, panel % per_group * nr);
                let (first, lanes) = (group * outs + at, (outs - at).min(nr));
                let (from, row) = match weight.rows_in_order(p) {
                    Some(row) => (weight.data[first * row..].as_ptr(), row),
                    None => {
                        dense.resize(nr * depth, 0.0);
                        for (o, row) in dense.chunks_exact_mut(depth).enumerate().take(lanes) {
                            weight.row(p, Layout::ChannelsLast, first + o, row);
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
        let start = align_offset(scratch);
        let slots = Slots::new(&mut scratch[start..], cut.threads, cut.each);
        let [_, channel, y, x] = call.in_strides;
        let lies = p.padding == [[0; 2]; 2] && (channel == 1 || p.in_channels == 1);
        let [oh, ow] = call.out_size;
        // Rows that follow each other as pixels do are one long row.
        let flat = lies && (oh == 1 || p.stride[0] * y == ow * p.stride[1] * x);
        let grid = Grid::new(if flat { [1, oh * ow] } else { [oh, ow] }, self.kernels.mr_direct);
        let per_unit = cut.pixel_tasks * cut.channel_tasks;
        let units = call.images * p.groups * per_unit;
        let tasks = if cut.threads == 1 { 1 } else { units };
        pool::run(pool, tasks, &|task| {
            let mut slot = slots.take();
            for unit in pool::part(units, tasks, task) {
                let (unit, part) = (unit / per_unit, unit % per_unit);
                let panels = p.out_group().div_ceil(self.kernels.nr());
                let work = Work {
                    plan: self,
                    call,
                    grid: &grid,
                    cut: &cut,
                    image: unit / p.groups,
                    group: unit % p.groups,
                    panels: pool::part(panels, cut.channel_tasks, part / cut.pixel_tasks),
                };
                let pixels = part % cut.pixel_tasks;
                // SAFETY: the call is checked; parts are disjoint; the slot holds what `cut` asked for.
                unsafe {
                    if lies {
                        let tiles = pool::part(grid.rows * grid.per_row, cut.pixel_tasks, pixels);
                        work.in_place(tiles);
                    } else {
                        work.staged(pool::part(grid.rows, cut.pixel_tasks, pixels), slot.get());
                    }
                }
            }
        });
        Ok(())
    }
}

/// One task's work on one image and group.
struct Work<'a> {
    plan: &'a InPlace,
    call: &'a Call<'a>,
    grid: &'a Grid,
    cut: &'a Cut,
    image: usize,
    group: usize,
    panels: Range<usize>,
}

/// Where the patches of some outputs lie.
struct Patches {
    /// The first element of the patch of the first output of row `row`.
    data: *const f32,
    row: usize,
    /// Distance of rows and pixels of the image.
    steps: [usize; 2],
}

impl Work<'_> {
    /// Computes tiles from the image as it lies.
    ///
    /// # Safety
    /// The call is checked, and its image unpadded with contiguous channels; nobody else writes these
    /// outputs.
    unsafe fn in_place(&self, tiles: Range<usize>) {
        let call = self.call;
        let [image, _, y, x] = call.in_strides;
        let data = call.input.get().wrapping_add(image * self.image + self.group * call.p.in_group());
        let patches = Patches { data, row: 0, steps: [y, x] };
        let depth = call.p.in_group() * call.p.kernel[0] * call.p.kernel[1];
        // Enough pixels that reading the weights again for each block is little.
        let block = (BLOCK / (depth * self.grid.mr)).max(64usize.div_ceil(self.grid.mr));
        for first in tiles.clone().step_by(block) {
            // SAFETY: as the caller promises.
            unsafe { self.tiles(first..(first + block).min(tiles.end), &patches) };
        }
    }

    /// Computes rows of outputs from a padded copy of what they see.
    ///
    /// # Safety
    /// The call is checked; nobody else writes these outputs; `stage` has `cut.each` elements.
    unsafe fn staged(&self, rows: Range<usize>, stage: &mut [f32]) {
        let (call, p) = (self.call, self.call.p);
        let ins = p.in_group();
        let [image, channel, y, x] = call.in_strides;
        let at = image * self.image + self.group * ins * channel;
        let source = Source {
            params: p,
            data: call.input.get().wrapping_add(at),
            channels: ins,
            size: call.size,
            strides: [channel, y, x],
            out_width: call.out_size[1],
        };
        for first in rows.clone().step_by(self.cut.rows) {
            let some = first..(first + self.cut.rows).min(rows.end);
            let from = first * p.stride[0];
            let patches = Patches { data: stage.as_ptr(), row: first, steps: [self.cut.pitch, ins] };
            // SAFETY: as the caller promises.
            unsafe {
                source.frame(from..from + seen(p, some.len()), self.cut.pitch, stage.as_mut_ptr());
                self.tiles(some.start * self.grid.per_row..some.end * self.grid.per_row, &patches);
            }
        }
    }

    /// Computes tiles, for every panel of weights.
    ///
    /// # Safety
    /// The call is checked; nobody else writes these outputs; `patches` holds what the tiles see.
    unsafe fn tiles(&self, tiles: Range<usize>, patches: &Patches) {
        let (call, p, grid, kernels) = (self.call, self.call.p, self.grid, self.plan.kernels);
        let (ins, outs, nr) = (p.in_group(), p.out_group(), kernels.nr());
        let [kh, kw] = p.kernel;
        let depth = ins * kh * kw;
        let [y_step, x_step] = patches.steps;
        // Kernel columns, and then rows, that follow each other are one run.
        let steps = [p.dilation[0] * y_step, p.dilation[1] * x_step];
        let (k, runs) = match () {
            () if kw > 1 && steps[1] != ins => (ins, [kh, kw]),
            () if kh > 1 && steps[0] != ins * kw => (ins * kw, [kh, 1]),
            () => (depth, [1, 1]),
        };
        let (row_step, pixel_step) = (p.stride[0] * y_step, p.stride[1] * x_step);
        let channels = self.group * outs;
        let (out_pixel, residual_pixel) = (call.out_strides[3], call.residual_strides[3]);
        let out = call.out.get().wrapping_add(self.image * call.out_strides[0] + channels);
        let adds = !call.residual.get().is_null();
        let at = self.image * call.residual_strides[0] + channels;
        let residual = call.residual.get().wrapping_add(at);
        for panel in self.panels.clone() {
            let col = panel * nr;
            let n = (outs - col).min(nr);
            let mut tile = Tile {
                k,
                runs,
                run_steps: steps,
                a: patches.data,
                a_row: pixel_step,
                a_k: 1,
                b: call.weight[self.group * self.plan.group + col * depth..].as_ptr(),
                b_k: nr,
                ahead: std::ptr::null(),
                ahead_step: nr.div_ceil(tiles.len()),
                c: out,
                c_row: out_pixel,
                n,
                init: Init::Rows,
                init_at: call.bias[channels + col..].as_ptr(),
                init_row: 0,
                residual: std::ptr::null(),
                residual_row: residual_pixel,
                post: call.post,
            };
            // Each tile fetches a part of what the next panel of weights needs.
            tile.ahead = tile.b.wrapping_add(nr * depth);
            let fetched = depth * tile.ahead_step;
            let (mut row, mut x) = (tiles.start / grid.per_row, tiles.start % grid.per_row * grid.mr);
            for _ in tiles.clone() {
                let m = (grid.width - x).min(grid.mr);
                tile.a = patches.data.wrapping_add((row - patches.row) * row_step + x * pixel_step);
                let pixel = row * grid.width + x;
                tile.c = out.wrapping_add(pixel * out_pixel + col);
                if adds {
                    tile.residual = residual.wrapping_add(pixel * residual_pixel + col);
                }
                // SAFETY: as the caller promises.
                unsafe { kernels.direct(m, n)(&tile) };
                tile.ahead = tile.ahead.wrapping_add(fetched);
                x += m;
                if x == grid.width {
                    (row, x) = (row + 1, 0);
                }
            }
        }
    }
}
