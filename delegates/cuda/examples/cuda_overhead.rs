//! Times a call of a small CUDA program on the fake device, and what of it is the compiled model's and the fake's own: the rest is
//! the delegate's, with the runtime's dispatch.
//!
//! ```sh
//! cargo run --release -p executorch-backend-cuda --example cuda_overhead
//! ```

#![allow(clippy::unwrap_used, reason = "an example may panic")]

#[path = "../tests/cuda/common.rs"]
mod common;
#[path = "../tests/cuda/references.rs"]
mod references;

use common::{Program, Tensor, fakes, text_option};
use executorch_backend_cuda::arguments::Handles;
use executorch_backend_cuda::container::Container;
use executorch_backend_cuda::library::Library;
use executorch_backend_cuda::options::GRAPH_METHODS;
use executorch_backend_cuda::shim::{Blob, CurrentStream, Tensor as Wrapped};
use executorch_cuda_driver::{Cuda, Device, Stream};
use references::numbers;
use std::time::Instant;

const CALLS: u32 = 20_000;

/// Microseconds of a call: the least of some rounds, since the machine may be busy.
fn time(mut call: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..CALLS / 10).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS / 10)
    };
    (0..10).map(round).fold(f64::INFINITY, f64::min)
}

fn main() {
    let fakes = fakes();
    let program = Program::open("cuda_rows");
    let inputs = [1, 2].map(|seed| Tensor::floats(&[8, 6], &numbers(48, seed)));
    let mut whole = Vec::new();
    for (name, options) in
        [("as it is", vec![]), ("as a CUDA graph", vec![text_option(GRAPH_METHODS, "forward")])]
    {
        let mut method = program.method_with("forward", &options).unwrap();
        for _ in 0..10 {
            method.run(&inputs).unwrap();
        }
        method.set_inputs(&inputs).unwrap();
        let before = fakes.calls("");
        method.again().unwrap();
        let calls = fakes.calls("") - before;
        let microseconds = time(|| method.again().unwrap());
        println!("a call {name}: {microseconds:.2} us, with {calls} calls of CUDA");
        whole.push(microseconds);
    }

    // The compiled model alone, on tensors that are made for it as the delegate makes them.
    let library = program.data(|key| key.ends_with("_so_blob")).remove(0).1;
    let container = Container::create(Library::load(&library).unwrap()).unwrap();
    let stream = Stream::new(Cuda::get().unwrap(), Device(0)).unwrap();
    let wrap = |tensor: &Tensor| {
        let blob = Blob {
            data: tensor.memory.as_ptr(),
            sizes: &[8, 6],
            strides: &[6, 1],
            offset: 0,
            dtype: 6,
            device: Some(0),
        };
        // SAFETY: the tensors live as long as the program.
        unsafe { Wrapped::over(blob) }.unwrap()
    };
    // SAFETY: the stream lives as long as the program.
    let _current = unsafe { CurrentStream::set(stream.borrow().as_raw(), 0) };
    let (mut given, mut taken) = (Handles::default(), Handles::default());
    let model = time(|| {
        inputs.iter().for_each(|input| given.push(wrap(input)));
        taken.expect(2);
        // SAFETY: as many handles as the model has inputs and outputs.
        unsafe { container.run(given.as_mut_slice(), taken.as_mut_slice(), stream.borrow().as_raw()) }
            .unwrap();
        given.clear();
        taken.clear();
    });
    let wrapping = time(|| (0..4).for_each(|_| drop(wrap(&inputs[0]))));
    println!(
        "the compiled model and the fake: {model:.2} us, of which {:.2} us are two tensors made for it",
        wrapping / 2.0
    );
    println!("the delegate and the runtime: {:.2} us", whole[0] - model + wrapping / 2.0);
}
