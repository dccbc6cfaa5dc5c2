//! What the programs compute, as plain loops in double precision.
#![allow(dead_code, reason = "the benchmark uses its part")]

use crate::common::{Program, Tensor};
use executorch_abi::Result;

/// Numbers that repeat themselves only after a long while.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let next = |index: usize| {
        let mixed = (index as u32).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) >> 8;
        (mixed % 2001) as f32 / 1000.0 - 1.0
    };
    (0..count).map(next).collect()
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks(4).map(|bytes| f64::from(f32::from_ne_bytes(bytes.try_into().unwrap()))).collect()
}

/// A constant of a program that is in its list.
pub fn constant(program: &Program, name: &str) -> Vec<u8> {
    let key = format!("cuda_fqn_weight:cuda:{name}");
    program.data(|found| found == key).remove(0).1
}

/// Fails unless the numbers are close.
pub fn close(got: &[f32], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!((f64::from(*got) - want).abs() <= 1e-5 + 1e-5 * want.abs(), "{got}, expected {want}");
    }
}

/// `cuda_layer`: a linear layer of 16 to 12, a sigmoid, and integers added.
pub struct Layer {
    weight: Vec<f64>,
    bias: Vec<f64>,
}

impl Layer {
    pub fn new(program: &Program) -> Self {
        Self { weight: floats(&constant(program, "l.weight")), bias: floats(&constant(program, "l.bias")) }
    }

    pub fn input(seed: u32) -> Vec<f32> {
        numbers(64, seed)
    }

    pub fn tensor(x: &[f32]) -> Tensor {
        Self::try_tensor(x).unwrap()
    }

    pub fn try_tensor(x: &[f32]) -> Result<Tensor> {
        Tensor::try_floats_of(&[4, 16], x)
    }

    pub fn expected(&self, x: &[f32]) -> Vec<f64> {
        let one = |row: usize, column: usize| {
            let products = (0..16).map(|k| f64::from(x[row * 16 + k]) * self.weight[column * 16 + k]);
            let sum = products.sum::<f64>() + self.bias[column];
            2.0 / (1.0 + (-sum).exp()) + column as f64
        };
        (0..48).map(|index| one(index / 12, index % 12)).collect()
    }
}

/// `cuda_cache`: a buffer of 3 × 8 that every call adds to.
pub struct Cache {
    weight: Vec<f64>,
    pub buffer: Vec<f64>,
}

impl Cache {
    pub fn new(program: &Program) -> Self {
        Self { weight: floats(&constant(program, "weight")), buffer: floats(&constant(program, "cache")) }
    }

    fn sums(&self) -> Vec<f64> {
        (0..8).map(|column| (0..3).map(|row| self.buffer[row * 8 + column]).sum()).collect()
    }

    /// What `decode` gives for 8 numbers.
    pub fn decode(&mut self, x: &[f32]) -> Vec<f64> {
        for index in 0..24 {
            self.buffer[index] += f64::from(x[index % 8]) * self.weight[index];
        }
        self.sums()
    }

    /// What `prefill` gives for 5 × 8 numbers.
    pub fn prefill(&mut self, x: &[f32]) -> Vec<f64> {
        let column = |column: usize| (0..5).map(|row| f64::from(x[row * 8 + column])).sum::<f64>();
        for index in 0..24 {
            self.buffer[index] += column(index % 8) * self.weight[index];
        }
        self.sums().iter().enumerate().map(|(index, sum)| sum / 3.0 - column(index) / 5.0).collect()
    }
}
