//! Gathering parts of the input: patches into panels of B (channels first), or padded rows (channels
//! last).

use super::ConvParams;
use std::ops::Range;

/// One image of one group, and the output grid over it.
pub(crate) struct Source<'a> {
    pub params: &'a ConvParams,
    /// Element `(0, 0, 0)` of the group's first channel.
    pub data: *const f32,
    pub channels: usize,
    pub size: [usize; 2],
    /// Strides of channel, height, width.
    pub strides: [usize; 3],
    /// Output width.
    pub out_width: usize,
}

/// Outputs `o` of `outs` whose input `o * stride + offset - before` lies in `0..size`.
fn valid(outs: &Range<usize>, stride: usize, offset: usize, before: usize, size: usize) -> Range<usize> {
    // This runs for every few elements copied, and a division is slow: most strides need none.
    let divide = |value: usize| match stride {
        1 => value,
        2 => value.div_ceil(2),
        _ => value.div_ceil(stride),
    };
    let low = divide(before.saturating_sub(offset));
    let high = divide((size + before).saturating_sub(offset));
    let low = low.clamp(outs.start, outs.end);
    low..high.clamp(low, outs.end)
}

/// Outputs in one row of the image, and where they lie in a panel.
#[derive(Clone, Copy, Default)]
struct Run {
    lane: usize,
    y: usize,
    x: usize,
    len: usize,
}

/// The most lanes a panel has.
const MAX_LANES: usize = 32;

impl Source<'_> {
    /// Fills panels of `lanes` pixels, `K × lanes` each with `K = (channel, y, x)`, for `pixels`.
    ///
    /// # Safety
    /// `to` has `pixels.len().next_multiple_of(lanes) * K` writable elements; `lanes <= 32`; `data`,
    /// `size` and `strides` describe readable elements.
    pub(crate) unsafe fn panels(&self, pixels: Range<usize>, lanes: usize, mut to: *mut f32) {
        debug_assert!(lanes <= MAX_LANES);
        let p = self.params;
        let taps = p.kernel[0] * p.kernel[1];
        for first in pixels.clone().step_by(lanes) {
            let mut runs = [Run::default(); MAX_LANES];
            let mut count = 0;
            let (mut lane, last) = (0, (pixels.end - first).min(lanes));
            while lane < last {
                let (y, x) = ((first + lane) / self.out_width, (first + lane) % self.out_width);
                let len = (self.out_width - x).min(last - lane);
                runs[count] = Run { lane, y, x, len };
                count += 1;
                lane += len;
            }
            // SAFETY: the panel lies in `to` by the caller's promise; the runs cover its lanes up to `last`.
            unsafe {
                for run in &runs[..count] {
                    for ky in 0..p.kernel[0] {
                        for kx in 0..p.kernel[1] {
                            let to = to.add((ky * p.kernel[1] + kx) * lanes + run.lane);
                            self.panel_run(run, ky * p.dilation[0], kx * p.dilation[1], to, taps * lanes);
                        }
                    }
                }
                for row in 0..taps * self.channels {
                    for lane in last..lanes {
                        *to.add(row * lanes + lane) = 0.0;
                    }
                }
                to = to.add(taps * self.channels * lanes);
            }
        }
    }

    /// One run of the rows of a panel that hold what lies `dy`, `dx` from the start of each patch, for all channels.
    ///
    /// # Safety
    /// As [`Source::panels`]; `to` is the run's place in the first channel's row, the next one's is `pitch` on.
    #[inline]
    unsafe fn panel_run(&self, run: &Run, dy: usize, dx: usize, to: *mut f32, pitch: usize) {
        let p = self.params;
        let [[top, _], [left, _]] = p.padding;
        let y = (run.y * p.stride[0] + dy).wrapping_sub(top);
        let xs = run.x..run.x + run.len;
        let inside = if y < self.size[0] {
            valid(&xs, p.stride[1], dx, left, self.size[1])
        } else {
            xs.start..xs.start
        };
        let step = p.stride[1] * self.strides[2];
        let (before, len) = (inside.start - xs.start, inside.len());
        let from = if len == 0 {
            self.data
        } else {
            let x = inside.start * p.stride[1] + dx - left;
            self.data.wrapping_add(y * self.strides[1] + x * self.strides[2])
        };
        for channel in 0..self.channels {
            // SAFETY: `valid` keeps every read inside the image, and lanes are inside the row.
            unsafe {
                let from = from.wrapping_add(channel * self.strides[0]);
                let to = to.add(channel * pitch);
                for lane in (0..before).chain(before + len..run.len) {
                    *to.add(lane) = 0.0;
                }
                let to = to.add(before);
                match step {
                    1 => copy(from, to, len),
                    // A constant step lets the compiler use shuffles.
                    2 => (0..len).for_each(|i| *to.add(i) = *from.add(2 * i)),
                    _ => (0..len).for_each(|i| *to.add(i) = *from.add(step * i)),
                }
            }
        }
    }

    /// Copies rows `rows` of the padded image, the first `pitch` elements of each, one after the other,
    /// with contiguous channels.
    ///
    /// # Safety
    /// `to` has `rows.len() * pitch` writable elements, `pitch` is a multiple of `channels`; `data`, `size`
    /// and `strides` describe readable elements.
    pub(crate) unsafe fn frame(&self, rows: Range<usize>, pitch: usize, to: *mut f32) {
        let [[top, _], [left, _]] = self.params.padding;
        let [height, width] = self.size;
        let pixels = pitch / self.channels;
        let before = left.min(pixels);
        let inside = width.min(pixels - before);
        for (at, row) in rows.enumerate() {
            let y = row.wrapping_sub(top);
            // SAFETY: all writes are in this row of `to`; the pixels read are in the image.
            unsafe {
                let to = to.add(at * pitch);
                if y >= height {
                    std::slice::from_raw_parts_mut(to, pitch).fill(0.0);
                    continue;
                }
                let start = before * self.channels;
                let end = start + inside * self.channels;
                std::slice::from_raw_parts_mut(to, start).fill(0.0);
                self.pixels(y, 0..inside, to.add(start));
                std::slice::from_raw_parts_mut(to.add(end), pitch - end).fill(0.0);
            }
        }
    }

    /// Copies pixels `xs` of row `y`, with contiguous channels.
    ///
    /// # Safety
    /// The pixels lie in the image; `to` has room for all their channels.
    pub(crate) unsafe fn pixels(&self, y: usize, xs: Range<usize>, to: *mut f32) {
        let [channel, y_stride, x_stride] = self.strides;
        let n = self.channels;
        let from = self.data.wrapping_add(y * y_stride + xs.start * x_stride);
        // SAFETY: as the caller promises.
        unsafe {
            if (channel == 1 || n == 1) && x_stride == n {
                copy(from, to, xs.len() * n);
            } else if channel == 1 {
                (0..xs.len()).for_each(|x| copy(from.add(x * x_stride), to.add(x * n), n));
            } else {
                for c in 0..n {
                    let from = from.wrapping_add(c * channel);
                    (0..xs.len()).for_each(|x| *to.add(x * n + c) = *from.add(x * x_stride));
                }
            }
        }
    }
}

/// A short copy: in line, where a call of `memcpy` would cost more than the copy. Blocks overlap at the
/// end instead of leaving a rest.
///
/// # Safety
/// `n` elements are readable at `from` and writable at `to`, and do not overlap.
#[inline(always)]
pub(super) unsafe fn copy(from: *const f32, to: *mut f32, n: usize) {
    /// Copies `N` elements, `at` from the start.
    ///
    /// # Safety
    /// They are readable and writable.
    #[inline(always)]
    unsafe fn block<const N: usize>(from: *const f32, to: *mut f32, at: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            let values = from.add(at).cast::<[f32; N]>().read_unaligned();
            to.add(at).cast::<[f32; N]>().write_unaligned(values);
        }
    }
    // SAFETY: as the caller promises; every block lies in `0..n`.
    unsafe {
        match n {
            32 => block::<32>(from, to, 0),
            64.. => std::ptr::copy_nonoverlapping(from, to, n),
            8.. => {
                let mut at = 0;
                while at + 8 <= n {
                    block::<8>(from, to, at);
                    at += 8;
                }
                block::<8>(from, to, n - 8);
            }
            4.. => {
                block::<4>(from, to, 0);
                block::<4>(from, to, n - 4);
            }
            2.. => {
                block::<2>(from, to, 0);
                block::<2>(from, to, n - 2);
            }
            1 => *to = *from,
            0 => {}
        }
    }
}
