//! Deals the tiles of a grid out to the pool's threads.

use super::grid::{Grid, Position};
use executorch_abi::threadpool::et_parallel_tasks;
use std::ffi::c_void;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// The tiles that were dealt to one participant; on a cache line of its own.
///
/// Whoever takes a tile first takes it from `left`. The owner then counts up from `first`, everybody else counts
/// down from `end`, so both always find one that nobody had.
#[repr(align(64))]
struct Share {
    left: AtomicIsize,
    first: usize,
    end: AtomicUsize,
}

impl Share {
    fn new(first: usize, end: usize) -> Self {
        Self { left: AtomicIsize::new((end - first) as isize), first, end: AtomicUsize::new(end) }
    }

    /// Whether a tile was left, which then belongs to the caller.
    fn take(&self) -> bool {
        // Looking first keeps the counter from running away below zero, and the cache line shared.
        self.left.load(Relaxed) > 0 && self.left.fetch_sub(1, Relaxed) > 0
    }
}

/// What the participants of a call share.
struct Job<'a, const D: usize, F> {
    grid: &'a Grid<D>,
    shares: &'a [Share],
    body: &'a F,
}

/// Runs `body` once for each tile, on at most `threads` threads; returns when all is done.
///
/// The first argument of `body` is below `threads`, and no two calls with the same run at the same time.
pub fn deal<const D: usize, F>(threads: usize, grid: &Grid<D>, body: &F)
where
    F: Fn(usize, &Position<'_, D>) + Sync,
{
    let tiles = grid.len();
    match threads.min(tiles) {
        0 => {}
        1 => {
            let mut position = grid.at(0);
            for _ in 0..tiles {
                body(0, &position);
                position.advance();
            }
        }
        participants @ 2..=8 => parallel::<8, D, F>(participants, grid, body),
        participants @ 9..=64 => parallel::<64, D, F>(participants, grid, body),
        participants => parallel::<256, D, F>(participants.min(256), grid, body),
    }
}

/// [`deal`] with room for `N` shares on the stack.
fn parallel<const N: usize, const D: usize, F>(participants: usize, grid: &Grid<D>, body: &F)
where
    F: Fn(usize, &Position<'_, D>) + Sync,
{
    let (each, more) = (grid.len() / participants, grid.len() % participants);
    let first = |share: usize| share * each + share.min(more);
    let shares: [Share; N] = std::array::from_fn(|share| {
        let share = share.min(participants);
        Share::new(first(share), first((share + 1).min(participants)))
    });
    let job = Job { grid, shares: &shares[..participants.min(N)], body };
    let context = (&raw const job).cast_mut().cast::<c_void>();
    // SAFETY: `participate` takes `context` for the job that it is, which outlives the call; a job may be used by
    // several threads at once, because the body may. Errors tell of bodies that panic or fork the process: those
    // of XNNPACK, which are C, do neither.
    let _ = unsafe { et_parallel_tasks(job.shares.len(), Some(participate::<D, F>), context) };
}

/// One participant's part: its own share, then what is left of the others'.
unsafe extern "C" fn participate<const D: usize, F>(context: *mut c_void, participant: usize)
where
    F: Fn(usize, &Position<'_, D>) + Sync,
{
    // SAFETY: `parallel` passes its job, and waits for all participants.
    let job = unsafe { &*context.cast::<Job<'_, D, F>>() };
    let (before, from_own) = job.shares.split_at(participant.min(job.shares.len()));
    if let Some(own) = from_own.first() {
        // Counting up costs less than finding each tile's place by its number.
        let mut position = job.grid.at(own.first);
        while own.take() {
            (job.body)(participant, &position);
            position.advance();
        }
    }
    for other in from_own.iter().skip(1).chain(before) {
        while other.take() {
            let number = other.end.fetch_sub(1, Relaxed) - 1;
            (job.body)(participant, &job.grid.at(number));
        }
    }
}
