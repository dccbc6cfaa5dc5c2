//! The micro-kernels, written once over [`Simd`]: a tile of the product, and panel packing.

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

/// One tile: `C[i][j] = clamp(init + Σ_k A[i][k] · B[k][j])`, for `j < n`.
///
/// Row `i` of A at `k` is `a[i * a_row + k * a_k]`: `a_row` is 1 for packed panels, and `a_k` is 1
/// for plain rows. Row `k` of B is `b[k * b_k ..]`, readable over whole vectors.
pub(crate) struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub a_row: usize,
    pub a_k: usize,
    pub b: *const T,
    pub b_k: usize,
    pub c: *mut T,
    pub c_row: usize,
    pub n: usize,
    pub init: Init,
    pub init_at: *const T,
    pub init_row: usize,
    pub clamp: Option<(T, T)>,
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
    const { assert!(UNROLL == 1 || UNROLL == 2 || UNROLL == 4) };
    debug_assert!(t.n > (VS - 1) * S::LANES && t.n <= VS * S::LANES);
    // SAFETY: the caller promises the CPU and the reach of all pointers.
    unsafe {
        let zero = [[S::splat(S::E::ZERO); VS]; MR];
        // Apart, not in one array, whose elements the compiler would keep in memory.
        let (mut acc0, mut acc1, mut acc2, mut acc3) = (zero, zero, zero, zero);
        let (mut a, mut b) = (t.a, t.b);
        let (a_row, a_k) = if PACKED { (1, t.a_k) } else { (t.a_row, 1) };
        macro_rules! step {
            ($sums:ident) => {{
                if MR <= 4 {
                    S::prefetch(b.wrapping_add(32 * t.b_k));
                }
                // Not `array::from_fn`, whose inside may stay a function compiled for the baseline.
                let mut row = [S::splat(S::E::ZERO); VS];
                for (j, v) in row.iter_mut().enumerate() {
                    *v = S::load(b.add(j * S::LANES));
                }
                for (i, sum) in $sums.iter_mut().enumerate() {
                    let value = S::splat(*a.add(i * a_row));
                    for j in 0..VS {
                        sum[j] = S::fma(value, row[j], sum[j]);
                    }
                }
                a = a.wrapping_add(a_k);
                b = b.wrapping_add(t.b_k);
            }};
        }
        let mut left = t.k;
        while left >= UNROLL {
            step!(acc0);
            if UNROLL > 1 {
                step!(acc1);
            }
            if UNROLL > 2 {
                step!(acc2);
                step!(acc3);
            }
            left -= UNROLL;
        }
        for _ in 0..left {
            step!(acc0);
        }
        let mut out = acc0;
        for more in [acc1, acc2, acc3].iter().take(UNROLL - 1) {
            for i in 0..MR {
                for j in 0..VS {
                    out[i][j] = S::add(out[i][j], more[i][j]);
                }
            }
        }
        let last = S::mask(t.n - (VS - 1) * S::LANES);
        match t.init {
            Init::Zero => {}
            Init::Rows => {
                for (i, row) in out.iter_mut().enumerate() {
                    let from = t.init_at.add(i * t.init_row);
                    for (j, v) in row.iter_mut().enumerate().take(VS - 1) {
                        *v = S::add(*v, S::load(from.add(j * S::LANES)));
                    }
                    let tail = S::load_masked(from.add((VS - 1) * S::LANES), last);
                    row[VS - 1] = S::add(row[VS - 1], tail);
                }
            }
            Init::Splat => {
                for (i, row) in out.iter_mut().enumerate() {
                    let value = S::splat(*t.init_at.add(i * t.init_row));
                    for v in row {
                        *v = S::add(*v, value);
                    }
                }
            }
        }
        if let Some((low, high)) = t.clamp {
            let (low, high) = (S::splat(low), S::splat(high));
            for v in out.iter_mut().flatten() {
                *v = S::clamp(*v, low, high);
            }
        }
        for (i, row) in out.iter().enumerate() {
            let to = t.c.add(i * t.c_row);
            for (j, &v) in row.iter().enumerate().take(VS - 1) {
                S::store(to.add(j * S::LANES), v);
            }
            S::store_masked(to.add((VS - 1) * S::LANES), last, row[VS - 1]);
        }
    }
}

/// `to[k * width + i] = from[i * ld + k]` for `i < rows`, and 0 for `rows <= i < width`: turns up to
/// `LANES` rows with contiguous `k` into interleaved ones.
///
/// # Safety
/// The CPU has `S`; `rows <= S::LANES`; each row has `k` readable elements; `to` has
/// `k * width + S::LANES` writable elements (what lies after row `k - 1` is overwritten).
#[inline(always)]
pub(crate) unsafe fn interleave<S: Simd>(
    from: *const S::E,
    ld: usize,
    rows: usize,
    k: usize,
    to: *mut S::E,
    width: usize,
) {
    debug_assert!(rows <= S::LANES);
    // SAFETY: the caller promises the CPU and the reach of both pointers; partial blocks are masked.
    unsafe {
        let mut done = 0;
        while done < k {
            let n = (k - done).min(S::LANES);
            let mask = S::mask(n);
            let mut block = [S::splat(S::E::ZERO); 16];
            for (i, row) in block.iter_mut().enumerate().take(rows) {
                *row = S::load_masked(from.add(i * ld + done), mask);
            }
            S::transpose(&mut block);
            for (i, &row) in block.iter().enumerate().take(n) {
                S::store(to.add((done + i) * width), row);
            }
            done += n;
        }
    }
}

/// `c[j] += Σ_r a[r * a_k] · b[r * ld + j]` for `j < n`: a row times a matrix with contiguous rows.
///
/// # Safety
/// The CPU has `S`; `k` rows of `n` elements are readable at `b`, and `n` elements writable at `c`.
#[inline(always)]
pub(crate) unsafe fn axpy_rows<S: Simd>(
    k: usize,
    a: *const S::E,
    a_k: usize,
    b: *const S::E,
    ld: usize,
    c: *mut S::E,
    n: usize,
) {
    const ROWS: usize = 8;
    let mut done = 0;
    // SAFETY: the caller promises the CPU and the reach of all pointers; partial vectors are masked.
    unsafe {
        while done < k {
            let rows = (k - done).min(ROWS);
            let mut scale = [S::splat(S::E::ZERO); ROWS];
            for (r, s) in scale.iter_mut().enumerate().take(rows) {
                *s = S::splat(*a.add((done + r) * a_k));
            }
            let b = b.add(done * ld);
            let mut j = 0;
            while j + S::LANES <= n {
                let mut sum = S::load(c.add(j));
                if rows == ROWS {
                    for (r, &s) in scale.iter().enumerate() {
                        sum = S::fma(s, S::load(b.add(r * ld + j)), sum);
                    }
                } else {
                    for (r, &s) in scale.iter().enumerate().take(rows) {
                        sum = S::fma(s, S::load(b.add(r * ld + j)), sum);
                    }
                }
                S::store(c.add(j), sum);
                j += S::LANES;
            }
            if j < n {
                let mask = S::mask(n - j);
                let mut sum = S::load_masked(c.add(j), mask);
                for (r, &s) in scale.iter().enumerate().take(rows) {
                    sum = S::fma(s, S::load_masked(b.add(r * ld + j), mask), sum);
                }
                S::store_masked(c.add(j), mask, sum);
            }
            done += rows;
        }
    }
}

/// `Σ_k a[k] · b[k]`.
///
/// # Safety
/// The CPU has `S`; `k` elements are readable at `a` and `b`.
#[inline(always)]
pub(crate) unsafe fn dot<S: Simd>(k: usize, a: *const S::E, b: *const S::E) -> S::E {
    // SAFETY: the caller promises the CPU and the reach of both pointers; partial vectors are masked.
    unsafe {
        let mut acc = [S::splat(S::E::ZERO); 4];
        let mut i = 0;
        while i + 4 * S::LANES <= k {
            for (u, sum) in acc.iter_mut().enumerate() {
                let at = i + u * S::LANES;
                *sum = S::fma(S::load(a.add(at)), S::load(b.add(at)), *sum);
            }
            i += 4 * S::LANES;
        }
        while i < k {
            let mask = S::mask((k - i).min(S::LANES));
            acc[0] = S::fma(S::load_masked(a.add(i), mask), S::load_masked(b.add(i), mask), acc[0]);
            i += S::LANES;
        }
        S::sum(S::add(S::add(acc[0], acc[1]), S::add(acc[2], acc[3])))
    }
}

/// One row of a depthwise convolution:
/// `out[i] = clamp(bias[i] + Σ_t weight_t[i] · source_t[i])`, for `i < n`.
pub(crate) struct Taps<'a, T> {
    /// Where each tap reads; `n` readable elements each (`n + 4 * LANES` if `SPLAT`).
    pub sources: &'a [*const T],
    /// Tap `t` is at `t * weight_row`: `n` elements, or one for all if `SPLAT`.
    pub weight: *const T,
    pub weight_row: usize,
    /// `n` elements, or one for all if `SPLAT`.
    pub bias: *const T,
    pub out: *mut T,
    pub n: usize,
    pub clamp: Option<(T, T)>,
}

/// Computes one row of a depthwise convolution. With `SPLAT`, elements are neighbouring pixels of one
/// channel, and sources may be read past `n`; without, they are channels of one pixel.
///
/// # Safety
/// The CPU has `S`; the pointers of `t` reach what [`Taps`] says.
#[inline(always)]
pub(crate) unsafe fn taps<S: Simd, const SPLAT: bool>(t: &Taps<'_, S::E>) {
    let mut at = 0;
    // SAFETY: as the caller promises; a block covers at most the vectors left.
    unsafe {
        while at < t.n {
            let left = t.n - at;
            if left > 2 * S::LANES && (SPLAT || left >= 4 * S::LANES) {
                taps_block::<S, SPLAT, 4>(t, at);
                at += 4 * S::LANES;
            } else if left > S::LANES && (SPLAT || left >= 2 * S::LANES) {
                taps_block::<S, SPLAT, 2>(t, at);
                at += 2 * S::LANES;
            } else {
                taps_block::<S, SPLAT, 1>(t, at);
                at += S::LANES;
            }
        }
    }
}

/// `VS` vectors of [`taps`], of which those past `n` are not written.
///
/// # Safety
/// As [`taps`].
#[inline(always)]
unsafe fn taps_block<S: Simd, const SPLAT: bool, const VS: usize>(t: &Taps<'_, S::E>, at: usize) {
    // SAFETY: as the caller promises; what lies past `n` is read only with `SPLAT`, else masked.
    unsafe {
        let left = t.n - at;
        // Only a last single vector of channels can be partial.
        let mask = S::mask(left.min(S::LANES));
        let load = |from: *const S::E, j: usize| {
            if SPLAT || VS > 1 { S::load(from.add(j * S::LANES)) } else { S::load_masked(from, mask) }
        };
        let mut acc = [S::splat(S::E::ZERO); VS];
        for (j, sum) in acc.iter_mut().enumerate() {
            *sum = if SPLAT { S::splat(*t.bias) } else { load(t.bias.add(at), j) };
        }
        for (tap, &source) in t.sources.iter().enumerate() {
            let weight = t.weight.add(tap * t.weight_row);
            let source = source.add(at);
            if SPLAT {
                let weight = S::splat(*weight);
                for (j, sum) in acc.iter_mut().enumerate() {
                    *sum = S::fma(weight, load(source, j), *sum);
                }
            } else {
                for (j, sum) in acc.iter_mut().enumerate() {
                    *sum = S::fma(load(weight.add(at), j), load(source, j), *sum);
                }
            }
        }
        if let Some((low, high)) = t.clamp {
            let (low, high) = (S::splat(low), S::splat(high));
            for v in &mut acc {
                *v = S::clamp(*v, low, high);
            }
        }
        for (j, &v) in acc.iter().enumerate() {
            let to = t.out.wrapping_add(at + j * S::LANES);
            match left.saturating_sub(j * S::LANES) {
                0 => {}
                some if some >= S::LANES => S::store(to, v),
                some => S::store_masked(to, S::mask(some), v),
            }
        }
    }
}
