//! Programs with memory on a device, where nobody registered an allocator for it, or one of an older runtime's time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::made::{Data, Instruction, Made, Value};
use common::*;
use executorch_abi::device::*;
use executorch_abi::error::*;
use executorch_abi::method::et_method_set_output_data;
use executorch_abi::tensor::ET_DEVICE_CUDA;
use std::path::Path;

#[test]
fn the_error_says_what_brings_the_allocator() {
    register_kernels();
    fake::load("missing", &["-DFAKE_NO_ALLOCATOR"]);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checks/conformance/devices/device_copies.pte");
    let program = load_file(&path).unwrap();
    let error = load_method(&program, c"forward").err().unwrap();
    let told = [
        "planned buffer 1 (96 bytes on cuda:0)",
        "device_type=1",
        "libexecutorch_backend_cuda.so.1",
        "+cu126",
    ];
    assert!(
        error.code == ET_ERROR_NOT_FOUND && told.iter().all(|part| error.message.contains(part)),
        "{error}"
    );

    // A copy without planned memory needs it when it runs.
    let made = Made {
        values: vec![Value::Tensor(vec![4], Data::Constant(1)), Value::On(vec![4], Data::Unbound, (1, 0))],
        outputs: vec![1],
        instructions: vec![Instruction::Kernel(0, vec![0, 1, 1])],
        operators: vec![("et_copy::_h2d_copy", "out")],
        constants: vec![vec![1.0, 2.0, 3.0, 4.0]],
        ..Made::default()
    };
    let bytes = Aligned::new(&made.bytes());
    let program = load_bytes(&bytes).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    let mut memory = [0_f32; 4];
    // SAFETY: a live method, and memory that outlives its runs; it is not written, since there is no allocator.
    let code = unsafe { et_method_set_output_data(method.0, 0, memory.as_mut_ptr().cast(), 16) };
    assert_eq!(code, ET_OK);
    let error = execute(&method).unwrap_err();
    let told = ["et_copy::_h2d_copy.out", "no allocator is registered", "libexecutorch_backend_cuda.so.1"];
    assert!(
        error.code == ET_ERROR_NOT_FOUND && told.iter().all(|part| error.message.contains(part)),
        "{error}"
    );
    assert_eq!(memory, [0.0; 4]);

    an_allocator_whose_table_ends_early();
}

/// What lies behind such a table is not called.
fn an_allocator_whose_table_ends_early() {
    fake::load("first", &["-DFAKE_FIRST_TABLE"]);
    let (from, to) = (fake::Memory::of(&[1.5, -2.0], 0), fake::Memory::new(8, 0).unwrap());
    // SAFETY: both hold as many bytes on their device.
    let code = unsafe { et_device_copy(to.data, ET_DEVICE_CUDA, 0, from.data, ET_DEVICE_CUDA, 0, to.size) };
    assert_eq!(code, ET_OK);
    assert_eq!(fake::numbers(to.data, 2, 0).unwrap(), [1.5, -2.0]);
    // SAFETY: always callable.
    assert_eq!(unsafe { et_device_synchronize(ET_DEVICE_CUDA, 0) }, ET_OK);
}
