//! Times a call of a small CUDA program on the fake device: all that is left is the runtime's, the delegate's and the container's
//! own work, and that of the fake.
//!
//! ```sh
//! cargo run --release -p executorch-backend-cuda --example overhead
//! ```

#![allow(clippy::unwrap_used, reason = "an example may panic")]

#[path = "../tests/cuda/common.rs"]
mod common;
#[path = "../tests/cuda/references.rs"]
mod references;

use common::{Program, fakes, text_option};
use executorch_backend_cuda::options::GRAPH_METHODS;
use references::Layer;
use std::time::Instant;

const CALLS: u32 = 20_000;

fn main() {
    let fakes = fakes();
    let program = Program::open("cuda_layer");
    let x = Layer::input(1);
    for (name, options) in
        [("as it is", vec![]), ("as a CUDA graph", vec![text_option(GRAPH_METHODS, "device")])]
    {
        let mut method = program.method_with("device", &options).unwrap();
        for _ in 0..10 {
            method.run(&[Layer::tensor(&x)]).unwrap();
        }
        let inputs = [Layer::tensor(&x)];
        method.set_inputs(&inputs).unwrap();
        let before = fakes.calls("");
        let start = Instant::now();
        for _ in 0..CALLS {
            method.again().unwrap();
        }
        let time = start.elapsed();
        let calls = (fakes.calls("") - before) / u64::from(CALLS);
        println!(
            "{name}: {:.2} us a call, with {calls} calls of CUDA",
            time.as_secs_f64() * 1e6 / f64::from(CALLS)
        );
    }
}
