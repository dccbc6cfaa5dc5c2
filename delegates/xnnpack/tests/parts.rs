//! A run of nodes that is long enough to be prepared in parts by several threads gives the results that it gives whole.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

extern crate executorch_core as _;

use common::made::*;
use common::random::Random;
use executorch_abi::backend::*;
use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use executorch_abi::tensor::*;
use executorch_abi::threadpool::et_threadpool_set_thread_count;
use executorch_abi::value::*;
use executorch_backend_xnnpack::plan::choice::{Choice, Mode};
use executorch_backend_xnnpack::plan::{Executor, Plan};
use std::ffi::{c_char, c_void};
use std::ptr;

const ROWS: usize = 3;
const WIDTH: usize = 512;
const LAYERS: usize = 8;
const SCALE: f32 = 0.5;

/// Where layer `layer` takes its channel `to` from: any bijection, another one for each layer.
fn from(layer: usize, to: usize) -> usize {
    (to * (2 * layer + 3) + layer) % WIDTH
}

/// Layers of 8-bit integers, which only the library runs, each of which reorders its channels.
fn reordering() -> Made {
    let dims = [ROWS as u32, WIDTH as u32];
    let mut made = Made { storage: Storage::Region, ..Made::new() };
    let x = made.input(fp32(), &dims);
    let mut last = made.internal(qint8(SCALE, 0), &dims);
    made.node(node::unary(Kind::XNNConvert, x, last));
    for layer in 0..LAYERS {
        let mut weights = vec![0_u8; WIDTH * WIDTH];
        for to in 0..WIDTH {
            weights[to * WIDTH + from(layer, to)] = 64;
        }
        let one_64th = per_channel(Datatype::QCINT8, &[1.0 / 64.0; WIDTH], 0);
        let filter = made.constant_bytes(one_64th, &[WIDTH as u32; 2], &weights);
        let next = made.internal(qint8(SCALE, 0), &dims);
        made.node(node::fully_connected(last, filter, None, next));
        last = next;
    }
    let y = made.output(fp32(), &dims);
    made.node(node::unary(Kind::XNNConvert, last, y));
    made
}

unsafe extern "C" fn nothing(_: *mut c_void, _: *const c_char, _: *mut et_buffer_t) -> et_error_t {
    ET_ERROR_NOT_FOUND
}

/// Runs a payload with one input and one output of the same size, twice, with scratch memory shared as `sharing` says.
fn run(payload: &[u8], sharing: i32, input: &mut [f32]) -> Vec<f32> {
    let mut output = vec![0.0_f32; input.len()];
    let (mut sizes, mut strides, mut order) = ([ROWS as i32, WIDTH as i32], [WIDTH as i32, 1], [0, 1]);
    let mut tensors = [input.as_mut_ptr(), output.as_mut_ptr()].map(|data| et_tensor_t {
        data: data.cast(),
        sizes: sizes.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        dim_order: order.as_mut_ptr(),
        numel: (ROWS * WIDTH) as u64,
        capacity_bytes: (ROWS * WIDTH * 4) as u64,
        struct_size: size_of::<et_tensor_t>() as u16,
        rank: 2,
        dtype: ET_DTYPE_FLOAT32,
        dynamism: ET_DYNAMISM_BOUND,
        device_type: ET_DEVICE_CPU,
        device_index: 0,
        flags: 0,
        user_data: ptr::null_mut(),
    });
    let map = et_data_map_t {
        struct_size: size_of::<et_data_map_t>() as u32,
        reserved: 0,
        user_data: ptr::null_mut(),
        layout: None,
        data: Some(nothing),
        load_into: None,
        count: None,
        key: None,
        destroy: None,
    };
    let options = [
        et_backend_option_t::new("workspace_sharing_mode", ET_OPTION_INT, sharing, "").unwrap(),
        // So that each load packs.
        et_backend_option_t::new("weight_cache_enabled", ET_OPTION_BOOL, 0, "").unwrap(),
    ];
    let context = et_backend_init_context_t {
        struct_size: size_of::<et_backend_init_context_t>() as u32,
        reserved: 0,
        method_name: c"forward".as_ptr(),
        data_map: &map,
        method_allocator: ptr::null(),
        tracer: ptr::null(),
        options: options.as_ptr(),
        option_count: options.len(),
        internal: ptr::null_mut(),
    };
    let call = et_backend_execute_context_t {
        struct_size: size_of::<et_backend_execute_context_t>() as u32,
        reserved: 0,
        method_name: c"forward".as_ptr(),
        temp_allocator: ptr::null(),
        tracer: ptr::null(),
        internal: ptr::null_mut(),
    };
    let (data, size) = (payload.as_ptr().cast(), payload.len());
    let processed = et_buffer_t { data, size, free: None, context: ptr::null_mut() };
    let mut values: Vec<et_value_t> = tensors.iter_mut().map(|tensor| et_value_t::tensor(tensor)).collect();
    let pointers: Vec<*mut et_value_t> = values.iter_mut().map(ptr::from_mut).collect();
    let mut handle = ptr::null_mut();
    // SAFETY: the backend is registered; everything that is passed is valid during the calls, and the payload as long as
    // the handle.
    unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        let user = backend.user_data;
        assert_eq!(backend.init.unwrap()(user, &context, &processed, ptr::null(), 0, &mut handle), ET_OK);
        for _ in 0..2 {
            let code = backend.execute.unwrap()(user, &call, handle, pointers.as_ptr(), pointers.len());
            assert_eq!(code, ET_OK);
        }
        backend.destroy.unwrap()(user, handle);
    }
    output
}

#[test]
fn parts_do_what_the_whole_does() {
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let made = reordering();
    let graph = made.read().unwrap();
    let parts = |threads| {
        let plan = Plan::new(&graph, &Choice { mode: Mode::Auto }, threads);
        assert!(plan.segments.iter().all(|segment| segment.executor == Executor::Library));
        plan.segments.len()
    };
    assert_eq!((parts(1), parts(4)), (1, 4));

    let mut random = Random::new(3);
    let mut input: Vec<f32> = (0..ROWS * WIDTH).map(|_| (random.below(256) as f32 - 128.0) * SCALE).collect();
    let mut expected = input.clone();
    for layer in 0..LAYERS {
        let before = expected.clone();
        for (to, value) in expected.iter_mut().enumerate() {
            *value = before[to / WIDTH * WIDTH + from(layer, to % WIDTH)];
        }
    }
    let payload = made.bytes();
    for threads in [1, 2, 4] {
        // SAFETY: always callable.
        assert_eq!(unsafe { et_threadpool_set_thread_count(threads) }, ET_OK);
        for sharing in 0..3 {
            assert!(run(&payload, sharing, &mut input) == expected, "{threads} threads, sharing {sharing}");
        }
    }
}
