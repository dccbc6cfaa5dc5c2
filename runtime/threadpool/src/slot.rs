//! One parallel call in flight. Slots are static: publishing a call allocates nothing, and a late worker never
//! looks at memory that is gone.

use crate::door::Door;
use crate::fpu::Mode;
use crate::share::Share;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What a call runs for each task. May unwind; the pool stops that.
pub(crate) type TaskFn = unsafe extern "C-unwind" fn(context: *mut c_void, index: usize);

/// A body and its argument.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) body: TaskFn,
    pub(crate) context: *mut c_void,
}

impl Work {
    /// Runs the tasks that `next` yields. Returns false if one of them panicked; the rest are then not run.
    ///
    /// # Safety
    /// The body must accept this context and these indices, on this thread, now.
    pub(crate) unsafe fn run(self, mut next: impl FnMut() -> Option<usize>) -> bool {
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            while let Some(index) = next() {
                // SAFETY: the caller vouches for body, context and indices.
                unsafe { (self.body)(self.context, index) };
            }
        }));
        let Err(payload) = outcome else { return true };
        // The hook has already reported the panic. Dropping its payload is foreign code, too, and may panic.
        if let Err(second) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(second);
        }
        false
    }
}

/// A call's shares are at most this many; further threads begin with somebody else's.
const MAX_SHARES: usize = 64;

#[derive(Clone, Copy)]
struct Job {
    work: Work,
    shares: usize,
    mode: Mode,
}

unsafe extern "C-unwind" fn nothing(_: *mut c_void, _: usize) {}

// The door and the job share the first cache line, so that one transfer brings a worker both.
#[repr(C, align(128))]
pub(crate) struct Slot {
    pub(crate) door: Door,
    panicked: AtomicBool,
    job: UnsafeCell<Job>,
    shares: [Share; MAX_SHARES],
}

// SAFETY: the door decides who may access `job` and orders the accesses (see `door`); the context pointer in it
// is only handed to the body, whose author promised that it may be called from any thread.
unsafe impl Sync for Slot {}

impl Slot {
    pub(crate) const fn new() -> Self {
        let work = Work { body: nothing, context: ptr::null_mut() };
        // Overwritten before anybody reads it.
        let mode = Mode::UNSET;
        Self {
            door: Door::new(),
            panicked: AtomicBool::new(false),
            job: UnsafeCell::new(Job { work, shares: 1, mode }),
            shares: [const { Share::new() }; MAX_SHARES],
        }
    }

    /// Writes a job of `count` tasks for a team of `team` threads.
    ///
    /// # Safety
    /// The calling thread owns the slot and its door has not been open since it was claimed.
    pub(crate) unsafe fn prepare(&self, work: Work, count: usize, team: u32) {
        let shares = MAX_SHARES.min(team as usize);
        Share::deal(self.shares.get(..shares).unwrap_or(&self.shares), count);
        self.panicked.store(false, Relaxed);
        let job = Job { work, shares, mode: Mode::current() };
        // SAFETY: no worker is inside, as the caller promises, and there is one owner.
        unsafe { *self.job.get() = job };
    }

    /// Runs tasks as thread `index` until none is left to take.
    ///
    /// # Safety
    /// The calling thread owns the slot and has prepared it, or is a worker inside. The body must be callable.
    pub(crate) unsafe fn take_part(&self, index: u32) {
        // SAFETY: nobody writes the job while the caller of this is the owner or inside.
        let job = unsafe { *self.job.get() };
        let shares = self.shares.get(..job.shares).unwrap_or(&self.shares);
        if index != 0 {
            job.mode.adopt();
        }
        let (before, from) = shares.split_at(index as usize % shares.len().max(1));
        let mut order = from.iter().chain(before);
        let mut share = order.next();
        let next = || {
            loop {
                let task = share?.take();
                if task.is_some() {
                    return task;
                }
                share = order.next();
            }
        };
        // SAFETY: as the caller promises; indices are below the job's count.
        if !unsafe { job.work.run(next) } {
            self.panicked.store(true, Relaxed);
            shares.iter().for_each(Share::abandon);
        }
    }

    /// Owner, when the slot is empty: whether a task of the call panicked.
    pub(crate) fn panicked(&self) -> bool {
        self.panicked.load(Relaxed)
    }
}
