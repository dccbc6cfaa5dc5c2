//! Every call of CUDA fails once: an error with its reason, nothing left behind, and the next try works.

use crate::common::Tensor;
use crate::common::{Program, fakes, text_option};
use crate::references::{Layer, close, numbers};
use executorch_abi::Result;
use executorch_abi::error::*;
use executorch_backend_cuda::options::GRAPH_METHODS;
use executorch_cuda_fakes::Fakes;

/// Runs `scenario` once for each call of CUDA that it does, and lets that call fail.
fn every_call_fails_once(fakes: &Fakes, scenario: &dyn Fn() -> Result<()>) {
    scenario().unwrap();
    let (before, start) = (fakes.live(), fakes.calls(""));
    scenario().unwrap();
    let calls = fakes.calls("") - start;
    assert!(calls > 20, "{calls} calls");
    let mut failed = 0;
    for at in 1..=calls {
        fakes.fail("", at, 999);
        let result = scenario();
        fakes.unwatch();
        if let Err(error) = result {
            failed += 1;
            assert!(!error.message.is_empty() && error.code != ET_OK, "call {at}");
        }
        assert_eq!(fakes.live(), before, "call {at}");
        assert_eq!(fakes.faults(), Vec::<String>::new(), "call {at}");
    }
    assert!(failed > calls / 2, "{failed} of {calls} failures were told");
    scenario().unwrap();
    assert_eq!(fakes.live(), before);
}

#[test]
fn loading_and_running() {
    let fakes = fakes();
    let program = Program::open("cuda_layer");
    let layer = Layer::new(&program);
    every_call_fails_once(&fakes, &|| {
        let mut method = program.method("device")?;
        for seed in 0..2 {
            let x = Layer::input(seed);
            close(&method.run(&[Layer::try_tensor(&x)?])?[0].try_floats()?, &layer.expected(&x));
        }
        Ok(())
    });
}

#[test]
fn recording_and_launching() {
    let fakes = fakes();
    let program = Program::open("cuda_layer");
    let layer = Layer::new(&program);
    every_call_fails_once(&fakes, &|| {
        let mut method = program.method_with("device", &[text_option(GRAPH_METHODS, "device")])?;
        for seed in 0..6 {
            let x = Layer::input(seed);
            close(&method.run(&[Layer::try_tensor(&x)?])?[0].try_floats()?, &layer.expected(&x));
        }
        Ok(())
    });
}

#[test]
fn a_method_goes_on_after_a_failure() {
    let fakes = fakes();
    let program = Program::open("cuda_layer");
    let layer = Layer::new(&program);
    let mut method = program.method("device").unwrap();
    let x = Layer::input(3);
    let run = |method: &mut crate::common::Method<'_>| method.run(&[Layer::tensor(&x)]);
    run(&mut method).unwrap();
    fakes.fail("cuLaunchKernel", 1, 700);
    let error = run(&mut method).err().unwrap();
    assert!(error.message.contains("cuLaunchKernel: an illegal memory access"), "{error}");
    fakes.fail("cudaMallocAsync", 1, 2);
    let error = run(&mut method).err().unwrap();
    assert_eq!(error.code, ET_ERROR_MEMORY_ALLOCATION_FAILED, "{error}");
    assert!(error.message.contains("out of memory"), "{error}");
    close(&run(&mut method).unwrap()[0].to_floats(), &layer.expected(&x));
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn memory_that_is_not_enough_is_told() {
    let fakes = fakes();
    let program = Program::open("cuda_cache");
    let before = fakes.live();
    fakes.set("memory", before.bytes as i64 + 64);
    let error = program.method("decode").err().unwrap();
    fakes.set("memory", 1 << 34);
    assert_eq!(error.code, ET_ERROR_MEMORY_ALLOCATION_FAILED, "{error}");
    assert_eq!(fakes.live(), before);
    program.method("decode").unwrap();
}

#[test]
fn without_a_gpu_that_is_what_is_said() {
    let fakes = fakes();
    let program = Program::open("cuda_rows");
    fakes.set("devices", 0);
    let error = program.method("forward").err().unwrap();
    fakes.set("devices", 1);
    assert_eq!(error.code, ET_ERROR_NOT_FOUND);
    assert!(error.message.contains("GPU"), "{error}");
    let mut method = program.method("forward").unwrap();
    let x = Tensor::floats(&[2, 6], &numbers(12, 4));
    let y = Tensor::floats(&[2, 6], &numbers(12, 5));
    method.run(&[x, y]).unwrap();
}

#[test]
fn tensors_of_the_host_are_refused() {
    let _fakes = fakes();
    let program = Program::open("cuda_rows");
    let mut method = program.method("forward").unwrap();
    let numbers = numbers(12, 6);
    for device in [0, 1] {
        let error = method.run_at(numbers.as_ptr().cast_mut().cast(), device).unwrap_err();
        assert_eq!(error.code, ET_ERROR_INVALID_ARGUMENT, "{error}");
        assert!(error.message.contains("host") && error.message.contains("input 0"), "{error}");
    }
}
