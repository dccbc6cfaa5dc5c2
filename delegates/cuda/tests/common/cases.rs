//! The cases of a program: inputs, and what PyTorch gives for them.

use super::{Tensor, file};
use executorch_abi::Dtype;
use npyz::npz::NpzArchive;
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;

/// One call.
pub struct Case {
    pub method: String,
    pub inputs: Vec<Tensor>,
    expected: Vec<(Dtype, Vec<i32>, Vec<f64>)>,
    rtol: f64,
    atol: f64,
}

/// All calls of a program, in order.
pub fn cases(name: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(file(name, "json")).unwrap();
    let suite: Value = serde_json::from_str(&text).unwrap();
    let mut arrays = NpzArchive::open(file(name, "npz")).unwrap();
    suite["cases"].as_array().unwrap().iter().map(|case| read(case, &mut arrays)).collect()
}

fn read(case: &Value, arrays: &mut NpzArchive<BufReader<File>>) -> Case {
    let mut values = |which: &str| -> Vec<(Dtype, Vec<i32>, Vec<u8>)> {
        let read = |value: &Value| {
            let key = value["tensor"].as_str().unwrap();
            let sizes = value["shape"].as_array().unwrap().iter().map(|size| size.as_i64().unwrap() as i32).collect();
            let array = arrays.by_name(key).unwrap().unwrap();
            match value["dtype"].as_str().unwrap() {
                "f32" => {
                    let numbers = array.into_vec::<f32>().unwrap();
                    (Dtype::Float32, sizes, numbers.iter().flat_map(|n| n.to_ne_bytes()).collect())
                }
                "i64" => {
                    let numbers = array.into_vec::<i64>().unwrap();
                    (Dtype::Int64, sizes, numbers.iter().flat_map(|n| n.to_ne_bytes()).collect())
                }
                other => panic!("{other}"),
            }
        };
        case[which].as_array().unwrap().iter().map(read).collect()
    };
    let inputs = values("inputs").into_iter().map(|(dtype, sizes, bytes)| Tensor::of(dtype, &sizes, &bytes)).collect();
    let expected =
        values("expected").into_iter().map(|(dtype, sizes, bytes)| (dtype, sizes, numbers(dtype, &bytes))).collect();
    Case {
        method: case["method"].as_str().unwrap().to_owned(),
        inputs,
        expected,
        rtol: case["rtol"].as_f64().unwrap(),
        atol: case["atol"].as_f64().unwrap(),
    }
}

fn numbers(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        Dtype::Float32 => bytes.chunks(4).map(|b| f64::from(f32::from_ne_bytes(b.try_into().unwrap()))).collect(),
        _ => bytes.chunks(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap()) as f64).collect(),
    }
}

impl Case {
    /// Fails unless these are the case's results.
    pub fn check(&self, outputs: &[Tensor]) {
        assert_eq!(outputs.len(), self.expected.len());
        for (output, (dtype, sizes, expected)) in outputs.iter().zip(&self.expected) {
            assert_eq!((output.dtype, &output.sizes), (*dtype, sizes));
            let got = numbers(output.dtype, &output.bytes());
            for (got, want) in got.iter().zip(expected) {
                assert!((got - want).abs() <= self.atol + self.rtol * want.abs(), "{got}, expected {want}");
            }
        }
    }
}
