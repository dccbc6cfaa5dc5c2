//! What concerns the whole process: defaults, CPU sets, forks, unloading. Each test runs its scenario in a
//! process of its own, this program started again.
#![cfg(not(miri))]

use executorch_threadpool::{
    DEFAULT_MAX_THREADS, Error, parallel_for, parallel_tasks, set_thread_count, thread_count,
};
use std::ffi::{CStr, CString};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, exit};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

const INNER: &str = "ET_TEST_INNER";

/// Runs `scenario` in a fresh process, with `variables` in its environment.
fn isolated(test: &str, variables: &[(&str, &str)], scenario: impl FnOnce()) {
    if std::env::var_os(INNER).is_some() {
        scenario();
        return;
    }
    let program = std::env::current_exe().expect("the path of this program");
    let output = Command::new("timeout")
        .arg("60")
        .arg(program)
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env_remove("ET_NUM_THREADS")
        .env(INNER, "1")
        .envs(variables.iter().copied())
        .output()
        .expect("start this program again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "the test must be found: {text}");
}

fn tasks_in_this_process() -> usize {
    fs::read_dir("/proc/self/task").expect("/proc").count()
}

/// Every index of a call once.
fn check_coverage(count: usize) -> bool {
    let hits: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    let outcome = parallel_tasks(count, |i| {
        hits[i].fetch_add(1, Relaxed);
    });
    outcome.is_ok() && hits.iter().all(|hit| hit.load(Relaxed) == 1)
}

/// Runs `child` in a forked process and returns its exit code.
fn in_child(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child runs the pool, which promises to work there, and ends without returning.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(20) };
        let fine = child();
        // SAFETY: leaves without the parent's exit handlers.
        unsafe { libc::_exit(if fine { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}

/// Confines the calling thread, and threads that it starts, to one CPU of its set.
fn confine_to_one_cpu() {
    // SAFETY: plain system calls on an initialised set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of_val(&set);
        assert_eq!(libc::sched_getaffinity(0, size, &mut set), 0);
        let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &set));
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(first.expect("a CPU"), &mut set);
        assert_eq!(libc::sched_setaffinity(0, size, &set), 0);
    }
}

#[test]
fn the_default_follows_the_cpus() {
    isolated("the_default_follows_the_cpus", &[], || {
        let cpus = thread::available_parallelism().unwrap().get();
        assert_eq!(thread_count(), cpus.min(DEFAULT_MAX_THREADS));
        set_thread_count(5).unwrap();
        assert_eq!(thread_count(), 5);
        set_thread_count(0).unwrap();
        assert_eq!(thread_count(), cpus.min(DEFAULT_MAX_THREADS));
    });
}

#[test]
fn one_cpu_means_one_thread() {
    isolated("one_cpu_means_one_thread", &[], || {
        confine_to_one_cpu();
        assert_eq!(thread_count(), 1);
        let before = tasks_in_this_process();
        assert!(check_coverage(1000));
        assert_eq!(tasks_in_this_process(), before, "no worker is started");
        // More threads than CPUs are slow, but right.
        set_thread_count(4).unwrap();
        for count in 0..200 {
            assert!(check_coverage(count));
        }
        let all = Barrier::new(4);
        parallel_tasks(4, |_| {
            all.wait();
        })
        .unwrap();
    });
}

#[test]
fn the_environment_lowers_the_default() {
    isolated("the_environment_lowers_the_default", &[("ET_NUM_THREADS", "1")], || {
        assert_eq!(thread_count(), 1);
        set_thread_count(3).unwrap();
        assert_eq!(thread_count(), 3);
        set_thread_count(0).unwrap();
        assert_eq!(thread_count(), 1);
    });
}

#[test]
fn nonsense_in_the_environment_is_ignored() {
    isolated("nonsense_in_the_environment_is_ignored", &[("ET_NUM_THREADS", "0")], || {
        let cpus = thread::available_parallelism().unwrap().get();
        assert_eq!(thread_count(), cpus.min(DEFAULT_MAX_THREADS));
    });
}

#[test]
fn no_thread_before_it_is_needed() {
    isolated("no_thread_before_it_is_needed", &[], || {
        let before = tasks_in_this_process();
        set_thread_count(4).unwrap();
        assert_eq!(thread_count(), 4);
        parallel_tasks(1, |_| {}).unwrap();
        parallel_for(0..100, 1000, |_| {}).unwrap();
        assert_eq!(tasks_in_this_process(), before);
        parallel_tasks(2, |_| {}).unwrap();
        assert_eq!(tasks_in_this_process(), before + 1, "as many as the call can use");
    });
}

#[test]
fn idle_workers_use_no_cpu() {
    fn cpu_time() -> Duration {
        // SAFETY: fills a local.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    }
    isolated("idle_workers_use_no_cpu", &[], || {
        set_thread_count(4).unwrap();
        let all = Barrier::new(4);
        parallel_tasks(4, |_| {
            all.wait();
        })
        .unwrap();
        thread::sleep(Duration::from_millis(100));
        let before = cpu_time();
        thread::sleep(Duration::from_millis(500));
        let used = cpu_time() - before;
        // One spinning worker would have used 500 ms.
        assert!(used < Duration::from_millis(50), "{used:?}");
    });
}

#[test]
fn a_forked_child_has_a_pool() {
    isolated("a_forked_child_has_a_pool", &[], || {
        set_thread_count(3).unwrap();
        assert!(check_coverage(100));
        for _ in 0..20 {
            let code = in_child(|| {
                let both = Barrier::new(3);
                let together = parallel_tasks(3, |_| {
                    both.wait();
                });
                together.is_ok() && (0..200).all(check_coverage) && tasks_in_this_process() == 3
            });
            assert_eq!(code, 0);
        }
        assert!(check_coverage(100), "the parent goes on");
    });
}

#[test]
fn a_fork_while_others_compute_does_not_hang_the_child() {
    isolated("a_fork_while_others_compute_does_not_hang_the_child", &[], || {
        set_thread_count(3).unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Relaxed) {
                        assert!(check_coverage(20));
                    }
                });
            }
            scope.spawn(|| {
                for count in [2, 3, 4].into_iter().cycle() {
                    if done.load(Relaxed) {
                        break;
                    }
                    set_thread_count(count).unwrap();
                }
            });
            for _ in 0..100 {
                let code = in_child(|| {
                    let both = Barrier::new(2);
                    let together = parallel_tasks(2, |_| {
                        both.wait();
                    });
                    together.is_ok() && (0..50).all(check_coverage)
                });
                assert_eq!(code, 0);
            }
            done.store(true, Relaxed);
        });
    });
}

#[test]
fn a_fork_inside_a_body_fails_the_call_in_the_child() {
    isolated("a_fork_inside_a_body_fails_the_call_in_the_child", &[], || {
        set_thread_count(2).unwrap();
        let (inside, parent) = (Barrier::new(2), std::process::id());
        let status = AtomicUsize::new(usize::MAX);
        let outcome = parallel_tasks(2, |_| {
            inside.wait();
            if executorch_threadpool::thread_num() != 0 {
                return;
            }
            // SAFETY: the child leaves below by `exit`.
            let pid = unsafe { libc::fork() };
            if pid > 0 {
                let mut code = 0;
                // SAFETY: waits for the child just made.
                unsafe { libc::waitpid(pid, &mut code, 0) };
                status.store(code as usize, Relaxed);
            }
        });
        if std::process::id() != parent {
            let told = outcome == Err(Error::Internal);
            exit(if told && check_coverage(100) { 0 } else { 1 });
        }
        assert_eq!(outcome, Ok(()));
        assert_eq!(status.load(Relaxed), 0, "the child's own report");
    });
}

#[test]
fn closing_the_library_leaves_it_mapped() {
    unsafe extern "C" fn body(sum: *mut std::ffi::c_void, index: usize) {
        // SAFETY: the context of the call below.
        unsafe { &*sum.cast::<AtomicUsize>() }.fetch_add(index, Relaxed);
    }
    type Tasks = unsafe extern "C" fn(
        usize,
        Option<unsafe extern "C" fn(*mut std::ffi::c_void, usize)>,
        *mut std::ffi::c_void,
    ) -> u32;

    fn open(path: &CStr) -> Tasks {
        // SAFETY: the library's initialisers only register a fork handler; the symbol has this type.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
            assert!(!library.is_null(), "{path:?}");
            let symbol = libc::dlsym(library, c"et_parallel_tasks".as_ptr());
            assert!(!symbol.is_null());
            assert_eq!(libc::dlclose(library), 0);
            // Called after the close: it must still be there.
            std::mem::transmute::<*mut std::ffi::c_void, Tasks>(symbol)
        }
    }

    isolated("closing_the_library_leaves_it_mapped", &[("ET_NUM_THREADS", "2")], || {
        let mut path: PathBuf = std::env::current_exe().unwrap();
        path.pop();
        path.push("libexecutorch_threadpool.so");
        let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        for _ in 0..3 {
            let tasks = open(&path);
            let sum = AtomicUsize::new(0);
            // SAFETY: the body adds to the context, which outlives the call.
            let error = unsafe { tasks(100, Some(body), (&raw const sum).cast_mut().cast()) };
            assert_eq!((error, sum.load(Relaxed)), (0, 4950));
        }
        // Workers are asleep in the closed library by now.
        thread::sleep(Duration::from_millis(20));
    });
}
