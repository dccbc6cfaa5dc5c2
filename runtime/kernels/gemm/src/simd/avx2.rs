//! AVX2 + FMA vectors.

use super::Simd;
use std::arch::x86_64::*;

/// 8 × f32.
pub(crate) struct F32;
/// 4 × f64.
pub(crate) struct F64;

/// Sliding window over this gives the mask of the first `n` of 8 lanes.
static LANES_ON_THEN_OFF: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

macro_rules! avx2 {
    ($name:ident, $t:ident, $v:ident, $lanes:literal, $set1:ident, $loadu:ident, $storeu:ident,
     $maskload:ident, $maskstore:ident, $add:ident, $mul:ident, $fma:ident, $min:ident, $max:ident,
     $transpose:ident) => {
        impl Simd for $name {
            type E = $t;
            type V = $v;
            type Mask = __m256i;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $t) -> $v {
                // SAFETY: the CPU has AVX2.
                unsafe { $set1(value) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> $v {
                // SAFETY: the CPU has AVX2, and the caller promises readable elements.
                unsafe { $loadu(from) }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $t, v: $v) {
                // SAFETY: the CPU has AVX2, and the caller promises writable elements.
                unsafe { $storeu(to, v) }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> __m256i {
                debug_assert!((1..=$lanes).contains(&n));
                let words = n * (8 / $lanes);
                // SAFETY: the CPU has AVX2; words <= 8, so the 8 words read lie in the table.
                unsafe { _mm256_loadu_si256(LANES_ON_THEN_OFF.as_ptr().add(8 - words).cast()) }
            }
            #[inline(always)]
            unsafe fn load_masked(from: *const $t, mask: __m256i) -> $v {
                // SAFETY: the CPU has AVX2; elements outside the mask are not touched.
                unsafe { $maskload(from, mask) }
            }
            #[inline(always)]
            unsafe fn store_masked(to: *mut $t, mask: __m256i, v: $v) {
                // SAFETY: the CPU has AVX2; elements outside the mask are not touched.
                unsafe { $maskstore(to, mask, v) }
            }
            #[inline(always)]
            unsafe fn add(a: $v, b: $v) -> $v {
                // SAFETY: the CPU has AVX2.
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            unsafe fn mul(a: $v, b: $v) -> $v {
                // SAFETY: the CPU has AVX2.
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            unsafe fn fma(a: $v, b: $v, c: $v) -> $v {
                // SAFETY: the CPU has FMA.
                unsafe { $fma(a, b, c) }
            }
            #[inline(always)]
            unsafe fn clamp(v: $v, low: $v, high: $v) -> $v {
                // The second operand is what comes out when one of them is NaN.
                // SAFETY: the CPU has AVX2.
                unsafe { $min(high, $max(low, v)) }
            }
            #[inline(always)]
            unsafe fn sum(v: $v) -> $t {
                let mut all = [0.0; $lanes];
                // SAFETY: the CPU has AVX2, and `all` has LANES elements.
                unsafe { $storeu(all.as_mut_ptr(), v) };
                all.into_iter().sum()
            }
            #[inline(always)]
            unsafe fn transpose(rows: &mut [$v; 16]) {
                // SAFETY: the CPU has AVX2.
                unsafe { $transpose(rows) }
            }
            #[inline(always)]
            unsafe fn prefetch(from: *const $t) {
                // SAFETY: a prefetch never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
            }
        }
    };
}
avx2!(
    F32,
    f32,
    __m256,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_maskload_ps,
    _mm256_maskstore_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps,
    _mm256_min_ps,
    _mm256_max_ps,
    transpose_f32
);
avx2!(
    F64,
    f64,
    __m256d,
    4,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_maskload_pd,
    _mm256_maskstore_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_fmadd_pd,
    _mm256_min_pd,
    _mm256_max_pd,
    transpose_f64
);

/// 8×8: pairs of elements, pairs of pairs, then 128-bit halves.
#[inline(always)]
unsafe fn transpose_f32(r: &mut [__m256; 16]) {
    // SAFETY: the caller runs on a CPU with AVX2.
    unsafe {
        let mut t = *r;
        for i in 0..4 {
            t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        for q in 0..2 {
            r[4 * q] = _mm256_shuffle_ps::<0x44>(t[4 * q], t[4 * q + 2]);
            r[4 * q + 1] = _mm256_shuffle_ps::<0xee>(t[4 * q], t[4 * q + 2]);
            r[4 * q + 2] = _mm256_shuffle_ps::<0x44>(t[4 * q + 1], t[4 * q + 3]);
            r[4 * q + 3] = _mm256_shuffle_ps::<0xee>(t[4 * q + 1], t[4 * q + 3]);
        }
        for c in 0..4 {
            t[c] = _mm256_permute2f128_ps::<0x20>(r[c], r[4 + c]);
            t[4 + c] = _mm256_permute2f128_ps::<0x31>(r[c], r[4 + c]);
        }
        *r = t;
    }
}

/// 4×4: pairs of elements, then 128-bit halves.
#[inline(always)]
unsafe fn transpose_f64(r: &mut [__m256d; 16]) {
    // SAFETY: the caller runs on a CPU with AVX2.
    unsafe {
        let low = [_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpacklo_pd(r[2], r[3])];
        let high = [_mm256_unpackhi_pd(r[0], r[1]), _mm256_unpackhi_pd(r[2], r[3])];
        r[0] = _mm256_permute2f128_pd::<0x20>(low[0], low[1]);
        r[1] = _mm256_permute2f128_pd::<0x20>(high[0], high[1]);
        r[2] = _mm256_permute2f128_pd::<0x31>(low[0], low[1]);
        r[3] = _mm256_permute2f128_pd::<0x31>(high[0], high[1]);
    }
}
