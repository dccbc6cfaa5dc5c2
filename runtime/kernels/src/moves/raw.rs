//! The kernels of copies, on pointers: a copy's elements may lie between those of another thread's part, so that no
//! slices of their own exist for them.
//!
//! Invariant of every function here: the plan's units lie within the memory that the pointers start, those of the
//! target are written by nobody else meanwhile, and source and target do not overlap. Units are moved as arrays of
//! bytes, which need no alignment.

use super::{Axis, Plan};
use crate::strided::MAX_DIMS;

/// Bytes of the source's rows that a transposition moves before it goes on to further columns: the lines of the target
/// that a tile leaves half full are still cached when the next tile fills them.
const STRIP: usize = 256;

/// Units of a column or row that are moved before the next one, which has a part of its cache lines in common.
const REST: usize = 256;

/// A source that threads share.
pub(super) struct Source(pub *const u8);
/// A target that threads share.
pub(super) struct Target(pub *mut u8);

// SAFETY: the threads only read through it.
unsafe impl Sync for Source {}
// SAFETY: the threads write different elements through it.
unsafe impl Sync for Target {}

impl Source {
    pub(super) fn get(&self) -> *const u8 {
        self.0
    }
}

impl Target {
    pub(super) fn get(&self) -> *mut u8 {
        self.0
    }
}

/// Runs a copy.
///
/// # Safety
/// See the module's invariant.
pub(super) unsafe fn run(plan: &Plan, from: *const u8, to: *mut u8) {
    // SAFETY: the module's invariant, handed on; it makes the starts lie within the memory.
    unsafe {
        let (from, to) = (from.add(plan.from), to.add(plan.to));
        match plan.unit {
            1 => units::<1, 16>(plan, from, to),
            2 => units::<2, 8>(plan, from, to),
            4 => units::<4, 4>(plan, from, to),
            8 => units::<8, 2>(plan, from, to),
            _ => units::<16, 1>(plan, from, to),
        }
    }
}

/// # Safety
/// See the module's invariant.
unsafe fn units<const N: usize, const K: usize>(plan: &Plan, from: *const u8, to: *mut u8) {
    let unit = N as isize;
    let Some((&inner, outer)) = plan.axes().split_last() else {
        // SAFETY: the module's invariant: the plan is one unit.
        unsafe { *to.cast::<[u8; N]>() = *from.cast::<[u8; N]>() };
        return;
    };
    if inner.to != unit {
        // SAFETY: the module's invariant, here and below: `each` visits the places that the plan reaches.
        return each(outer, |f, t| unsafe { steps::<N>(inner, from.offset(f), to.offset(t)) });
    }
    if inner.from == unit {
        let bytes = inner.size * N;
        // SAFETY: as above; a run is contiguous in both.
        return each(outer, |f, t| unsafe {
            std::ptr::copy_nonoverlapping(from.offset(f), to.offset(t), bytes)
        });
    }
    if inner.from == 0 {
        // SAFETY: as above.
        return each(outer, |f, t| unsafe { repeat::<N>(inner.size, from.offset(f), to.offset(t)) });
    }
    let Some(across) = outer.iter().position(|a| a.from == unit) else {
        // SAFETY: as above.
        return each(outer, |f, t| unsafe { steps::<N>(inner, from.offset(f), to.offset(t)) });
    };
    let columns = outer[across];
    let mut rest = [Axis::default(); MAX_DIMS];
    let others = outer.iter().enumerate().filter(|&(i, _)| i != across);
    for (place, (_, axis)) in rest.iter_mut().zip(others) {
        *place = *axis;
    }
    // SAFETY: as above.
    each(&rest[..outer.len() - 1], |f, t| unsafe {
        transpose::<N, K>(inner, columns, from.offset(f), to.offset(t));
    });
}

/// Calls `body` with the offset of every index of some axes in the source and in the target.
fn each(axes: &[Axis], mut body: impl FnMut(isize, isize)) {
    let Some((&inner, outer)) = axes.split_last() else { return body(0, 0) };
    let mut index = [0_usize; MAX_DIMS];
    let (mut from, mut to) = (0, 0);
    loop {
        for i in 0..inner.size as isize {
            body(from + i * inner.from, to + i * inner.to);
        }
        let mut more = false;
        for (index, axis) in index.iter_mut().zip(outer).rev() {
            *index += 1;
            from += axis.from;
            to += axis.to;
            if *index < axis.size {
                more = true;
                break;
            }
            from -= axis.from * axis.size as isize;
            to -= axis.to * axis.size as isize;
            *index = 0;
        }
        if !more {
            return;
        }
    }
}

/// Moves units at a step, one by one.
///
/// # Safety
/// See the module's invariant.
unsafe fn steps<const N: usize>(axis: Axis, from: *const u8, to: *mut u8) {
    for i in 0..axis.size as isize {
        // SAFETY: the module's invariant.
        unsafe { *to.offset(i * axis.to).cast::<[u8; N]>() = *from.offset(i * axis.from).cast::<[u8; N]>() };
    }
}

/// Writes one unit `count` times.
///
/// # Safety
/// See the module's invariant.
unsafe fn repeat<const N: usize>(count: usize, from: *const u8, to: *mut u8) {
    // SAFETY: the module's invariant, here and below.
    let value = unsafe { *from.cast::<[u8; N]>() };
    if value.iter().all(|&b| b == value[0]) {
        // SAFETY: as above.
        return unsafe { std::ptr::write_bytes(to, value[0], count * N) };
    }
    for i in 0..count {
        // SAFETY: as above.
        unsafe { *to.cast::<[u8; N]>().add(i) = value };
    }
}

/// Moves a matrix whose rows lie along the target's memory and whose columns lie along the source's.
///
/// # Safety
/// See the module's invariant; `rows.to` and `columns.from` are the unit.
unsafe fn transpose<const N: usize, const K: usize>(rows: Axis, columns: Axis, from: *const u8, to: *mut u8) {
    let vectors = K > 1 && cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let (height, width) = if vectors { (rows.size / K * K, columns.size / K * K) } else { (0, 0) };
    // SAFETY: the module's invariant, here and below: each call moves a part of the matrix.
    let part = |r: usize, c: usize| unsafe {
        (from.offset(r as isize * rows.from).add(c * N), to.offset(c as isize * columns.to).add(r * N))
    };
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        // Tiles that fill cache lines, in strips.
        let (tile, strip) = (64 / N, STRIP / N);
        for first in (0..width).step_by(strip) {
            let end = width.min(first + strip);
            for top in (0..height).step_by(tile) {
                for left in (first..end).step_by(tile) {
                    for c in (left..end.min(left + tile)).step_by(K) {
                        for r in (top..height.min(top + tile)).step_by(K) {
                            let (from, to) = part(r, c);
                            // SAFETY: as above.
                            unsafe { super::lanes::block::<N, K>(rows.from, columns.to, from, to) };
                        }
                    }
                }
            }
        }
    }
    // The columns and rows beside whole blocks.
    for r in (0..rows.size).step_by(REST) {
        for c in width..columns.size {
            let (from, to) = part(r, c);
            // SAFETY: as above.
            unsafe { steps::<N>(Axis { size: REST.min(rows.size - r), ..rows }, from, to) };
        }
    }
    for c in (0..width).step_by(REST) {
        for r in height..rows.size {
            let (from, to) = part(r, c);
            // SAFETY: as above.
            unsafe { steps::<N>(Axis { size: REST.min(width - c), ..columns }, from, to) };
        }
    }
}
