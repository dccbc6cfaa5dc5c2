//! Results, constants and shapes.

use crate::common::{Program, Tensor, fakes};
use crate::references::{Cache, Layer, close, numbers};
use executorch_abi::Dtype;
use executorch_abi::error::*;

#[test]
fn constants_of_a_list_are_bound() {
    let fakes = fakes();
    let before = fakes.live();
    {
        let program = Program::open("cuda_layer");
        let layer = Layer::new(&program);
        let mut method = program.method("device").unwrap();
        for seed in 0..3 {
            let x = Layer::input(seed);
            let outputs = method.run(&[Layer::tensor(&x)]).unwrap();
            assert_eq!(outputs[0].sizes, [4, 12]);
            close(&outputs[0].to_floats(), &layer.expected(&x));
        }
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn programs_copy_to_the_device_and_back() {
    let fakes = fakes();
    let before = fakes.live();
    {
        let program = Program::open("cuda_layer");
        let layer = Layer::new(&program);
        let mut method = program.method("host").unwrap();
        for seed in 0..3 {
            let x = Layer::input(seed);
            close(&method.run_on_host(&[4, 16], &x).unwrap(), &layer.expected(&x));
        }
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn shapes_may_change() {
    let fakes = fakes();
    let before = fakes.live();
    {
        let program = Program::open("cuda_rows");
        let mut method = program.method("forward").unwrap();
        for rows in [3, 8, 1, 5] {
            let (x, y) = (numbers(rows * 6, 1), numbers(rows * 6, 2));
            let sizes = [rows as i32, 6];
            let outputs = method.run(&[Tensor::floats(&sizes, &x), Tensor::floats(&sizes, &y)]).unwrap();
            let products: Vec<f64> =
                x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y) + 1.0).collect();
            close(&outputs[0].to_floats(), &products);
            assert_eq!((outputs[0].sizes.as_slice(), outputs[1].dtype), (&sizes[..], Dtype::Int64));
            let larger = |column: usize| {
                (0..rows).filter(|row| x[row * 6 + column] > y[row * 6 + column]).count() as i64
            };
            let counts: Vec<u8> = (0..6).flat_map(|column| larger(column).to_ne_bytes()).collect();
            assert_eq!(outputs[1].bytes(), counts);
        }
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn methods_share_constants_and_mutable_buffers() {
    let fakes = fakes();
    let before = fakes.live();
    {
        let program = Program::open("cuda_cache");
        let mut cache = Cache::new(&program);
        let mut decode = program.method("decode").unwrap();
        let alone = fakes.live();
        let mut prefill = program.method("prefill").unwrap();
        // Its weight and its cache are there already: nothing is allocated but its stream.
        assert_eq!((fakes.live().blocks, fakes.live().streams), (alone.blocks, alone.streams + 1));
        for seed in 0..3 {
            let (one, five) = (numbers(8, seed), numbers(40, seed + 10));
            let got = decode.run(&[Tensor::floats(&[8], &one)]).unwrap();
            close(&got[0].to_floats(), &cache.decode(&one));
            let got = prefill.run(&[Tensor::floats(&[5, 8], &five)]).unwrap();
            close(&got[0].to_floats(), &cache.prefill(&five));
        }
        // Another program of the same files has buffers of its own.
        let other = Program::open("cuda_cache");
        let (mut fresh, one) = (Cache::new(&other), numbers(8, 77));
        let mut second = other.method("decode").unwrap();
        let got = second.run(&[Tensor::floats(&[8], &one)]).unwrap();
        close(&got[0].to_floats(), &fresh.decode(&one));
        let got = decode.run(&[Tensor::floats(&[8], &one)]).unwrap();
        close(&got[0].to_floats(), &cache.decode(&one));
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn constants_that_are_not_given_are_asked_for() {
    let _fakes = fakes();
    let error = Program::without_data("cuda_layer").method("device").err().unwrap();
    assert_eq!(error.code, ET_ERROR_NOT_FOUND);
    assert!(error.message.contains(".ptd") && error.message.contains("cuda_fqn_weight"), "{error}");
}
