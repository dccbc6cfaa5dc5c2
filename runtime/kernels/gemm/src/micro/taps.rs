//! Depthwise convolution: rows of pixels of one channel, and strips of pixels of many channels.
#![allow(clippy::needless_range_loop)] // Loops over constants unroll; iterators may not.

use super::Post;
use crate::simd::{Real, Simd};

/// A row of pixels of one channel: `out[i] = post(bias + Σ_t weight_t · source_t[i])`, for `i < n`.
pub(crate) struct PixelRow<'a, T> {
    /// Where each tap reads: `n + 4 * LANES` readable elements each.
    pub sources: &'a [*const T],
    /// One weight for each tap.
    pub weight: *const T,
    pub bias: T,
    pub out: *mut T,
    pub n: usize,
    pub post: Post<T>,
}

/// Computes one row of pixels of one channel.
///
/// # Safety
/// The CPU has `S`; the pointers of `t` reach what [`PixelRow`] says.
#[inline(always)]
pub(crate) unsafe fn pixel_row<S: Simd>(t: &PixelRow<'_, S::E>) {
    let mut at = 0;
    // SAFETY: as the caller promises; a block covers at most the vectors left.
    unsafe {
        while at < t.n {
            let left = t.n - at;
            if left > 2 * S::LANES {
                pixels::<S, 4>(t, at);
                at += 4 * S::LANES;
            } else if left > S::LANES {
                pixels::<S, 2>(t, at);
                at += 2 * S::LANES;
            } else {
                pixels::<S, 1>(t, at);
                at += S::LANES;
            }
        }
    }
}

/// `VS` vectors of [`pixel_row`], of which those past `n` are not written.
///
/// # Safety
/// As [`pixel_row`].
#[inline(always)]
unsafe fn pixels<S: Simd, const VS: usize>(t: &PixelRow<'_, S::E>, at: usize) {
    // SAFETY: as the caller promises: sources may be read past `n`.
    unsafe {
        let mut acc = [[S::splat(t.bias); VS]];
        for (tap, &source) in t.sources.iter().enumerate() {
            let source = source.add(at);
            let weight = S::splat(*t.weight.add(tap));
            for (j, sum) in acc[0].iter_mut().enumerate() {
                *sum = S::fma(weight, S::load(source.add(j * S::LANES)), *sum);
            }
        }
        let acc = t.post.apply_to::<S, 1, VS>(acc);
        for (j, &v) in acc[0].iter().enumerate() {
            let to = t.out.wrapping_add(at + j * S::LANES);
            match (t.n - at).saturating_sub(j * S::LANES) {
                0 => {}
                some if some >= S::LANES => S::store(to, v),
                some => S::store_masked(to, S::mask(some), v),
            }
        }
    }
}

/// A strip of neighbouring pixels, all of whose taps lie in the image, over many channels:
/// `out[p][c] = post(bias[c] + Σ_yx weight[y][x][c] · source[y][x][p][c] + residual[p][c])`, `c < n`.
/// Channels are contiguous everywhere; the steps are between neighbours of each kind.
pub(crate) struct Strip<T> {
    pub taps: [usize; 2],
    pub source: *const T,
    pub source_tap: [usize; 2],
    pub source_pixel: usize,
    pub weight: *const T,
    pub weight_tap: [usize; 2],
    pub bias: *const T,
    pub out: *mut T,
    pub out_pixel: usize,
    /// Null if nothing is added.
    pub residual: *const T,
    pub residual_pixel: usize,
    pub n: usize,
    pub post: Post<T>,
}

/// A kernel for strips of a fixed number of pixels.
pub(crate) type StripFn<T> = unsafe fn(&Strip<T>);

/// Computes a strip of `P` pixels.
///
/// # Safety
/// The CPU has `S`; the pointers of `t` reach what [`Strip`] says.
#[inline(always)]
pub(crate) unsafe fn strip<S: Simd, const P: usize>(t: &Strip<S::E>) {
    let mut at = 0;
    // SAFETY: as the caller promises; only the channels left are touched.
    unsafe {
        // Few pixels need more vectors to hide the latency of their sums.
        while P <= 2 && t.n - at >= 4 * S::LANES {
            channels::<S, P, 4, false>(t, at);
            at += 4 * S::LANES;
        }
        while t.n - at >= 2 * S::LANES {
            channels::<S, P, 2, false>(t, at);
            at += 2 * S::LANES;
        }
        while t.n - at >= S::LANES {
            channels::<S, P, 1, false>(t, at);
            at += S::LANES;
        }
        if at < t.n {
            channels::<S, P, 1, true>(t, at);
        }
    }
}

/// `VS` vectors of channels of [`strip`]; with `PART`, fewer than a vector may be left.
///
/// # Safety
/// As [`strip`].
#[inline(always)]
unsafe fn channels<S: Simd, const P: usize, const VS: usize, const PART: bool>(t: &Strip<S::E>, at: usize) {
    // SAFETY: as the caller promises; a part is masked.
    unsafe {
        let mask = S::mask((t.n - at).min(S::LANES));
        // Not a closure, which may stay a function compiled for the baseline.
        macro_rules! load {
            ($from:expr, $j:expr) => {
                if PART { S::load_masked($from, mask) } else { S::load($from.add($j * S::LANES)) }
            };
        }
        let mut acc = [[S::splat(S::E::ZERO); VS]; P];
        for j in 0..VS {
            let bias = load!(t.bias.add(at), j);
            for p in 0..P {
                acc[p][j] = bias;
            }
        }
        // Pixels in groups of four, each with one pointer: so few registers hold all addresses.
        let step = t.source_pixel;
        let offsets = [0, step, 2 * step, 3 * step];
        for y in 0..t.taps[0] {
            // With no taps in a row, these may point anywhere.
            let first = t.source.wrapping_add(at + y * t.source_tap[0]);
            let mut source = [first; 4];
            for g in 0..4 {
                source[g] = first.wrapping_add(g * 4 * step);
            }
            let mut weight = t.weight.wrapping_add(at + y * t.weight_tap[0]);
            for _ in 0..t.taps[1] {
                let mut factor = [S::splat(S::E::ZERO); VS];
                for j in 0..VS {
                    factor[j] = load!(weight, j);
                }
                for p in 0..P {
                    let from = source[p / 4].add(offsets[p % 4]);
                    for j in 0..VS {
                        acc[p][j] = S::fma(factor[j], load!(from, j), acc[p][j]);
                    }
                }
                for g in 0..P.div_ceil(4) {
                    source[g] = source[g].wrapping_add(t.source_tap[1]);
                }
                weight = weight.wrapping_add(t.weight_tap[1]);
            }
        }
        if !t.residual.is_null() {
            for p in 0..P {
                let from = t.residual.add(at + p * t.residual_pixel);
                for j in 0..VS {
                    acc[p][j] = S::add(acc[p][j], load!(from, j));
                }
            }
        }
        let acc = t.post.apply_to::<S, P, VS>(acc);
        for p in 0..P {
            let to = t.out.add(at + p * t.out_pixel);
            for j in 0..VS {
                if PART {
                    S::store_masked(to, mask, acc[p][j]);
                } else {
                    S::store(to.add(j * S::LANES), acc[p][j]);
                }
            }
        }
    }
}
