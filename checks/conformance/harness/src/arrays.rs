//! The arrays of a `NAME.npz`, and their elements.

use executorch_abi::Dtype;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// An open archive.
pub(crate) struct Arrays(RefCell<npyz::npz::NpzArchive<BufReader<File>>>);

impl Arrays {
    pub(crate) fn open(path: &Path) -> Self {
        Self(RefCell::new(npyz::npz::NpzArchive::open(path).unwrap()))
    }

    /// The raw bytes of an array: npy's data after its header, which ends in a newline.
    pub(crate) fn bytes(&self, key: &str) -> Vec<u8> {
        let mut archive = self.0.borrow_mut();
        let mut file = archive.zip_archive().by_name(&format!("{key}.npy")).unwrap();
        let mut all = Vec::new();
        file.read_to_end(&mut all).unwrap();
        let length = u16::from_le_bytes([all[8], all[9]]) as usize;
        all.split_off(10 + length)
    }
}

/// The dtype that a description names.
pub(crate) fn dtype(name: &str) -> Result<Dtype, String> {
    Ok(match name {
        "u8" => Dtype::UInt8,
        "i8" => Dtype::Int8,
        "i16" => Dtype::Int16,
        "i32" => Dtype::Int32,
        "i64" => Dtype::Int64,
        "f16" => Dtype::Float16,
        "bf16" => Dtype::BFloat16,
        "f32" => Dtype::Float32,
        "f64" => Dtype::Float64,
        "bool" => Dtype::Bool,
        "c64" => Dtype::Complex64,
        "c128" => Dtype::Complex128,
        _ => return Err(format!("the test does not know the dtype {name}")),
    })
}

/// The numbers; two for each complex one.
pub(crate) fn floats(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    let dtype = match dtype {
        Dtype::Complex64 => Dtype::Float32,
        Dtype::Complex128 => Dtype::Float64,
        real => real,
    };
    bytes
        .chunks_exact(dtype.size())
        .map(|c| match dtype {
            Dtype::UInt8 | Dtype::Bool => c[0].into(),
            Dtype::Int8 => (c[0] as i8).into(),
            Dtype::Int16 => i16::from_le_bytes(c.try_into().unwrap()).into(),
            Dtype::Int32 => i32::from_le_bytes(c.try_into().unwrap()).into(),
            Dtype::Int64 => i64::from_le_bytes(c.try_into().unwrap()) as f64,
            Dtype::Float16 => half::f16::from_le_bytes(c.try_into().unwrap()).into(),
            Dtype::BFloat16 => half::bf16::from_le_bytes(c.try_into().unwrap()).into(),
            Dtype::Float32 => f32::from_le_bytes(c.try_into().unwrap()).into(),
            _ => f64::from_le_bytes(c.try_into().unwrap()),
        })
        .collect()
}

/// Row-major elements in another order of dimensions, outermost first.
pub(crate) fn laid_out(data: &[u8], size: usize, shape: &[i32], order: &[u8]) -> Vec<u8> {
    let mut strides = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d] as usize;
    }
    let places = order.iter().fold(vec![0], |places: Vec<usize>, &d| {
        let steps = (0..shape[d as usize] as usize).map(|i| i * strides[d as usize]);
        places.iter().flat_map(|p| steps.clone().map(move |s| p + s)).collect()
    });
    places.iter().flat_map(|p| &data[p * size..(p + 1) * size]).copied().collect()
}
