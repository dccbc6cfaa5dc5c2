//! Running programs through the C ABI.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::*;
use executorch_abi::error::*;
use executorch_abi::kernel::*;
use executorch_abi::method::*;
use executorch_abi::registration::*;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Error, Result, TensorRef};
use std::ffi::CStr;
use std::ptr;

struct Input {
    sizes: Vec<i32>,
    strides: Vec<i32>,
    dim_order: Vec<u8>,
    data: Vec<f32>,
}

impl Input {
    fn new(sizes: &[i32], data: Vec<f32>) -> Self {
        let mut strides = vec![0; sizes.len()];
        // SAFETY: as many sizes and strides as are said.
        let code = unsafe {
            et_tensor_dense_strides(sizes.as_ptr(), ptr::null(), sizes.len(), strides.as_mut_ptr())
        };
        assert_eq!(code, ET_OK);
        Self { sizes: sizes.to_vec(), strides, dim_order: (0..sizes.len() as u8).collect(), data }
    }

    fn set(&mut self, method: &Method, index: usize) -> Result<()> {
        let bytes = size_of_val(self.data.as_slice()) as u64;
        let mut tensor = et_tensor_t {
            data: self.data.as_mut_ptr().cast(),
            sizes: self.sizes.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            dim_order: self.dim_order.as_mut_ptr(),
            numel: self.data.len() as u64,
            capacity_bytes: bytes,
            struct_size: size_of::<et_tensor_t>() as u16,
            rank: self.sizes.len() as u8,
            dtype: ET_DTYPE_FLOAT32,
            dynamism: ET_DYNAMISM_STATIC,
            device_type: ET_DEVICE_CPU,
            device_index: 0,
            flags: 0,
            user_data: ptr::null_mut(),
        };
        let value = et_value_t::tensor(&mut tensor);
        // SAFETY: a live method; the tensor is valid, and its data outlives the runs of the test.
        Error::check(unsafe { et_method_set_input(method.0, index, &value) })
    }
}

fn output(method: &Method, index: usize) -> Vec<f32> {
    // SAFETY: a live method; its output is a tensor of the method's.
    unsafe {
        let value = et_method_output(method.0, index);
        assert_eq!((*value).tag, ET_TAG_TENSOR);
        TensorRef::new(&*(*value).payload.as_tensor).data::<f32>().unwrap().to_vec()
    }
}

fn ramp(n: usize, step: f32) -> Vec<f32> {
    (0..n).map(|i| i as f32 * step).collect()
}

#[test]
fn adds_again_and_again() {
    register_kernels();
    let program = load_file(&file("add.pte")).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    drop(program);
    for round in 1..4 {
        let (a, b) = (ramp(8, 1.0), ramp(8, round as f32));
        Input::new(&[2, 4], a.clone()).set(&method, 0).unwrap();
        Input::new(&[2, 4], b.clone()).set(&method, 1).unwrap();
        execute(&method).unwrap();
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(output(&method, 0), expected);
    }
}

#[test]
fn steps_like_it_executes() {
    register_kernels();
    let program = load_file(&file("add.pte")).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    Input::new(&[2, 4], ramp(8, 1.0)).set(&method, 0).unwrap();
    Input::new(&[2, 4], ramp(8, 1.0)).set(&method, 1).unwrap();
    // SAFETY: a live method, here and below.
    unsafe {
        assert!(!et_method_in_progress(method.0));
        assert_eq!(et_method_step(method.0), ET_OK);
        assert_eq!(et_method_step(method.0), ET_ERROR_END_OF_METHOD);
        assert_eq!(et_method_execute(method.0), ET_ERROR_INVALID_STATE);
        assert_eq!(et_method_reset(method.0), ET_OK);
        assert_eq!(et_method_execute(method.0), ET_OK);
    }
    assert_eq!(output(&method, 0), ramp(8, 2.0));
}

#[test]
fn wrong_inputs_are_told_and_change_nothing() {
    register_kernels();
    let program = load_file(&file("add.pte")).unwrap();
    let method = load_method(&program, c"forward").unwrap();
    let unset = execute(&method).unwrap_err();
    assert_eq!(unset.code, ET_ERROR_INVALID_ARGUMENT);
    assert!(unset.message.contains("input 0"), "{unset}");
    Input::new(&[2, 4], ramp(8, 1.0)).set(&method, 0).unwrap();
    Input::new(&[2, 4], ramp(8, 1.0)).set(&method, 1).unwrap();
    let shape = Input::new(&[4, 2], ramp(8, 1.0)).set(&method, 1).unwrap_err();
    assert!(shape.message.contains("[2, 4]") && shape.message.contains("[4, 2]"), "{shape}");
    assert!(Input::new(&[8], ramp(8, 1.0)).set(&method, 1).is_err());
    assert!(Input::new(&[2, 4], ramp(8, 1.0)).set(&method, 7).is_err());
    let number = et_value_t::int(3);
    // SAFETY: a live method and a valid value.
    let code = unsafe { et_method_set_input(method.0, 0, &number) };
    assert_eq!(code, ET_ERROR_INVALID_ARGUMENT);
    execute(&method).unwrap();
    assert_eq!(output(&method, 0), ramp(8, 2.0));
}

#[test]
fn registrations_are_checked() {
    register_kernels();
    register_kernels();
    unsafe extern "C" fn other(
        _: *mut et_kernel_context_t,
        _: *const *mut et_value_t,
        _: usize,
    ) -> et_error_t {
        ET_OK
    }
    let kernel = Box::leak(Box::new(et_kernel_t {
        struct_size: size_of::<et_kernel_t>() as u32,
        flags: 0,
        name: c"aten::add.out".as_ptr(),
        key: ptr::null(),
        signature: ptr::null(),
        run: Some(other),
        prepare: None,
        release: None,
        user_data: ptr::null_mut(),
    }));
    // SAFETY: the table is leaked, here and below.
    unsafe {
        let code = et_register_kernels(&registration(), kernel, 1);
        assert_eq!(code, ET_ERROR_REGISTRATION_ALREADY_REGISTERED);
        let newer = et_registration_t { abi_minor: ET_ABI_MINOR + 1, ..registration() };
        assert_eq!(et_register_kernels(&newer, kernel, 1), ET_ERROR_NOT_SUPPORTED);
        let lockstep = et_registration_t { flags: ET_REGISTRATION_LOCKSTEP, ..registration() };
        assert_eq!(et_register_kernels(&lockstep, kernel, 1), ET_ERROR_NOT_SUPPORTED);
        let errors: Vec<_> = (0..et_registration_error_count())
            .map(|i| CStr::from_ptr(et_registration_error(i)).to_string_lossy().into_owned())
            .collect();
        assert!(
            errors.iter().any(|e| e.contains("aten::add.out") && e.contains("registered already")),
            "{errors:?}"
        );
        assert!(errors.iter().any(|e| e.contains("ABI 1.1")), "{errors:?}");
    }
}

/// Kernels given for one method come before those that are registered, and serve that method only.
#[test]
fn a_method_may_have_kernels_of_its_own() {
    register_kernels();
    unsafe extern "C" fn difference(
        _: *mut et_kernel_context_t,
        args: *const *mut et_value_t,
        count: usize,
    ) -> et_error_t {
        let run = || -> Result<()> {
            // SAFETY: the runtime's arguments are valid during the call.
            let args = unsafe { executorch_abi::Args::new(args, count) };
            let results: Vec<f32> = args
                .tensor(0)?
                .data::<f32>()?
                .iter()
                .zip(args.tensor(1)?.data::<f32>()?)
                .map(|(a, b)| a - b)
                .collect();
            // SAFETY: the inputs are not used from here on.
            unsafe { args.out(3) }?.data::<f32>()?.copy_from_slice(&results);
            Ok(())
        };
        run().map_or_else(|e| e.set_last(), |()| ET_OK)
    }
    let kernel = |name: &'static CStr| et_kernel_t {
        struct_size: size_of::<et_kernel_t>() as u32,
        flags: 0,
        name: name.as_ptr(),
        key: ptr::null(),
        signature: c"TTS>T".as_ptr(),
        run: Some(difference),
        prepare: None,
        release: None,
        user_data: ptr::null_mut(),
    };
    let table = [kernel(c"aten::unused.out"), kernel(c"aten::add.out")];
    let program = load_file(&file("add.pte")).unwrap();
    let options = et_method_options_t { kernels: table.as_ptr(), kernel_count: 2, ..no_options() };
    let own = load_method_with(&program, c"forward", &options).unwrap();
    let registered = load_method(&program, c"forward").unwrap();
    for (method, expected) in [(&own, ramp(8, 1.0)), (&registered, ramp(8, 5.0))] {
        Input::new(&[2, 4], ramp(8, 3.0)).set(method, 0).unwrap();
        Input::new(&[2, 4], ramp(8, 2.0)).set(method, 1).unwrap();
        execute(method).unwrap();
        assert_eq!(output(method, 0), expected);
    }
    let nameless = [et_kernel_t { name: ptr::null(), ..kernel(c"") }];
    let options = et_method_options_t { kernels: nameless.as_ptr(), kernel_count: 1, ..no_options() };
    let error = load_method_with(&program, c"forward", &options).err().unwrap();
    assert!(error.message.contains("without a name"), "{error}");
}
