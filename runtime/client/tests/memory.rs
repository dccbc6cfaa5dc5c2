//! Who owns the memory of inputs and outputs, on programs that plan none of it, some of it, or all.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_client::{Layout, MethodOptions, Program, Tensor, TensorView, Value};
use std::collections::HashSet;
use std::path::PathBuf;

use executorch_core as _;
use executorch_kernels as _;
use executorch_threadpool as _;

const PROGRAMS: [&str; 4] = ["planned_none", "planned_inputs", "planned_outputs", "identity"];

fn load(name: &str) -> executorch_client::Method {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../checks/conformance/programs");
    let program = Program::open(folder.join(format!("{name}.pte"))).unwrap();
    program.load_method("forward", MethodOptions::default()).unwrap()
}

/// One buffer of float32 ones for each input.
fn ones(method: &executorch_client::Method, value: f32) -> Vec<(Layout, Vec<u8>)> {
    (0..method.meta().input_count())
        .map(|index| {
            let layout = method.input_tensor(index).unwrap().layout;
            (layout, value.to_ne_bytes().repeat(layout.numel()))
        })
        .collect()
}

fn run(method: &mut executorch_client::Method, value: f32) -> Vec<Tensor> {
    let inputs = ones(method, value);
    let views: Vec<_> = inputs.iter().map(|(l, b)| Value::Tensor(TensorView::new(*l, b).unwrap())).collect();
    let outputs = method.execute(&views).unwrap().to_owned().unwrap();
    let tensor = |value| match value {
        Value::Tensor(tensor) => tensor,
        other => panic!("{other:?}"),
    };
    outputs.into_iter().map(tensor).collect()
}

fn bytes(outputs: &[Tensor]) -> Vec<Vec<u8>> {
    outputs.iter().map(|output| output.view().bytes().unwrap().to_vec()).collect()
}

#[test]
fn outputs_are_nobody_elses() {
    for name in PROGRAMS {
        let mut method = load(name);
        let first = run(&mut method, 1.0);
        let (kept, second) = (bytes(&first), run(&mut method, 2.0));
        assert_ne!(bytes(&second), kept, "{name}: the input has no effect");
        drop(method);
        assert_eq!(bytes(&first), kept, "{name}");
        for (a, b) in first.iter().zip(&second) {
            assert_ne!(a.storage().as_ptr(), b.storage().as_ptr(), "{name}");
        }
    }
}

#[test]
fn memory_that_came_back_is_used_again() {
    let mut method = load("planned_none");
    let addresses: HashSet<_> = (0..8).map(|_| run(&mut method, 1.0)[0].storage().as_ptr()).collect();
    assert_eq!(addresses.len(), 1);
}

#[test]
fn held_inputs_stay_and_outputs_can_be_read_twice() {
    for name in PROGRAMS {
        let mut method = load(name);
        for (index, (layout, content)) in ones(&method, 1.0).into_iter().enumerate() {
            method.set_input(index, &Value::Tensor(Tensor::copy(layout, &content).unwrap())).unwrap();
        }
        let expected = bytes(&run(&mut load(name), 1.0));
        for _ in 0..2 {
            method.run().unwrap();
        }
        let read = |method: &mut executorch_client::Method| match &method
            .outputs()
            .unwrap()
            .to_owned()
            .unwrap()[0]
        {
            Value::Tensor(tensor) => tensor.clone(),
            other => panic!("{other:?}"),
        };
        let (first, second) = (read(&mut method), read(&mut method));
        assert_ne!(first.storage().as_ptr(), second.storage().as_ptr(), "{name}");
        assert_eq!(bytes(&[first, second]), [expected[0].clone(), expected[0].clone()], "{name}");
    }
}

#[test]
fn lent_inputs_are_for_one_call() {
    // Inputs of `planned_outputs` lie where the caller has them.
    let mut method = load("planned_outputs");
    let shared = !method.input_tensor(0).unwrap().is_memory_planned;
    run(&mut method, 1.0);
    assert_eq!(method.run().is_err(), shared);
    assert_eq!(method.input(0).is_err(), shared);
}
