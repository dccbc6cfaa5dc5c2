//! The floating-point control word: rounding, flush-to-zero and masked exceptions.
//!
//! Every thread of a parallel call computes in its caller's mode, so that a result does not depend on which
//! thread made it. Without this, a worker would keep for ever the mode of whichever thread happened to start it.

/// A floating-point mode of the kind that the current CPU has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode(u64);

/// The control bits of `MXCSR`; the rest are sticky exception flags, which belong to each thread.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const MXCSR_CONTROL: u32 = 0xffc0;

impl Mode {
    /// No thread's mode; for memory that is written before it is read.
    pub(crate) const UNSET: Self = Self(0);

    /// The mode of the calling thread.
    pub(crate) fn current() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let mut mxcsr = 0u32;
            // SAFETY: stores the 4-byte control register to a 4-byte local.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
            }
            Self(u64::from(mxcsr & MXCSR_CONTROL))
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        {
            let fpcr: u64;
            // SAFETY: reading FPCR has no side effects.
            unsafe {
                std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags));
            }
            Self(fpcr)
        }
        #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        Self(0)
    }

    /// Puts the calling thread, which must be a worker of the pool, into this mode.
    pub(crate) fn adopt(self) {
        if self == Self::current() {
            return;
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let mxcsr = self.0 as u32;
            // SAFETY: the value came from `current`, so no reserved bit is set; between this and the next
            // `adopt` the worker runs only the body of a caller that has chosen this mode itself.
            unsafe {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags));
            }
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("msr fpcr, {}", in(reg) self.0, options(nomem, nostack, preserves_flags));
        }
    }
}
