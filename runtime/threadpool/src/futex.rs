//! Sleeping on, and waking from, a 32-bit word in this process.

use std::ptr;
use std::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `expected`. May return early: the caller checks its condition again.
pub(crate) fn wait(word: &AtomicU32, expected: u32) {
    // SAFETY: the word outlives the call, and a null timeout means "no timeout".
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            ptr::null::<libc::timespec>(),
        );
    }
}

/// Wakes up to `count` threads that sleep on `word`.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // SAFETY: the kernel uses the address only as a key.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}
