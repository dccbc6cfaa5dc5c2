//! Once a method has run, running it again allocates nothing on this side of the C library: for every lowered program.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::counting::{Counting, calls, tell};
use executorch_client::{MethodOptions, Program, Storage, Tensor, Value};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// `ET_ALLOCATIONS=name` prints where the methods whose names start so allocate first.
#[test]
fn running_again_allocates_nothing() {
    executorch_kernels::register();
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let trace = std::env::var("ET_ALLOCATIONS").ok();
    let (mut quiet, mut guilty) = (0, Vec::new());
    for path in executorch_conformance::suites(&executorch_conformance::folder("xnnpack")) {
        let path = path.with_extension("pte");
        if path.with_extension("ptd").exists() {
            continue;
        }
        let program = Program::open(&path).unwrap();
        for meta in program.methods() {
            let what = format!("{}, {}", path.file_stem().unwrap().to_string_lossy(), meta.name());
            let mut method = program.load_method(&meta.name(), MethodOptions::default()).unwrap();
            for index in 0..meta.input_count() {
                if let Some(info) = method.input_tensor(index) {
                    let zeros = Arc::new(Storage::zeroed(info.layout.nbytes()).unwrap());
                    let tensor = Tensor::new(info.layout, zeros).unwrap();
                    method.set_input(index, &Value::Tensor(tensor)).unwrap();
                }
            }
            for _ in 0..3 {
                method.run().unwrap();
            }
            tell(trace.as_ref().is_some_and(|wanted| what.starts_with(wanted)));
            let before = calls();
            for _ in 0..3 {
                method.run().unwrap();
            }
            tell(false);
            match calls() - before {
                0 => quiet += 1,
                n => guilty.push(format!("{what}: {n}")),
            }
        }
    }
    assert!(guilty.is_empty(), "{} of {} methods allocate: {guilty:#?}", guilty.len(), quiet + guilty.len());
    assert!(quiet > 300, "only {quiet} methods ran");
}
