//! Copies of elements between strided views: the one engine under every operator that moves elements.
//!
//! A [`Plan`] joins dimensions that lie behind one another in both memories, visits the target in its memory order, and
//! picks the kernel of [`raw`] for the innermost pattern: whole runs, repeated elements, transposed tiles, or single
//! elements at a step. Large copies are split over the pool's threads.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes;
mod raw;

use crate::op::bad;
use crate::pool::ranges;
use crate::strided::{MAX_DIMS, View};
use executorch_abi::Result;

/// Bytes that are worth a thread of their own.
const GRAIN: usize = 128 << 10;

/// One dimension of a copy; steps are in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Axis {
    size: usize,
    from: isize,
    to: isize,
}

/// A copy whose reach has been checked.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Outermost in the target first.
    axes: [Axis; MAX_DIMS],
    rank: usize,
    /// Bytes of what is moved at a time: 1, 2, 4, 8 or 16.
    unit: usize,
    /// The first byte in the source and in the target.
    from: usize,
    to: usize,
}

/// Copies the elements (of `size` bytes) of one view to another of the same sizes. A target element is written once.
///
/// Fails if the views differ, leave their memory, or if the target would be written twice in a place.
pub fn copy(from: &[u8], source: &View, to: &mut [u8], target: &View, size: usize) -> Result<()> {
    let Some(plan) = Plan::new(source, from.len(), target, to.len(), size)? else { return Ok(()) };
    plan.run(from, to);
    Ok(())
}

/// Writes `value` (one element's bytes) to every place of a view.
pub fn fill(value: &[u8], to: &mut [u8], target: &View) -> Result<()> {
    let source = View::point().broadcast(target.dims())?;
    copy(value, &source, to, target, value.len())
}

/// Copies bytes, on several threads if there are many.
pub fn copy_bytes(from: &[u8], to: &mut [u8]) {
    crate::pool::split_mut(to, 4096, GRAIN / 4096, |block, part| {
        part.copy_from_slice(&from[block * 4096..][..part.len()]);
    });
}

/// The bytes that a view reaches, as a range from the first to after the last.
fn reach(view: &View, size: usize, length: usize, what: &str) -> Result<usize> {
    let (mut low, mut high) = (view.start() as i128, view.start() as i128);
    for dim in view.dims() {
        let span = dim.step as i128 * (dim.size as i128 - 1);
        if span < 0 { low += span } else { high += span }
    }
    if low < 0 || (high + 1) * size as i128 > length as i128 {
        return Err(bad(format!(
            "the copy reaches elements {low} to {high} of {what}, which has {}",
            length / size.max(1)
        )));
    }
    Ok(view.start() as usize * size)
}

impl Plan {
    /// Checks and arranges a copy; none if there is nothing to do.
    fn new(
        source: &View,
        from_length: usize,
        target: &View,
        to_length: usize,
        size: usize,
    ) -> Result<Option<Self>> {
        let pairs = || source.dims().iter().zip(target.dims());
        if source.dims().len() != target.dims().len() || pairs().any(|(s, t)| s.size != t.size) {
            let sizes = |v: &View| v.dims().iter().map(|d| d.size).collect::<Vec<_>>();
            return Err(bad(format!("a copy of sizes {:?} to sizes {:?}", sizes(source), sizes(target))));
        }
        if pairs().any(|(s, _)| s.size == 0) {
            return Ok(None);
        }
        let mut plan = Self {
            axes: [Axis::default(); MAX_DIMS],
            rank: 0,
            unit: size,
            from: reach(source, size, from_length, "the source")?,
            to: reach(target, size, to_length, "the target")?,
        };
        let bytes = size as isize;
        for (s, t) in pairs().filter(|(s, _)| s.size > 1) {
            plan.axes[plan.rank] = Axis { size: s.size, from: s.step * bytes, to: t.step * bytes };
            plan.rank += 1;
        }
        plan.arrange();
        let mut below = bytes;
        for axis in plan.axes().iter().rev() {
            if axis.to < below {
                return Err(bad("a copy would write some elements of its target twice"));
            }
            below = axis.to * axis.size as isize;
        }
        plan.widen();
        Ok(Some(plan))
    }

    fn axes(&self) -> &[Axis] {
        &self.axes[..self.rank]
    }

    /// Orders the axes as the target has them in memory, and joins those that lie behind one another in both.
    fn arrange(&mut self) {
        let axes = &mut self.axes[..self.rank];
        if !axes.is_sorted_by(|a, b| a.to >= b.to) {
            axes.sort_unstable_by_key(|axis| std::cmp::Reverse(axis.to));
        }
        let mut joined = 0;
        for at in 1..axes.len() {
            let (outer, inner) = (axes[joined], axes[at]);
            let length = inner.size as isize;
            if outer.from == inner.from * length && outer.to == inner.to * length {
                axes[joined] = Axis { size: outer.size * inner.size, ..inner };
            } else {
                joined += 1;
                axes[joined] = inner;
            }
        }
        self.rank = self.rank.min(joined + 1);
    }

    /// Moves short runs as one larger element.
    fn widen(&mut self) {
        let Some(&inner) = self.axes().last() else { return };
        let unit = self.unit as isize;
        let run = inner.size * self.unit;
        if inner.from == unit && inner.to == unit && run <= 16 && run.is_power_of_two() {
            self.unit = run;
            self.rank -= 1;
        }
    }

    /// Runs the copy, in parts on several threads where it is large.
    fn run(&self, from: &[u8], to: &mut [u8]) {
        let total = self.axes().iter().map(|a| a.size).product::<usize>() * self.unit;
        if total < 2 * GRAIN {
            // SAFETY: `Plan::new` checked the reach in both slices.
            return unsafe { raw::run(self, from.as_ptr(), to.as_mut_ptr()) };
        }
        // The outermost axis that has enough parts, or else the longest one. Cutting at whole cache lines keeps
        // threads from sharing them where the axis is the innermost one.
        let enough = |a: &Axis| a.size >= 16 && a.to >= 64;
        let at = self.axes().iter().position(enough);
        let at = at.or_else(|| (0..self.rank).max_by_key(|&i| self.axes[i].size)).unwrap_or_default();
        let axis = self.axes[at];
        let block = (64 / axis.to.unsigned_abs().max(1)).max(1);
        let blocks = axis.size.div_ceil(block);
        let grain = (GRAIN * blocks).div_ceil(total);
        let (from, to) = (raw::Source(from.as_ptr()), raw::Target(to.as_mut_ptr()));
        ranges(blocks, grain, |range| {
            let (first, end) = (range.start * block, (range.end * block).min(axis.size));
            let part = self.part(at, first, end - first);
            // SAFETY: a part reaches no more than the whole; the parts write different elements, as the target has
            // each one once.
            unsafe { raw::run(&part, from.get(), to.get()) }
        });
    }

    /// The copy with a part of one axis alone.
    fn part(&self, axis: usize, first: usize, length: usize) -> Self {
        let mut part = *self;
        let Axis { from, to, .. } = self.axes[axis];
        part.axes[axis].size = length;
        part.from = part.from.wrapping_add_signed(from * first as isize);
        part.to = part.to.wrapping_add_signed(to * first as isize);
        part
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
