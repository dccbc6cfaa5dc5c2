//! Loading a program, calling its methods, comparing what they give.

use crate::arrays::{Arrays, dtype, floats, laid_out};
use crate::{Case, Suite, Value};
use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Error, Result, TensorRef};
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;

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

/// A loaded program with the data that its methods take. Its methods are released before it.
pub(crate) struct Program {
    program: *mut et_program_t,
    map: Option<Box<et_data_map_t>>,
}

impl Program {
    pub(crate) fn load(folder: &Path, suite: &Suite) -> Result<Self> {
        let mut loaded = Self { program: ptr::null_mut(), map: None };
        if let Some(file) = suite.data.first() {
            let mut map = MaybeUninit::uninit();
            // SAFETY: the loader is given away; the map is written on success.
            loaded.map = Some(unsafe {
                Error::check(et_data_map_load(&loader(&folder.join(file)), map.as_mut_ptr()))?;
                Box::new(map.assume_init())
            });
        }
        // SAFETY: the loader is given away; a place for the handle.
        Error::check(unsafe { et_program_load(&loader(&folder.join(&suite.program)), &mut loaded.program) })?;
        Ok(loaded)
    }

    pub(crate) fn method(&self, name: &str) -> Result<Method<'_>> {
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
        Ok(Method { method, _program: self })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: both are owned, and the methods, which borrow this, are released.
        unsafe {
            if !self.program.is_null() {
                et_program_release(self.program);
            }
            if let Some(map) = &self.map
                && let Some(destroy) = map.destroy
            {
                destroy(map.user_data);
            }
        }
    }
}

/// A loaded method.
pub(crate) struct Method<'a> {
    method: *mut et_method_t,
    _program: &'a Program,
}

impl Drop for Method<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is owned.
        unsafe { et_method_release(self.method) }
    }
}

impl Method<'_> {
    /// Runs a case and says what is wrong with its results.
    pub(crate) fn run(&self, case: &Case, arrays: &Arrays) -> std::result::Result<(), String> {
        // Memory that the method shares stays alive until the case is over.
        let mut kept: Vec<Vec<u64>> = Vec::new();
        for (i, input) in case.inputs.iter().enumerate() {
            self.set_input(i, input, arrays, &mut kept)?;
        }
        for (i, expected) in case.expected.iter().enumerate() {
            let Value::Tensor { tensor, .. } = expected else { continue };
            let mut words = vec![0_u64; arrays.bytes(tensor).len() / 8 + 1];
            let bytes = words.len() as u64 * 8;
            // SAFETY: a live method, and memory that is kept until the case is over. An output with planned memory
            // refuses.
            unsafe { et_method_set_output_data(self.method, i, words.as_mut_ptr().cast(), bytes as usize) };
            kept.push(words);
        }
        // SAFETY: a live method.
        Error::check(unsafe { et_method_execute(self.method) }).map_err(|e| e.to_string())?;
        for (i, expected) in case.expected.iter().enumerate() {
            // SAFETY: a live method's output is valid until the next run.
            let found = unsafe { *et_method_output(self.method, i) };
            check(found, expected, case, arrays).map_err(|e| format!("output {i}: {e}"))?;
        }
        Ok(())
    }

    fn set_input(
        &self,
        i: usize,
        input: &Value,
        arrays: &Arrays,
        kept: &mut Vec<Vec<u64>>,
    ) -> std::result::Result<(), String> {
        let value = match input {
            Value::Tensor { tensor, dtype: name, shape, dim_order } => {
                return self.set_tensor(i, (tensor, name, shape, dim_order.as_deref()), arrays, kept);
            }
            Value::Int { int } => et_value_t::int(*int),
            Value::Double { double: d } => et_value_t::double(double(d)),
            Value::Bool { bool } => et_value_t::bool(*bool),
            // Text too: the exporter leaves it out, and puts none in its place.
            Value::String { .. } | Value::None {} => et_value_t::NONE,
        };
        // SAFETY: a live method and a valid value.
        Error::check(unsafe { et_method_set_input(self.method, i, &value) }).map_err(|e| e.to_string())
    }

    fn set_tensor(
        &self,
        i: usize,
        (key, name, shape, dim_order): (&str, &str, &[i32], Option<&[u8]>),
        arrays: &Arrays,
        kept: &mut Vec<Vec<u64>>,
    ) -> std::result::Result<(), String> {
        let dtype = dtype(name)?;
        let rank = shape.len();
        let mut order = dim_order.map_or_else(|| (0..rank as u8).collect(), <[u8]>::to_vec);
        let mut data = arrays.bytes(key);
        if !order.is_sorted() {
            data = laid_out(&data, dtype.size(), shape, &order);
        }
        let mut words = vec![0_u64; data.len() / 8 + 1];
        // SAFETY: the words hold at least as many bytes.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), words.as_mut_ptr().cast(), data.len()) };
        let mut sizes = shape.to_vec();
        let mut strides = vec![0; rank];
        // SAFETY: as many sizes, dimensions and strides as are said.
        unsafe { et_tensor_dense_strides(sizes.as_ptr(), order.as_ptr(), rank, strides.as_mut_ptr()) };
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
        // SAFETY: a live method and a valid value, whose data is kept.
        Error::check(unsafe { et_method_set_input(self.method, i, &et_value_t::tensor(&mut tensor)) })
            .map_err(|e| e.to_string())
    }
}

fn close(found: f64, expected: f64, case: &Case) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= case.atol + case.rtol * expected.abs()
}

fn check(
    found: et_value_t,
    expected: &Value,
    case: &Case,
    arrays: &Arrays,
) -> std::result::Result<(), String> {
    match expected {
        Value::Tensor { tensor, dtype: name, shape, .. } => {
            let dtype = dtype(name)?;
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
            let mut want = arrays.bytes(tensor);
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
