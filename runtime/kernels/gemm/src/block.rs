//! The blocked product of one task: rows × columns of C, over blocks of K, tile by tile.

use crate::isa::{Element, Kernels};
use crate::matrix::Matrix;
use crate::micro::{Init, Post, SLACK, Tile};
use crate::pack::{pack_a, panel_rows};
use std::ops::Range;

/// Most of K in one pass: a B panel of it (64 KiB for AVX-512) stays in the near caches.
const KC: usize = 512;
/// Most rows of A packed at a time.
const MC: usize = 168;

/// Up to this many rows, products are bound by reading B.
const FEW_ROWS: usize = 4;

/// Where A's elements come from.
#[derive(Clone, Copy)]
pub(crate) enum ASource<'a, T> {
    /// Panels of `mr` rows over all of K.
    Packed { data: *const T, mr: usize },
    /// Packed block by block into the task's scratch.
    Pack(Matrix<'a, T>),
    /// Read in place: rows are contiguous.
    Direct(Matrix<'a, T>),
}

/// Where B's elements come from.
#[derive(Clone, Copy)]
pub(crate) enum BSource<T> {
    /// Panels over all of K; the first holds column 0.
    Packed { data: *const T },
    /// Rows of contiguous columns, `ld` apart, read in place; a last partial panel is in `tail`.
    Direct { data: *const T, ld: usize, tail: *const T, n: usize },
}

/// One product over all of K, and where it goes. `init`, `residual` and `post` apply once, in order.
pub(crate) struct Block<'a, T: 'static> {
    pub kernels: &'static Kernels<T>,
    pub k: usize,
    pub a: ASource<'a, T>,
    pub b: BSource<T>,
    pub c: *mut T,
    pub c_row: usize,
    pub init: Init,
    pub init_at: *const T,
    pub init_row: usize,
    pub residual: *const T,
    pub residual_row: usize,
    pub post: Post<T>,
}

/// Scratch elements that [`Block::run`] needs to pack A.
pub(crate) fn a_scratch_len<T: Element>(kernels: &Kernels<T>, m: usize, k: usize) -> usize {
    m.min(MC).next_multiple_of(kernels.mr) * k.min(KC) + SLACK
}

impl<T: Element> Block<'_, T> {
    /// Computes rows `rows` and columns `cols` of C (and of `init`). `cols` starts at a panel.
    ///
    /// # Safety
    /// All pointers reach what the sizes say; nobody else touches these elements of C meanwhile.
    /// For [`ASource::Packed`], `rows` starts at a panel. `scratch` has [`a_scratch_len`] elements for
    /// [`ASource::Pack`].
    pub(crate) unsafe fn run(&self, rows: Range<usize>, cols: Range<usize>, scratch: &mut [T]) {
        let blocks = self.k.div_ceil(KC).max(1);
        let kc = self.k.div_ceil(blocks);
        for block in 0..blocks {
            let ks = block * kc..((block + 1) * kc).min(self.k);
            match self.a {
                ASource::Packed { mr, .. } => {
                    // SAFETY: as the caller promises.
                    unsafe { self.panels(&rows, &cols, &ks, mr, std::ptr::null()) }
                }
                ASource::Direct(_) => {
                    let mr = panel_rows(rows.len(), self.kernels.mr_direct);
                    // SAFETY: as the caller promises.
                    unsafe { self.panels(&rows, &cols, &ks, mr, std::ptr::null()) }
                }
                ASource::Pack(a) => {
                    let mr = panel_rows(rows.len(), self.kernels.mr);
                    let mc = (MC / mr).max(1) * mr;
                    for first in rows.clone().step_by(mc) {
                        let some = first..(first + mc).min(rows.end);
                        let to = scratch.as_mut_ptr();
                        debug_assert!(scratch.len() >= some.len().next_multiple_of(mr) * ks.len() + SLACK);
                        // SAFETY: as the caller promises.
                        unsafe {
                            pack_a(self.kernels, &a, some.clone(), ks.clone(), mr, to);
                            self.panels(&some, &cols, &ks, mr, to);
                        }
                    }
                }
            }
        }
    }

    /// One block of K: every panel of B against every panel of A.
    ///
    /// # Safety
    /// As [`Block::run`]; `packed` holds the block's rows for [`ASource::Pack`].
    unsafe fn panels(
        &self,
        rows: &Range<usize>,
        cols: &Range<usize>,
        ks: &Range<usize>,
        mr: usize,
        packed: *const T,
    ) {
        let nr = self.kernels.nr();
        let is_first = ks.start == 0;
        let is_last = ks.end == self.k;
        for col in cols.clone().step_by(nr) {
            let n = (cols.end - col).min(nr);
            // SAFETY: `col` is a panel of B, `row` a panel of A: all in reach by the caller's promise.
            unsafe {
                let (b, b_k) = match self.b {
                    BSource::Packed { data } => (data.add(col * self.k + ks.start * nr), nr),
                    BSource::Direct { tail, n: all, .. } if all - col < nr => (tail.add(ks.start * nr), nr),
                    BSource::Direct { data, ld, .. } => (data.add(col + ks.start * ld), ld),
                };
                // Each tile fetches a part of what the next panel of B needs. A few rows read B only
                // once, too fast for that: they fetch what they need themselves soon.
                let tiles = rows.len().div_ceil(mr);
                let far = tiles * mr > FEW_ROWS;
                let ahead_step = if far { nr.div_ceil(tiles) } else { b_k };
                for (at, row) in rows.clone().step_by(mr).enumerate() {
                    let ahead = if far { nr * self.k + at * ks.len() * ahead_step } else { 32 * b_k };
                    let m = (rows.end - row).min(mr);
                    let (kernel, a, a_row, a_k) = match self.a {
                        ASource::Packed { data, .. } => {
                            let a = data.add(row * self.k + ks.start * mr);
                            (self.kernels.packed(m, n), a, 1, mr)
                        }
                        ASource::Pack(_) => {
                            let a = packed.add((row - rows.start) * ks.len());
                            (self.kernels.packed(m, n), a, 1, mr)
                        }
                        ASource::Direct(a) => {
                            let at = a.at(row, ks.start);
                            (self.kernels.direct(m, n), at, a.row_stride(), 1)
                        }
                    };
                    let c = self.c.add(row * self.c_row + col);
                    let (init, init_at, init_row) = if !is_first {
                        (Init::Rows, c.cast_const(), self.c_row)
                    } else {
                        let col = if self.init == Init::Splat { 0 } else { col };
                        let at = self.init_at.wrapping_add(row * self.init_row + col);
                        (self.init, at, self.init_row)
                    };
                    let ends = is_last && !self.residual.is_null();
                    let residual = self.residual.wrapping_add(row * self.residual_row + col);
                    kernel(&Tile {
                        k: ks.len(),
                        runs: [1, 1],
                        run_steps: [0, 0],
                        a,
                        a_row,
                        a_k,
                        b,
                        b_k,
                        ahead: b.wrapping_add(ahead),
                        ahead_step,
                        c,
                        c_row: self.c_row,
                        n,
                        init,
                        init_at,
                        init_row,
                        residual: if ends { residual } else { std::ptr::null() },
                        residual_row: self.residual_row,
                        post: if is_last { self.post } else { Post::None },
                    });
                }
            }
        }
    }
}
