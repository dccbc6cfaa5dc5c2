//! Denormal numbers as zero, for the time of a call.

/// The calling thread's floating-point mode from before, which comes back at the end of the scope.
pub struct FlushToZero(Option<u64>);

impl FlushToZero {
    /// Treats denormal numbers as zero if `wanted`.
    pub fn new(wanted: bool) -> Self {
        let before = control();
        let flushed = before | FLUSH;
        if !wanted || flushed == before {
            return Self(None);
        }
        set_control(flushed);
        Self(Some(before))
    }
}

impl Drop for FlushToZero {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            set_control(before);
        }
    }
}

/// Flush-to-zero for results, and denormals-are-zero for operands.
#[cfg(target_arch = "x86_64")]
const FLUSH: u64 = 0x8040;
/// Flush-to-zero, for results and operands.
#[cfg(target_arch = "aarch64")]
const FLUSH: u64 = 1 << 24;

#[cfg(target_arch = "x86_64")]
fn control() -> u64 {
    let mut mxcsr = 0u32;
    // SAFETY: stores the 4-byte control register to a 4-byte local.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
    u64::from(mxcsr)
}

#[cfg(target_arch = "x86_64")]
fn set_control(value: u64) {
    let mxcsr = value as u32;
    // SAFETY: a value that was read, at most with the two flush bits added, which every x86-64 CPU has. Until it is
    // restored only bodies run, which asked for it; this module's callers compute no floating-point number.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn control() -> u64 {
    let fpcr: u64;
    // SAFETY: reading FPCR has no side effects.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
    fpcr
}

#[cfg(target_arch = "aarch64")]
fn set_control(value: u64) {
    // SAFETY: a value that was read, at most with the flush bit added. Until it is restored only bodies run, which
    // asked for it; this module's callers compute no floating-point number.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags)) };
}
