//! How many threads take part in a parallel call.

use crate::futex;
use std::env;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

/// The most threads that the pool may be told to use, callers included.
pub const MAX_THREADS: usize = 255;

/// The most threads that the pool uses unless told otherwise.
pub const DEFAULT_MAX_THREADS: usize = 63;

/// Lowers the default if it holds a number from 1 to [`MAX_THREADS`]; anything else is ignored.
const ENV_NUM_THREADS: &str = "ET_NUM_THREADS";

/// 0 until first asked for. Workers whose number is not below it sleep on it.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// CPUs that the process may use, as last seen.
static CPUS: AtomicU32 = AtomicU32::new(1);

/// Threads in a parallel call, the caller included.
pub(crate) fn count() -> u32 {
    match COUNT.load(Relaxed) {
        0 => {
            let default = default_count();
            // Somebody may have set a count meanwhile; theirs wins.
            match COUNT.compare_exchange(0, default, Relaxed, Relaxed) {
                Ok(_) => default,
                Err(other) => other,
            }
        }
        count => count,
    }
}

/// Sets the count, 0 for the default. Returns false, having done nothing, if it is above [`MAX_THREADS`].
pub(crate) fn set_count(requested: usize) -> bool {
    if requested > MAX_THREADS {
        return false;
    }
    let count = match requested {
        0 => default_count(),
        _ => {
            CPUS.store(available_cpus(), Relaxed);
            requested as u32
        }
    };
    COUNT.store(count, Relaxed);
    futex::wake(&COUNT, u32::MAX);
    true
}

/// Returns at once if worker `index` takes part in calls, else sleeps until the count changes, and says so.
pub(crate) fn sit_out(index: u32) -> bool {
    let count = COUNT.load(Relaxed);
    let surplus = index >= count;
    if surplus {
        futex::wait(&COUNT, count);
    }
    surplus
}

/// Whether busy-waiting can pay: with more threads than CPUs it takes the CPU from the thread waited for.
pub(crate) fn may_spin() -> bool {
    COUNT.load(Relaxed) <= CPUS.load(Relaxed)
}

/// Notes a change of the CPU set since the pool was configured. Called where a thread is about to sleep anyway.
pub(crate) fn refresh_cpus() {
    #[cfg(not(miri))]
    {
        // SAFETY: the all-zero bit pattern is an empty CPU set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is writable and its size is passed along; 0 is the calling thread.
        if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } == 0 {
            // SAFETY: the set is initialised.
            let cpus = unsafe { libc::CPU_COUNT(&set) };
            if let Ok(cpus @ 1..) = u32::try_from(cpus) {
                // A cgroup quota is not read again, so the number may only fall here.
                CPUS.fetch_min(cpus, Relaxed);
            }
        }
    }
}

fn default_count() -> u32 {
    let cpus = available_cpus();
    CPUS.store(cpus, Relaxed);
    let asked = env::var_os(ENV_NUM_THREADS).and_then(|value| parse_count(value.to_str()?));
    cpus.min(DEFAULT_MAX_THREADS as u32).min(asked.unwrap_or(u32::MAX))
}

/// CPUs allowed by the affinity mask and by the CPU quotas (rounded down, at least 1) of the process's cgroup
/// and its parents, version 1 or 2: the standard library reads them all.
fn available_cpus() -> u32 {
    thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

fn parse_count(text: &str) -> Option<u32> {
    let count: u32 = text.trim().parse().ok()?;
    (1..=MAX_THREADS as u32).contains(&count).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_the_environment() {
        assert_eq!(parse_count("4"), Some(4));
        assert_eq!(parse_count(" 255\n"), Some(255));
        for bad in ["", "0", "-1", "256", "2.5", "four", "99999999999999999999"] {
            assert_eq!(parse_count(bad), None, "{bad:?}");
        }
    }
}
