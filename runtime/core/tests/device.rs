//! Programs with memory on a device, through the C ABI: those that upstream's exporter wrote, and those that it would not.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::fake::*;
use common::made::{Data, Instruction, Made, Value};
use common::random::Random;
use common::*;
use executorch_abi::device::*;
use executorch_abi::error::*;
use executorch_abi::memory::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Error, Result, TensorRef};
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr;

const A: [f32; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
const B: [f32; 8] = [0.5, -1.0, 2.25, 0.0, 8.0, -3.5, 1.0, 4.0];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checks/conformance/devices")
}

fn program(name: &str) -> Program {
    load_file(&folder().join(name).with_extension("pte")).unwrap()
}

fn load(name: &str) -> Result<Method> {
    register_kernels();
    load_method(&program(name), c"forward")
}

fn output(method: &Method) -> &et_tensor_t {
    // SAFETY: a live method, whose output is a tensor.
    unsafe { &*(*et_method_output(method.0, 0)).payload.as_tensor }
}

/// Sets two inputs on the host and runs.
fn run(method: &Method, a: &[f32], b: &[f32]) -> Result<Vec<f32>> {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    let rows = (a.len() / 4) as i32;
    Matrix::host(rows, &mut a).set(method, 0)?;
    Matrix::host(rows, &mut b).set(method, 1)?;
    execute(method)?;
    // SAFETY: the output is one of the method's, which is not run meanwhile.
    Ok(unsafe { TensorRef::new(output(method)) }.data::<f32>()?.to_vec())
}

/// `(a * b + b) * a`
fn between(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| (a * b + b) * a).collect()
}

fn sums() -> Vec<f32> {
    A.iter().zip(&B).map(|(a, b)| a + b).collect()
}

fn refused<T>(result: Result<T>, code: et_error_t, parts: &[&str]) {
    let error = result.err().unwrap();
    assert_eq!(error.code, code, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "{part:?} is not in {error}");
    }
}

#[test]
fn exported_programs_with_copies() {
    let device = Fake::take();
    for (name, buffers) in [("device_copies", 1), ("device_given", 1), ("device_two", 2), ("device_chain", 1)]
    {
        let start = device.counts();
        let method = load(name).unwrap();
        let expected = match name {
            "device_two" | "device_chain" => A.iter().zip(&B).map(|(a, b)| (a + b) + b).collect(),
            _ => between(&A, &B),
        };
        assert_eq!(device.counts().alive, buffers, "{name}");
        for _ in 0..3 {
            assert_eq!(run(&method, &A, &B).unwrap(), expected, "{name}");
        }
        let counts = device.counts();
        // Nothing is allocated by a run.
        assert_eq!(counts.allocations - start.allocations, buffers, "{name}");
        let (to_device, to_host) = (counts.to_device - start.to_device, counts.to_host - start.to_host);
        let expected = match name {
            "device_two" => (4, 2),
            "device_chain" => (3, 1),
            _ => (2, 1),
        };
        assert_eq!((to_device / 3, to_host / 3), expected, "{name}");
        drop(method);
        assert_eq!(device.counts().alive, 0, "{name}");
    }
}

#[test]
fn dynamic_shapes() {
    let _device = Fake::take();
    let method = load("device_dynamic").unwrap();
    for rows in [8_usize, 3, 1, 5] {
        let a: Vec<f32> = (0..rows * 4).map(|i| i as f32).collect();
        let b: Vec<f32> = a.iter().map(|a| 1.5 - a).collect();
        assert_eq!(run(&method, &a, &b).unwrap(), between(&a, &b));
    }
}

#[test]
fn labels_do_not_move_memory() {
    let device = Fake::take();
    let start = device.counts().allocations;
    let method = load("device_labels").unwrap();
    assert_eq!(run(&method, &A, &B).unwrap(), between(&A, &B));
    assert_eq!(device.counts().allocations, start);
}

#[test]
fn inputs_and_outputs_of_the_caller_on_a_device() {
    let device = Fake::take();
    let (a, b, out) = (Memory::of(&A, 0), Memory::of(&B, 0), Memory::new(32, 0).unwrap());
    let start = device.counts();
    let method = load("device_resident").unwrap();
    let give = |memory: &Memory| {
        // SAFETY: a live method, and memory that outlives its runs.
        Error::check(unsafe { et_method_set_output_data(method.0, 0, memory.data, memory.size) }).unwrap();
    };
    give(&out);
    for labelled in [true, false] {
        for (index, memory) in [&a, &b].into_iter().enumerate() {
            // A tensor whose maker left the device out is taken to lie where the program wants it.
            let label = if labelled { (ET_DEVICE_CUDA, 0) } else { (ET_DEVICE_CPU, 0) };
            Matrix::new(2, memory.data, label).set(&method, index).unwrap();
        }
        execute(&method).unwrap();
        let tensor = output(&method);
        assert_eq!((tensor.data, tensor.device_type, tensor.device_index), (out.data, ET_DEVICE_CUDA, 0));
        assert_eq!(device.counts().to_host - start.to_host, i64::from(!labelled));
        assert_eq!(numbers(out.data, 8, 0).unwrap(), sums());
    }
    let other = Memory::new(32, 0).unwrap();
    give(&other);
    execute(&method).unwrap();
    assert_eq!(numbers(other.data, 8, 0).unwrap(), sums());
    assert_eq!(device.counts().to_device, start.to_device);

    // Memory of the host, where that of the device is needed: the delegate says so, and later calls work.
    let mut host = A;
    Matrix::host(2, &mut host).set(&method, 0).unwrap();
    refused(execute(&method), ET_ERROR_INVALID_ARGUMENT, &["DeviceDemoBackend", "argument 0", "cuda:0"]);
    // Memory of another device.
    let away = Memory::of(&A, 1);
    Matrix::device(2, &away).set(&method, 0).unwrap();
    refused(execute(&method), ET_ERROR_INVALID_ARGUMENT, &["tensors of one device", "on cuda:1"]);
    Matrix::device(2, &a).set(&method, 0).unwrap();
    execute(&method).unwrap();
}

#[test]
fn outputs_of_the_caller_on_a_device() {
    let device = Fake::take();
    let method = load("device_outputs").unwrap();
    let out = Memory::new(32, 0).unwrap();
    // SAFETY: a live method, and memory that outlives its runs.
    let set = |size| Error::check(unsafe { et_method_set_output_data(method.0, 0, out.data, size) });
    refused(set(31), ET_ERROR_INVALID_ARGUMENT, &["output 0", "32 bytes"]);
    set(32).unwrap();
    // The host cannot read the output.
    refused(run(&method, &A, &B), ET_ERROR_NOT_SUPPORTED, &["device"]);
    assert_eq!(numbers(out.data, 8, 0).unwrap(), sums());
    assert_eq!(device.counts().alive, 2);
}

#[test]
fn planned_inputs_and_outputs_on_a_device() {
    let _device = Fake::take();
    let method = load("device_planned").unwrap();
    let advice = ["input 0", "cuda:0", "MemoryPlanningPass(alloc_graph_input=False)"];
    refused(run(&method, &A, &B), ET_ERROR_NOT_SUPPORTED, &advice);
    let a = Memory::of(&A, 0);
    refused(Matrix::device(2, &a).set(&method, 0), ET_ERROR_NOT_SUPPORTED, &advice);

    let method = load("device_planned_outputs").unwrap();
    refused(run(&method, &A, &B), ET_ERROR_NOT_SUPPORTED, &["device"]);
    let tensor = output(&method);
    assert_eq!((tensor.device_type, tensor.device_index), (ET_DEVICE_CUDA, 0));
    assert_eq!(numbers(tensor.data, 8, 0).unwrap(), sums());
    // SAFETY: a live method.
    let code = unsafe { et_method_set_output_data(method.0, 0, a.data, 32) };
    refused(Error::check(code), ET_ERROR_INVALID_STATE, &["output 0", "alloc_graph_output=False"]);
}

#[test]
fn device_tensors_where_the_host_is_wanted() {
    let _device = Fake::take();
    let (a, mut b) = (Memory::of(&A, 0), B);
    // The input is copied to planned memory of the host.
    let method = load("device_copies").unwrap();
    let advice = ["input 0", "cuda:0", "skip_h2d_for_method_inputs=True", "alloc_graph_input=False"];
    refused(Matrix::device(2, &a).set(&method, 0), ET_ERROR_NOT_SUPPORTED, &advice);
    assert_eq!(run(&method, &A, &B).unwrap(), between(&A, &B));

    // The input is used where it lies: by a kernel.
    let method = load("device_given").unwrap();
    Matrix::device(2, &a).set(&method, 0).unwrap();
    Matrix::host(2, &mut b).set(&method, 1).unwrap();
    let told = ["aten::mul.out", "argument 0", "float32[2, 4] on cuda:0", "kernels run on the CPU"];
    refused(execute(&method), ET_ERROR_NOT_SUPPORTED, &told);
    // By a copy from the host.
    let b = Memory::of(&B, 0);
    let mut host = A;
    Matrix::host(2, &mut host).set(&method, 0).unwrap();
    Matrix::device(2, &b).set(&method, 1).unwrap();
    refused(execute(&method), ET_ERROR_NOT_SUPPORTED, &["aten::mul.out", "argument 1"]);
    assert_eq!(run(&method, &A, &B).unwrap(), between(&A, &B));

    // The exporter forgot a copy.
    let method = load("device_uncopied").unwrap();
    refused(run(&method, &A, &B), ET_ERROR_NOT_SUPPORTED, &["aten::mul.out", "argument 0", "cuda:0"]);
}

fn arenas(memory: &[et_arena_t]) -> et_memory_manager_t {
    et_memory_manager_t {
        struct_size: size_of::<et_memory_manager_t>() as u32,
        reserved: 0,
        method_allocator: ptr::null(),
        temp_allocator: ptr::null(),
        planned: memory.as_ptr(),
        planned_count: memory.len(),
    }
}

#[test]
fn buffers_of_the_caller() {
    register_kernels();
    let device = Fake::take();
    let mut host = vec![0_u128; 8];
    let there = Memory::new(96, 0).unwrap();
    let arena = |data: *mut c_void, size, device_type, device_index| et_arena_t {
        data,
        size,
        device_type,
        device_index,
        reserved: [0; 6],
    };
    let first = arena(host.as_mut_ptr().cast(), 128, ET_DEVICE_CPU, 0);
    let program = program("device_copies");
    let load = |second: et_arena_t| {
        let buffers = [first, second];
        let memory = arenas(&buffers);
        load_method_with(&program, c"forward", &et_method_options_t { memory: &memory, ..no_options() })
    };
    let start = device.counts().allocations;
    let method = load(arena(there.data, there.size, ET_DEVICE_CUDA, 0)).unwrap();
    assert_eq!(run(&method, &A, &B).unwrap(), between(&A, &B));
    assert_eq!(device.counts().allocations, start);
    drop(method);
    assert_eq!(device.counts().alive, 1, "the caller's memory was freed");
    let bad = ET_ERROR_INVALID_ARGUMENT;
    let mut copy = host.clone();
    let data = copy.as_mut_ptr().cast();
    refused(load(arena(data, 128, ET_DEVICE_CPU, 0)), bad, &["planned buffer 1", "on the host", "cuda:0"]);
    refused(load(arena(there.data, 96, ET_DEVICE_CUDA, 1)), bad, &["planned buffer 1", "cuda:1", "cuda:0"]);
    refused(load(arena(there.data, 96, 7, 0)), bad, &["planned buffer 1", "type 7"]);
    refused(
        load(arena(ptr::null_mut(), 96, ET_DEVICE_CUDA, 0)),
        bad,
        &["planned buffer 1", "multiple of 16"],
    );
    let small = load(arena(there.data, 95, ET_DEVICE_CUDA, 0));
    refused(small, ET_ERROR_MEMORY_ALLOCATION_FAILED, &["planned buffer 1", "95 bytes"]);
}

#[test]
fn failures_leave_nothing() {
    let device = Fake::take();
    for skipped in 0..2 {
        device.fail_allocation(skipped);
        let code = ET_ERROR_MEMORY_ALLOCATION_FAILED;
        let place = format!("planned buffer {} (96 bytes on cuda:{skipped})", skipped + 1);
        refused(load("device_two"), code, &[&place, "the device is out of memory"]);
        assert_eq!(device.counts().alive, 0);
    }
    let method = load("device_two").unwrap();
    for skipped in 0..6 {
        device.fail_copy(skipped);
        let operator = if matches!(skipped, 0 | 1 | 3 | 4) { "_h2d_copy" } else { "_d2h_copy" };
        refused(run(&method, &A, &B), ET_ERROR_INTERNAL, &[operator, "the copy failed"]);
    }
    let expected: Vec<f32> = A.iter().zip(&B).map(|(a, b)| (a + b) + b).collect();
    assert_eq!(run(&method, &A, &B).unwrap(), expected);
}

#[test]
fn metadata_tells_devices() {
    let program = program("device_two");
    // SAFETY: a live program, whose method has these buffers and outputs.
    unsafe {
        let meta = et_program_method_at(program.0, 0);
        let found: Vec<_> = (0..et_method_meta_buffer_count(meta))
            .map(|i| {
                let mut info =
                    et_buffer_info_t { size: 0, device_type: 9, device_index: 9, reserved: [0; 6] };
                Error::check(et_method_meta_buffer(meta, i, &mut info)).unwrap();
                (info.size, info.device_type, info.device_index)
            })
            .collect();
        assert_eq!(found, [(64, 0, 0), (96, 1, 0), (96, 1, 1)]);
        let mut info = std::mem::zeroed::<et_tensor_info_t>();
        Error::check(et_method_meta_input_tensor(meta, 0, &mut info)).unwrap();
        assert_eq!((info.device_type, info.device_index), (0, 0));
        // The results of the second part.
        let on_second = (0..et_method_meta_value_count(meta)).filter(|&i| {
            et_method_meta_value_tensor(meta, i, &mut info) == ET_OK
                && (info.device_type, info.device_index) == (1, 1)
        });
        assert_eq!(on_second.count(), 3);
    }
}

/// A program whose one tensor, an output, lies in the one planned buffer.
fn planned(devices: Vec<(i32, i8, i8)>, tensor: Value) -> Made {
    Made { values: vec![tensor], outputs: vec![0], planned: 32, devices, ..Made::default() }
}

#[test]
fn hostile_devices_are_refused() {
    let device = Fake::take();
    let start = device.counts().allocations;
    let plain = || Value::Tensor(vec![2, 4], Data::Planned(0));
    let loads = |made: &Made| load_bytes(&Aligned::new(&made.bytes())).map(drop);
    for entry in [0, 2, -1, i32::MAX, i32::MIN] {
        refused(loads(&planned(vec![(entry, 1, 0)], plain())), ET_ERROR_INVALID_PROGRAM, &["planned buffer"]);
    }
    for kind in [2, -1, i8::MIN, i8::MAX] {
        let told = ["is no type of device"];
        refused(loads(&planned(vec![(1, kind, 0)], plain())), ET_ERROR_INVALID_PROGRAM, &told);
        let labelled = Value::On(vec![2, 4], Data::Planned(0), (kind, 0));
        refused(loads(&planned(vec![], labelled)), ET_ERROR_INVALID_PROGRAM, &told);
    }
    for index in [-1, i8::MIN] {
        let told = ["is no number of a CUDA device"];
        refused(loads(&planned(vec![(1, 1, index)], plain())), ET_ERROR_INVALID_PROGRAM, &told);
        let labelled = Value::On(vec![2, 4], Data::Planned(0), (1, index));
        refused(loads(&planned(vec![], labelled)), ET_ERROR_INVALID_PROGRAM, &told);
    }
    let twice = planned(vec![(1, 1, 0), (1, 1, 0)], plain());
    refused(loads(&twice), ET_ERROR_INVALID_PROGRAM, &["planned buffer 0", "twice"]);
    assert_eq!(device.counts().allocations, start);

    // A device that this machine does not have, and more memory than it has.
    let bytes = Aligned::new(&planned(vec![(1, 1, 100)], plain()).bytes());
    let program = load_bytes(&bytes).unwrap();
    let told = ["planned buffer 0 (32 bytes on cuda:100)", "the devices 0 and 1 only"];
    refused(load_method(&program, c"forward"), ET_ERROR_INVALID_ARGUMENT, &told);
    let bytes = Aligned::new(&Made { planned: i64::MAX, ..planned(vec![(1, 1, 0)], plain()) }.bytes());
    let program = load_bytes(&bytes).unwrap();
    refused(load_method(&program, c"forward"), ET_ERROR_MEMORY_ALLOCATION_FAILED, &["out of memory"]);
    // The host is one, whatever number it is given.
    let bytes = Aligned::new(&planned(vec![(1, 0, 5)], plain()).bytes());
    let program = load_bytes(&bytes).unwrap();
    load_method(&program, c"forward").unwrap();
}

#[test]
fn memory_tells_where_a_tensor_lies() {
    register_kernels();
    let device = Fake::take();
    // A kernel's result is labelled for the host, but planned on a device; and the other way.
    let add = |label, devices| Made {
        values: vec![
            Value::Tensor(vec![4], Data::Constant(1)),
            Value::On(vec![4], Data::Planned(0), label),
            Value::Int(1),
        ],
        outputs: vec![1],
        instructions: vec![Instruction::Kernel(0, vec![0, 0, 2, 1, 1])],
        operators: vec![("aten::add", "out")],
        constants: vec![vec![1.0, 2.0, 3.0, 4.0]],
        planned: 16,
        devices,
        ..Made::default()
    };
    let bytes = Aligned::new(&add((0, 0), vec![(1, 1, 0)]).bytes());
    let program = load_bytes(&bytes).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    refused(execute(&method), ET_ERROR_NOT_SUPPORTED, &["aten::add.out", "argument 3", "cuda:0"]);
    drop(method);
    let bytes = Aligned::new(&add((1, 0), vec![]).bytes());
    let program = load_bytes(&bytes).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    execute(&method).unwrap();
    // SAFETY: the output is one of the method's.
    assert_eq!(unsafe { TensorRef::new(output(&method)) }.data::<f32>().unwrap(), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(device.counts().alive, 0);
}

#[test]
fn copies_check_where_their_tensors_lie() {
    let _device = Fake::take();
    let copy = |name: &'static str, from: Value, to: Value| Made {
        values: vec![from, to],
        outputs: vec![1],
        instructions: vec![Instruction::Kernel(0, vec![0, 1, 1])],
        operators: vec![(name, "out")],
        constants: vec![vec![1.0, 2.0, 3.0, 4.0]],
        planned: 48,
        devices: vec![(1, 1, 0)],
        ..Made::default()
    };
    let run = |made: Made| {
        let bytes = Aligned::new(&made.bytes());
        let program = load_bytes(&bytes)?;
        let method = load_method(&program, c"forward")?;
        execute(&method)?;
        let tensor = output(&method);
        numbers(tensor.data, tensor.numel as usize, 0)
    };
    let host = || Value::Tensor(vec![4], Data::Constant(1));
    let there = |offset| Value::Tensor(vec![4], Data::Planned(offset));
    let (h2d, d2h) = ("et_copy::_h2d_copy", "et_copy::_d2h_copy");
    assert_eq!(run(copy(h2d, host(), there(0))).unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let bad = ET_ERROR_INVALID_ARGUMENT;
    refused(
        run(copy(h2d, there(0), there(16))),
        bad,
        &[h2d, "`self` on the host", "skip_h2d_for_method_inputs"],
    );
    refused(run(copy(h2d, host(), host())), bad, &[h2d, "`out` on a device"]);
    refused(run(copy(d2h, host(), there(0))), bad, &[d2h, "`self` on a device"]);
    refused(run(copy(d2h, there(0), there(16))), bad, &[d2h, "`out` on the host", "cuda:0"]);
    // Nobody gave memory for the result.
    let unbound = Value::On(vec![4], Data::Unbound, (1, 0));
    refused(run(copy(h2d, host(), unbound)), ET_ERROR_INVALID_STATE, &["no memory"]);
    // The result is static, and of another size.
    let larger = Value::Tensor(vec![3], Data::Planned(0));
    refused(run(copy(h2d, host(), larger)), bad, &[h2d]);
}

#[test]
fn state_on_a_device() {
    let device = Fake::take();
    let made = |tensor: Value| Made {
        constants: vec![vec![1.5, -2.0, 3.0, 4.0]],
        ..planned(vec![(1, 1, 1)], tensor)
    };
    let bytes = Aligned::new(&made(Value::Tensor(vec![4], Data::Initial(1))).bytes());
    let program = load_bytes(&bytes).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    assert_eq!(numbers(output(&method).data, 4, 1).unwrap(), [1.5, -2.0, 3.0, 4.0]);
    drop(method);
    device.fail_copy(0);
    refused(load_method(&program, c"forward"), ET_ERROR_INTERNAL, &["value 0", "the copy failed"]);
    assert_eq!(device.counts().alive, 0);
}

#[test]
fn methods_have_memory_of_their_own() {
    register_kernels();
    let device = Fake::take();
    let program = program("device_methods");
    let method = |name| load_method(&program, name).unwrap();
    let (forward, again, host) = (method(c"forward"), method(c"again"), method(c"host"));
    assert_eq!(device.counts().alive, 2);
    for method in [&forward, &host, &again, &forward] {
        assert_eq!(run(method, &A, &B).unwrap(), between(&A, &B));
    }
}

#[test]
fn the_registry_keeps_one_allocator() {
    let _device = Fake::take();
    let given: *const et_device_allocator_t = allocator();
    let registration = registration();
    // SAFETY: a whole registration and a table that lives as long as the process, here and below.
    assert_eq!(unsafe { et_register_device_allocator(&registration, given) }, ET_OK);
    let refuse = |table: et_device_allocator_t, part: &str| {
        let table = Box::leak(Box::new(table));
        // SAFETY: as above.
        let code = unsafe { et_register_device_allocator(&registration, table) };
        refused(Error::check(code), code, &[part]);
    };
    refuse(*allocator(), "registered already");
    refuse(et_device_allocator_t { struct_size: 16, ..*allocator() }, "struct_size is 16");
    refuse(et_device_allocator_t { copy_to_host: None, device_type: 9, ..*allocator() }, "copy function");
    refuse(et_device_allocator_t { device_type: ET_DEVICE_CPU, ..*allocator() }, "for the host");
    // SAFETY: null is refused.
    let code = unsafe { et_register_device_allocator(&registration, ptr::null()) };
    refused(Error::check(code), ET_ERROR_INVALID_ARGUMENT, &["without a table"]);
    // SAFETY: always callable.
    assert!(unsafe { et_device_allocator_find(9) }.is_null());
}

#[test]
fn copies_between_any_two_devices() {
    let device = Fake::take();
    let copy = |to: (*mut c_void, u8, i8), from: (*const c_void, u8, i8), size| {
        // SAFETY: the places hold as many bytes, or the allocator refuses them.
        Error::check(unsafe { et_device_copy(to.0, to.1, to.2, from.0, from.1, from.2, size) })
    };
    let (first, same, other) = (Memory::of(&A, 0), Memory::new(32, 0).unwrap(), Memory::new(32, 1).unwrap());
    let start = device.counts();
    let cuda = |memory: &Memory| (memory.data, ET_DEVICE_CUDA, memory.index);
    let source = |memory: &Memory| (memory.data.cast_const(), ET_DEVICE_CUDA, memory.index);
    copy(cuda(&same), source(&first), 32).unwrap();
    assert_eq!(
        (device.counts().on_device - start.on_device, device.counts().to_host - start.to_host),
        (1, 0)
    );
    copy(cuda(&other), source(&same), 32).unwrap();
    assert_eq!(device.counts().to_host - start.to_host, 1);
    let (mut back, mut again) = ([0_f32; 8], [0_f32; 8]);
    copy((back.as_mut_ptr().cast(), ET_DEVICE_CPU, 0), source(&other), 32).unwrap();
    copy((again.as_mut_ptr().cast(), ET_DEVICE_CPU, 0), (back.as_ptr().cast(), ET_DEVICE_CPU, 0), 32)
        .unwrap();
    assert_eq!(again, A);
    copy((ptr::null_mut(), ET_DEVICE_CPU, 0), (ptr::null(), ET_DEVICE_CUDA, 0), 0).unwrap();
    let null = copy((ptr::null_mut(), ET_DEVICE_CPU, 0), source(&first), 4);
    refused(null, ET_ERROR_INVALID_ARGUMENT, &["no memory"]);
    refused(copy(cuda(&other), (first.data, 5, 0), 4), ET_ERROR_NOT_FOUND, &["device_type=5"]);

    let allocate = |kind, index, size, alignment| {
        let mut data = ptr::null_mut();
        // SAFETY: a place for the address.
        Error::check(unsafe { et_device_allocate(kind, index, size, alignment, &mut data) }).map(|()| data)
    };
    for (kind, index) in [(ET_DEVICE_CPU, 0), (ET_DEVICE_CUDA, 1)] {
        let data = allocate(kind, index, 100, 256).unwrap();
        assert!(!data.is_null() && data.addr().is_multiple_of(256));
        // SAFETY: allocated above, and freed once; null is ignored.
        unsafe {
            et_device_free(kind, index, data);
            et_device_free(kind, index, ptr::null_mut());
        }
        assert!(allocate(kind, index, 0, 8).unwrap().is_null());
        refused(allocate(kind, index, 8, 3), ET_ERROR_INVALID_ARGUMENT, &["aligned to 3"]);
        refused(allocate(kind, index, usize::MAX, 8), ET_ERROR_INVALID_ARGUMENT, &["no such layout"]);
    }
    // SAFETY: always callable, here and below.
    assert_eq!(unsafe { et_device_synchronize(ET_DEVICE_CUDA, 1) }, ET_OK);
    assert_eq!(device.counts().synchronized - start.synchronized, 1);
    // SAFETY: as above.
    assert_eq!(unsafe { et_device_synchronize(ET_DEVICE_CPU, 0) }, ET_OK);
    // SAFETY: as above.
    assert_eq!(unsafe { et_device_synchronize(ET_DEVICE_CUDA, 5) }, ET_ERROR_INVALID_ARGUMENT);
}

/// Gives every input its own description back, with memory of the host, and runs.
fn run_anyhow(method: &Method) {
    let mut kept = Vec::new();
    // SAFETY: a live method, whose inputs are valid; the data outlives the run.
    unsafe {
        for i in 0..et_method_input_count(method.0) {
            let value = *et_method_input(method.0, i);
            if value.tag == ET_TAG_TENSOR {
                let mut given = ptr::from_ref(&*value.payload.as_tensor).read();
                let mut data = vec![0_u64; (given.numel as usize).min(1 << 16) + 1];
                given.data = data.as_mut_ptr().cast();
                kept.push(data);
                if given.numel <= 1 << 16 {
                    et_method_set_input(method.0, i, &et_value_t::tensor(&mut given));
                }
            }
        }
    }
    let _result_or_error = execute(method);
}

#[test]
fn damaged_programs_keep_off_a_device_s_memory() {
    register_kernels();
    let device = Fake::take();
    let mut loaded = 0;
    for name in ["copies", "given", "resident", "outputs", "planned", "two", "dynamic", "methods", "uncopied"]
    {
        let bytes = std::fs::read(folder().join(format!("device_{name}.pte"))).unwrap();
        for seed in 1..=500 {
            let mut damaged = bytes.clone();
            Random::new(seed).damage(&mut damaged);
            let file = Aligned::new(&damaged);
            let Ok(program) = load_bytes(&file) else { continue };
            // SAFETY: a live program, whose methods have NUL-terminated names.
            let names = unsafe {
                (0..et_program_method_count(program.0)).map(|i| {
                    std::ffi::CStr::from_ptr(et_method_meta_name(et_program_method_at(program.0, i)))
                })
            };
            for name in names {
                if let Ok(method) = load_method(&program, name) {
                    loaded += 1;
                    run_anyhow(&method);
                }
            }
            assert_eq!(device.counts().alive, 0, "{name}, seed {seed}");
        }
    }
    assert!(loaded > 500, "only {loaded} methods were loaded");
}
