//! Runs an exported program, compares its results with the expected ones, and tells where a delegate's time goes:
//!
//!     cargo run --release -p executorch-backend-xnnpack --example xnnpack_profile -- MODEL.pte MODEL.npz [EXECUTOR] [THREADS] [RUNS]
//!
//! `MODEL.npz` holds `input_0 …` and `expected_0 …`. `EXECUTOR` is `auto`, `library` or `own`.

#![allow(clippy::unwrap_used, reason = "a tool for developers may panic")]

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

use executorch_abi::backend::*;
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

/// The raw bytes of an array and its shape and dtype.
fn array(path: &Path, key: &str) -> Option<(Vec<u64>, Vec<i32>, Dtype)> {
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(key).unwrap()?;
    let shape: Vec<i32> = npy.shape().iter().map(|&s| s as i32).collect();
    let text = npy.dtype().descr();
    let dtype = match text.trim_matches('\'') {
        "<f4" => Dtype::Float32,
        "<f2" => Dtype::Float16,
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

fn load(program: *mut et_program_t, tracer: *const et_event_tracer_t, executor: &str) -> *mut et_method_t {
    let option = et_backend_option_t::new("executor", ET_OPTION_STRING, 0, executor).unwrap();
    let options = et_backend_options_t { backend: c"XnnpackBackend".as_ptr(), options: &option, count: 1 };
    let options = et_method_options_t {
        struct_size: size_of::<et_method_options_t>() as u32,
        reserved: 0,
        memory: ptr::null(),
        data_map: ptr::null(),
        tracer,
        backend_options: &options,
        backend_options_count: 1,
        kernels: ptr::null(),
        kernel_count: 0,
    };
    let mut method = ptr::null_mut();
    // SAFETY: a live program, valid options, a place for the handle.
    let code = unsafe { et_program_load_method(program, c"forward".as_ptr(), &options, &mut method) };
    Error::check(code).unwrap_or_else(|e| panic!("{e}"));
    method
}

fn set(method: *mut et_method_t, inputs: &mut [(Vec<u64>, Vec<i32>, Dtype)]) {
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
}

fn run(method: *mut et_method_t) -> f64 {
    let start = Instant::now();
    // SAFETY: a live method.
    Error::check(unsafe { et_method_execute(method) }).unwrap_or_else(|e| panic!("{e}"));
    start.elapsed().as_secs_f64()
}

/// Prints how far the outputs of the last run are from what is expected.
fn compare(method: *mut et_method_t, arrays: &Path) {
    for i in 0.. {
        let Some((words, _, dtype)) = array(arrays, &format!("expected_{i}")) else { break };
        // SAFETY: a live method's output is valid until the next run.
        let found = unsafe { TensorRef::new(&*(*et_method_output(method, i)).payload.as_tensor) };
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
    let path = CString::new(model.as_str()).unwrap();
    let mut program = ptr::null_mut();
    let mut loader = MaybeUninit::uninit();
    // SAFETY: a NUL-terminated path and places for the handles, which are written on success.
    unsafe {
        assert_eq!(et_data_loader_open_file(path.as_ptr(), ET_LOAD_MMAP, loader.as_mut_ptr()), ET_OK);
        Error::check(et_program_load(&loader.assume_init(), &mut program)).unwrap();
    }
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
    let mut inputs = Vec::new();
    while let Some(input) = array(arrays, &format!("input_{}", inputs.len())) {
        inputs.push(input);
    }
    let start = Instant::now();
    let plain = load(program, ptr::null(), executor);
    let load_time = start.elapsed().as_secs_f64();
    let traced = load(program, &tracer, executor);
    set(plain, &mut inputs);
    let first = run(plain);
    compare(plain, arrays);
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            set(plain, &mut inputs);
            run(plain)
        })
        .collect();
    times.sort_by(f64::total_cmp);
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
