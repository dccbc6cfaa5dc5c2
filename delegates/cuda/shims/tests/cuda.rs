//! Tensors on a GPU that the CPU emulates (`kernels/tests/emulator`), each test in a process of its own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every call gives handles of this library and arrays of their rank"
)]

mod common;
#[path = "../../kernels/tests/emulator/mod.rs"]
mod emulator;

use common::*;
use executorch_abi::current_stream::*;
use executorch_abi::error::*;
use executorch_aoti_cuda_shims::symbols::{attributes::*, contents::*, create::*, guards::*, items::*};
use executorch_aoti_cuda_shims::symbols::{products::*, random::*, sort::*};
use executorch_cuda_driver::{Cuda, Device, FOLDERS};
use executorch_cuda_kernels::CODE;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Runs a test of this file again in a process with an emulated GPU; true if this is that process.
fn emulated(test: &str) -> bool {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    if std::env::var_os(FOLDERS).is_some() {
        return true;
    }
    let folder = FOLDER.get_or_init(|| {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/tests/emulator");
        emulator::build(&sources, Path::new(env!("CARGO_TARGET_TMPDIR")), "shims")
    });
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(FOLDERS, folder)
        .env(CODE, folder.join("kernels.bin"))
        .env("EMULATED_DEVICES", "2")
        .output()
        .unwrap();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// What the process holds of the GPU.
fn held(function: &[u8]) -> i64 {
    let file = Cuda::get().unwrap().runtime_file();
    let library = unsafe { libloading::Library::new(file) }.unwrap();
    let count = unsafe { library.get::<unsafe extern "C" fn() -> i64>(function) }.unwrap();
    unsafe { count() }
}

fn allocations() -> i64 {
    held(b"emulated_allocations")
}

fn current(device: i32) -> Option<*mut c_void> {
    let mut stream = std::ptr::dangling_mut();
    unsafe { et_current_stream_get(device, &raw mut stream) }.then_some(stream)
}

/// A copy on the device, and back.
fn to_device(host: &Handle) -> Handle {
    let sizes = host.numbers(aoti_torch_get_sizes);
    let device = empty(&sizes, None, host.code(aoti_torch_get_dtype), CUDA).unwrap();
    device.copy_from(host).unwrap();
    device
}

fn to_host(device: &Handle) -> Handle {
    let sizes = device.numbers(aoti_torch_get_sizes);
    let host = empty(&sizes, None, device.code(aoti_torch_get_dtype), CPU).unwrap();
    host.copy_from(device).unwrap();
    host
}

#[test]
fn copies_go_everywhere_and_nothing_leaks() {
    if !emulated("copies_go_everywhere_and_nothing_leaks") {
        return;
    }
    let layouts: [&[i64]; 4] = [&[12, 4, 1], &[1, 2, 6], &[30, 8, 2], &[4, 8, 1]];
    let mut numbers: Vec<f32> = (0..24).map(|number| number as f32).collect();
    let source = over(&mut numbers, &[2, 3, 4], layouts[0], F32, CPU);
    for from in layouts {
        for to in layouts {
            let first = empty(&[2, 3, 4], Some(from), F32, CUDA).unwrap();
            let second = empty(&[2, 3, 4], Some(to), F32, CUDA).unwrap();
            first.copy_from(&source).unwrap();
            second.copy_from(&first).unwrap();
            assert_eq!(to_host(&second).elements::<f32>(), source.elements::<f32>(), "{from:?} {to:?}");
            let copy = second.duplicate();
            assert_eq!(copy.numbers(aoti_torch_get_strides), to);
            assert_eq!(copy.code(aoti_torch_get_device_type), CUDA);
            assert_eq!(unsafe { aoti_torch_zero_(second.0) }, ET_OK);
            assert_eq!(to_host(&second).elements::<f32>(), [0.0; 24]);
            assert_eq!(to_host(&copy).elements::<f32>(), source.elements::<f32>());
        }
    }
    // A view with gaps leaves what lies between its elements.
    let base = to_device(&source);
    let view = base.view(&[6], &[4], 1).unwrap();
    view.copy_from(&to_device(&over(&mut [-1.0_f32; 6], &[6], &[1], F32, CPU))).unwrap();
    unsafe { aoti_torch_zero_(base.view(&[6], &[4], 2).unwrap().0) };
    let expected: Vec<f32> = (0..24)
        .map(|i| {
            if i % 4 == 1 {
                -1.0
            } else if i % 4 == 2 {
                0.0
            } else {
                i as f32
            }
        })
        .collect();
    assert_eq!(to_host(&base).elements::<f32>(), expected);
    drop(base);
    assert!(allocations() > 0, "a view keeps the memory");
    let mut flag = [1_u8];
    let flag = to_device(&over(&mut flag, &[], &[], 11, CPU));
    let mut value = false;
    assert_eq!(unsafe { aoti_torch_item_bool(flag.0, &raw mut value) }, ET_OK);
    assert!(value);
    drop((view, flag));
    assert_eq!(allocations(), 0);
}

#[test]
fn devices_and_memory_have_limits() {
    if !emulated("devices_and_memory_have_limits") {
        return;
    }
    let mut raw = null_mut();
    unsafe {
        assert_eq!(aoti_torch_cuda_caching_allocator_raw_alloc(100, &raw mut raw), ET_OK);
        assert_eq!(allocations(), 1);
        assert_eq!(aoti_torch_cuda_caching_allocator_raw_delete(raw), ET_OK);
        assert_eq!(aoti_torch_cuda_caching_allocator_raw_delete(null_mut()), ET_OK);
        let code = aoti_torch_cuda_caching_allocator_raw_alloc(1 << 40, &raw mut raw);
        assert_eq!((allocations(), code), (0, ET_ERROR_MEMORY_ALLOCATION_FAILED));
        let mut index = -1;
        assert_eq!(aoti_torch_get_current_device_index(&raw mut index), ET_OK);
        assert_eq!(index, 0);
    }
    let (code, text) = empty(&[1 << 34], None, F32, CUDA).err().unwrap();
    assert_eq!(code, ET_ERROR_MEMORY_ALLOCATION_FAILED);
    assert!(text.contains("out of memory") && text.contains("cuda:0"), "{text}");
    let on = |index: i32| {
        made(|out| unsafe {
            aoti_torch_empty_strided(1, [4].as_ptr(), std::ptr::null(), F32, CUDA, index, out)
        })
    };
    let [zero, one] = [0, 1].map(|index| on(index).unwrap());
    assert_eq!(one.code(aoti_torch_get_device_index), 1);
    let (code, text) = one.copy_from(&zero).unwrap_err();
    assert_eq!(code, ET_ERROR_NOT_SUPPORTED);
    assert!(text.contains("from cuda:0 to cuda:1"), "{text}");
    assert_eq!(on(2).err().unwrap().0, ET_ERROR_INTERNAL);
    let cuda = Cuda::get().unwrap();
    assert_eq!(Device::current(cuda).unwrap(), Device(0), "every call leaves the current device");
    Device(1).make_current(cuda).unwrap();
    assert_eq!(on(-1).unwrap().code(aoti_torch_get_device_index), 1);
    // Host memory that is said to be a device's is noticed by CUDA.
    let mut host = [1.0_f32; 4];
    let wrong = over(&mut host, &[4], &[1], F32, CUDA);
    assert_eq!(zero.copy_from(&wrong).unwrap_err().0, ET_ERROR_INTERNAL);
}

#[test]
fn guards_set_and_restore() {
    if !emulated("guards_set_and_restore") {
        return;
    }
    let cuda = Cuda::get().unwrap();
    let now = || Device::current(cuda).unwrap().0;
    let stream: *mut c_void = std::ptr::without_provenance_mut(16);
    unsafe {
        let (mut outer, mut inner, mut on) = (null_mut(), null_mut(), null_mut());
        assert_eq!(aoti_torch_create_cuda_guard(1, &raw mut outer), ET_OK);
        assert_eq!(now(), 1);
        assert_eq!(aoti_torch_create_cuda_guard(0, &raw mut inner), ET_OK);
        assert_eq!(aoti_torch_cuda_guard_set_index(inner, 1), ET_OK);
        assert_eq!(aoti_torch_cuda_guard_set_index(inner, 7), ET_ERROR_INTERNAL);
        assert_eq!(aoti_torch_create_cuda_stream_guard(stream, 0, &raw mut on), ET_OK);
        assert_eq!((now(), current(0), current(1), current(-1)), (0, Some(stream), None, Some(stream)));
        let mut default = null_mut();
        assert_eq!(aoti_torch_create_cuda_stream_guard(null_mut(), 0, &raw mut default), ET_OK);
        assert_eq!(current(0), Some(null_mut()), "the default stream may be chosen");
        assert_eq!(aoti_torch_delete_cuda_stream_guard(default), ET_OK);
        assert_eq!(current(0), Some(stream));
        assert_eq!(aoti_torch_delete_cuda_stream_guard(on), ET_OK);
        assert_eq!((now(), current(0)), (1, None));
        assert_eq!(aoti_torch_delete_cuda_guard(inner), ET_OK);
        assert_eq!(aoti_torch_delete_cuda_guard(outer), ET_OK);
        assert_eq!(now(), 0);
        let codes = [
            aoti_torch_create_cuda_guard(0, null_mut()),
            aoti_torch_delete_cuda_guard(null_mut()),
            aoti_torch_cuda_guard_set_index(null_mut(), 0),
            aoti_torch_create_cuda_stream_guard(stream, 0, null_mut()),
            aoti_torch_delete_cuda_stream_guard(null_mut()),
            aoti_torch_get_current_cuda_stream(0, null_mut()),
        ];
        assert_eq!(codes, [ET_ERROR_INVALID_ARGUMENT; 6]);
    }
}

#[test]
fn streams_are_made_once_for_a_thread_and_end_with_it() {
    if !emulated("streams_are_made_once_for_a_thread_and_end_with_it") {
        return;
    }
    let ask = || {
        let mut stream = null_mut();
        assert_eq!(unsafe { aoti_torch_get_current_cuda_stream(-1, &raw mut stream) }, ET_OK);
        stream.addr()
    };
    std::thread::spawn(move || {
        let made = ask();
        assert_ne!(made, 0);
        assert_eq!((ask(), current(0).map(|stream| stream.addr())), (made, Some(made)));
        unsafe { et_current_stream_clear(0) };
        assert_eq!(current(0), None);
        assert_eq!(ask(), made, "not another one");
        unsafe { et_current_stream_set(0, std::ptr::without_provenance_mut(32)) };
        assert_eq!(ask(), 32);
        assert_eq!(held(b"emulated_streams"), 1);
    })
    .join()
    .unwrap();
    assert_eq!(current(0), None, "another thread's");
    assert_eq!(held(b"emulated_streams"), 0);
}

fn bf16s(values: &[f32]) -> Vec<u16> {
    // Exact for these values.
    values.iter().map(|value| (value.to_bits() >> 16) as u16).collect()
}

#[test]
fn products_check_what_they_are_given() {
    if !emulated("products_check_what_they_are_given") {
        return;
    }
    let (bf16, i8s, i32s) = (15, 1, 3);
    // Powers of two, whose quantisation by the largest (127) is exact.
    let mut activations: Vec<f32> = vec![1.0; 64];
    activations[0] = 127.0;
    activations[32] = 127.0;
    let mut activations = bf16s(&activations);
    let mut weights: Vec<i8> = (0..128).map(|at| (at % 5) as i8 - 2).collect();
    let expected: Vec<f32> = (0..2)
        .map(|column| {
            let terms = (0..64)
                .map(|i| (f32::from(weights[64 * column + i]) - 1.0) * if i % 32 == 0 { 127.0 } else { 1.0 });
            terms.sum::<f32>() * 0.5
        })
        .collect();
    let x = to_device(&over(&mut activations, &[1, 64], &[64, 1], bf16, CPU));
    let q = to_device(&over(&mut weights, &[2, 64], &[64, 1], i8s, CPU));
    let scale = to_device(&over(&mut bf16s(&[0.5; 4]), &[2, 2], &[2, 1], bf16, CPU));
    let zero = to_device(&over(&mut [1_i8; 4], &[2, 2], &[2, 1], i8s, CPU));
    let product = |x: &Handle, q: &Handle, scale: &Handle, group: i64| {
        made(|out| unsafe { aoti_torch_cuda_int8_plain_mm(x.0, q.0, scale.0, zero.0, group, out) })
    };
    let out = product(&x, &q, &scale, 32).unwrap();
    assert_eq!(out.numbers(aoti_torch_get_sizes), [1, 2]);
    assert_eq!(to_host(&out).elements::<u16>(), bf16s(&expected));
    let refused = |result: Result<Handle, (u32, String)>, words: &str| {
        let (code, text) = result.err().unwrap();
        assert_eq!(code, ET_ERROR_INVALID_ARGUMENT, "{text}");
        assert!(text.contains(words), "{text}");
    };
    let host = to_host(&x);
    refused(product(&host, &q, &scale, 32), "`self` is on the CPU");
    refused(product(&x, &to_host(&q), &scale, 32), "`qdata` is on cpu, expected cuda:0");
    refused(product(&x, &zero, &scale, 32), "`qdata` is int8 of sizes [2, 2], expected int8 of [2, 64]");
    refused(product(&x, &q, &scale, 16), "`scale` is bfloat16 of sizes [2, 2], expected bfloat16 of [2, 4]");
    refused(product(&x, &q, &scale, 0), "`group_size` is 0");
    refused(product(&x, &q, &scale, 48), "a divisor of the depth 64");
    let turned = q.view(&[2, 64], &[1, 2], 0).unwrap();
    refused(product(&x, &turned, &scale, 32), "expected a contiguous tensor");
    refused(product(&q.view(&[128], &[1], 0).unwrap(), &q, &scale, 32), "expected two dimensions");
    let four = made(|out| unsafe {
        aoti_torch_cuda_int4_plain_mm(x.0, q.0, scale.0, scale.0, zero.0, scale.0, 32, out)
    });
    refused(four, "`qdata` is int8 of sizes [2, 64], expected uint8 of [2, 32]");
    let none =
        made(|out| unsafe { aoti_torch_cuda_int6_plain_mm(x.0, q.0, null_mut(), scale.0, scale.0, 32, out) });
    refused(none, "expected uint8");

    // One tile of ones: (nibble 9 - 8) * 2 + 1 = 3.
    let mut packed = vec![0x9999_9999_u32; 64];
    let mat2 = to_device(&over(&mut packed, &[1, 2, 32, 1], &[64, 32, 1, 1], i32s, CPU));
    let mut pairs = bf16s(&[2.0, 1.0].repeat(16));
    let pairs = to_device(&over(&mut pairs, &[2, 8, 2], &[16, 2, 1], bf16, CPU));
    let tiles = |mat2: &Handle, group: i64| {
        made(|out| unsafe { aoti_torch_cuda__weight_int4pack_mm(x.0, mat2.0, group, pairs.0, out) })
    };
    let out = tiles(&mat2, 32).unwrap();
    assert_eq!(out.numbers(aoti_torch_get_sizes), [1, 8]);
    assert_eq!(to_host(&out).elements::<u16>(), bf16s(&[3.0 * (2.0 * 127.0 + 62.0); 8]));
    refused(tiles(&q, 32), "expected [n / 8, k / (16 inner), 32, inner / 2]");
    refused(
        tiles(&mat2.view(&[1, 1, 32, 1], &[32, 32, 1, 1], 0).unwrap(), 32),
        "no weights for a depth of 64",
    );
    refused(tiles(&mat2, 64), "`qScaleAndZeros`");
    refused(tiles(&mat2, 0), "`qGroupSize` is 0");
}

#[test]
fn sorts_and_random_numbers() {
    if !emulated("sorts_and_random_numbers") {
        return;
    }
    let mut numbers = [3.0_f32, 1.0, 2.0, 1.0, 3.0, 0.0];
    let device = to_device(&over(&mut numbers, &[2, 3], &[3, 1], F32, CPU));
    let sorted = |handle: &Handle, dim: i64| {
        let (mut values, mut indices) = (null_mut(), null_mut());
        match unsafe {
            aoti_torch_cuda_sort_stable(handle.0, null_mut(), dim, 1, &raw mut values, &raw mut indices)
        } {
            0 => Ok((Handle(values), Handle(indices))),
            code => {
                assert!(values.is_null() && indices.is_null());
                Err(code)
            }
        }
    };
    let (values, indices) = sorted(&device, -2).unwrap();
    assert_eq!(to_host(&values).elements::<f32>(), [3.0, 3.0, 2.0, 1.0, 1.0, 0.0]);
    assert_eq!(to_host(&indices).elements::<i64>(), [0, 1, 0, 1, 0, 1]);
    assert_eq!(sorted(&device, 2).err(), Some(ET_ERROR_INVALID_ARGUMENT));
    assert_eq!(sorted(&device.view(&[3, 2], &[1, 3], 0).unwrap(), 0).err(), Some(ET_ERROR_NOT_SUPPORTED));
    assert_eq!(sorted(&to_host(&device), 0).err(), Some(ET_ERROR_INVALID_ARGUMENT));
    assert_eq!(sorted(&empty(&[2], None, 11, CUDA).unwrap(), 0).err(), Some(ET_ERROR_INVALID_ARGUMENT));

    let rand = |mut dtype: i32, mut layout: i32| {
        let (sizes, null) = ([3_i64, 4], null_mut());
        made(|out| unsafe {
            aoti_torch_cuda_rand(sizes.as_ptr(), 2, &raw mut dtype, &raw mut layout, null, 0, null, out)
        })
    };
    let drawn = rand(F32, 0).unwrap();
    assert!(to_host(&drawn).elements::<f32>().iter().all(|value| (0.0..1.0).contains(value)));
    assert_eq!(rand(15, 0).unwrap().numbers(aoti_torch_get_sizes), [3, 4]);
    assert_eq!(rand(5, 0).err().unwrap().0, ET_ERROR_NOT_SUPPORTED);
    assert_eq!(rand(F32, 1).err().unwrap().0, ET_ERROR_NOT_SUPPORTED);
    let plain = made(|out| unsafe {
        let null = null_mut();
        aoti_torch_cuda_rand(std::ptr::null(), 0, null, null, null, -1, null, out)
    });
    assert_eq!(plain.unwrap().code(aoti_torch_get_dtype), F32);

    let out = empty(&[100], None, 4, CUDA).unwrap();
    let draw = |out: &Handle, low: i64, high: i64, count: i64| unsafe {
        aoti_torch_cuda_randint_low_out(out.0, low, high, [count].as_ptr(), 1)
    };
    assert_eq!(draw(&out, 5, 8, 100), ET_OK);
    assert!(to_host(&out).elements::<i64>().iter().all(|value| (5..8).contains(value)));
    assert_eq!(draw(&out, 8, 8, 100), ET_ERROR_INVALID_ARGUMENT);
    assert_eq!(draw(&out, 5, 8, 99), ET_ERROR_INVALID_ARGUMENT);
    assert_eq!(draw(&drawn, 5, 8, 12), ET_ERROR_INVALID_ARGUMENT);
}

/// On a machine without a GPU, and without an emulated one.
#[test]
fn without_cuda_the_reason_is_told() {
    if Cuda::get().is_ok() {
        return;
    }
    let (code, text) = empty(&[1], None, F32, CUDA).err().unwrap();
    assert_eq!(code, ET_ERROR_NOT_FOUND);
    assert!(text.contains("driver") || text.contains("runtime library"), "{text}");
    assert_eq!(unsafe { aoti_torch_create_cuda_guard(0, &mut null_mut()) }, ET_ERROR_NOT_FOUND);
    unsafe { et_current_stream_set(-1, null_mut()) };
}
