//! Starting a worker thread.
//!
//! With the C library directly, because `std::thread` takes locks of its own, which a fork could leave held.

/// Starts a detached thread that runs `worker(index)`. Returns false if the system refuses.
#[cfg(not(miri))]
pub(crate) fn start(index: u32, worker: fn(u32)) -> bool {
    use std::ffi::c_void;
    use std::mem::MaybeUninit;
    use std::ptr;

    struct Start {
        worker: fn(u32),
        index: u32,
    }

    extern "C" fn entry(start: *mut c_void) -> *mut c_void {
        // SAFETY: the pointer is the box that `start` leaked for this thread alone.
        let Start { worker, index } = *unsafe { Box::from_raw(start.cast::<Start>()) };
        worker(index);
        ptr::null_mut()
    }

    let argument = Box::into_raw(Box::new(Start { worker, index }));
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the sets are filled before they are read, the mask is restored, the argument stays valid until
    // the new thread frees it, and the thread, once detached, is not named again.
    unsafe {
        // The program's signals are for the program's threads. Profiling signals are for the thread they hit.
        libc::sigfillset(all.as_mut_ptr());
        libc::sigdelset(all.as_mut_ptr(), libc::SIGPROF);
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let refused = libc::pthread_create(thread.as_mut_ptr(), ptr::null(), entry, argument.cast());
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        if refused != 0 {
            drop(Box::from_raw(argument));
            return false;
        }
        let thread = thread.assume_init();
        if crate::config::may_spin() {
            crate::cpu::send_away(thread);
        }
        libc::pthread_setname_np(thread, c"et-worker".as_ptr());
        libc::pthread_detach(thread);
    }
    true
}

#[cfg(miri)]
pub(crate) fn start(index: u32, worker: fn(u32)) -> bool {
    std::thread::Builder::new().spawn(move || worker(index)).is_ok()
}
