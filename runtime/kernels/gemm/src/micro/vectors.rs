//! Loops over vectors that are no tiles: panel packing, and products that stream through one operand.

use crate::simd::{Real, Simd};

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
