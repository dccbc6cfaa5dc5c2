//! Methods as CUDA graphs.

use crate::common::{Program, fakes, text_option};
use crate::references::{Layer, close, numbers};
use executorch_abi::caller_stream::*;
use executorch_abi::error::*;
use executorch_backend_cuda::options::GRAPH_METHODS;

#[test]
fn a_method_is_recorded_after_its_warmup_and_launched_from_then_on() {
    let fakes = fakes();
    let before = fakes.live();
    {
        let program = Program::open("cuda_layer");
        let layer = Layer::new(&program);
        let mut method =
            program.method_with("device", &[text_option(GRAPH_METHODS, "other, device")]).unwrap();
        fakes.watch();
        for seed in 0..7 {
            let x = Layer::input(seed);
            let outputs = method.run(&[Layer::tensor(&x)]).unwrap();
            close(&outputs[0].to_floats(), &layer.expected(&x));
            let (launches, kernels) = (fakes.calls("cudaGraphLaunch"), fakes.calls("cuLaunchKernel"));
            // Three calls as ever, a fourth that records; the model launches nothing after that.
            let expected = if seed < 3 { (0, u64::from(seed) + 1) } else { (u64::from(seed) - 2, 4) };
            assert_eq!((launches, kernels), expected, "call {seed}");
        }
        assert_eq!(fakes.calls("cudaStreamBeginCapture"), 1);
        // Other sizes do not fit what was recorded; those that do still work.
        let error = method.run(&[crate::common::Tensor::floats(&[2, 16], &numbers(32, 1))]).err().unwrap();
        assert!(error.code != ET_OK, "{error}");
        let x = Layer::input(50);
        close(&method.run(&[Layer::tensor(&x)]).unwrap()[0].to_floats(), &layer.expected(&x));
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn a_callers_stream_and_a_graph_exclude_each_other() {
    let _fakes = fakes();
    let program = Program::open("cuda_layer");
    let mut method = program.method_with("device", &[text_option(GRAPH_METHODS, "device")]).unwrap();
    let x = Layer::input(1);
    // SAFETY: CUDA's default stream is always there.
    unsafe { et_caller_stream_set(std::ptr::null_mut()) };
    let error = method.run(&[Layer::tensor(&x)]).err().unwrap();
    // SAFETY: takes nothing.
    unsafe { et_caller_stream_clear() };
    assert_eq!(error.code, ET_ERROR_NOT_SUPPORTED);
    assert!(error.message.contains(GRAPH_METHODS), "{error}");
    method.run(&[Layer::tensor(&x)]).unwrap();
}
