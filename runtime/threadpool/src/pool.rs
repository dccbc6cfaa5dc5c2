//! Publishing calls and serving them.

use crate::config;
use crate::cpu;
use crate::fork;
use crate::futex;
use crate::local::{self, CallScope};
use crate::slot::{Slot, Work};
use crate::spin::Spin;
use crate::thread;
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use std::time::Instant;

/// Calls that can be in flight at a time; a further caller does its work alone.
const SLOTS: usize = 16;

static SLOT: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

/// Where workers look for something new.
#[repr(align(128))]
struct Board {
    /// Counts published calls, wrapping. Idle workers watch it, then sleep on it.
    epoch: AtomicU32,
    /// Workers asleep on `epoch`.
    sleepers: AtomicU32,
    /// The CPU that the last caller to wake somebody ran on.
    waker_cpu: AtomicU32,
}

static BOARD: Board =
    Board { epoch: AtomicU32::new(0), sleepers: AtomicU32::new(0), waker_cpu: AtomicU32::new(u32::MAX) };

/// Workers started: those with numbers 1 to this. Only grows, except in a forked child.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// Somebody is starting workers.
static STARTING: AtomicBool = AtomicBool::new(false);
/// The system refused a thread; not tried again until the count is set.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// A task panicked, or the body forked and this is the child.
pub(crate) struct Failed;

/// Runs `work` for each index below `count` and returns when all are done.
///
/// # Safety
/// The body must accept the context and each index below `count`, from any thread, until this returns.
pub(crate) unsafe fn run(work: Work, count: usize) -> Result<(), Failed> {
    let threads = config::count();
    let team = threads.min(u32::try_from(count).unwrap_or(u32::MAX));
    let slot = if team < 2 || local::must_be_serial() || !start_workers(team - 1) {
        None
    } else {
        // More callers than threads would only take CPUs from each other.
        SLOT.iter().take(threads as usize).find(|slot| slot.door.claim())
    };
    let Some(slot) = slot else {
        let mut indices = 0..count;
        // SAFETY: as the caller promises.
        let fine = unsafe { work.run(|| indices.next()) };
        return if fine { Ok(()) } else { Err(Failed) };
    };

    let generation = fork::generation();
    // SAFETY: this thread has just claimed the slot.
    unsafe { slot.prepare(work, count, team) };
    slot.door.open(team - 1, threads);
    announce(slot, team - 1, threads);
    {
        let _scope = CallScope::enter();
        // SAFETY: this thread owns the slot and has prepared it; the body is good as the caller promises.
        unsafe { slot.take_part(0) };
    }
    if fork::generation() != generation {
        // The tasks that the parent's workers took are missing here, and the slot is no longer this call's.
        return Err(Failed);
    }
    slot.door.shut();
    slot.door.wait_until_empty();
    let panicked = slot.panicked();
    slot.door.release();
    if panicked { Err(Failed) } else { Ok(()) }
}

/// Tells idle workers of the call in `slot`, waking as many as it has seats for and no more.
fn announce(slot: &Slot, seats: u32, threads: u32) {
    BOARD.epoch.fetch_add(1, SeqCst);
    let sleepers = BOARD.sleepers.load(SeqCst);
    if sleepers == 0 {
        return;
    }
    let awake = STARTED.load(Relaxed).min(threads - 1).saturating_sub(sleepers);
    let elsewhere: u32 =
        SLOT.iter().filter(|other| !std::ptr::eq(*other, slot)).map(|other| other.door.inside()).sum();
    let missing = seats.saturating_sub(awake.saturating_sub(elsewhere));
    if missing > 0 {
        BOARD.waker_cpu.store(cpu::current().unwrap_or(u32::MAX), Relaxed);
        futex::wake(&BOARD.epoch, missing);
    }
}

/// Sees to it that workers 1 to `wanted` are started. Returns whether there is any worker at all.
fn start_workers(wanted: u32) -> bool {
    if STARTED.load(Relaxed) < wanted
        && !REFUSED.load(Relaxed)
        // Whoever finds it taken goes on with the workers that there are.
        && !STARTING.swap(true, Acquire)
    {
        for index in STARTED.load(Relaxed) + 1..=wanted {
            if !thread::start(index, serve) {
                REFUSED.store(true, Relaxed);
                break;
            }
            STARTED.store(index, Relaxed);
        }
        STARTING.store(false, Release);
    }
    STARTED.load(Relaxed) > 0
}

/// The life of worker `index`.
fn serve(index: u32) {
    local::become_worker(index);
    let generation = fork::generation();
    let mut spin = Spin::new();
    loop {
        let seen = BOARD.epoch.load(Acquire);
        if config::sit_out(index) {
            continue;
        }
        if let Some(slot) = SLOT.iter().find(|slot| slot.door.enter(index)) {
            // SAFETY: this worker is inside.
            unsafe { slot.take_part(index) };
            if fork::generation() != generation {
                // The body forked; in the child this thread is no worker.
                return;
            }
            slot.door.shut();
            slot.door.leave();
            spin.worked();
        } else if !(config::may_spin() && spin.until(|| BOARD.epoch.load(Relaxed) != seen)) {
            config::refresh_cpus();
            let asleep_since = Instant::now();
            BOARD.sleepers.fetch_add(1, SeqCst);
            futex::wait(&BOARD.epoch, seen);
            BOARD.sleepers.fetch_sub(1, AcqRel);
            // Before it takes a seat, so that nobody waits for the move.
            if config::may_spin()
                && let Some(cpu) = cpu::current()
                && cpu == BOARD.waker_cpu.load(Relaxed)
            {
                cpu::step_aside(cpu);
            }
            spin.slept(asleep_since.elapsed());
        }
    }
}

/// After the thread count was set: workers that now have to sit out must not stay where wake-ups arrive.
pub(crate) fn count_changed() {
    REFUSED.store(false, Relaxed);
    BOARD.epoch.fetch_add(1, SeqCst);
    futex::wake(&BOARD.epoch, u32::MAX);
}

/// In the child of a fork.
pub(crate) fn forget_workers() {
    for slot in &SLOT {
        slot.door.reset();
    }
    BOARD.sleepers.store(0, Relaxed);
    STARTED.store(0, Relaxed);
    REFUSED.store(false, Relaxed);
    STARTING.store(false, Relaxed);
}
