//! AVX-512F vectors.

use super::Simd;
use std::arch::x86_64::*;

/// 16 × f32.
pub(crate) struct F32;
/// 8 × f64.
pub(crate) struct F64;

macro_rules! avx512 {
    ($name:ident, $t:ident, $v:ident, $mask:ident, $lanes:literal, $set1:ident, $loadu:ident, $storeu:ident,
     $maskload:ident, $maskstore:ident, $add:ident, $mul:ident, $fma:ident, $min:ident, $max:ident, $sum:ident,
     $transpose:ident) => {
        impl Simd for $name {
            type E = $t;
            type V = $v;
            type Mask = $mask;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $t) -> $v {
                // SAFETY: the CPU has AVX-512F.
                unsafe { $set1(value) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> $v {
                // SAFETY: the CPU has AVX-512F, and the caller promises readable elements.
                unsafe { $loadu(from) }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $t, v: $v) {
                // SAFETY: the CPU has AVX-512F, and the caller promises writable elements.
                unsafe { $storeu(to, v) }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> $mask {
                debug_assert!((1..=$lanes).contains(&n));
                $mask::MAX >> ($lanes - n)
            }
            #[inline(always)]
            unsafe fn load_masked(from: *const $t, mask: $mask) -> $v {
                // SAFETY: the CPU has AVX-512F; elements outside the mask are not touched.
                unsafe { $maskload(mask, from) }
            }
            #[inline(always)]
            unsafe fn store_masked(to: *mut $t, mask: $mask, v: $v) {
                // SAFETY: the CPU has AVX-512F; elements outside the mask are not touched.
                unsafe { $maskstore(to, mask, v) }
            }
            #[inline(always)]
            unsafe fn add(a: $v, b: $v) -> $v {
                // SAFETY: the CPU has AVX-512F.
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            unsafe fn mul(a: $v, b: $v) -> $v {
                // SAFETY: the CPU has AVX-512F.
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            unsafe fn fma(a: $v, b: $v, c: $v) -> $v {
                // SAFETY: the CPU has AVX-512F.
                unsafe { $fma(a, b, c) }
            }
            #[inline(always)]
            unsafe fn clamp(v: $v, low: $v, high: $v) -> $v {
                // The second operand is what comes out when one of them is NaN.
                // SAFETY: the CPU has AVX-512F.
                unsafe { $min(high, $max(low, v)) }
            }
            #[inline(always)]
            unsafe fn sum(v: $v) -> $t {
                // SAFETY: the CPU has AVX-512F.
                unsafe { $sum(v) }
            }
            #[inline(always)]
            unsafe fn transpose(rows: &mut [$v; 16]) {
                // SAFETY: the CPU has AVX-512F.
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
avx512!(
    F32,
    f32,
    __m512,
    __mmask16,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_mask_storeu_ps,
    _mm512_add_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps,
    _mm512_min_ps,
    _mm512_max_ps,
    _mm512_reduce_add_ps,
    transpose_f32
);
avx512!(
    F64,
    f64,
    __m512d,
    __mmask8,
    8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_mask_storeu_pd,
    _mm512_add_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd,
    _mm512_min_pd,
    _mm512_max_pd,
    _mm512_reduce_add_pd,
    transpose_f64
);

/// 16×16 in four rounds: pairs of elements, pairs of pairs, then 128-bit lanes twice.
#[inline(always)]
unsafe fn transpose_f32(r: &mut [__m512; 16]) {
    // SAFETY: the caller runs on a CPU with AVX-512F.
    unsafe {
        let mut t = *r;
        for i in 0..8 {
            t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        let pd = |v: __m512| _mm512_castps_pd(v);
        let ps = |v: __m512d| _mm512_castpd_ps(v);
        // After this, r[4q + c] holds column c of rows 4q.. in each 128-bit lane.
        for q in 0..4 {
            r[4 * q] = ps(_mm512_unpacklo_pd(pd(t[4 * q]), pd(t[4 * q + 2])));
            r[4 * q + 1] = ps(_mm512_unpackhi_pd(pd(t[4 * q]), pd(t[4 * q + 2])));
            r[4 * q + 2] = ps(_mm512_unpacklo_pd(pd(t[4 * q + 1]), pd(t[4 * q + 3])));
            r[4 * q + 3] = ps(_mm512_unpackhi_pd(pd(t[4 * q + 1]), pd(t[4 * q + 3])));
        }
        for c in 0..4 {
            let low01 = _mm512_shuffle_f32x4::<0x88>(r[c], r[4 + c]);
            let high01 = _mm512_shuffle_f32x4::<0xdd>(r[c], r[4 + c]);
            let low23 = _mm512_shuffle_f32x4::<0x88>(r[8 + c], r[12 + c]);
            let high23 = _mm512_shuffle_f32x4::<0xdd>(r[8 + c], r[12 + c]);
            t[c] = _mm512_shuffle_f32x4::<0x88>(low01, low23);
            t[4 + c] = _mm512_shuffle_f32x4::<0x88>(high01, high23);
            t[8 + c] = _mm512_shuffle_f32x4::<0xdd>(low01, low23);
            t[12 + c] = _mm512_shuffle_f32x4::<0xdd>(high01, high23);
        }
        *r = t;
    }
}

/// 8×8: pairs of elements, then 128-bit lanes twice.
#[inline(always)]
unsafe fn transpose_f64(r: &mut [__m512d; 16]) {
    // SAFETY: the caller runs on a CPU with AVX-512F.
    unsafe {
        let mut t = *r;
        for i in 0..4 {
            t[2 * i] = _mm512_unpacklo_pd(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_pd(r[2 * i], r[2 * i + 1]);
        }
        for c in 0..2 {
            let low01 = _mm512_shuffle_f64x2::<0x88>(t[c], t[2 + c]);
            let high01 = _mm512_shuffle_f64x2::<0xdd>(t[c], t[2 + c]);
            let low23 = _mm512_shuffle_f64x2::<0x88>(t[4 + c], t[6 + c]);
            let high23 = _mm512_shuffle_f64x2::<0xdd>(t[4 + c], t[6 + c]);
            r[c] = _mm512_shuffle_f64x2::<0x88>(low01, low23);
            r[2 + c] = _mm512_shuffle_f64x2::<0x88>(high01, high23);
            r[4 + c] = _mm512_shuffle_f64x2::<0xdd>(low01, low23);
            r[6 + c] = _mm512_shuffle_f64x2::<0xdd>(high01, high23);
        }
    }
}
