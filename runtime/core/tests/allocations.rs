//! Once a method has run, setting inputs, running and reading outputs allocates nothing: for every committed program.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

// The kernels call the pool, which programs get from its library.
extern crate executorch_threadpool as _;

use common::counting::{Counting, calls, tell};
use common::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::ptr;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn committed() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("tests/programs"), root.join("../../checks/conformance/programs")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pte"))
        .collect();
    found.sort();
    found
}

/// The inputs of a method with zeros for data, and buffers for the outputs that want them.
struct Call {
    inputs: Vec<(et_value_t, Option<Box<et_tensor_t>>)>,
    outputs: Vec<Vec<u64>>,
}

fn zeros(bytes: u64) -> Vec<u64> {
    vec![0; bytes as usize / 8 + 1]
}

impl Call {
    fn new(method: &Method) -> Self {
        // SAFETY: a live method, whose values are valid; what the tensors point to lives as long as the method.
        unsafe {
            let inputs = (0..et_method_input_count(method.0)).map(|i| {
                let value = *et_method_input(method.0, i);
                if value.tag != ET_TAG_TENSOR {
                    return (value, None);
                }
                let mut tensor = Box::new(ptr::from_ref(&*value.payload.as_tensor).read());
                tensor.data = zeros(tensor.numel * 16).leak().as_mut_ptr().cast();
                (et_value_t::tensor(&mut *tensor), Some(tensor))
            });
            let outputs = (0..et_method_output_count(method.0)).map(|i| {
                let value = *et_method_output(method.0, i);
                let bytes =
                    if value.tag == ET_TAG_TENSOR { (*value.payload.as_tensor).capacity_bytes } else { 0 };
                zeros(bytes)
            });
            Self { inputs: inputs.collect(), outputs: outputs.collect() }
        }
    }

    /// Sets inputs and outputs, runs, and tells whether that went well.
    fn run(&mut self, method: &Method) -> bool {
        // SAFETY: a live method; the data outlives its runs.
        unsafe {
            for (i, (value, _)) in self.inputs.iter().enumerate() {
                if et_method_set_input(method.0, i, value) != 0 {
                    return false;
                }
            }
            for (i, memory) in self.outputs.iter_mut().enumerate() {
                // Those with planned or constant memory take no other.
                let value = *et_method_output(method.0, i);
                if value.tag == ET_TAG_TENSOR && (*value.payload.as_tensor).flags == 0 {
                    et_method_set_output_data(method.0, i, memory.as_mut_ptr().cast(), memory.len() * 8);
                }
            }
            et_method_execute(method.0) == 0
        }
    }
}

/// `ET_ALLOCATIONS=name` prints where the methods whose names start so allocate first.
#[test]
fn running_again_allocates_nothing() {
    executorch_kernels::register();
    let trace = std::env::var("ET_ALLOCATIONS").ok();
    let mut guilty = Vec::new();
    let (mut quiet, mut idle) = (0, Vec::new());
    for path in committed() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let program = load_file(&path).unwrap();
        let data = path.with_extension("ptd");
        let map = data.exists().then(|| DataMap::open(&data));
        // SAFETY: a live program, here and below; names are NUL-terminated.
        for i in 0..unsafe { et_program_method_count(program.0) } {
            // SAFETY: as above.
            let method_name =
                unsafe { CStr::from_ptr(et_method_meta_name(et_program_method_at(program.0, i))) };
            let what = format!("{name}, {}", method_name.to_string_lossy());
            let options = map.as_ref().map(DataMap::options);
            let options = options.as_ref().map_or(ptr::null(), ptr::from_ref);
            let Ok(method) = load_method_with(&program, method_name, options) else {
                idle.push(what);
                continue;
            };
            let mut call = Call::new(&method);
            if !(0..3).all(|_| call.run(&method)) {
                idle.push(what);
                continue;
            }
            tell(trace.as_ref().is_some_and(|wanted| what.starts_with(wanted)));
            let before = calls();
            for _ in 0..3 {
                call.run(&method);
            }
            tell(false);
            match calls() - before {
                0 => quiet += 1,
                n => guilty.push(format!("{what}: {n}")),
            }
        }
    }
    println!("{quiet} methods allocate nothing; {} cannot run, or not on zeros", idle.len());
    assert!(guilty.is_empty(), "allocations in three runs:\n{}", guilty.join("\n"));
    // Raised as operators arrive, so that the test does not become empty unseen.
    assert!(quiet >= 2000, "only {quiet} methods ran");
}
