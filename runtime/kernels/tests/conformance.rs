//! Programs that upstream exported, against eager PyTorch's results (`checks/conformance/programs`).
//!
//! `ET_CONFORMANCE=ops_pools,cnn` runs those programs alone.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Dtype, Error, Result, TensorRef};
use serde::Deserialize;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::ptr;

#[derive(Deserialize)]
struct Suite {
    program: String,
    data: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    method: String,
    inputs: Vec<Value>,
    expected: Vec<Value>,
    rtol: f64,
    atol: f64,
    #[serde(default = "yes")]
    compare: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Tensor {
        tensor: String,
        dtype: String,
        shape: Vec<i32>,
        dim_order: Option<Vec<u8>>,
    },
    Int {
        int: i64,
    },
    Double {
        double: serde_json::Value,
    },
    Bool {
        bool: bool,
    },
    String {
        #[serde(rename = "string")]
        _string: String,
    },
    None {},
}

fn dtype(name: &str) -> Option<Dtype> {
    Some(match name {
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
        _ => return None,
    })
}

/// The raw bytes of an array: npy's data after its header, which ends in a newline.
fn bytes(path: &Path, key: &str) -> Vec<u8> {
    let mut archive = npyz::npz::NpzArchive::open(path).unwrap();
    let mut file = archive.zip_archive().by_name(&format!("{key}.npy")).unwrap();
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut all).unwrap();
    let length = u16::from_le_bytes([all[8], all[9]]) as usize;
    all.split_off(10 + length)
}

/// The numbers; two for each complex one.
fn floats(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
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
fn laid_out(data: &[u8], size: usize, shape: &[i32], order: &[u8]) -> Vec<u8> {
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

fn double(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn loader(path: &Path) -> et_data_loader_t {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let mut loader = MaybeUninit::uninit();
    // SAFETY: a NUL-terminated path and a place for the loader, which is written on success.
    unsafe {
        assert_eq!(et_data_loader_open_file(path.as_ptr(), ET_LOAD_MMAP, loader.as_mut_ptr()), ET_OK);
        loader.assume_init()
    }
}

struct Program {
    program: *mut et_program_t,
    map: Option<Box<et_data_map_t>>,
}

impl Program {
    fn load(folder: &Path, suite: &Suite) -> Self {
        let map = suite.data.first().map(|file| {
            let mut map = MaybeUninit::uninit();
            // SAFETY: the loader is given away; the map is written on success.
            unsafe {
                assert_eq!(et_data_map_load(&loader(&folder.join(file)), map.as_mut_ptr()), ET_OK);
                Box::new(map.assume_init())
            }
        });
        let mut program = ptr::null_mut();
        // SAFETY: the loader is given away; a place for the handle.
        Error::check(unsafe { et_program_load(&loader(&folder.join(&suite.program)), &mut program) })
            .unwrap();
        Self { program, map }
    }

    fn method(&self, name: &str) -> Result<*mut et_method_t> {
        let options = et_method_options_t {
            struct_size: size_of::<et_method_options_t>() as u32,
            reserved: 0,
            memory: ptr::null(),
            data_map: self.map.as_deref().map_or(ptr::null(), ptr::from_ref),
            tracer: ptr::null(),
            backend_options: ptr::null(),
            backend_options_count: 0,
            kernels: ptr::null(),
            kernel_count: 0,
        };
        let name = CString::new(name).unwrap();
        let mut method = ptr::null_mut();
        // SAFETY: a live program, valid options, a place for the handle.
        Error::check(unsafe { et_program_load_method(self.program, name.as_ptr(), &options, &mut method) })?;
        Ok(method)
    }
}

/// Runs a case and says what is wrong with its results.
fn run(method: *mut et_method_t, case: &Case, arrays: &Path) -> std::result::Result<(), String> {
    // Inputs that the method shares stay alive until the case is over.
    let mut kept: Vec<Vec<u64>> = Vec::new();
    for (i, input) in case.inputs.iter().enumerate() {
        let result = match input {
            Value::Tensor { tensor, dtype: name, shape, dim_order } => {
                let dtype = dtype(name).ok_or_else(|| format!("the test does not know the dtype {name}"))?;
                let rank = shape.len();
                let mut order = dim_order.clone().unwrap_or_else(|| (0..rank as u8).collect());
                let mut data = bytes(arrays, tensor);
                if !order.is_sorted() {
                    data = laid_out(&data, dtype.size(), shape, &order);
                }
                let mut words = vec![0_u64; data.len() / 8 + 1];
                // SAFETY: the words hold at least as many bytes.
                unsafe { ptr::copy_nonoverlapping(data.as_ptr(), words.as_mut_ptr().cast(), data.len()) };
                let mut sizes = shape.clone();
                let mut strides = vec![0; rank];
                // SAFETY: as many sizes, dimensions and strides as are said.
                unsafe {
                    et_tensor_dense_strides(sizes.as_ptr(), order.as_ptr(), rank, strides.as_mut_ptr());
                }
                let mut tensor = et_tensor_t {
                    data: words.as_mut_ptr().cast::<c_void>(),
                    sizes: sizes.as_mut_ptr(),
                    strides: strides.as_mut_ptr(),
                    dim_order: order.as_mut_ptr(),
                    numel: (data.len() / dtype.size()) as u64,
                    capacity_bytes: data.len() as u64,
                    struct_size: size_of::<et_tensor_t>() as u16,
                    rank: rank as u8,
                    dtype: dtype as i8,
                    dynamism: 0,
                    device_type: 0,
                    device_index: 0,
                    flags: 0,
                    user_data: ptr::null_mut(),
                };
                kept.push(words);
                // SAFETY: a live method and a valid value.
                unsafe { et_method_set_input(method, i, &et_value_t::tensor(&mut tensor)) }
            }
            other => {
                let value = match other {
                    Value::Int { int } => et_value_t::int(*int),
                    Value::Double { double: d } => et_value_t::double(double(d)),
                    Value::Bool { bool } => et_value_t::bool(*bool),
                    // Text too: the exporter leaves it out, and puts none in its place.
                    _ => et_value_t::NONE,
                };
                // SAFETY: as above.
                unsafe { et_method_set_input(method, i, &value) }
            }
        };
        Error::check(result).map_err(|e| e.to_string())?;
    }
    for (i, expected) in case.expected.iter().enumerate() {
        let Value::Tensor { tensor, .. } = expected else { continue };
        let size = bytes(arrays, tensor).len();
        let mut words = vec![0_u64; size / 8 + 1];
        // SAFETY: a live method, and memory that is kept until the case is over. An output with planned memory refuses.
        unsafe { et_method_set_output_data(method, i, words.as_mut_ptr().cast(), words.len() * 8) };
        kept.push(words);
    }
    // SAFETY: a live method.
    Error::check(unsafe { et_method_execute(method) }).map_err(|e| e.to_string())?;
    for (i, expected) in case.expected.iter().enumerate() {
        // SAFETY: a live method's output is valid until the next run.
        let found = unsafe { *et_method_output(method, i) };
        check(found, expected, case, arrays).map_err(|e| format!("output {i}: {e}"))?;
    }
    Ok(())
}

fn close(found: f64, expected: f64, case: &Case) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= case.atol + case.rtol * expected.abs()
}

fn check(found: et_value_t, expected: &Value, case: &Case, arrays: &Path) -> std::result::Result<(), String> {
    match expected {
        Value::Tensor { tensor, dtype: name, shape, .. } => {
            let dtype = dtype(name).ok_or_else(|| format!("the test does not know the dtype {name}"))?;
            if found.tag != ET_TAG_TENSOR {
                return Err(format!("tag {} instead of a tensor", found.tag));
            }
            // SAFETY: the tag says which member holds.
            let view = unsafe { TensorRef::new(&*found.payload.as_tensor) };
            if view.sizes() != shape || view.dtype().unwrap() != dtype {
                return Err(format!(
                    "{} {:?} instead of {dtype} {shape:?}",
                    view.dtype().unwrap(),
                    view.sizes()
                ));
            }
            let mut want = bytes(arrays, tensor);
            if !view.is_contiguous() {
                want = laid_out(&want, dtype.size(), shape, view.dim_order());
            }
            let (got, want) = (floats(dtype, view.bytes().unwrap()), floats(dtype, &want));
            let wrong = got.iter().zip(&want).position(|(g, w)| !close(*g, *w, case));
            match wrong.filter(|_| case.compare) {
                Some(at) => Err(format!("element {at} is {} instead of {}", got[at], want[at])),
                None => Ok(()),
            }
        }
        // SAFETY: the tags say which members hold, here and below.
        Value::Int { int } if found.tag == ET_TAG_INT && unsafe { found.payload.as_int } == *int => Ok(()),
        // SAFETY: as above.
        Value::Bool { bool } if found.tag == ET_TAG_BOOL && unsafe { found.payload.as_bool } == *bool => {
            Ok(())
        }
        Value::Double { double: d } if found.tag == ET_TAG_DOUBLE => {
            // SAFETY: as above.
            let got = unsafe { found.payload.as_double };
            if close(got, double(d), case) { Ok(()) } else { Err(format!("{got} instead of {d}")) }
        }
        Value::None {} if found.tag == ET_TAG_NONE => Ok(()),
        Value::String { .. } => Ok(()),
        _ => Err(format!("another value, of tag {}", found.tag)),
    }
}

#[test]
fn programs_give_pytorch_s_results() {
    executorch_kernels::register();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../checks/conformance/programs");
    let mut suites: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    suites.sort();
    let only = std::env::var("ET_CONFORMANCE").ok();
    if let Some(only) = &only {
        suites.retain(|p| only.split(',').any(|o| p.file_stem().is_some_and(|s| s == o)));
    }
    assert!(!suites.is_empty(), "there is no such program in {}", folder.display());
    let (mut ran, mut wrong) = (0, Vec::new());
    for path in suites {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let suite: Suite = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let arrays = path.with_extension("npz");
        let program = Program::load(&folder, &suite);
        let mut methods = HashMap::new();
        for case in &suite.cases {
            let method = methods.entry(case.method.clone()).or_insert_with(|| program.method(&case.method));
            let result = match method {
                Err(e) => Err(e.to_string()),
                Ok(method) => run(*method, case, &arrays),
            };
            ran += 1;
            wrong.extend(result.err().map(|e| format!("{name}, {}: {e}", case.name)));
        }
        for method in methods.into_values().flatten() {
            // SAFETY: the handle is owned.
            unsafe { et_method_release(method) }
        }
        // SAFETY: both are owned, and the methods are released.
        unsafe {
            et_program_release(program.program);
            if let Some(map) = program.map
                && let Some(destroy) = map.destroy
            {
                destroy(map.user_data);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {ran} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
