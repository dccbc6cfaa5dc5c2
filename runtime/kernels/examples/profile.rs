//! Runs an exported program, compares its results with the expected ones, and tells where the time goes:
//!
//!     cargo run --release -p executorch-kernels --example profile -- MODEL.pte MODEL.npz [RUNS] [THREADS] [all]
//!
//! `MODEL.npz` holds `input_0 …` and `expected_0 …`. With `all`, every call is listed, not only totals by operator. With
//! one thread, calls are measured in the thread's own time, which other programs on the machine disturb less.

#![allow(clippy::unwrap_used, reason = "a tool for developers may panic")]

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::threadpool::*;
use executorch_abi::tracer::*;
use executorch_abi::value::*;
use executorch_abi::{Dtype, Error, TensorRef};
use npyz::npz::NpzArchive;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;
use std::time::Instant;

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

/// The raw bytes of an array and its shape and dtype.
fn array(path: &Path, key: &str) -> Option<(Vec<u64>, Vec<i32>, Dtype)> {
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(key).unwrap()?;
    let shape: Vec<i32> = npy.shape().iter().map(|&s| s as i32).collect();
    let text = npy.dtype().descr();
    let dtype = match text.trim_matches('\'') {
        "<f4" => Dtype::Float32,
        "<f8" => Dtype::Float64,
        "<i8" => Dtype::Int64,
        "<i4" => Dtype::Int32,
        "|b1" => Dtype::Bool,
        other => panic!("dtype {other}"),
    };
    drop(npy);
    let mut file = archive.zip_archive().by_name(&format!("{key}.npy")).unwrap();
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut all).unwrap();
    let data = all.split_off(10 + u16::from_le_bytes([all[8], all[9]]) as usize);
    let mut words = vec![0_u64; data.len() / 8 + 1];
    bytemuck::cast_slice_mut(&mut words)[..data.len()].copy_from_slice(&data);
    Some((words, shape, dtype))
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

fn load(program: *mut et_program_t, tracer: *const et_event_tracer_t) -> *mut et_method_t {
    let options = et_method_options_t {
        struct_size: size_of::<et_method_options_t>() as u32,
        reserved: 0,
        memory: ptr::null(),
        data_map: ptr::null(),
        tracer,
        backend_options: ptr::null(),
        backend_options_count: 0,
        kernels: ptr::null(),
        kernel_count: 0,
    };
    let mut method = ptr::null_mut();
    // SAFETY: a live program, valid options, a place for the handle.
    let code = unsafe { et_program_load_method(program, c"forward".as_ptr(), &options, &mut method) };
    Error::check(code).unwrap_or_else(|e| panic!("{e}"));
    method
}

fn main() {
    executorch_kernels::register();
    let args: Vec<String> = std::env::args().collect();
    let (model, arrays) = (&args[1], Path::new(&args[2]));
    let runs: usize = args.get(3).map_or(30, |s| s.parse().unwrap());
    let path = CString::new(model.as_str()).unwrap();
    let mut program = ptr::null_mut();
    let mut loader = MaybeUninit::uninit();
    // SAFETY: a NUL-terminated path and places for the handles, which are written on success.
    unsafe {
        assert_eq!(et_data_loader_open_file(path.as_ptr(), ET_LOAD_MMAP, loader.as_mut_ptr()), ET_OK);
        Error::check(et_program_load(&loader.assume_init(), &mut program)).unwrap();
    }
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
    let plain = load(program, ptr::null());
    let load_time = start.elapsed().as_secs_f64();
    let traced = load(program, &tracer);
    let mut inputs = Vec::new();
    while let Some(input) = array(arrays, &format!("input_{}", inputs.len())) {
        inputs.push(input);
    }
    let set = |method: *mut et_method_t, inputs: &mut [(Vec<u64>, Vec<i32>, Dtype)]| {
        for (i, (words, sizes, dtype)) in inputs.iter_mut().enumerate() {
            let mut strides = vec![0; sizes.len()];
            let mut order: Vec<u8> = (0..sizes.len() as u8).collect();
            let mut tensor = et_tensor_t {
                data: words.as_mut_ptr().cast::<c_void>(),
                sizes: sizes.as_mut_ptr(),
                strides: strides.as_mut_ptr(),
                dim_order: order.as_mut_ptr(),
                numel: sizes.iter().map(|&s| s as u64).product(),
                capacity_bytes: words.len() as u64 * 8,
                struct_size: size_of::<et_tensor_t>() as u16,
                rank: sizes.len() as u8,
                dtype: *dtype as i8,
                dynamism: 0,
                device_type: 0,
                device_index: 0,
                flags: 0,
                user_data: ptr::null_mut(),
            };
            // SAFETY: as many sizes and strides as are said; a live method and a valid value.
            unsafe {
                et_tensor_dense_strides(sizes.as_ptr(), ptr::null(), sizes.len(), strides.as_mut_ptr());
                Error::check(et_method_set_input(method, i, &et_value_t::tensor(&mut tensor))).unwrap();
            }
        }
    };
    let run = |method: *mut et_method_t| {
        let start = Instant::now();
        // SAFETY: a live method.
        Error::check(unsafe { et_method_execute(method) }).unwrap_or_else(|e| panic!("{e}"));
        start.elapsed().as_secs_f64()
    };
    set(plain, &mut inputs);
    run(plain);
    for i in 0.. {
        let Some((words, _, dtype)) = array(arrays, &format!("expected_{i}")) else { break };
        // SAFETY: a live method's output is valid until the next run.
        let found = unsafe { TensorRef::new(&*(*et_method_output(plain, i)).payload.as_tensor) };
        if dtype != Dtype::Float32 {
            println!("output {i} is {dtype}");
            continue;
        }
        let got: &[f32] = bytemuck::cast_slice(found.bytes().unwrap());
        let want = &bytemuck::cast_slice::<u64, f32>(&words)[..got.len()];
        let mean = want.iter().sum::<f32>() / want.len() as f32;
        let spread = (want.iter().map(|w| (w - mean).powi(2)).sum::<f32>() / want.len() as f32).sqrt();
        let worst = got.iter().zip(want).map(|(g, w)| (g - w).abs()).fold(0.0, f32::max);
        println!("output {i}: worst difference {:.1e} of the spread", worst / spread.max(1e-30));
    }
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            set(plain, &mut inputs);
            run(plain)
        })
        .collect();
    times.sort_by(f64::total_cmp);
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
