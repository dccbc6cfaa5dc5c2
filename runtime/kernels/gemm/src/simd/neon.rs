//! NEON vectors (always present on aarch64).

use super::Simd;
use std::arch::aarch64::*;

/// 4 × f32.
pub(crate) struct F32;
/// 2 × f64.
pub(crate) struct F64;

macro_rules! neon {
    ($name:ident, $t:ident, $v:ident, $lanes:literal, $dup:ident, $ld1:ident, $st1:ident, $add:ident, $mul:ident,
     $fma:ident, $min:ident, $max:ident, $addv:ident) => {
        impl Simd for $name {
            type E = $t;
            type V = $v;
            type Mask = usize;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $t) -> $v {
                // SAFETY: aarch64 always has NEON.
                unsafe { $dup(value) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> $v {
                // SAFETY: the caller promises readable elements.
                unsafe { $ld1(from) }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $t, v: $v) {
                // SAFETY: the caller promises writable elements.
                unsafe { $st1(to, v) }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> usize {
                n
            }
            #[inline(always)]
            unsafe fn load_masked(from: *const $t, mask: usize) -> $v {
                let mut all = [0.0; $lanes];
                // SAFETY: the caller promises that masked elements are readable, and mask <= LANES.
                unsafe {
                    std::ptr::copy_nonoverlapping(from, all.as_mut_ptr(), mask);
                    $ld1(all.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store_masked(to: *mut $t, mask: usize, v: $v) {
                let mut all = [0.0; $lanes];
                // SAFETY: the caller promises that masked elements are writable, and mask <= LANES.
                unsafe {
                    $st1(all.as_mut_ptr(), v);
                    std::ptr::copy_nonoverlapping(all.as_ptr(), to, mask);
                }
            }
            #[inline(always)]
            unsafe fn add(a: $v, b: $v) -> $v {
                // SAFETY: aarch64 always has NEON.
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            unsafe fn mul(a: $v, b: $v) -> $v {
                // SAFETY: aarch64 always has NEON.
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            unsafe fn fma(a: $v, b: $v, c: $v) -> $v {
                // SAFETY: aarch64 always has NEON.
                unsafe { $fma(c, a, b) }
            }
            #[inline(always)]
            unsafe fn clamp(v: $v, low: $v, high: $v) -> $v {
                // FMAX and FMIN give NaN when either operand is NaN.
                // SAFETY: aarch64 always has NEON.
                unsafe { $min(high, $max(low, v)) }
            }
            #[inline(always)]
            unsafe fn sum(v: $v) -> $t {
                // SAFETY: aarch64 always has NEON.
                unsafe { $addv(v) }
            }
            #[inline(always)]
            unsafe fn transpose(rows: &mut [$v; 16]) {
                let mut all = [[0.0; $lanes]; $lanes];
                let mut turned = all;
                for (row, v) in all.iter_mut().zip(rows.iter()) {
                    // SAFETY: `row` has LANES elements.
                    unsafe { $st1(row.as_mut_ptr(), *v) };
                }
                for (i, row) in turned.iter_mut().enumerate() {
                    for (j, value) in row.iter_mut().enumerate() {
                        *value = all[j][i];
                    }
                }
                for (row, v) in turned.iter().zip(rows.iter_mut()) {
                    // SAFETY: `row` has LANES elements.
                    *v = unsafe { $ld1(row.as_ptr()) };
                }
            }
            #[inline(always)]
            unsafe fn prefetch(_from: *const $t) {}
        }
    };
}
neon!(
    F32,
    f32,
    float32x4_t,
    4,
    vdupq_n_f32,
    vld1q_f32,
    vst1q_f32,
    vaddq_f32,
    vmulq_f32,
    vfmaq_f32,
    vminq_f32,
    vmaxq_f32,
    vaddvq_f32
);
neon!(
    F64,
    f64,
    float64x2_t,
    2,
    vdupq_n_f64,
    vld1q_f64,
    vst1q_f64,
    vaddq_f64,
    vmulq_f64,
    vfmaq_f64,
    vminq_f64,
    vmaxq_f64,
    vaddvq_f64
);
