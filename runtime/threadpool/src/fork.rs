//! What a child process must forget.
//!
//! The child of a fork has one thread. Workers, and other threads' calls in flight, exist only in the parent.

use crate::pool;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Changes in the child of a fork. A call that sees it change has forked from inside its own body.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Relaxed);
    pool::forget_workers();
}

#[cfg(not(miri))]
extern "C" fn register() {
    // SAFETY: the handler only stores to atomics, which is safe in a child of a multi-threaded process, and
    // its code is never unloaded. If there is no memory for the registration, nothing better can be done.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

// At load, before any thread can fork while the pool is in use.
#[cfg(not(miri))]
#[used]
// SAFETY: the dynamic linker calls each entry of this section, which holds C function pointers, once.
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;

// Miri knows no `pthread_atfork`, and no fork.
#[cfg(miri)]
const _: extern "C" fn() = in_child;
