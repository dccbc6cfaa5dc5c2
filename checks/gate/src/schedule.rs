//! The order of the checks: side by side, each after those that it builds on.

use crate::check::Check;
use executorch_gate_report as report;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the workers share.
struct Progress {
    /// By place: whether a worker has taken the check.
    taken: Vec<bool>,
    /// By place: what came of it.
    results: Vec<Option<report::Check>>,
}

/// Runs every check by `one`, up to `workers` at a time, and returns what came of them in the order of `checks`.
///
/// `one` is also handed the results of the needs that are among `checks`. `told` hears of each check as it ends, with how
/// many have ended. Of those that can begin, the one that may take longest does, so that the end is not a wait for it.
pub fn all(
    checks: &[Check],
    workers: usize,
    one: impl Fn(&Check, &[report::Check]) -> report::Check + Sync,
    told: impl Fn(usize, &report::Check) + Sync,
) -> Vec<report::Check> {
    let progress = Mutex::new(Progress {
        taken: vec![false; checks.len()],
        results: checks.iter().map(|_| None).collect(),
    });
    let lock = || progress.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, checks.len().max(1)) {
            scope.spawn(|| {
                while let Some((place, needs)) = take(checks, &ended, lock()) {
                    let result = one(&checks[place], &needs);
                    let mut progress = lock();
                    told(progress.results.iter().flatten().count() + 1, &result);
                    progress.results[place] = Some(result);
                    ended.notify_all();
                }
            });
        }
    });
    let progress = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress.results.into_iter().flatten().collect()
}

/// Waits for a check that can begin and takes it, with the results of its needs; none if all are taken.
fn take(
    checks: &[Check],
    ended: &Condvar,
    mut progress: MutexGuard<'_, Progress>,
) -> Option<(usize, Vec<report::Check>)> {
    loop {
        let ready = (0..checks.len())
            .filter(|place| !progress.taken[*place])
            .filter_map(|place| Some((place, needs(checks, &progress, place)?)));
        // The first of equals: places are compared backwards.
        if let Some((place, needs)) =
            ready.max_by_key(|(place, _)| (checks[*place].limit, std::cmp::Reverse(*place)))
        {
            progress.taken[place] = true;
            return Some((place, needs));
        }
        if progress.taken.iter().all(|taken| *taken) {
            return None;
        }
        progress = ended.wait(progress).unwrap_or_else(PoisonError::into_inner);
    }
}

/// The results of the needs of the check at `place` that are among `checks`; none while one is awaited.
fn needs(checks: &[Check], progress: &Progress, place: usize) -> Option<Vec<report::Check>> {
    let needed = |id: &&str| checks.iter().position(|check| check.id == *id);
    checks[place].needs.iter().filter_map(needed).map(|need| progress.results[need].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Stop;
    use executorch_gate_report::Outcome;
    use std::sync::Barrier;
    use std::time::Duration;

    fn check(id: &'static str, needs: &'static [&'static str], limit: u64) -> Check {
        Check { id, title: "x", needs, limit, run: |_| Err(Stop::absent("x")) }
    }

    fn passed(check: &Check) -> report::Check {
        report::Check {
            id: check.id.into(),
            title: check.title.into(),
            group: check.group().into(),
            outcome: Outcome::Pass,
            reason: String::new(),
            evidence: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Runs them, and returns in which order they ended and which needs each was handed.
    fn run(checks: &[Check], workers: usize) -> (Vec<String>, Vec<(String, Vec<String>)>) {
        let (order, handed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let results = all(
            checks,
            workers,
            |check, needs| {
                let needs = needs.iter().map(|need| need.id.clone()).collect();
                handed.lock().unwrap().push((check.id.to_owned(), needs));
                passed(check)
            },
            |count, check| {
                let mut order = order.lock().unwrap();
                order.push(check.id.clone());
                assert_eq!(count, order.len());
            },
        );
        let ids: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
        assert_eq!(
            ids,
            checks.iter().map(|check| check.id).collect::<Vec<_>>(),
            "results keep the list's order"
        );
        (order.into_inner().unwrap(), handed.into_inner().unwrap())
    }

    #[test]
    fn each_runs_once_after_what_it_builds_on() {
        let checks = [
            check("a.x", &[], 1),
            check("a.y", &["a.x"], 9),
            check("b.x", &["a.x", "elsewhere"], 1),
            check("b.y", &["a.y", "b.x"], 1),
        ];
        for workers in [0, 1, 2, 64] {
            let (order, handed) = run(&checks, workers);
            assert_eq!((order.len(), handed.len()), (4, 4));
            let needs = |id: &str| handed.iter().find(|one| one.0 == id).unwrap().1.clone();
            assert_eq!(needs("b.y"), ["a.y", "b.x"]);
            assert_eq!(needs("b.x"), ["a.x"], "what is not run is not awaited");
            assert_eq!((order[0].as_str(), order[3].as_str()), ("a.x", "b.y"));
        }
        assert!(run(&[], 2).0.is_empty());
    }

    #[test]
    fn what_may_take_longest_begins_first() {
        let checks = [check("a.x", &[], 1), check("a.y", &[], 1), check("a.z", &[], 5)];
        assert_eq!(run(&checks, 1).0, ["a.z", "a.x", "a.y"]);
    }

    #[test]
    fn two_run_at_a_time() {
        let checks = [check("a.x", &[], 1), check("a.y", &[], 1)];
        let meet = Barrier::new(2);
        // Neither ends before the other has begun; a schedule that runs one at a time would wait here for ever.
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let results = all(
                &checks,
                2,
                |check, _| {
                    meet.wait();
                    passed(check)
                },
                |_, _| {},
            );
            send.send(results.len())
        });
        assert_eq!(receive.recv_timeout(Duration::from_secs(60)), Ok(2));
    }
}
