//! Getting a woken worker off its caller's CPU.
//!
//! Guests of a hypervisor report a halted CPU as preempted, and Linux then prefers a woken thread's waker's CPU
//! to the idle one. Caller and worker take turns on one CPU until the load balancer looks, milliseconds later.

/// The CPU that the calling thread runs on, if that can be told.
pub(crate) fn current() -> Option<u32> {
    #[cfg(not(miri))]
    {
        // SAFETY: no arguments.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
    #[cfg(miri)]
    None
}

/// Moves the calling thread to another CPU of its set, if there is one. Its set is the same afterwards.
#[cfg(not(miri))]
pub(crate) fn step_aside(from: u32) {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the all-zero bit pattern is an empty set, `from` is within a set, and each size is its set's.
    unsafe {
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        if from >= libc::CPU_SETSIZE as u32 || libc::sched_getaffinity(0, size, &mut own) != 0 {
            return;
        }
        let mut others = own;
        libc::CPU_CLR(from as usize, &mut others);
        // Fails, and changes nothing, if no CPU is left.
        if libc::sched_setaffinity(0, size, &others) == 0 {
            libc::sched_setaffinity(0, size, &own);
        }
    }
}

#[cfg(miri)]
pub(crate) fn step_aside(_from: u32) {}
