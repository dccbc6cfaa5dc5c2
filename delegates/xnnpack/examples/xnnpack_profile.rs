//! Runs an exported program, compares its results with the expected ones, and tells where a delegate's time goes:
//!
//!     cargo run --release -p executorch-backend-xnnpack --example xnnpack_profile -- MODEL.pte MODEL.npz [EXECUTOR] [THREADS] [RUNS]
//!
//! `MODEL.npz` holds `input_0 …` and `expected_0 …`. `EXECUTOR` is `auto`, `library` or `own`.

#![allow(clippy::unwrap_used, reason = "a tool for developers may panic")]

extern crate executorch_core as _;
extern crate executorch_threadpool as _;
#[path = "../../../runtime/kernels/examples/support/mod.rs"]
mod support;

use executorch_abi::backend::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::threadpool::*;
use executorch_abi::tracer::*;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr;
use std::time::Instant;
use support::{compare, inputs, load, open, run, set, times};

/// A delegate's events of one run: names, and when they began and ended.
#[derive(Default)]
struct Events {
    all: Vec<(String, Instant, f64)>,
}

unsafe extern "C" fn begin(events: *mut c_void, name: *const c_char, place: *const et_event_place_t) -> u64 {
    // SAFETY: the tracer's user data are `Events`, used by this thread alone; name and place are valid.
    let (events, name, place) = unsafe { (&mut *events.cast::<Events>(), CStr::from_ptr(name), *place) };
    if place.delegate_name.is_null() {
        return u64::MAX;
    }
    events.all.push((name.to_string_lossy().into_owned(), Instant::now(), 0.0));
    events.all.len() as u64 - 1
}

unsafe extern "C" fn end(events: *mut c_void, token: u64, _: *const c_void, _: usize) {
    // SAFETY: as in `begin`.
    let events = unsafe { &mut *events.cast::<Events>() };
    if let Some(event) = events.all.get_mut(token as usize) {
        event.2 = event.1.elapsed().as_secs_f64();
    }
}

unsafe extern "C" fn log(
    events: *mut c_void,
    name: *const c_char,
    _: *const et_event_place_t,
    start: u64,
    end: u64,
    _: *const c_void,
    _: usize,
) {
    // SAFETY: as in `begin`.
    let (events, name) = unsafe { (&mut *events.cast::<Events>(), CStr::from_ptr(name)) };
    let seconds = (end - start) as f64 * 1e-9;
    events.all.push((format!("    {}", name.to_string_lossy()), Instant::now(), seconds));
}

fn main() {
    executorch_kernels::register();
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let args: Vec<String> = std::env::args().collect();
    let (model, arrays) = (&args[1], Path::new(&args[2]));
    let executor = args.get(3).map_or("auto", String::as_str);
    let threads: usize = args.get(4).map_or(2, |s| s.parse().unwrap());
    let runs: usize = args.get(5).map_or(50, |s| s.parse().unwrap());
    // SAFETY: no precondition.
    unsafe { et_threadpool_set_thread_count(threads) };
    let program = open(model);
    let mut events = Events::default();
    let tracer = et_event_tracer_t {
        struct_size: size_of::<et_event_tracer_t>() as u32,
        flags: 0,
        user_data: (&raw mut events).cast(),
        begin_block: None,
        begin_event: Some(begin),
        end_event: Some(end),
        log_event: Some(log),
        log_value: None,
        track_allocator: None,
        track_allocation: None,
    };
    let mut inputs = inputs(arrays);
    let option = et_backend_option_t::new("executor", ET_OPTION_STRING, 0, executor).unwrap();
    let options = [et_backend_options_t { backend: c"XnnpackBackend".as_ptr(), options: &option, count: 1 }];
    let start = Instant::now();
    let plain = load(program, ptr::null(), &options);
    let load_time = start.elapsed().as_secs_f64();
    let traced = load(program, &tracer, &options);
    set(plain, &mut inputs);
    let first = run(plain);
    compare(plain, arrays);
    let times = times(plain, &mut inputs, runs);
    let [load, first, least, median] = [load_time, first, times[0], times[runs / 2]].map(|t| t * 1e3);
    println!("load {load:.2} ms, first run {first:.2} ms; then least {least:.3} ms, median {median:.3} ms");
    let mut steps: BTreeMap<usize, (String, Vec<f64>)> = BTreeMap::new();
    for _ in 0..runs {
        set(traced, &mut inputs);
        events.all.clear();
        run(traced);
        for (i, (name, _, seconds)) in events.all.iter().enumerate() {
            let step = steps.entry(i).or_default();
            step.0.clone_from(name);
            step.1.push(*seconds);
        }
    }
    for (name, times) in steps.values_mut() {
        times.sort_by(f64::total_cmp);
        println!("{:>9.1} µs  {name}", times[times.len() / 4] * 1e6);
    }
    // SAFETY: all are owned, and nothing uses them any more.
    unsafe {
        et_method_release(plain);
        et_method_release(traced);
        et_program_release(program);
    }
}
