//! Damaged payloads that are read after all: they run, on memory of exactly the size that they ask for, or are refused.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::mutation::{Subject, count, every_field, mutate, subjects};
use common::random::Random;
use common::*;
use executorch_abi::backend::*;
use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_backend_xnnpack::graph::{Datatype, Graph, Role, ValueId};
use executorch_backend_xnnpack::shape;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// Graphs with more bytes in all values are left out: running them takes long.
const LARGEST: usize = 4 << 20;

unsafe extern "C" fn data(named: *mut c_void, key: *const c_char, out: *mut et_buffer_t) -> et_error_t {
    // SAFETY: the map is made below; keys are NUL-terminated, and there is a place for the buffer.
    let (named, key) = unsafe { (&*named.cast::<Named>(), CStr::from_ptr(key)) };
    let Some((owner, range)) = key.to_str().ok().and_then(|key| named.get(key)) else {
        return ET_ERROR_NOT_FOUND;
    };
    let bytes = &(**owner).as_ref()[range.offset as usize..][..range.size as usize];
    let (data, size) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: as above.
    unsafe { out.write(et_buffer_t { data, size, free: None, context: ptr::null_mut() }) };
    ET_OK
}

/// A tensor with memory of its own.
struct Tensor {
    raw: Box<et_tensor_t>,
    _data: Vec<u32>,
    _sizes: Box<[i32]>,
    _strides: Box<[i32]>,
    _order: Box<[u8]>,
}

fn tensor(graph: &Graph, id: ValueId, dims: &[usize], random: &mut Random) -> Option<Tensor> {
    let dtype = match graph.value(id).element.datatype() {
        Datatype::Float32 => ET_DTYPE_FLOAT32,
        Datatype::Float16 => ET_DTYPE_FLOAT16,
        Datatype::BFloat16 => ET_DTYPE_BFLOAT16,
        Datatype::Int32 | Datatype::QInt32 => ET_DTYPE_INT32,
        Datatype::QInt8 => ET_DTYPE_INT8,
        Datatype::QUInt8 => ET_DTYPE_UINT8,
        _ => return None,
    };
    let numel: usize = dims.iter().product();
    // SAFETY: always callable.
    let bytes = numel * unsafe { et_dtype_size(dtype) };
    let mut data: Vec<u32> = (0..bytes.div_ceil(4)).map(|_| random.next() as u32 & 0x3fff_3fff).collect();
    let mut sizes: Box<[i32]> = dims.iter().map(|&d| i32::try_from(d).ok()).collect::<Option<_>>()?;
    let mut strides = vec![0; dims.len()].into_boxed_slice();
    let mut order: Box<[u8]> = (0..dims.len() as u8).collect();
    // SAFETY: as many sizes and strides as are said.
    let code =
        unsafe { et_tensor_dense_strides(sizes.as_ptr(), ptr::null(), dims.len(), strides.as_mut_ptr()) };
    if code != ET_OK {
        return None;
    }
    let raw = Box::new(et_tensor_t {
        data: data.as_mut_ptr().cast(),
        sizes: sizes.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        dim_order: order.as_mut_ptr(),
        numel: numel as u64,
        capacity_bytes: bytes as u64,
        struct_size: size_of::<et_tensor_t>() as u16,
        rank: dims.len() as u8,
        dtype,
        dynamism: ET_DYNAMISM_BOUND,
        device_type: ET_DEVICE_CPU,
        device_index: 0,
        flags: 0,
        user_data: ptr::null_mut(),
    });
    Some(Tensor { raw, _data: data, _sizes: sizes, _strides: strides, _order: order })
}

/// Arguments of a call with these shapes of all values; none if they are too large.
fn arguments(graph: &Graph, dims: &[Vec<usize>], random: &mut Random) -> Option<Vec<Tensor>> {
    let sizes = graph.values.iter().zip(dims).map(|(v, d)| v.element.datatype().byte_size(d));
    if sizes.sum::<Option<usize>>().is_none_or(|sum| sum > LARGEST) {
        return None;
    }
    let mut all = Vec::new();
    for argument in 0..graph.arguments {
        let id =
            graph.inputs.iter().chain(&graph.outputs).find(
                |id| matches!(graph.value(**id).role, Role::Input(a) | Role::Output(a) if a == argument),
            );
        let id = *id?;
        all.push(tensor(graph, id, &dims[id.index()], random)?);
    }
    Some(all)
}

/// What the delegate does with a payload that is read: its codes for loading and for two calls.
fn run(payload: &[u8], named: &Named, executor: &str, random: &mut Random) -> Option<Vec<et_error_t>> {
    let graph = read(payload, named).ok()?;
    let declared: Vec<Vec<usize>> = graph.values.iter().map(|v| v.dims.to_vec()).collect();
    let first = arguments(&graph, &declared, random)?;
    let other: Vec<Vec<usize>> = graph
        .inputs
        .iter()
        .map(|id| {
            graph
                .value(*id)
                .dims
                .iter()
                .map(|&d| if random.below(3) == 0 { d.min(random.below(4)) } else { d })
                .collect()
        })
        .collect();
    let other: Vec<&[usize]> = other.iter().map(Vec::as_slice).collect();
    let second = shape::infer_all(&graph, &other).ok();
    let second = second
        .and_then(|dims| arguments(&graph, &dims.iter().map(|d| d.to_vec()).collect::<Vec<_>>(), random));
    let map = et_data_map_t {
        struct_size: size_of::<et_data_map_t>() as u32,
        reserved: 0,
        user_data: ptr::from_ref(named).cast_mut().cast(),
        layout: None,
        data: Some(data),
        load_into: None,
        count: None,
        key: None,
        destroy: None,
    };
    let option = et_backend_option_t::new("executor", ET_OPTION_STRING, 0, executor).unwrap();
    let context = et_backend_init_context_t {
        struct_size: size_of::<et_backend_init_context_t>() as u32,
        reserved: 0,
        method_name: c"forward".as_ptr(),
        data_map: &map,
        method_allocator: ptr::null(),
        tracer: ptr::null(),
        options: &option,
        option_count: 1,
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
    let processed = et_buffer_t {
        data: payload.as_ptr().cast(),
        size: payload.len(),
        free: None,
        context: ptr::null_mut(),
    };
    let mut handle = ptr::null_mut();
    // SAFETY: the backend is registered; everything that is passed is valid during the calls, and the payload and the
    // named data as long as the handle.
    unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        let user = backend.user_data;
        let mut codes = vec![backend.init.unwrap()(user, &context, &processed, ptr::null(), 0, &mut handle)];
        if codes[0] != ET_OK {
            return Some(codes);
        }
        for tensors in [Some(first), second].iter_mut().flatten() {
            let mut values: Vec<et_value_t> =
                tensors.iter_mut().map(|t| et_value_t::tensor(&mut *t.raw)).collect();
            let pointers: Vec<*mut et_value_t> = values.iter_mut().map(ptr::from_mut).collect();
            codes.push(backend.execute.unwrap()(user, &call, handle, pointers.as_ptr(), pointers.len()));
        }
        backend.destroy.unwrap()(user, handle);
        Some(codes)
    }
}

#[test]
fn mutants_run_or_are_refused() {
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    for Subject { name, payload, named } in subjects() {
        for executor in ["library", "own"] {
            let mut random = Random::new(1);
            // A call with other shapes may be refused: few sizes suit all windows.
            if let Some(codes) = run(&payload, &named, executor, &mut random) {
                let fine = [ET_OK, ET_ERROR_NOT_SUPPORTED];
                assert!(codes.iter().take(2).all(|code| fine.contains(code)), "{name}: {codes:?}");
            }
            if payload.len() < 4096 && executor == "library" {
                every_field(&payload, |mutant| drop(run(mutant, &named, executor, &mut random)));
            }
            for seed in 1..=count() / 4 {
                let mut mutant = payload.clone();
                mutate(&mut mutant, &mut Random::new(seed));
                run(&mutant, &named, executor, &mut random);
            }
        }
    }
}
