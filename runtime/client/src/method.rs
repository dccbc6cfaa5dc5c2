//! Loaded methods: inputs, runs, outputs.

use crate::data_map::DataMap;
use crate::device::Device;
use crate::layout::Layout;
use crate::meta::{Instruction, MethodMeta, TensorInfo};
use crate::options::MethodOptions;
use crate::program::{Program, missing};
use crate::tensor::{Storage, Tensor, TensorView};
use crate::text;
use crate::value::{Kind, Value};
use executorch_abi::error::*;
use executorch_abi::method::*;
use executorch_abi::value::*;
use executorch_abi::{Error, Result};
use std::any::Any;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// A loaded method. One thread at a time uses it, which `&mut` sees to; it may move between threads.
pub struct Method {
    raw: NonNull<et_method_t>,
    meta: MethodMeta,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Whether the outputs of the last run may be read: everything that they may lie in is still there.
    is_readable: bool,
    // Dropped after `raw` is released.
    _data: Option<DataMap>,
}

// SAFETY: a method may be used from any thread, by one at a time, and what it holds is `Send`.
unsafe impl Send for Method {}

struct Input {
    kind: Kind,
    tensor: Option<TensorInfo>,
    /// Whether the program writes to it where it lies.
    is_written: bool,
    /// Keeps the memory of an input that the runtime uses in place.
    held: Option<Arc<Storage>>,
    /// Whether the runtime may still point to memory that was lent for one call.
    is_stale: bool,
}

impl Input {
    /// Whether the runtime uses it where it lies.
    fn is_shared(&self) -> bool {
        self.tensor.as_ref().is_some_and(|info| !info.is_memory_planned)
    }

    /// Fails for a tensor of the host that the program would use where it lies, on a device. The C interface takes such for
    /// an address on the device whose maker left the device out; here it is known where a tensor lies.
    fn reachable(&self, given: &TensorView<'_>) -> Result<()> {
        let wanted = self.tensor.as_ref().filter(|info| !info.is_memory_planned && !info.device.is_host());
        match wanted {
            Some(info) if given.device().is_host() && given.layout().nbytes() > 0 => Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!(
                    "the program takes it on {0}, and the tensor lies in memory of the host; copy it there first, for example with \
                     .to(\"{0}\"), or export without PropagateDeviceConfig(skip_h2d_for_method_inputs=True)",
                    info.device
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// Memory for an output that has none planned.
struct Output {
    /// Bytes that the output may need; none if its memory is planned.
    size: Option<usize>,
    /// Where the program writes it.
    device: Device,
    memory: Option<Arc<Storage>>,
    /// Whether the memory was given away since the last run.
    is_given: bool,
}

impl Method {
    pub(crate) fn load(program: &Program, name: &str, options: MethodOptions) -> Result<Self> {
        let meta = program.method(name)?;
        let c_name = text::to_c(name, "the method's name")?;
        let mut raw = null_mut();
        // SAFETY: a live program, a NUL-terminated name, options whose data map the method will hold, and a place
        // for the handle.
        options.raw(|options| unsafe {
            let load = executorch_abi::program::et_program_load_method;
            Error::check(load(program.raw(), c_name.as_ptr(), options, &mut raw))
        })?;
        let raw = NonNull::new(raw).ok_or_else(missing)?;
        let mut method = Self {
            raw,
            meta,
            inputs: Vec::new(),
            outputs: Vec::new(),
            is_readable: false,
            _data: options.data,
        };
        method.inputs = inputs(&method.meta)?;
        method.outputs = outputs(&method.meta)?;
        Ok(method)
    }

    /// What the program says of the method.
    pub fn meta(&self) -> &MethodMeta {
        &self.meta
    }

    /// What input `index` is.
    pub fn input_kind(&self, index: usize) -> Option<Kind> {
        self.inputs.get(index).map(|input| input.kind)
    }

    /// The tensor of input `index`, if it is one.
    pub fn input_tensor(&self, index: usize) -> Option<&TensorInfo> {
        self.inputs.get(index)?.tensor.as_ref()
    }

    /// Input `index` as the method holds it: for a number or string, what the program was exported with. Fails for a
    /// tensor whose memory is the caller's: it may be gone.
    pub fn input(&self, index: usize) -> Result<Value<TensorView<'_>>> {
        let bad = |code, message: &str| Error::new(code, format!("input {index}: {message}"));
        if self.inputs.get(index).is_some_and(Input::is_shared) {
            return Err(bad(ET_ERROR_NOT_SUPPORTED, "its memory is the caller's"));
        }
        // SAFETY: a live method; the borrow of `self` keeps it from running while the value is in use.
        unsafe {
            let raw = et_method_input(self.raw.as_ptr(), index).as_ref();
            let raw = raw.ok_or_else(|| bad(ET_ERROR_INVALID_ARGUMENT, "the method has no such input"))?;
            Value::of_runtime(raw, &format!("input {index}"))
        }
    }

    /// Sets all inputs and runs. The outputs are valid until the method is used again.
    ///
    /// An input is copied if the program planned memory for it and used where it lies otherwise: then it may lie on a
    /// device, and so may outputs. Errors name the input, what it should be and what it is.
    pub fn execute<'a>(&'a mut self, inputs: &'a [Value<TensorView<'a>>]) -> Result<Outputs<'a>> {
        if inputs.len() != self.inputs.len() {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!(
                    "method {:?} takes {} inputs, {} were given",
                    self.meta.name(),
                    self.inputs.len(),
                    inputs.len()
                ),
            ));
        }
        self.is_readable = false;
        self.bind_outputs()?;
        for (index, value) in inputs.iter().enumerate() {
            let private = self.set(index, value)?;
            if let Some(input) = self.inputs.get_mut(index) {
                input.is_stale = input.is_shared() && private.is_none();
                input.held = private;
            }
        }
        self.run_bound()?;
        Ok(Outputs { method: self })
    }

    /// Sets one input for all coming calls of [`Method::run`], and keeps its memory alive as long.
    pub fn set_input(&mut self, index: usize, value: &Value<Tensor>) -> Result<()> {
        // Outputs of an earlier run may lie in the input that is replaced.
        self.is_readable = false;
        // An output may be the same value: what it is bound to must not undo this.
        self.bind_outputs()?;
        let private = self.set(index, &value.view())?;
        if let Some(input) = self.inputs.get_mut(index) {
            input.is_stale = false;
            input.held = match (private, value) {
                (None, Value::Tensor(tensor)) if input.is_shared() => Some(Arc::clone(tensor.storage())),
                (private, _) => private,
            };
        }
        Ok(())
    }

    /// Runs with the inputs that were set before. Inputs that [`Method::execute`] was lent must be set again.
    pub fn run(&mut self) -> Result<Outputs<'_>> {
        if let Some(index) = self.inputs.iter().position(|input| input.is_stale) {
            return Err(Error::new(
                ET_ERROR_INVALID_STATE,
                format!("input {index} was given for an earlier call only: set it again"),
            ));
        }
        self.is_readable = false;
        self.bind_outputs()?;
        self.run_bound()?;
        self.is_readable = true;
        Ok(Outputs { method: self })
    }

    /// The outputs of the last [`Method::run`]. Fails if there was none, if inputs were set since, and after
    /// [`Method::execute`], whose outputs may lie in memory that was lent for that call only.
    pub fn outputs(&mut self) -> Result<Outputs<'_>> {
        if self.is_readable {
            return Ok(Outputs { method: self });
        }
        Err(Error::new(
            ET_ERROR_INVALID_STATE,
            format!("method {:?} has no outputs to read: run it first", self.meta.name()),
        ))
    }

    /// An attribute: a named tensor with mutable memory. Fails if there is none of this name.
    pub fn attribute(&mut self, name: &str) -> Result<TensorView<'_>> {
        let name_c = text::to_c(name, "the attribute's name")?;
        let mut tensor = null_mut();
        // SAFETY: a live method that `self` alone uses, a NUL-terminated name and a place for the tensor, which lives
        // as long as the method; the borrow of `self` keeps it from running.
        unsafe {
            Error::check(et_method_attribute(self.raw.as_ptr(), name_c.as_ptr(), &mut tensor))?;
            let tensor = tensor.as_ref().ok_or_else(missing)?;
            TensorView::of_runtime(tensor, &format!("attribute {name:?}"))
        }
    }

    /// Sets an input; returns memory that the runtime now uses and that the caller has to hold.
    fn set(&mut self, index: usize, value: &Value<TensorView<'_>>) -> Result<Option<Arc<Storage>>> {
        if let (Value::Tensor(view), Some(input)) = (value, self.inputs.get(index)) {
            input.reachable(view).map_err(|e| e.within(format!("input {index}")))?;
        }
        if let (Value::Tensor(view), Some(input)) = (value, self.inputs.get(index))
            && input.is_written
            && !view.is_writable()
        {
            // The program would write to memory that it was lent to read.
            let copy = view.to_tensor()?;
            self.set_raw(index, &Value::Tensor(copy.view()))?;
            return Ok(Some(Arc::clone(copy.storage())));
        }
        self.set_raw(index, value)?;
        Ok(None)
    }

    fn set_raw(&mut self, index: usize, value: &Value<TensorView<'_>>) -> Result<()> {
        let mut tensor;
        let raw = match value {
            Value::None => et_value_t::NONE,
            Value::Int(v) => et_value_t::int(*v),
            Value::Double(v) => et_value_t::double(*v),
            Value::Bool(v) => et_value_t::bool(*v),
            Value::Tensor(view) => {
                tensor = view.raw();
                et_value_t::tensor(&mut tensor)
            }
            Value::String(text) => et_value_t {
                payload: et_payload_t {
                    as_string: et_string_t { data: text.as_ptr().cast(), length: text.len() },
                },
                tag: ET_TAG_STRING,
                reserved: 0,
            },
            Value::Ints(_) | Value::Doubles(_) | Value::Bools(_) | Value::Tensors(_) => {
                return Err(Error::new(
                    ET_ERROR_NOT_SUPPORTED,
                    format!("input {index}: a method takes tensors, numbers and strings, not lists"),
                ));
            }
        };
        // SAFETY: a live method that `self` alone uses, and a value that is valid during the call. Data that the
        // runtime keeps pointing to is held by `self.inputs`, or lent for a run that ends while it is lent.
        Error::check(unsafe { et_method_set_input(self.raw.as_ptr(), index, &raw) })
    }

    /// Gives every output that has no planned memory some that nobody else looks at.
    fn bind_outputs(&mut self) -> Result<()> {
        for (index, output) in self.outputs.iter_mut().enumerate() {
            let Some(size) = output.size else { continue };
            output.is_given = false;
            if output.memory.as_mut().is_some_and(|memory| Arc::get_mut(memory).is_some()) {
                continue;
            }
            let memory = Storage::on(output.device, size).map_err(|e| e.within(format!("output {index}")))?;
            let memory = Arc::new(memory);
            let data = memory.as_ptr().cast::<c_void>();
            // SAFETY: a live method that `self` alone uses, and memory that `self` holds until it is replaced here.
            let code = unsafe { et_method_set_output_data(self.raw.as_ptr(), index, data, memory.size()) };
            if code == ET_ERROR_INVALID_STATE {
                output.size = None;
                continue;
            }
            Error::check(code)?;
            output.memory = Some(memory);
        }
        Ok(())
    }

    fn run_bound(&mut self) -> Result<()> {
        // SAFETY: a live method that `self` alone uses; its inputs and outputs are held or lent during the call.
        Error::check(unsafe { et_method_execute(self.raw.as_ptr()) })
    }

    fn output(&self, index: usize) -> Result<Value<TensorView<'_>>> {
        // SAFETY: a live method; the borrow of `self` keeps it from running while the value is in use.
        unsafe {
            let raw = et_method_output(self.raw.as_ptr(), index).as_ref().ok_or_else(|| {
                Error::new(
                    ET_ERROR_INVALID_ARGUMENT,
                    format!("output {index} does not exist: the method has {}", self.outputs.len()),
                )
            })?;
            Value::of_runtime(raw, &format!("output {index}"))
        }
    }

    /// Bytes that are bound to output `index`; 0 if its memory is planned.
    fn bound_bytes(&self, index: usize) -> usize {
        self.outputs.get(index).and_then(|output| output.size).unwrap_or(0)
    }

    /// Whether an address is that of memory which is bound to an output, and may be replaced by the next run.
    fn is_bound(&self, data: *mut u8) -> bool {
        self.outputs.iter().any(|o| o.memory.as_ref().is_some_and(|memory| memory.as_ptr() == data))
    }

    /// The memory that was bound to an output, if the output lies in it and it was not given away since the run.
    fn give(&mut self, data: *mut u8, layout: Layout) -> Option<Tensor> {
        let output = self.outputs.iter_mut().find(|output| {
            output.memory.as_ref().is_some_and(|memory| memory.as_ptr() == data) && !output.is_given
        })?;
        let tensor = Tensor::new(layout, Arc::clone(output.memory.as_ref()?)).ok()?;
        output.is_given = true;
        Some(tensor)
    }
}

impl Drop for Method {
    fn drop(&mut self) {
        // SAFETY: releases the handle once; what it points to is dropped after.
        unsafe { et_method_release(self.raw.as_ptr()) };
    }
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Method").field(&self.meta).finish()
    }
}

/// The outputs of a run, as they lie in the method's memory.
pub struct Outputs<'a> {
    method: &'a mut Method,
}

impl Outputs<'_> {
    /// Their number.
    pub fn len(&self) -> usize {
        self.method.outputs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.method.outputs.is_empty()
    }

    /// Output `index`.
    pub fn get(&self, index: usize) -> Result<Value<TensorView<'_>>> {
        self.method.output(index)
    }

    /// All outputs, owning their memory: what fills memory of its own is handed over, the rest copied.
    pub fn to_owned(self) -> Result<Vec<Value<Tensor>>> {
        (0..self.len())
            .map(|index| {
                if let Value::Tensor(view) = self.get(index)? {
                    let (data, layout) = (view.as_ptr(), *view.layout());
                    // A dynamic output may need far less than its upper bound: then a copy saves memory.
                    if layout.nbytes() >= self.method.bound_bytes(index) / 2
                        && let Some(tensor) = self.method.give(data, layout)
                    {
                        return Ok(Value::Tensor(tensor));
                    }
                }
                self.get(index)?.try_map(|view| view.to_tensor())
            })
            .collect()
    }

    /// All outputs where they lie. The next run writes over those in planned memory.
    ///
    /// # Safety
    /// What `owner` returns keeps the method and the memory of its inputs alive.
    pub unsafe fn to_shared(
        self,
        mut owner: impl FnMut() -> Box<dyn Any + Send + Sync>,
    ) -> Result<Vec<Value<Tensor>>> {
        (0..self.len())
            .map(|index| {
                if let Value::Tensor(view) = self.get(index)? {
                    let (data, layout) = (view.as_ptr(), *view.layout());
                    if let Some(tensor) = self.method.give(data, layout) {
                        return Ok(Value::Tensor(tensor));
                    }
                }
                self.get(index)?.try_map(|view| match NonNull::new(view.as_ptr()) {
                    None => view.to_tensor(),
                    Some(_) if self.method.is_bound(view.as_ptr()) => view.to_tensor(),
                    Some(data) => {
                        // SAFETY: the output lies in the method's or its inputs' memory, which the owner keeps.
                        let storage = unsafe {
                            Storage::foreign_on(view.device(), data, view.layout().nbytes(), owner())
                        };
                        Tensor::new(*view.layout(), Arc::new(storage))
                    }
                })
            })
            .collect()
    }
}

fn inputs(meta: &MethodMeta) -> Result<Vec<Input>> {
    let instructions = meta.instructions()?;
    let read = |index| {
        let kind = meta.input_kind(index)?;
        let tensor = (kind == Kind::Tensor).then(|| meta.input_tensor(index)).transpose()?;
        let value = u32::try_from(meta.input_value(index)?).unwrap_or(u32::MAX);
        let is_shared = tensor.as_ref().is_some_and(|info| !info.is_memory_planned);
        let is_written = is_shared && instructions.iter().any(|instruction| writes(instruction, value));
        Ok(Input { kind, tensor, is_written, held: None, is_stale: false })
    };
    (0..meta.input_count()).map(read).collect()
}

/// Whether an instruction may write to a value: an operator's result stands last, and repeats its `out` argument.
fn writes(instruction: &Instruction, value: u32) -> bool {
    match instruction {
        Instruction::Kernel { args, .. } | Instruction::Delegate { args, .. } => {
            args.last() == Some(&value) || args.iter().filter(|&&arg| arg == value).count() > 1
        }
        _ => false,
    }
}

fn outputs(meta: &MethodMeta) -> Result<Vec<Output>> {
    let given: Vec<usize> =
        (0..meta.input_count()).map(|index| meta.input_value(index)).collect::<Result<_>>()?;
    let read = |index| {
        let (mut size, mut device) = (None, Device::HOST);
        if meta.output_kind(index)? == Kind::Tensor && !given.contains(&meta.output_value(index)?) {
            let info = meta.output_tensor(index)?;
            size = (!info.is_memory_planned).then(|| info.layout.nbytes());
            device = info.device;
        }
        Ok(Output { size, device, memory: None, is_given: false })
    };
    (0..meta.output_count()).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    // Linked for the symbols of the ABI.
    use executorch_core as _;
    use executorch_threadpool as _;

    #[test]
    fn an_instruction_writes_its_last_argument_and_what_it_repeats() {
        let call = |args: &[u32]| Instruction::Kernel { operator: "op".into(), args: args.to_vec() };
        // self, other, alpha, out, result
        let add = call(&[0, 1, 2, 3, 3]);
        assert!(writes(&add, 3) && !writes(&add, 0) && !writes(&add, 1));
        // self, dim, values, indices, list of both
        let pair = call(&[0, 1, 2, 3, 4]);
        assert!(writes(&pair, 4) && !writes(&pair, 0));
        let in_place = call(&[0, 1, 2, 0, 0]);
        assert!(writes(&in_place, 0));
        assert!(!writes(&Instruction::Free, 0));
    }
}
