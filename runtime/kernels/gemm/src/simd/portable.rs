//! Vectors for any CPU: small arrays that the compiler maps to whatever the target always has.

use super::Simd;

macro_rules! portable {
    ($name:ident, $t:ident, $lanes:literal) => {
        /// Portable vectors.
        pub(crate) struct $name;

        impl Simd for $name {
            type E = $t;
            type V = [$t; $lanes];
            type Mask = usize;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $t) -> Self::V {
                [value; $lanes]
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self::V {
                // SAFETY: the caller promises LANES readable elements.
                unsafe { from.cast::<[$t; $lanes]>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $t, v: Self::V) {
                // SAFETY: the caller promises LANES writable elements.
                unsafe { to.cast::<[$t; $lanes]>().write_unaligned(v) }
            }
            #[inline(always)]
            unsafe fn mask(n: usize) -> usize {
                n
            }
            #[inline(always)]
            unsafe fn load_masked(from: *const $t, mask: usize) -> Self::V {
                std::array::from_fn(|i| {
                    if i < mask {
                        // SAFETY: the caller promises that masked elements are readable.
                        unsafe { *from.add(i) }
                    } else {
                        0.0
                    }
                })
            }
            #[inline(always)]
            unsafe fn store_masked(to: *mut $t, mask: usize, v: Self::V) {
                for (i, value) in v.into_iter().enumerate().take(mask) {
                    // SAFETY: the caller promises that masked elements are writable.
                    unsafe { *to.add(i) = value };
                }
            }
            #[inline(always)]
            unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] + b[i])
            }
            #[inline(always)]
            unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
                std::array::from_fn(|i| a[i] * b[i])
            }
            #[inline(always)]
            unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                // Two roundings: a fused one would be a library call where there is no FMA.
                std::array::from_fn(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            unsafe fn clamp(v: Self::V, low: Self::V, high: Self::V) -> Self::V {
                std::array::from_fn(|i| {
                    let raised = if v[i] < low[i] { low[i] } else { v[i] };
                    if raised > high[i] { high[i] } else { raised }
                })
            }
            #[inline(always)]
            unsafe fn sum(v: Self::V) -> $t {
                v.into_iter().sum()
            }
            #[inline(always)]
            unsafe fn transpose(rows: &mut [Self::V; 16]) {
                for i in 0..$lanes {
                    for j in 0..i {
                        let upper = rows[j][i];
                        rows[j][i] = rows[i][j];
                        rows[i][j] = upper;
                    }
                }
            }
            #[inline(always)]
            unsafe fn prefetch(_from: *const $t) {}
        }
    };
}
portable!(F32, f32, 4);
portable!(F64, f64, 2);
