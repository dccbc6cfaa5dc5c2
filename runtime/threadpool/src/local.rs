//! What a thread knows about itself.

use std::cell::Cell;

thread_local! {
    static THREAD_NUM: Cell<u32> = const { Cell::new(0) };
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
    static GUARDS: Cell<usize> = const { Cell::new(0) };
}

/// Makes the calling thread worker `index` for the rest of its life: whatever it runs belongs to a parallel call.
pub(crate) fn become_worker(index: u32) {
    THREAD_NUM.set(index);
    IN_CALL.set(true);
}

/// The calling thread's number within its parallel call, 0 outside of one.
pub(crate) fn thread_num() -> u32 {
    THREAD_NUM.get()
}

/// Whether parallel calls of this thread must run on it alone.
pub(crate) fn must_be_serial() -> bool {
    IN_CALL.get() || GUARDS.get() != 0
}

/// Marks the calling thread as the caller of a running parallel call until dropped.
pub(crate) struct CallScope(());

impl CallScope {
    /// The thread must not be in a call already.
    pub(crate) fn enter() -> Self {
        IN_CALL.set(true);
        Self(())
    }
}

impl Drop for CallScope {
    fn drop(&mut self) {
        IN_CALL.set(false);
    }
}

/// Opens a serial guard on this thread.
pub(crate) fn guard_enter() {
    GUARDS.set(GUARDS.get().saturating_add(1));
}

/// Closes the innermost serial guard of this thread, if there is one.
pub(crate) fn guard_leave() {
    GUARDS.set(GUARDS.get().saturating_sub(1));
}
