//! The one place where the instruction set is chosen.
//!
//! Loops are written once as generic, always-inlined Rust ([`Kernel::run`]). [`dispatch`] compiles each of them
//! for every level below and calls the one that this processor supports, so that the compiler vectorises the same
//! source for SSE2, AVX2, AVX-512 and NEON. The choice is made per slice, never per element.

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set level, from the least to the most capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Isa {
    /// What every processor of the architecture has (SSE2 on x86-64), without fused multiply-add.
    Scalar = 1,
    /// The AArch64 baseline: 128-bit vectors with fused multiply-add.
    Neon = 2,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2 = 3,
    /// x86-64 with AVX-512 F, BW, DQ and VL, besides what [`Isa::Avx2`] has.
    Avx512 = 4,
}

impl Isa {
    /// All levels, of every architecture.
    pub const ALL: [Isa; 4] = [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512];

    /// The name that `ET_CPU_ISA` accepts.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// Whether this processor can run the level.
    pub fn is_supported(self) -> bool {
        match self {
            Isa::Scalar => true,
            Isa::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.is_supported()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => false,
        }
    }

    /// The levels that this processor can run.
    pub fn supported() -> impl Iterator<Item = Isa> {
        Self::ALL.into_iter().filter(|isa| isa.is_supported())
    }
}

/// The level in use; 0 until it is first asked for.
static CURRENT: AtomicU8 = AtomicU8::new(0);

/// The level that this process uses: the best one supported, or the one named by the environment variable
/// `ET_CPU_ISA` (`scalar`, `neon`, `avx2`, `avx512`) if this processor supports it. Read once per process.
#[inline]
pub fn isa() -> Isa {
    match CURRENT.load(Ordering::Relaxed) {
        1 => Isa::Scalar,
        2 => Isa::Neon,
        3 => Isa::Avx2,
        4 => Isa::Avx512,
        _ => detect(),
    }
}

/// Makes the whole process use `isa` from now on, for tests and measurements. Returns whether the processor
/// supports it; nothing changes if it does not. Results of calls in progress on other threads stay valid.
pub fn set_isa(isa: Isa) -> bool {
    let supported = isa.is_supported();
    if supported {
        CURRENT.store(isa as u8, Ordering::Relaxed);
    }
    supported
}

#[cold]
fn detect() -> Isa {
    let best = Isa::supported().last().unwrap_or(Isa::Scalar);
    let wanted = std::env::var("ET_CPU_ISA").ok();
    let chosen = wanted.and_then(|name| Isa::supported().find(|isa| isa.name() == name)).unwrap_or(best);
    CURRENT.store(chosen as u8, Ordering::Relaxed);
    chosen
}

/// What a loop may assume while it is compiled for one level.
pub trait Level: Copy {
    /// Fused multiply-add is one instruction.
    const FMA: bool;

    /// `a * b + c`, fused where that is fast.
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }

    /// `a * b + c`, fused where that is fast.
    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }
}

macro_rules! level {
    ($(#[$doc:meta])* $name:ident, fma: $fma:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name;
        impl Level for $name {
            const FMA: bool = $fma;
        }
    };
}
level!(/** [`Isa::Scalar`]. */ Baseline, fma: false);
#[cfg(target_arch = "aarch64")]
level!(/** [`Isa::Neon`]. */ Neon, fma: true);
#[cfg(target_arch = "x86_64")]
level!(/** [`Isa::Avx2`]. */ Avx2, fma: true);
#[cfg(target_arch = "x86_64")]
level!(/** [`Isa::Avx512`]. */ Avx512, fma: true);

/// A loop that can be compiled for any level. Everything that `run` calls has to be `#[inline(always)]`, or it is
/// compiled for the baseline.
pub trait Kernel {
    /// What the loop returns.
    type Output;
    /// The loop. Implementations are `#[inline(always)]`.
    fn run<L: Level>(self) -> Self::Output;
}

/// Runs `kernel` on the level in use.
#[inline(always)]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    match isa() {
        // SAFETY: `isa()` returns only levels that `is_supported` found on this processor.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { run_avx512(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { run_avx2(kernel) },
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => kernel.run::<Neon>(),
        _ => run_baseline(kernel),
    }
}

/// As [`dispatch`], but never compiled for AVX-512: for loops that memory or latency bounds, where a fourth copy
/// of the code would buy nothing.
#[inline(always)]
pub(crate) fn dispatch_narrow<K: Kernel>(kernel: K) -> K::Output {
    match isa() {
        // SAFETY: `isa()` returns only levels that `is_supported` found, and AVX-512 includes AVX2.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx2 => unsafe { run_avx2(kernel) },
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => kernel.run::<Neon>(),
        _ => run_baseline(kernel),
    }
}

#[inline(never)]
fn run_baseline<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Baseline>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline(never)]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
#[inline(never)]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_in_use_is_supported_and_can_be_changed() {
        assert!(isa().is_supported());
        for level in Isa::ALL {
            assert_eq!(set_isa(level), level.is_supported());
            assert!(isa().is_supported());
        }
    }
}
