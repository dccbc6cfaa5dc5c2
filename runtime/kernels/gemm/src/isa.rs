//! Instruction sets: the one place where they are detected, chosen, and bound to kernels.

use crate::error::{Error, Result};
use crate::micro::{self, NV, PixelRow, Strip, StripFn, TileFn};
use crate::simd::{Real, Simd};
use std::sync::OnceLock;

/// An instruction set that the kernels come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isa {
    /// x86-64 with AVX-512F.
    Avx512,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// aarch64.
    Neon,
    /// Any CPU.
    Scalar,
}

impl Isa {
    /// Every instruction set, fastest first.
    pub const ALL: [Isa; 4] = [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Scalar];

    /// Whether this CPU, and this build, can use it.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
            }
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => true,
            Isa::Scalar => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// The name that `ET_CPU_ISA` knows it by.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Neon => "neon",
            Isa::Scalar => "scalar",
        }
    }

    /// Its number in packed bytes.
    pub(crate) fn code(self) -> u8 {
        match self {
            Isa::Avx512 => 1,
            Isa::Avx2 => 2,
            Isa::Neon => 3,
            Isa::Scalar => 4,
        }
    }

    /// The instruction set that this process uses unless told otherwise: the fastest available, or
    /// the one that the environment variable `ET_CPU_ISA` names, if it is available. Decided once.
    pub fn active() -> Isa {
        static ACTIVE: OnceLock<Isa> = OnceLock::new();
        *ACTIVE.get_or_init(|| {
            let wanted = std::env::var("ET_CPU_ISA").unwrap_or_default();
            let mut available = Isa::ALL.into_iter().filter(|isa| isa.is_available());
            let fastest = available.clone().next().unwrap_or(Isa::Scalar);
            available.find(|isa| isa.name() == wanted).unwrap_or(fastest)
        })
    }
}

/// The kernels of one instruction set for one number type.
pub struct Kernels<T: 'static> {
    /// Most rows of a tile that reads packed A.
    pub(crate) mr: usize,
    /// Most rows of a tile that reads A in place.
    pub(crate) mr_direct: usize,
    pub(crate) lanes: usize,
    packed: &'static [[TileFn<T>; NV]],
    direct: &'static [[TileFn<T>; NV]],
    pub(crate) interleave: unsafe fn(*const T, usize, usize, usize, *mut T, usize),
    pub(crate) axpy_rows: unsafe fn(usize, *const T, usize, *const T, usize, *mut T, usize),
    pub(crate) dot: unsafe fn(usize, *const T, *const T) -> T,
    /// A depthwise row over the pixels of one channel.
    pub(crate) pixel_row: unsafe fn(&PixelRow<'_, T>),
    /// Depthwise strips over the channels of 1, 2, … pixels.
    pub(crate) strips: &'static [StripFn<T>],
}

impl<T> std::fmt::Debug for Kernels<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels").field("lanes", &self.lanes).finish_non_exhaustive()
    }
}

impl<T> Kernels<T> {
    /// Columns of a B panel.
    pub(crate) fn nr(&self) -> usize {
        NV * self.lanes
    }

    /// The kernel for a tile of packed A.
    pub(crate) fn packed(&self, rows: usize, cols: usize) -> TileFn<T> {
        self.packed[rows - 1][cols.div_ceil(self.lanes) - 1]
    }

    /// The kernel for a tile of A in place.
    pub(crate) fn direct(&self, rows: usize, cols: usize) -> TileFn<T> {
        self.direct[rows - 1][cols.div_ceil(self.lanes) - 1]
    }
}

/// Number types with packed kernels: `f32` and `f64`.
pub trait Element: Real + bytemuck::Pod + sealed::Sealed {
    /// The kernels of an instruction set. Fails if it is not available here.
    #[doc(hidden)]
    fn kernels(isa: Isa) -> Result<&'static Kernels<Self>>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Wraps the generic kernels in functions that enable an instruction set, and lists them.
macro_rules! bind {
    ($module:ident, $simd:path, $t:ident, [$(#[$feature:meta])?]
     packed: [$(($mr:literal, $u:literal)),*], direct: [$(($dmr:literal, $du:literal)),*]) => {
        mod $module {
            use super::*;
            use crate::micro::Tile;
            type S = $simd;

            $(#[$feature])?
            unsafe fn tile<const MR: usize, const VS: usize, const U: usize, const P: bool>(
                t: &Tile<$t>,
            ) {
                // SAFETY: the caller promises the CPU and the tile's pointers.
                unsafe { micro::tile::<S, MR, VS, U, P>(t) }
            }
            $(#[$feature])?
            unsafe fn interleave(
                from: *const $t, ld: usize, rows: usize, k: usize, to: *mut $t, width: usize,
            ) {
                // SAFETY: the caller promises the CPU and the pointers.
                unsafe { micro::interleave::<S>(from, ld, rows, k, to, width) }
            }
            $(#[$feature])?
            unsafe fn axpy_rows(
                k: usize, a: *const $t, a_k: usize, b: *const $t, ld: usize, c: *mut $t, n: usize,
            ) {
                // SAFETY: the caller promises the CPU and the pointers.
                unsafe { micro::axpy_rows::<S>(k, a, a_k, b, ld, c, n) }
            }
            $(#[$feature])?
            unsafe fn dot(k: usize, a: *const $t, b: *const $t) -> $t {
                // SAFETY: the caller promises the CPU and the pointers.
                unsafe { micro::dot::<S>(k, a, b) }
            }
            $(#[$feature])?
            unsafe fn pixel_row(t: &PixelRow<'_, $t>) {
                // SAFETY: the caller promises the CPU and the pointers.
                unsafe { micro::pixel_row::<S>(t) }
            }
            $(#[$feature])?
            unsafe fn strip<const P: usize>(t: &Strip<$t>) {
                // SAFETY: the caller promises the CPU and the pointers.
                unsafe { micro::strip::<S, P>(t) }
            }

            static PACKED: &[[TileFn<$t>; NV]] =
                &[$([tile::<$mr, 1, $u, true>, tile::<$mr, 2, $u, true>]),*];
            static DIRECT: &[[TileFn<$t>; NV]] =
                &[$([tile::<$dmr, 1, $du, false>, tile::<$dmr, 2, $du, false>]),*];
            pub(super) static KERNELS: Kernels<$t> = Kernels {
                mr: PACKED.len(),
                mr_direct: DIRECT.len(),
                lanes: S::LANES,
                packed: PACKED,
                direct: DIRECT,
                interleave,
                axpy_rows,
                dot,
                pixel_row,
                strips: &[$(strip::<$dmr>),*],
            };
        }
    };
}

/// One binding for each number type.
macro_rules! bind_both {
    ($m32:ident, $m64:ident, $simd:ident, [$(#[$feature:meta])?] $($tiles:tt)*) => {
        bind!($m32, crate::simd::$simd::F32, f32, [$(#[$feature])?] $($tiles)*);
        bind!($m64, crate::simd::$simd::F64, f64, [$(#[$feature])?] $($tiles)*);
    };
}

#[cfg(target_arch = "x86_64")]
bind_both!(avx512_f32, avx512_f64, avx512, [#[target_feature(enable = "avx512f")]]
    packed: [(1, 4), (2, 4), (3, 2), (4, 2), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1),
             (11, 1), (12, 1), (13, 1), (14, 1)],
    direct: [(1, 4), (2, 4), (3, 2), (4, 2), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1),
             (11, 1), (12, 1), (13, 1), (14, 1)]);
#[cfg(target_arch = "x86_64")]
bind_both!(avx2_f32, avx2_f64, avx2, [#[target_feature(enable = "avx2,fma")]]
    packed: [(1, 4), (2, 2), (3, 2), (4, 1), (5, 1), (6, 1)],
    direct: [(1, 4), (2, 2), (3, 2), (4, 1), (5, 1), (6, 1)]);
#[cfg(target_arch = "aarch64")]
bind_both!(neon_f32, neon_f64, neon, []
    packed: [(1, 4), (2, 4), (3, 2), (4, 2), (5, 1), (6, 1), (7, 1), (8, 1)],
    direct: [(1, 4), (2, 4), (3, 2), (4, 2), (5, 1), (6, 1), (7, 1), (8, 1)]);
bind_both!(scalar_f32, scalar_f64, portable, []
    packed: [(1, 2), (2, 1), (3, 1), (4, 1)],
    direct: [(1, 2), (2, 1), (3, 1), (4, 1)]);

macro_rules! element {
    ($t:ident, $avx512:ident, $avx2:ident, $neon:ident, $scalar:ident) => {
        impl Element for $t {
            fn kernels(isa: Isa) -> Result<&'static Kernels<$t>> {
                if !isa.is_available() {
                    return Err(Error::new(format!(
                        "instruction set {} is not available on this CPU",
                        isa.name()
                    )));
                }
                Ok(match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => &$avx512::KERNELS,
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => &$avx2::KERNELS,
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => &$neon::KERNELS,
                    _ => &$scalar::KERNELS,
                })
            }
        }
    };
}
element!(f32, avx512_f32, avx2_f32, neon_f32, scalar_f32);
element!(f64, avx512_f64, avx2_f64, neon_f64, scalar_f64);
