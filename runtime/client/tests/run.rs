//! Committed programs through the safe API, with the real core, kernels and thread pool.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_abi::error::*;
use executorch_client::{DataMap, Dtype, Layout, LoadMode, MethodOptions, Module, Program, Source};
use executorch_client::{Tensor, TensorView, Value, registry};
use std::path::PathBuf;

// Linked for the symbols of the ABI and for the registration of operators.
use executorch_core as _;
use executorch_kernels as _;
use executorch_threadpool as _;

fn program(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../core/tests/programs").join(name)
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

fn tensor(sizes: &[i32], values: &[f32]) -> Tensor {
    Tensor::copy(Layout::contiguous(Dtype::Float32, sizes).unwrap(), &bytes(values)).unwrap()
}

fn floats(value: &Value<Tensor>) -> Vec<f32> {
    match value {
        Value::Tensor(tensor) => tensor.view().data::<f32>().unwrap().to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn adds() {
    let mut module = Module::open(program("add.pte")).unwrap();
    let (a, b) = (tensor(&[2, 4], &[1.0; 8]), tensor(&[2, 4], &[2.5; 8]));
    let inputs = [Value::Tensor(a.view()), Value::Tensor(b.view())];
    let outputs = module.forward(&inputs).unwrap().to_owned().unwrap();
    assert_eq!(floats(&outputs[0]), [3.5; 8]);
    assert_eq!(registry::registration_errors(), Vec::<String>::new());
}

#[test]
fn outputs_outlive_the_next_run_and_the_method() {
    let program = Program::open(program("add.pte")).unwrap();
    let mut method = program.load_method("forward", MethodOptions::default()).unwrap();
    let mut kept = Vec::new();
    for step in 0..3 {
        let a = tensor(&[2, 4], &[step as f32; 8]);
        let inputs = [Value::Tensor(a.view()), Value::Tensor(a.view())];
        kept.push(method.execute(&inputs).unwrap().to_owned().unwrap());
    }
    drop((method, program));
    for (step, outputs) in kept.iter().enumerate() {
        assert_eq!(floats(&outputs[0]), [2.0 * step as f32; 8]);
    }
}

#[test]
fn held_inputs_serve_many_runs_and_lent_ones_only_theirs() {
    let mut module = Module::open(program("add.pte")).unwrap();
    let method = module.method("forward").unwrap();
    let one = Value::Tensor(tensor(&[2, 4], &[1.0; 8]));
    method.set_input(0, &one).unwrap();
    method.set_input(1, &one).unwrap();
    drop(one);
    assert_eq!(method.outputs().err().unwrap().code, ET_ERROR_INVALID_STATE);
    for _ in 0..2 {
        assert_eq!(floats(&method.run().unwrap().to_owned().unwrap()[0]), [2.0; 8]);
    }
    assert_eq!(floats(&method.outputs().unwrap().to_owned().unwrap()[0]), [2.0; 8]);
    let five = tensor(&[2, 4], &[5.0; 8]);
    let inputs = [Value::Tensor(five.view()), Value::Tensor(five.view())];
    method.execute(&inputs).unwrap();
    assert_eq!(method.outputs().err().unwrap().code, ET_ERROR_INVALID_STATE);
}

#[test]
fn errors_say_what_was_expected_and_found() {
    let mut module = Module::open(program("add.pte")).unwrap();
    let good = tensor(&[2, 4], &[1.0; 8]);
    let wide = tensor(&[2, 5], &[1.0; 10]);
    let zeros = [0u8; 64];
    let double = TensorView::new(Layout::contiguous(Dtype::Float64, &[2, 4]).unwrap(), &zeros).unwrap();
    for (second, parts) in [
        (Value::Tensor(wide.view()), ["input 1", "[2, 4]", "[2, 5]"]),
        (Value::Tensor(double), ["input 1", "float32", "float64"]),
        (Value::Int(3), ["input 1", "a tensor", "an int"]),
        (Value::Ints(vec![3]), ["input 1", "tensors", "lists"]),
    ] {
        let inputs = [Value::Tensor(good.view()), second];
        let error = module.forward(&inputs).err().unwrap();
        assert!(parts.iter().all(|part| error.message.contains(part)), "{error}");
    }
    let error = module.forward(&[Value::Tensor(good.view())]).err().unwrap();
    assert!(error.message.contains("takes 2 inputs, 1"), "{error}");
    let error = module.method("backward").err().unwrap();
    assert!(error.message.contains("backward") && error.message.contains("forward"), "{error}");
    let error = Program::open("no/such/file.pte").err().unwrap();
    assert!(error.message.contains("no/such/file.pte"), "{error}");
}

#[test]
fn sources_of_every_kind_give_the_same_program() {
    let path = program("add.pte");
    let content = std::fs::read(&path).unwrap();
    // One byte further than an aligned address, so that the bytes are copied.
    let mut shifted = vec![0u8];
    shifted.extend(&content);
    struct Rest(Vec<u8>);
    impl AsRef<[u8]> for Rest {
        fn as_ref(&self) -> &[u8] {
            &self.0[1..]
        }
    }
    let file = std::fs::File::open(&path).unwrap();
    for source in [
        Source::open(&path, LoadMode::Read),
        Source::open(&path, LoadMode::MapAhead),
        Source::bytes(content),
        Source::bytes(Rest(shifted)),
        Source::descriptor(std::os::fd::AsFd::as_fd(&file)),
    ] {
        let program = Program::load(source.unwrap()).unwrap();
        let names: Vec<_> = program.methods().iter().map(|m| m.name()).collect();
        assert_eq!(names, ["forward"]);
        assert_eq!(program.methods()[0].operators(), ["aten::add.out"]);
    }
    // A source that is never used gives its memory back.
    drop(Source::bytes(vec![0u8; 100]).unwrap());
}

#[test]
fn metadata_is_there_without_loading() {
    let meta = Program::open(program("add.pte")).unwrap().method("forward").unwrap();
    let input = meta.input_tensor(1).unwrap();
    assert_eq!(input.layout, Layout::contiguous(Dtype::Float32, &[2, 4]).unwrap());
    assert!(input.is_memory_planned && !input.is_dynamic);
    assert!(meta.input_tensor(2).unwrap_err().message.contains("there are 2"));
    assert!(meta.buffers().unwrap().iter().map(|b| b.size).sum::<u64>() >= 64);
    let delegated = Program::open(program("add_xnnpack.pte")).unwrap().method("forward").unwrap();
    let delegates = delegated.delegates().unwrap();
    assert_eq!(delegates[0].backend, "XnnpackBackend");
    assert!(delegates[0].payload_size > 0);
}

#[test]
fn external_data_is_found_and_its_absence_explained() {
    let program_file = Program::open(program("ptdmlp.pte")).unwrap();
    let error = program_file.load_method("forward", MethodOptions::default()).err().unwrap();
    let keys = program_file.method("forward").unwrap().external_keys();
    assert!(keys.iter().any(|key| error.message.contains(key)), "{error}");
    let data = DataMap::open(program("ptdmlp.ptd")).unwrap();
    assert!(keys.iter().all(|key| data.keys().contains(key)));
    let mut method = {
        let options = MethodOptions { data: Some(data), ..MethodOptions::default() };
        program_file.load_method("forward", options).unwrap()
    };
    let info = method.input_tensor(0).unwrap().clone();
    let input = vec![0u8; info.layout.nbytes()];
    let inputs = [Value::Tensor(TensorView::new(info.layout, &input).unwrap())];
    assert_eq!(method.execute(&inputs).unwrap().len(), 1);
}

#[test]
fn the_file_is_described() {
    let program_file = Program::open(program("ptdmlp.pte")).unwrap();
    let size = std::fs::metadata(program("ptdmlp.pte")).unwrap().len();
    let info = program_file.info().unwrap();
    assert!(info.structure_bytes > 0 && info.structure_bytes <= size);
    for (offset, bytes) in program_file.segments().unwrap() {
        assert!(offset + bytes <= size);
    }
    let dynamic = Program::open(program("dynmlp.pte")).unwrap();
    let info = dynamic.info().unwrap();
    assert!(info.constant_count > 0 && info.constant_bytes > 0, "{info:?}");
}
