//! Runs a method: a flat loop over resolved calls.

use super::context::Running;
use super::io::{describe, device_of};
use super::trace::event_name;
use super::{Action, Call, Method};
use crate::prim;
use executorch_abi::backend::et_backend_execute_context_t;
use executorch_abi::error::*;
use executorch_abi::kernel::et_kernel_context_t;
use executorch_abi::memory::et_allocator_t;
use executorch_abi::tensor::et_tensor_t;
use executorch_abi::value::*;
use executorch_abi::{Dtype, Error, Result, TensorRef};
use std::ffi::c_void;
use std::{ptr, slice};

/// Upstream's guard against programs that never end.
const MAX_INSTRUCTIONS: u64 = 10_000_000;

impl Method {
    /// Runs from the first instruction to the last.
    pub fn execute(&mut self) -> Result<()> {
        if self.next != 0 {
            return Err(Error::new(
                ET_ERROR_INVALID_STATE,
                "the method is being stepped through; reset it before it is executed",
            ));
        }
        self.start()?;
        self.tracer.block(c"Execute");
        let event = self.tracer.begin(c"Method::execute");
        let mut result = Ok(());
        while self.next < self.steps.len() {
            result = self.run_next();
            if result.is_err() {
                break;
            }
        }
        self.tracer.end(event);
        self.next = 0;
        result.and_then(|()| self.trace_outputs())
    }

    /// Runs one instruction.
    pub fn step(&mut self) -> Result<()> {
        if self.next >= self.steps.len() {
            return Err(Error::new(
                ET_ERROR_END_OF_METHOD,
                "the method has run its last instruction; reset it",
            ));
        }
        if self.next == 0 {
            self.start()?;
        }
        let event = self.tracer.begin(c"Method::step");
        let result = self.run_next();
        self.tracer.end(event);
        result
    }

    /// Whether stepping has begun and not ended.
    pub fn in_progress(&self) -> bool {
        self.next != 0 && self.next < self.steps.len()
    }

    /// Goes back to the first instruction.
    pub fn reset(&mut self) {
        self.next = 0;
    }

    fn start(&mut self) -> Result<()> {
        if let Some(missing) = self.inputs_set.iter().position(|set| !set) {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("input {missing} is not set: the method has {} inputs", self.inputs_set.len()),
            ));
        }
        for &value in &self.restored {
            self.values.restore(value);
        }
        self.executed = 0;
        Ok(())
    }

    fn run_next(&mut self) -> Result<()> {
        self.executed += 1;
        if self.executed > MAX_INSTRUCTIONS {
            return Err(Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!(
                    "the program ran {MAX_INSTRUCTIONS} instructions without an end; it seems to loop forever"
                ),
            ));
        }
        let at = self.next;
        let Some(step) = self.steps.get(at) else { return Ok(()) };
        for &list in &step.lists {
            self.values.refresh(list as usize)?;
        }
        let event = self.tracer.begin_step(step);
        let result = self.run_step(at);
        self.tracer.end(event);
        let result = result.and_then(|next| self.trace_results(at).map(|()| next));
        self.scratch.reset();
        match result {
            Ok(next) => {
                self.next = next;
                Ok(())
            }
            Err(error) => Err(error.within(self.place(at))),
        }
    }

    fn run_step(&mut self, at: usize) -> Result<usize> {
        let Some(step) = self.steps.get(at) else { return Ok(at + 1) };
        let args = self.args.at(step.args.start);
        let count = step.args.len();
        match &step.action {
            Action::Prim(run) => {
                // SAFETY: the table holds the step's arguments, values that this thread alone uses.
                let values = unsafe { arguments(args, count) };
                // SAFETY: as above.
                run(&unsafe { prim::Call::new(values) })?;
            }
            Action::Kernel(call) => {
                if self.uses_devices {
                    // SAFETY: the table holds the step's arguments.
                    on_host(unsafe { arguments(args, count) })?;
                }
                let tracer = self.tracer.raw();
                let mut running = Running { scratch: &mut self.scratch, tracer, message: None };
                // SAFETY: the table holds the step's arguments.
                unsafe { run_kernel(call, args, count, &mut running) }?;
            }
            Action::Delegate(index) => self.run_delegate(*index, args, count)?,
            Action::Move { from, to } => {
                let (from, to) = (self.values.values.at(*from as usize), self.values.values.at(*to as usize));
                // SAFETY: both are values of this method; `copy` allows that they are one.
                unsafe { ptr::copy(from, to, 1) };
            }
            Action::JumpFalse { condition, target } => {
                // SAFETY: the condition is a value of this method.
                if !unsafe { truth(&*self.values.values.at(*condition as usize)) }? {
                    return Ok(*target);
                }
            }
            Action::Free { value } => {
                // SAFETY: the format's check makes the value a tensor.
                unsafe {
                    (*(*self.values.values.at(*value as usize)).payload.as_tensor).data = ptr::null_mut()
                };
            }
        }
        Ok(at + 1)
    }

    fn run_delegate(&mut self, index: usize, args: *const *mut et_value_t, count: usize) -> Result<()> {
        let name = self.plan()?.name.as_ptr();
        let delegate = self.delegates.get(index);
        let delegate =
            delegate.ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "the delegate was not loaded"))?;
        let execute = delegate.backend.execute;
        let execute = execute.ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "the backend cannot execute"))?;
        let temp = et_allocator_t {
            struct_size: size_of::<et_allocator_t>() as u32,
            reserved: 0,
            user_data: ptr::from_mut(&mut self.scratch).cast(),
            allocate: Some(scratch_allocate),
            reset: None,
        };
        let context = et_backend_execute_context_t {
            struct_size: size_of::<et_backend_execute_context_t>() as u32,
            reserved: 0,
            method_name: name,
            temp_allocator: &temp,
            tracer: self.tracer.raw(),
            internal: ptr::null_mut(),
        };
        // SAFETY: a registered backend obeys the ABI; the handle is its own, and the arguments are this method's.
        Error::check(unsafe { execute(delegate.backend.user_data, &context, delegate.handle, args, count) })
    }

    /// Where an error happened: the instruction, its operator, and the shapes that it was called with.
    pub(super) fn place(&self, at: usize) -> String {
        let Some(step) = self.steps.get(at) else { return String::new() };
        let plan = self.plan().ok();
        let name = plan.and_then(|plan| {
            let instruction = plan.chains.get(step.chain as usize)?.get(step.instruction as usize)?;
            match instruction {
                crate::ir::Instruction::Kernel { operator, .. } => plan.operators.get(*operator as usize),
                crate::ir::Instruction::Delegate { delegate, .. } => {
                    plan.delegates.get(*delegate as usize).map(|d| &d.backend)
                }
                _ => None,
            }
        });
        let name = name.map_or_else(
            || event_name(Some(&step.action)).to_string_lossy().into_owned(),
            |n| n.to_string_lossy().into_owned(),
        );
        // SAFETY: the table holds the step's arguments; a tensor's value points to one of the method's.
        let tensors: Vec<String> = unsafe { arguments(self.args.at(step.args.start), step.args.len()) }
            .iter()
            .filter_map(|&v| unsafe {
                ((*v).tag == ET_TAG_TENSOR).then(|| describe(&*(*v).payload.as_tensor))
            })
            .collect();
        let shapes = if tensors.is_empty() { String::new() } else { format!(" on {}", tensors.join(", ")) };
        format!("instruction {} of chain {}, {name}{shapes}", step.instruction, step.chain)
    }
}

/// # Safety
/// `args` holds `count` pointers that are valid during `'a`, or `count` is 0.
unsafe fn arguments<'a>(args: *const *mut et_value_t, count: usize) -> &'a [*mut et_value_t] {
    if count == 0 || args.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(args, count) }
}

/// Refuses arguments of a kernel that the CPU cannot read or write.
fn on_host(args: &[*mut et_value_t]) -> Result<()> {
    for (index, &value) in args.iter().enumerate() {
        // SAFETY: the arguments are values of the method, whose tensors and lists live as long as it; the tag says
        // which member holds.
        let tensors: &[*mut et_tensor_t] = unsafe {
            let payload = &(*value).payload;
            match (*value).tag {
                ET_TAG_TENSOR => slice::from_ref(&payload.as_tensor),
                ET_TAG_LIST_TENSOR | ET_TAG_LIST_OPTIONAL_TENSOR if payload.as_tensor_list.length > 0 => {
                    slice::from_raw_parts(payload.as_tensor_list.data, payload.as_tensor_list.length)
                }
                _ => &[],
            }
        };
        // SAFETY: as above; an absent tensor is null.
        let away = tensors.iter().filter_map(|t| unsafe { t.as_ref() }).find(|t| !device_of(t).is_host());
        if let Some(tensor) = away {
            return Err(Error::new(
                ET_ERROR_NOT_SUPPORTED,
                format!(
                    "argument {index} ({}) lies on a device, but kernels run on the CPU: give it on the host, or export \
                     so that a delegate takes the operator over or a copy to the host stands before it",
                    describe(tensor)
                ),
            ));
        }
    }
    Ok(())
}

/// # Safety
/// `args` holds `count` pointers to values of the method.
pub(super) unsafe fn run_kernel(
    call: &Call,
    args: *const *mut et_value_t,
    count: usize,
    running: &mut Running<'_>,
) -> Result<()> {
    let table = &call.kernel.table;
    let run = table.run.ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "a registered kernel cannot run"))?;
    let mut context = et_kernel_context_t {
        struct_size: size_of::<et_kernel_context_t>() as u32,
        error: ET_OK,
        state: call.state,
        user_data: table.user_data,
        internal: ptr::from_mut(running).cast(),
    };
    // SAFETY: a registered kernel obeys the ABI, and the caller promises for the arguments.
    let code = unsafe { run(&mut context, args, count) };
    if context.error != ET_OK {
        return Err(Error::new(context.error, running.message.take().unwrap_or_default()));
    }
    Error::check(code)
}

unsafe extern "C" fn scratch_allocate(user_data: *mut c_void, size: usize, alignment: usize) -> *mut c_void {
    // SAFETY: `run_delegate` passes the method's scratch, which lives through the delegate's call.
    let scratch = unsafe { &mut *user_data.cast::<super::memory::Scratch>() };
    scratch.allocate(size, alignment).unwrap_or(ptr::null_mut())
}

/// Whether a jump's condition is true: a bool, or a tensor of bools that are all true.
///
/// # Safety
/// `value` is a value of the method.
unsafe fn truth(value: &et_value_t) -> Result<bool> {
    match value.tag {
        // SAFETY: the tag says which member holds.
        ET_TAG_BOOL => Ok(unsafe { value.payload.as_bool }),
        ET_TAG_TENSOR => {
            // SAFETY: as above; nobody writes the tensor during this call.
            let tensor = unsafe { TensorRef::new(&*value.payload.as_tensor.cast::<et_tensor_t>()) };
            let dtype = tensor.dtype()?;
            if dtype != Dtype::Bool {
                return Err(Error::new(
                    ET_ERROR_INVALID_PROGRAM,
                    format!("a jump's condition is a tensor of {dtype}, expected bool"),
                ));
            }
            Ok(tensor.data::<u8>()?.iter().all(|&b| b != 0))
        }
        tag => Err(Error::new(
            ET_ERROR_INVALID_PROGRAM,
            format!("a jump's condition is {}, expected a bool", executorch_abi::args::tag_name(tag)),
        )),
    }
}
