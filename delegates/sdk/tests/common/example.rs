//! What both examples of a delegate must do, in a process that loads one of them.

use executorch_abi::error::*;
use executorch_client::{Dtype, Error, Layout, Method, MethodOptions, OptionValue, Program, Tensor, Value};
use executorch_delegate::{Description, Node, Role, Value as Described};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

// The runtime's functions, the operator beside the delegate, and the pool that it runs on.
use {executorch_core as _, executorch_kernels as _, executorch_threadpool as _};

const A: [f32; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
const B: [f32; 8] = [0.5, 0.25, -1.0, 2.0, -5.0, 0.0, 3.5, 1.0];

/// The program with a part for the examples.
pub fn program() -> Program {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../checks/conformance/delegates");
    Program::open(folder.join("delegate.pte")).unwrap()
}

/// Options for the examples' backend.
pub fn options(given: &[(&str, OptionValue)]) -> MethodOptions {
    let mut options = MethodOptions::default();
    options.backends.set("OtherBackend", "gain", &OptionValue::Int(100)).unwrap();
    given.iter().for_each(|(key, value)| options.backends.set("DemoBackend", key, value).unwrap());
    options
}

/// The inputs of a call. A run may write over what it was given, so that each call sets them again.
pub fn inputs() -> [Value<Tensor>; 2] {
    [A, B].map(|numbers| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_ne_bytes()).collect();
        let layout = Layout::contiguous(Dtype::Float32, &[2, 4]).unwrap();
        Value::Tensor(Tensor::copy(layout, &bytes).unwrap())
    })
}

/// Sets the inputs and runs.
pub fn call(method: &mut Method, inputs: &[Value<Tensor>; 2]) -> Result<(), Error> {
    inputs.iter().enumerate().try_for_each(|(index, input)| method.set_input(index, input))?;
    method.run().map(drop)
}

/// Compares the method's output with what the program computes, for a gain.
pub fn check_output(method: &mut Method, gain: f64) {
    let outputs = method.outputs().unwrap();
    let Value::Tensor(out) = outputs.get(0).unwrap() else { panic!("the output is a tensor") };
    let found = out.data::<f32>().unwrap();
    let scale = [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0];
    let (a, b) = (A.map(f64::from), B.map(f64::from));
    let expected = |i: usize| ((a[i] + b[i]) * scale[i % 4] + 0.25) * gain + a[i];
    assert_eq!(found.len(), 8);
    for (i, &found) in found.iter().enumerate() {
        assert!((f64::from(found) - expected(i)).abs() < 1e-5, "{i}: {found}, not {}", expected(i));
    }
}

fn load(given: &[(&str, OptionValue)]) -> Result<Method, Error> {
    program().load_method("forward", options(given))
}

fn run(method: &mut Method, gain: f64) {
    call(method, &inputs()).unwrap();
    check_output(method, gain);
}

/// Loads a delegate's library, which must not have been loaded before, and puts it through its paces.
pub fn check(library: &Path) {
    let error = load(&[]).err().unwrap();
    assert_eq!(error.code, ET_ERROR_NOT_FOUND);
    assert!(error.message.contains("DemoBackend"), "{error}");
    open(library);
    assert_eq!(executorch_client::registry::registration_errors(), [""; 0]);
    assert_eq!(executorch_client::registry::backends(), ["DemoBackend"]);

    let mut method = load(&[]).unwrap();
    run(&mut method, 1.0);
    let given = [("gain", OptionValue::Int(-3)), ("label", OptionValue::String("a label".into()))];
    run(&mut load(&given).unwrap(), -3.0);
    run(&mut method, 1.0);

    let unknown = load(&[("speed", OptionValue::Int(1))]).err().unwrap();
    assert_eq!(unknown.code, ET_ERROR_INVALID_ARGUMENT);
    assert!(unknown.message.contains("gain") && unknown.message.contains("delegate 0"), "{unknown}");
    let mut failing = load(&[("fails", OptionValue::Bool(true))]).unwrap();
    let error = call(&mut failing, &inputs()).err().unwrap();
    assert_eq!(error.code, ET_ERROR_DELEGATE_INVALID_HANDLE);
    assert!(error.message.contains("told to fail") && error.message.contains("DemoBackend"), "{error}");

    let described = program().describe_delegate("forward", 0, &options(&given[..1])).unwrap();
    assert_eq!(serde_json::from_str::<Description>(&described).unwrap(), description());
    let error = program().describe_delegate("forward", 0, &options(&[("speed", OptionValue::Int(1))]));
    assert!(error.unwrap_err().message.contains("delegate 0 (DemoBackend)"));
}

fn description() -> Description {
    let node = |name: &str, inputs: &[u32], output, detail: &str| Node {
        name: name.into(),
        inputs: inputs.into(),
        outputs: vec![output],
        executor: "loop".into(),
        detail: detail.into(),
    };
    let value = |id, name: &str, shape, role| Described {
        id,
        name: name.into(),
        dtype: "float32".into(),
        shape,
        role,
        detail: String::new(),
    };
    Description {
        format: "DEMO 1".into(),
        nodes: vec![node("Add", &[0, 1], 4, ""), node("Scale", &[4, 2], 3, "bias 0.25, gain -3")],
        values: vec![
            value(0, "a", None, Role::Input),
            value(1, "b", None, Role::Input),
            value(2, "demo.scale", Some(vec![4]), Role::Constant),
            value(3, "out", None, Role::Output),
            value(4, "sum", None, Role::Internal),
        ],
        notes: Vec::new(),
    }
}

/// Loads a library for the rest of the process.
fn open(path: &Path) {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the library's constructor registers a backend, and does nothing else.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    // SAFETY: a failed dlopen leaves a message.
    assert!(!handle.is_null(), "{:?}", unsafe { CStr::from_ptr(libc::dlerror()) });
}
