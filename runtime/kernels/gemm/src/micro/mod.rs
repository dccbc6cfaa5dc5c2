//! The micro-kernels, written once over [`Simd`]: here a tile of the product.
#![allow(clippy::needless_range_loop)] // Loops over constants unroll; iterators may not.

mod post;
mod taps;
mod vectors;

pub(crate) use post::Post;
pub(crate) use taps::{PixelRow, Strip, StripFn, pixel_row, strip};
pub(crate) use vectors::{axpy_rows, dot, interleave};

use crate::simd::{Real, Simd};

/// Vectors across one panel of B, for every instruction set.
pub(crate) const NV: usize = 2;
/// Elements that packing may write past the end of a packed A block.
pub(crate) const SLACK: usize = 16;

/// What the sum of products is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Init {
    /// Nothing.
    Zero,
    /// Element `(i, j)` of a matrix with contiguous rows (row stride 0: one row for all).
    Rows,
    /// One value for each row.
    Splat,
}

/// One tile: `C[i][j] = post(init + Σ_k A[i][k] · B[k][j] + residual[i][j])`, for `j < n`.
///
/// Row `i` of A at `k` is `a[i * a_row + k * a_k]`: `a_row` is 1 for packed panels, and `a_k` is 1
/// for plain rows. All of K may be several such runs of `k` one after the other: `runs[0]` times
/// `runs[1]` of them, whose A are `run_steps` apart (so a patch of an image is read as it lies). Row `k`
/// of B is `b[k * b_k ..]`, over all runs, readable over whole vectors.
#[derive(Clone, Copy)]
pub(crate) struct Tile<T> {
    pub k: usize,
    pub runs: [usize; 2],
    pub run_steps: [usize; 2],
    pub a: *const T,
    pub a_row: usize,
    pub a_k: usize,
    pub b: *const T,
    pub b_k: usize,
    /// Memory that will be needed soon: fetched `ahead_step` elements on for each `k`. Never read, so it
    /// may point anywhere.
    pub ahead: *const T,
    pub ahead_step: usize,
    pub c: *mut T,
    pub c_row: usize,
    pub n: usize,
    pub init: Init,
    pub init_at: *const T,
    pub init_row: usize,
    /// Null if nothing more is added.
    pub residual: *const T,
    pub residual_row: usize,
    pub post: Post<T>,
}

/// A micro-kernel of fixed rows and vectors.
pub(crate) type TileFn<T> = unsafe fn(&Tile<T>);

/// Computes one tile. `UNROLL` (1, 2 or 4) sums run side by side, to hide the latency of small tiles.
///
/// # Safety
/// The CPU has `S`; the pointers of `t` reach what [`Tile`] says, for `MR` rows; `n` fills `VS`
/// vectors but for the last one, which has at least one element.
#[inline(always)]
pub(crate) unsafe fn tile<
    S: Simd,
    const MR: usize,
    const VS: usize,
    const UNROLL: usize,
    const PACKED: bool,
>(
    t: &Tile<S::E>,
) {
    const { assert!(MR <= 16 && (UNROLL == 1 || UNROLL == 2 || UNROLL == 4)) };
    debug_assert!(t.n > (VS - 1) * S::LANES && t.n <= VS * S::LANES);
    // SAFETY: the caller promises the CPU and the reach of all pointers.
    unsafe {
        let last = S::mask(t.n - (VS - 1) * S::LANES);
        let zero = [[S::splat(S::E::ZERO); VS]; MR];
        // Apart, not in one array, whose elements the compiler would keep in memory.
        let (mut acc0, mut acc1, mut acc2, mut acc3) = (zero, zero, zero, zero);
        match t.init {
            Init::Zero => {}
            Init::Rows => acc0 = load_rows::<S, MR, VS>(t.init_at, t.init_row, last),
            Init::Splat => {
                for i in 0..MR {
                    acc0[i] = [S::splat(*t.init_at.add(i * t.init_row)); VS];
                }
            }
        }
        let (mut b, mut ahead) = (t.b, t.ahead);
        // Rows of A in groups of four, each with one pointer: so few registers hold all addresses.
        const GROUP: usize = 4;
        let row = if PACKED { 1 } else { t.a_row };
        let offsets = [0, row, 2 * row, 3 * row];
        let a_k = if PACKED { t.a_k } else { 1 };
        macro_rules! step {
            ($sums:ident, $a:ident) => {{
                S::prefetch(ahead);
                ahead = ahead.wrapping_add(t.ahead_step);
                let mut row = [S::splat(S::E::ZERO); VS];
                for j in 0..VS {
                    row[j] = S::load(b.add(j * S::LANES));
                }
                for i in 0..MR {
                    let value = S::splat(*$a[i / GROUP].add(offsets[i % GROUP]));
                    for j in 0..VS {
                        $sums[i][j] = S::fma(value, row[j], $sums[i][j]);
                    }
                }
                for g in 0..MR.div_ceil(GROUP) {
                    $a[g] = $a[g].wrapping_add(a_k);
                }
                b = b.wrapping_add(t.b_k);
            }};
        }
        for outer in 0..t.runs[0] {
            for inner in 0..t.runs[1] {
                let first = t.a.wrapping_add(outer * t.run_steps[0] + inner * t.run_steps[1]);
                let mut a = [first; 4];
                for g in 0..4 {
                    a[g] = first.wrapping_add(g * GROUP * row);
                }
                let mut left = t.k;
                while left >= UNROLL {
                    step!(acc0, a);
                    if UNROLL > 1 {
                        step!(acc1, a);
                    }
                    if UNROLL > 2 {
                        step!(acc2, a);
                        step!(acc3, a);
                    }
                    left -= UNROLL;
                }
                for _ in 0..left {
                    step!(acc0, a);
                }
            }
        }
        let mut out = acc0;
        macro_rules! add {
            ($more:expr) => {{
                let more = $more;
                for i in 0..MR {
                    for j in 0..VS {
                        out[i][j] = S::add(out[i][j], more[i][j]);
                    }
                }
            }};
        }
        if UNROLL > 1 {
            add!(acc1);
        }
        if UNROLL > 2 {
            add!(acc2);
            add!(acc3);
        }
        if !t.residual.is_null() {
            add!(load_rows::<S, MR, VS>(t.residual, t.residual_row, last));
        }
        let out = t.post.apply_to::<S, MR, VS>(out);
        for i in 0..MR {
            let to = t.c.add(i * t.c_row);
            for j in 0..VS - 1 {
                S::store(to.add(j * S::LANES), out[i][j]);
            }
            S::store_masked(to.add((VS - 1) * S::LANES), last, out[i][VS - 1]);
        }
    }
}

/// `MR` rows of `VS` vectors, the last of which is masked.
///
/// # Safety
/// The CPU has `S`; the rows, `step` apart, are readable.
#[inline(always)]
unsafe fn load_rows<S: Simd, const MR: usize, const VS: usize>(
    from: *const S::E,
    step: usize,
    last: S::Mask,
) -> [[S::V; VS]; MR] {
    // SAFETY: as the caller promises.
    unsafe {
        let mut rows = [[S::splat(S::E::ZERO); VS]; MR];
        for i in 0..MR {
            let from = from.add(i * step);
            for j in 0..VS - 1 {
                rows[i][j] = S::load(from.add(j * S::LANES));
            }
            rows[i][VS - 1] = S::load_masked(from.add((VS - 1) * S::LANES), last);
        }
        rows
    }
}
