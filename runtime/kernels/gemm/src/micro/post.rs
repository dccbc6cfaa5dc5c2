//! What is done to finished sums while they are still in registers.
#![allow(clippy::needless_range_loop)] // Loops over constants unroll; iterators may not.

use crate::gemm::Activation;
use crate::simd::{Real, Simd};

/// An activation, as kernels apply it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Post<T> {
    None,
    Clamp(T, T),
    HardSwish,
}

impl<T: Real> Post<T> {
    pub(crate) fn new(activation: Activation<T>) -> Self {
        match activation {
            Activation::None => Post::None,
            Activation::Relu => Post::Clamp(T::ZERO, T::INFINITY),
            Activation::Clamp(low, high) => Post::Clamp(low, high),
            Activation::HardSwish => Post::HardSwish,
        }
    }

    /// One value, for paths that have no vectors.
    pub(crate) fn apply(self, value: T) -> T {
        let clamp = |value: T, low: T, high: T| {
            let raised = if value < low { low } else { value };
            if raised > high { high } else { raised }
        };
        match self {
            Post::None => value,
            Post::Clamp(low, high) => clamp(value, low, high),
            Post::HardSwish => value * clamp(value * T::SIXTH + T::HALF, T::ZERO, T::ONE),
        }
    }

    /// Vectors of values. Plain loops over constants, and values in and out: anything else the compiler
    /// may keep in memory instead of registers.
    ///
    /// # Safety
    /// The CPU has `S`.
    #[inline(always)]
    pub(crate) unsafe fn apply_to<S: Simd<E = T>, const M: usize, const N: usize>(
        self,
        mut rows: [[S::V; N]; M],
    ) -> [[S::V; N]; M] {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Post::None => {}
                Post::Clamp(low, high) => {
                    let (low, high) = (S::splat(low), S::splat(high));
                    for i in 0..M {
                        for j in 0..N {
                            rows[i][j] = S::clamp(rows[i][j], low, high);
                        }
                    }
                }
                Post::HardSwish => {
                    let (zero, one) = (S::splat(T::ZERO), S::splat(T::ONE));
                    let (sixth, half) = (S::splat(T::SIXTH), S::splat(T::HALF));
                    for i in 0..M {
                        for j in 0..N {
                            let scale = S::clamp(S::fma(rows[i][j], sixth, half), zero, one);
                            rows[i][j] = S::mul(rows[i][j], scale);
                        }
                    }
                }
            }
        }
        rows
    }
}
