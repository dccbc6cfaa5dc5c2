//! Getting a woken or new worker off its caller's CPU.
//!
//! Guests of a hypervisor report a halted CPU as preempted, and Linux then prefers a woken thread's waker's CPU
//! to the idle one. Caller and worker take turns on one CPU until the load balancer looks, milliseconds later.
//! The same happens to a new thread, which does not even begin before its maker's time is up.

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
    // SAFETY: each set is writable or initialised, and as large as is said; 0 is the calling thread.
    unsafe {
        leave(from, |set| libc::sched_getaffinity(0, SIZE, set), |set| libc::sched_setaffinity(0, SIZE, set));
    }
}

/// Moves a thread off the calling thread's CPU to another one of its set, if there is one. Its set is the same afterwards.
///
/// # Safety
/// The thread has not ended, or was not joined or detached.
#[cfg(not(miri))]
pub(crate) unsafe fn send_away(thread: libc::pthread_t) {
    let Some(here) = current() else { return };
    // SAFETY: as above; the caller vouches for the thread.
    unsafe {
        leave(
            here,
            |set| libc::pthread_getaffinity_np(thread, SIZE, set),
            |set| libc::pthread_setaffinity_np(thread, SIZE, set),
        );
    }
}

#[cfg(not(miri))]
const SIZE: usize = size_of::<libc::cpu_set_t>();

/// Takes a CPU out of a thread's set and puts it back.
#[cfg(not(miri))]
fn leave(from: u32, get: impl FnOnce(&mut libc::cpu_set_t) -> i32, set: impl Fn(&libc::cpu_set_t) -> i32) {
    // SAFETY: the all-zero bit pattern is an empty set.
    let mut own: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if from >= libc::CPU_SETSIZE as u32 || get(&mut own) != 0 {
        return;
    }
    let mut others = own;
    // SAFETY: `from` is within a set.
    unsafe { libc::CPU_CLR(from as usize, &mut others) };
    // Fails, and changes nothing, if no CPU is left.
    if set(&others) == 0 {
        set(&own);
    }
}

#[cfg(miri)]
pub(crate) fn step_aside(_from: u32) {}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::os::unix::thread::JoinHandleExt;

    #[test]
    fn a_thread_that_was_moved_keeps_its_cpus() {
        let cpus = || {
            // SAFETY: the all-zero bit pattern is an empty set, which is writable and as large as is said.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                assert_eq!(libc::sched_getaffinity(0, SIZE, &mut set), 0);
                (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect::<Vec<_>>()
            }
        };
        for _ in 0..100 {
            let (go, gone) = std::sync::mpsc::channel();
            let thread = std::thread::spawn(move || {
                gone.recv().unwrap();
                step_aside(current().unwrap());
                cpus()
            });
            // SAFETY: the thread is joined below.
            unsafe { send_away(thread.as_pthread_t()) };
            go.send(()).unwrap();
            assert_eq!(thread.join().unwrap(), cpus());
        }
    }
}
