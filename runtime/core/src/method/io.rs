//! Inputs, outputs and attributes of a method.

use super::Method;
use crate::format::dense_strides;
use crate::ir::{Device, Storage, Tensor, Value};
use executorch_abi::error::*;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Dtype, Error, Result, TensorMut, TensorRef};
use std::ffi::{CStr, c_void};
use std::ptr;

fn bad(message: String) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, message)
}

fn no_such(what: &str, index: usize, count: usize) -> Error {
    bad(format!("{what} {index} does not exist: the method has {count}"))
}

impl Method {
    fn at(&self, list: &[u32], index: usize, what: &str) -> Result<u32> {
        list.get(index).copied().ok_or_else(|| no_such(what, index, list.len()))
    }

    /// Sets an input.
    ///
    /// # Safety
    /// `given` and what it points to are valid during the call; a tensor's data, where it is shared, for all runs
    /// until the input is set again.
    pub unsafe fn set_input(&mut self, index: usize, given: &et_value_t) -> Result<()> {
        let value = self.at(&self.plan()?.inputs, index, "input")?;
        // SAFETY: the caller's promise.
        unsafe { self.set_value(value, given) }.map_err(|e| e.within(format!("input {index}")))?;
        if let Some(flag) = self.inputs_set.get_mut(index) {
            *flag = true;
        }
        // SAFETY: the value was set, so its tag says which member holds, and its tensor is valid.
        self.uses_devices |=
            given.tag == ET_TAG_TENSOR && !device_of(unsafe { &*given.payload.as_tensor }).is_host();
        Ok(())
    }

    /// # Safety
    /// As for [`Method::set_input`].
    unsafe fn set_value(&mut self, value: u32, given: &et_value_t) -> Result<()> {
        let expected = self.plan()?.values.get(value as usize);
        let wrong =
            |what: &str| bad(format!("expected {what}, found {}", executorch_abi::args::tag_name(given.tag)));
        match expected {
            Some(Value::Tensor(tensor)) => {
                if given.tag != ET_TAG_TENSOR {
                    return Err(wrong("a tensor"));
                }
                // SAFETY: the tag says which member holds; the caller's tensor is valid.
                let given = unsafe { given.payload.as_tensor.as_ref() }
                    .ok_or_else(|| bad("the tensor's pointer is null".into()))?;
                // SAFETY: the caller's promise.
                unsafe { self.set_tensor(value, tensor, given) }
            }
            Some(Value::None) if given.tag == ET_TAG_NONE => Ok(()),
            Some(Value::Int(traced)) if given.tag == ET_TAG_INT => {
                // SAFETY: the tag says which member holds, here and below.
                let found = unsafe { given.payload.as_int };
                same(*traced, found)
            }
            Some(Value::Bool(traced)) if given.tag == ET_TAG_BOOL => {
                // SAFETY: as above.
                let found = unsafe { given.payload.as_bool };
                same(*traced, found)
            }
            Some(Value::Double(traced)) if given.tag == ET_TAG_DOUBLE => {
                // SAFETY: as above.
                let found = unsafe { given.payload.as_double };
                // Upstream's tolerance for a float that was traced.
                let near = (found - traced).abs() <= 1e-4 + 1e-5 * traced.abs() || found == *traced;
                if near || (found.is_nan() && traced.is_nan()) { Ok(()) } else { same(*traced, found) }
            }
            Some(Value::String(traced)) if given.tag == ET_TAG_STRING => {
                // SAFETY: as above; the caller's string holds `length` bytes.
                let found = unsafe {
                    let text = given.payload.as_string;
                    if text.length == 0 {
                        &[][..]
                    } else {
                        std::slice::from_raw_parts(text.data.cast(), text.length)
                    }
                };
                if found == traced.as_bytes() {
                    return Ok(());
                }
                Err(constant(&traced.to_string_lossy(), &String::from_utf8_lossy(found)))
            }
            Some(Value::None) => Err(wrong("none")),
            Some(Value::Int(_)) => Err(wrong("an int")),
            Some(Value::Bool(_)) => Err(wrong("a bool")),
            Some(Value::Double(_)) => Err(wrong("a float")),
            Some(Value::String(_)) => Err(wrong("a string")),
            _ => Err(Error::new(ET_ERROR_NOT_SUPPORTED, "inputs that are lists cannot be set")),
        }
    }

    /// # Safety
    /// As for [`Method::set_input`].
    unsafe fn set_tensor(&self, value: u32, expected: &Tensor, given: &et_tensor_t) -> Result<()> {
        // SAFETY: the caller's promise.
        let view = unsafe { TensorRef::new(given) };
        let dtype = view.dtype()?;
        if dtype != expected.dtype {
            return Err(bad(format!("expected a tensor of {}, found {dtype}", expected.dtype)));
        }
        if view.rank() != expected.sizes.len() || (!expected.is_dynamic && view.sizes() != expected.sizes) {
            let bound = if expected.is_dynamic { "at most " } else { "" };
            return Err(bad(format!(
                "expected a tensor of sizes {bound}{:?}, found {:?}",
                expected.sizes,
                view.sizes()
            )));
        }
        let mut computed = [0; ET_MAX_RANK];
        let (strides, numel) = if view.sizes() == expected.sizes {
            (expected.strides.as_slice(), expected.numel)
        } else {
            let computed = computed.get_mut(..view.rank()).unwrap_or_default();
            let numel = dense_strides(view.sizes(), &expected.dim_order, computed)?;
            (&*computed, numel)
        };
        let dense = view.sizes().iter().zip(view.strides()).zip(strides).all(|((&n, a), b)| n <= 1 || a == b);
        if !dense && numel > 0 {
            return Err(bad(format!(
                "expected strides {strides:?} (dim order {:?}), found {:?}; make the tensor contiguous in that order",
                expected.dim_order,
                view.strides()
            )));
        }
        // The shape counts, not what the caller says that it holds.
        let size = numel.saturating_mul(dtype.size() as u64);
        if given.data.is_null() && size > 0 {
            return Err(bad("the tensor has no data".into()));
        }
        // SAFETY: the plan says that the value is a tensor.
        let own = unsafe { &mut *(*self.values.values.at(value as usize)).payload.as_tensor };
        let shared = own.flags & (ET_TENSOR_PLANNED | ET_TENSOR_CONSTANT) == 0;
        if shared {
            own.capacity_bytes = expected.nbytes;
        }
        // SAFETY: `own` is a tensor of the method, which this thread alone uses.
        unsafe { TensorMut::new(own) }.resize(view.sizes())?;
        if shared {
            own.data = given.data;
            // No more may be written than the caller's tensor holds.
            own.capacity_bytes = size;
            // Who makes a tensor of a device's address may leave the device out: then it is the one that the program
            // says, and the delegate checks the address.
            let on = if device_of(given).is_host() { expected.device } else { device_of(given) };
            (own.device_type, own.device_index) = (on.kind, on.index);
            return Ok(());
        }
        if own.flags & ET_TENSOR_CONSTANT != 0 {
            return Err(Error::new(ET_ERROR_INVALID_PROGRAM, "the input is a constant of the program"));
        }
        if !expected.device.is_host() {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                format!(
                    "the program plans memory for it on {}, where the host cannot copy it; export with \
                     MemoryPlanningPass(alloc_graph_input=False) and give a tensor that lies there",
                    expected.device
                ),
            ));
        }
        if !device_of(given).is_host() {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                format!(
                    "the tensor lies on {}, but the program copies this input to host memory; copy it to the host \
                     before, or export with PropagateDeviceConfig(skip_h2d_for_method_inputs=True) and \
                     MemoryPlanningPass(alloc_graph_input=False) to give it on the device",
                    device_of(given)
                ),
            ));
        }
        if size > 0 {
            // SAFETY: the resize left `size` bytes at `own`, and the caller's tensor holds as many; `copy` allows
            // that the caller passes the method's own memory.
            unsafe { ptr::copy(given.data.cast::<u8>(), own.data.cast::<u8>(), size as usize) };
        }
        Ok(())
    }

    /// An input's or output's value as the method holds it.
    pub fn value(&self, index: usize, is_output: bool) -> *mut et_value_t {
        let Ok(plan) = self.plan() else { return ptr::null_mut() };
        let list = if is_output { &plan.outputs } else { &plan.inputs };
        list.get(index).map_or(ptr::null_mut(), |&v| self.values.values.at(v as usize))
    }

    /// Lets an output be written to memory of the caller, on the output's device.
    pub fn set_output_data(&mut self, index: usize, data: *mut c_void, size: usize) -> Result<()> {
        let value = self.at(&self.plan()?.outputs, index, "output")?;
        let Some(Value::Tensor(tensor)) = self.plan()?.values.get(value as usize) else {
            return Err(bad(format!("output {index} is no tensor")));
        };
        if tensor.storage != Storage::Unbound {
            return Err(Error::new(
                ET_ERROR_INVALID_STATE,
                format!(
                    "the memory of output {index} is planned; export with alloc_graph_output=False to give it, or copy \
                     the output after the run"
                ),
            ));
        }
        if (size as u64) < tensor.nbytes || (data.is_null() && tensor.nbytes > 0) {
            return Err(bad(format!("output {index} needs {} bytes, {size} were given", tensor.nbytes)));
        }
        if !data.addr().is_multiple_of(tensor.dtype.size().max(1)) {
            return Err(bad(format!("the memory for output {index} is not aligned to its element type")));
        }
        // SAFETY: the plan says that the value is a tensor.
        let own = unsafe { &mut *(*self.values.values.at(value as usize)).payload.as_tensor };
        own.data = data;
        Ok(())
    }

    /// An attribute: a named tensor with mutable memory.
    pub fn attribute(&self, name: &CStr) -> Result<*mut et_tensor_t> {
        let is_it = |value: &Value| matches!(value, Value::Tensor(t) if t.name.as_deref() == Some(name));
        let found = self.plan()?.values.iter().position(is_it);
        let index = found
            .ok_or_else(|| Error::new(ET_ERROR_NOT_FOUND, format!("the method has no attribute {name:?}")))?;
        // SAFETY: the plan says that the value is a tensor.
        Ok(unsafe { (*self.values.values.at(index)).payload.as_tensor })
    }
}

fn same<T: PartialEq + std::fmt::Display>(traced: T, found: T) -> Result<()> {
    if traced == found { Ok(()) } else { Err(constant(&traced.to_string(), &found.to_string())) }
}

fn constant(traced: &str, found: &str) -> Error {
    bad(format!(
        "the program was exported with {traced} here and works for no other value, found {found}; export it again \
         with that value, or make it a tensor"
    ))
}

/// Where a tensor's data lies.
pub fn device_of(tensor: &et_tensor_t) -> Device {
    Device { kind: tensor.device_type, index: tensor.device_index }
}

/// A tensor for messages: `float32[2, 4]`, `float32[2, 4] on cuda:0`.
pub fn describe(tensor: &et_tensor_t) -> String {
    let dtype = Dtype::from_raw(tensor.dtype).map_or("unknown", Dtype::name);
    // SAFETY: only the shape is read, which a method's tensors always have.
    let sizes = unsafe { TensorRef::new(tensor) }.sizes();
    match device_of(tensor) {
        device if device.is_host() => format!("{dtype}{sizes:?}"),
        device => format!("{dtype}{sizes:?} on {device}"),
    }
}
