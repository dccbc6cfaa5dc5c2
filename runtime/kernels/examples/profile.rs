//! Runs an exported program, compares its results with the expected ones, and tells where the time goes:
//!
//!     cargo run --release -p executorch-kernels --example profile -- MODEL.pte MODEL.npz [RUNS] [THREADS] [all]
//!
//! `MODEL.npz` holds `input_0 …` and `expected_0 …`. With `all`, every call is listed, not only totals by operator. With
//! one thread, calls are measured in the thread's own time, which other programs on the machine disturb less.

#![allow(clippy::unwrap_used, reason = "a tool for developers may panic")]

extern crate executorch_core as _;
extern crate executorch_threadpool as _;
mod support;

use executorch_abi::error::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::threadpool::*;
use executorch_abi::tracer::*;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;
use std::time::Instant;
use support::{compare, inputs, load, open, run, set, times};

/// One traced call: its name, its place, and when it began and ended.
struct Event {
    name: String,
    instruction: i64,
    start: f64,
    seconds: f64,
    depth: usize,
}

struct Events {
    all: Vec<Event>,
    open: usize,
    clock: libc::clockid_t,
}

impl Events {
    fn now(&self) -> f64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a place for the time.
        unsafe { libc::clock_gettime(self.clock, &mut time) };
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }
}

unsafe extern "C" fn begin(events: *mut c_void, name: *const c_char, place: *const et_event_place_t) -> u64 {
    // SAFETY: the tracer's user data are `Events`, used by this thread alone; name and place are valid.
    let (events, name, place) = unsafe { (&mut *events.cast::<Events>(), CStr::from_ptr(name), *place) };
    events.all.push(Event {
        name: name.to_string_lossy().into_owned(),
        instruction: place.instruction,
        start: events.now(),
        seconds: 0.0,
        depth: events.open,
    });
    events.open += 1;
    events.all.len() as u64 - 1
}

unsafe extern "C" fn end(events: *mut c_void, token: u64, _: *const c_void, _: usize) {
    // SAFETY: as in `begin`.
    let events = unsafe { &mut *events.cast::<Events>() };
    events.open -= 1;
    let now = events.now();
    let event = &mut events.all[token as usize];
    event.seconds = now - event.start;
}

/// The operator of a traced call (of a method of one chain), or what else it is.
fn operator(method: *mut et_method_t, event: &Event) -> String {
    let mut info = MaybeUninit::uninit();
    // SAFETY: a live method; a place for the description, which is written on success.
    unsafe {
        let meta = et_method_metadata(method);
        match et_method_meta_instruction(meta, event.instruction as usize, info.as_mut_ptr()) {
            ET_OK if !info.assume_init().name.is_null() => {
                CStr::from_ptr(info.assume_init().name).to_string_lossy().into_owned()
            }
            _ => event.name.clone(),
        }
    }
}

fn main() {
    executorch_kernels::register();
    let args: Vec<String> = std::env::args().collect();
    let (model, arrays) = (&args[1], Path::new(&args[2]));
    let runs: usize = args.get(3).map_or(30, |s| s.parse().unwrap());
    let program = open(model);
    let threads: usize = args.get(4).map_or(2, |s| s.parse().unwrap());
    // SAFETY: no precondition.
    unsafe { et_threadpool_set_thread_count(threads) };
    let clock = if threads == 1 { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    let mut events = Events { all: Vec::new(), open: 0, clock };
    let tracer = et_event_tracer_t {
        struct_size: size_of::<et_event_tracer_t>() as u32,
        flags: 0,
        user_data: (&raw mut events).cast(),
        begin_block: None,
        begin_event: Some(begin),
        end_event: Some(end),
        log_event: None,
        log_value: None,
        track_allocator: None,
        track_allocation: None,
    };
    let start = Instant::now();
    let plain = load(program, ptr::null(), &[]);
    let load_time = start.elapsed().as_secs_f64();
    let traced = load(program, &tracer, &[]);
    let mut inputs = inputs(arrays);
    set(plain, &mut inputs);
    run(plain);
    compare(plain, arrays);
    let times = times(plain, &mut inputs, runs);
    println!(
        "load {:.2} ms; run: least {:.3} ms, median {:.3} ms",
        load_time * 1e3,
        times[0] * 1e3,
        times[runs / 2] * 1e3
    );
    let mut calls: BTreeMap<i64, (String, Vec<f64>)> = BTreeMap::new();
    for _ in 0..runs {
        events.all.clear();
        set(traced, &mut inputs);
        run(traced);
        for event in events.all.iter().filter(|e| e.instruction >= 0 && e.depth > 0) {
            let call = calls.entry(event.instruction).or_default();
            if call.1.is_empty() {
                call.0 = operator(traced, event);
            }
            call.1.push(event.seconds);
        }
    }
    let mut totals: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for (instruction, (name, times)) in &mut calls {
        times.sort_by(f64::total_cmp);
        let time = times[times.len() / 4];
        let total = totals.entry(name).or_default();
        *total = (total.0 + 1, total.1 + time);
        if args.get(5).is_some_and(|a| a == "all") {
            println!("{instruction:>5} {name:<48} {:>9.1} µs", time * 1e6);
        }
    }
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    for (name, (count, time)) in totals {
        println!("{name:<56} {count:>4} {:>9.3} ms", time * 1e3);
    }
    // SAFETY: all are owned, and nothing uses them any more.
    unsafe {
        et_method_release(plain);
        et_method_release(traced);
        et_program_release(program);
    }
}
