//! Programs and their metadata.
//!
//! An `et_program_t` is an `Arc<Program>` that was turned into a pointer; an `et_method_meta_t` is one of the
//! program's [`Plan`]s.

use super::{abi, code, give, given, string};
use crate::data_map::{self, OwnedMap};
use crate::format::HeaderStatus;
use crate::ir::{ByteRange, Instruction, Plan, Storage, Tensor, Value};
use crate::method::{self, Method, Options};
use crate::program::Program;
use crate::registry::Kernel;
use crate::source::Loader;
use executorch_abi::backend::et_text_sink_t;
use executorch_abi::data_map::et_data_map_t;
use executorch_abi::error::*;
use executorch_abi::loader::et_data_loader_t;
use executorch_abi::method::{et_method_options_t, et_method_t};
use executorch_abi::program::*;
use executorch_abi::value::*;
use executorch_abi::{Error, Result};
use std::ffi::{CString, c_char, c_void};
use std::ptr::{self, null};
use std::sync::Arc;

/// What a program's handle points to.
pub struct Handle {
    // Dropped first: it borrows from the program.
    map: Box<OwnedMap>,
    pub(super) program: Arc<Program>,
}

/// # Safety
/// `program` is null or a live handle.
unsafe fn handle<'a>(program: *const et_program_t) -> Result<&'a Handle> {
    // SAFETY: the caller's promise: a handle's pointer is that of an `Arc<Handle>`.
    unsafe { given(program.cast::<Handle>(), "program") }
}

/// # Safety
/// `meta` is null or a live method's metadata.
unsafe fn plan<'a>(meta: *const et_method_meta_t) -> Result<&'a Plan> {
    // SAFETY: the caller's promise: metadata's pointer is that of a `Plan`.
    unsafe { given(meta.cast::<Plan>(), "meta") }
}

/// A number that metadata tells; 0 if there is none.
///
/// # Safety
/// As for [`plan`].
unsafe fn count(meta: *const et_method_meta_t, of: impl FnOnce(&Plan) -> usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { plan(meta) }.map_or(0, of)
}

/// Writes what metadata tells to `out`.
///
/// # Safety
/// As for [`plan`], and `out` is null or a place for a `T`.
unsafe fn tell<T>(
    meta: *const et_method_meta_t,
    out: *mut T,
    what: impl FnOnce(&Plan) -> Result<T>,
) -> et_error_t {
    // SAFETY: the caller's promise.
    code(unsafe { plan(meta).and_then(|p| give(out, what(p)?)) })
}

pub(super) fn meta(plan: &Plan) -> *const et_method_meta_t {
    ptr::from_ref(plan).cast()
}

fn past(what: &str, index: usize, count: usize) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, format!("{what} {index} does not exist: there are {count}"))
}

fn tag(value: &Value) -> et_tag_t {
    match value {
        Value::None => ET_TAG_NONE,
        Value::Int(_) => ET_TAG_INT,
        Value::Bool(_) => ET_TAG_BOOL,
        Value::Double(_) => ET_TAG_DOUBLE,
        Value::String(_) => ET_TAG_STRING,
        Value::IntList(_) => ET_TAG_LIST_INT,
        Value::DoubleList(_) => ET_TAG_LIST_DOUBLE,
        Value::BoolList(_) => ET_TAG_LIST_BOOL,
        Value::TensorList(_) => ET_TAG_LIST_TENSOR,
        Value::OptionalTensorList(_) => ET_TAG_LIST_OPTIONAL_TENSOR,
        Value::Tensor(_) => ET_TAG_TENSOR,
    }
}

fn info(tensor: &Tensor) -> et_tensor_info_t {
    et_tensor_info_t {
        sizes: tensor.sizes.as_ptr(),
        dim_order: tensor.dim_order.as_ptr(),
        name: tensor.name.as_ref().map_or(null(), |n| n.as_ptr()),
        nbytes: tensor.nbytes,
        rank: tensor.sizes.len() as u32,
        dtype: tensor.dtype as i8,
        dynamism: u8::from(tensor.is_dynamic),
        device_type: tensor.device.kind,
        device_index: tensor.device.index,
        is_memory_planned: !matches!(tensor.storage, Storage::Unbound | Storage::External),
        reserved: [0; 7],
    }
}

fn value<'a>(plan: &'a Plan, list: Option<&[u32]>, index: usize, what: &str) -> Result<&'a Value> {
    let found = match list {
        Some(list) => list.get(index).and_then(|&v| plan.values.get(v as usize)),
        None => plan.values.get(index),
    };
    found.ok_or_else(|| past(what, index, list.map_or(plan.values.len(), <[u32]>::len)))
}

fn position(list: &[u32], index: usize, what: &str) -> Result<usize> {
    list.get(index).map(|&v| v as usize).ok_or_else(|| past(what, index, list.len()))
}

/// # Safety
/// `out` is null or a place of as many bytes as its `struct_size` says.
unsafe fn describe(program: &Program, out: *mut et_program_info_t) -> Result<()> {
    let layout = program.layout();
    let bytes = |ranges: &[ByteRange]| ranges.iter().fold(0, |sum: u64, r| sum.saturating_add(r.size));
    // SAFETY: the caller's promise; every caller knows the first field.
    let struct_size = unsafe { given(out.cast::<u32>(), "out") }?;
    let info = et_program_info_t {
        struct_size: *struct_size,
        reserved: 0,
        structure_bytes: program.structure().len() as u64,
        constant_count: layout.constants.iter().filter(|r| r.size > 0).count(),
        constant_bytes: bytes(&layout.constants),
        mutable_count: layout.mutable_data.iter().filter(|r| r.size > 0).count(),
        mutable_bytes: bytes(&layout.mutable_data),
        segment_count: layout.segments.len(),
        segment_bytes: bytes(&layout.segments),
    };
    let size = size_of_val(&info).min(*struct_size as usize);
    // SAFETY: the caller's place holds `struct_size` bytes, of which no more are written.
    unsafe { ptr::copy_nonoverlapping(ptr::from_ref(&info).cast::<u8>(), out.cast::<u8>(), size) };
    Ok(())
}

fn tensor_info(value: &Value, what: &str, index: usize) -> Result<et_tensor_info_t> {
    match value {
        Value::Tensor(tensor) => Ok(info(tensor)),
        other => Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("{what} {index} is {}, not a tensor", executorch_abi::args::tag_name(tag(other))),
        )),
    }
}

/// Mutable memory with a name; the exporter names nothing else that it plans.
fn attributes(plan: &Plan) -> impl Iterator<Item = &Tensor> {
    let is_mutable = |storage: Storage| {
        matches!(storage, Storage::Planned(_) | Storage::PlannedInitial { .. } | Storage::PlannedExternal(_))
    };
    plan.values.iter().filter_map(move |v| match v {
        Value::Tensor(t) if t.name.is_some() && is_mutable(t.storage) => Some(t),
        _ => None,
    })
}

fn external(plan: &Plan) -> Vec<&CString> {
    let mut keys: Vec<_> = plan
        .values
        .iter()
        .filter_map(|v| match v {
            Value::Tensor(t) if matches!(t.storage, Storage::External | Storage::PlannedExternal(_)) => {
                t.name.as_ref()
            }
            _ => None,
        })
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

fn instruction(plan: &Plan, index: usize) -> Result<et_instruction_info_t> {
    let count = plan.chains.iter().map(Vec::len).sum();
    let mut all = plan.chains.iter().enumerate().flat_map(|(c, chain)| chain.iter().map(move |i| (c, i)));
    let (chain, instruction) = all.nth(index).ok_or_else(|| past("instruction", index, count))?;
    let mut out = et_instruction_info_t {
        name: null(),
        args: null(),
        arg_count: 0,
        kind: ET_INSTRUCTION_KERNEL,
        chain: chain as u32,
        target: 0,
        reserved: 0,
    };
    match instruction {
        Instruction::Kernel { operator, args } => {
            out.name = plan.operators.get(*operator as usize).map_or(null(), |n| n.as_ptr());
            (out.args, out.arg_count) = (args.as_ptr(), args.len());
        }
        Instruction::Delegate { delegate, args } => {
            out.kind = ET_INSTRUCTION_DELEGATE;
            out.target = *delegate;
            out.name = plan.delegates.get(*delegate as usize).map_or(null(), |d| d.backend.as_ptr());
            (out.args, out.arg_count) = (args.as_ptr(), args.len());
        }
        Instruction::Move { .. } => out.kind = ET_INSTRUCTION_MOVE,
        Instruction::JumpFalse { target, .. } => {
            out.kind = ET_INSTRUCTION_JUMP_FALSE;
            out.target = *target;
        }
        Instruction::Free { .. } => out.kind = ET_INSTRUCTION_FREE,
    }
    Ok(out)
}

/// A table of the caller's, if there is one: its `struct_size` must say that it is whole.
///
/// # Safety
/// `pointer` is null or valid during `'a`, as far as its `struct_size`, its first field, says.
unsafe fn sized<'a, T>(pointer: *const T, what: &str) -> Result<Option<&'a T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise: only the first field is read before the size is known.
    let found = unsafe { pointer.cast::<u32>().read() };
    if (found as usize) < size_of::<T>() {
        return Err(Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!(
                "the {what} says that it has {found} bytes, expected at least {}; set struct_size",
                size_of::<T>()
            ),
        ));
    }
    // SAFETY: the whole table is there.
    Ok(unsafe { pointer.as_ref() })
}

/// # Safety
/// `options` is null or valid, with all that it points to.
unsafe fn options<'a>(
    options: *const et_method_options_t,
    kernels: &'a mut Vec<Arc<Kernel>>,
) -> Result<Options<'a>> {
    // SAFETY: the caller's promise.
    let Some(given) = (unsafe { sized(options, "method options") })? else {
        return Ok(Options::default());
    };
    // SAFETY: as above.
    unsafe {
        let memory = sized(given.memory, "memory manager")?;
        let planned = memory.filter(|m| !m.planned.is_null());
        *kernels = Kernel::read_all(given.kernels, given.kernel_count)?;
        Ok(Options {
            planned: planned.map(|m| std::slice::from_raw_parts(m.planned, m.planned_count)),
            method_allocator: match memory {
                Some(m) => sized(m.method_allocator, "method allocator")?,
                None => None,
            },
            temp_allocator: match memory {
                Some(m) => sized(m.temp_allocator, "temporary allocator")?.copied(),
                None => None,
            },
            data_map: (!given.data_map.is_null()).then_some(given.data_map),
            tracer: sized(given.tracer, "tracer")?.copied(),
            backend_options: if given.backend_options_count == 0 || given.backend_options.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(given.backend_options, given.backend_options_count)
            },
            kernels,
        })
    }
}

abi! {
    program::fn et_program_load(
        loader: *const et_data_loader_t,
        out: *mut *mut et_program_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a valid loader away, and a place for the handle.
        code(unsafe {
            given(loader, "loader").and_then(|l| Loader::new(*l)).and_then(Program::load).and_then(|program| {
                let program = Arc::new(program);
                let map = OwnedMap::new(data_map::of_program(Arc::as_ptr(&program)));
                let handle = Arc::into_raw(Arc::new(Handle { map, program }));
                give(out, handle.cast_mut().cast())
            })
        })
    }
    program::fn et_program_retain(program: *mut et_program_t), otherwise (), {
        if !program.is_null() {
            // SAFETY: the caller gives a live handle.
            unsafe { Arc::increment_strong_count(program.cast::<Handle>()) }
        }
    }
    program::fn et_program_release(program: *mut et_program_t), otherwise (), {
        if !program.is_null() {
            // SAFETY: the caller gives back a reference that it has.
            drop(unsafe { Arc::from_raw(program.cast::<Handle>().cast_const()) });
        }
    }
    program::fn et_program_method_count(program: *const et_program_t) -> usize, otherwise 0, {
        // SAFETY: the caller gives a live handle.
        unsafe { handle(program) }.map_or(0, |h| h.program.plans().len())
    }
    program::fn et_program_method_at(
        program: *const et_program_t,
        index: usize,
    ) -> *const et_method_meta_t, otherwise null(), {
        // SAFETY: the caller gives a live handle.
        unsafe { handle(program) }.ok().and_then(|h| h.program.plans().get(index)).map_or(null(), meta)
    }
    program::fn et_program_method_find(
        program: *const et_program_t,
        name: *const c_char,
        out: *mut *const et_method_meta_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a live handle, a NUL-terminated name and a place for the metadata.
        code(unsafe {
            handle(program).and_then(|h| {
                let index = h.program.plan_index(string(name, "name")?)?;
                give(out, meta(h.program.plan_at(index)?))
            })
        })
    }
    program::fn et_program_data_map(program: *const et_program_t) -> *const et_data_map_t, otherwise null(), {
        // SAFETY: the caller gives a live handle.
        unsafe { handle(program) }.map_or(null(), |h| h.map.raw())
    }
    program::fn et_program_constant(
        program: *const et_program_t,
        index: usize,
        nbytes: usize,
        out: *mut *const c_void,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a live handle and a place for the pointer.
        code(unsafe {
            handle(program).and_then(|h| {
                let count = h.program.layout().constants.len();
                let index = u32::try_from(index).map_err(|_| past("constant", index, count))?;
                let bytes = h.program.constant(index)?;
                if bytes.len() < nbytes {
                    return Err(Error::new(
                        ET_ERROR_INVALID_ARGUMENT,
                        format!("constant {index} has {} bytes, {nbytes} were asked for", bytes.len()),
                    ));
                }
                give(out, bytes.as_ptr().cast())
            })
        })
    }
    program::fn et_program_describe(
        program: *const et_program_t,
        out: *mut et_program_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a live handle and a place of the size that it says.
        code(unsafe { handle(program).and_then(|h| describe(&h.program, out)) })
    }
    program::fn et_program_segment(
        program: *const et_program_t,
        index: usize,
        offset: *mut u64,
        size: *mut u64,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a live handle and places for the numbers.
        code(unsafe {
            handle(program).and_then(|h| {
                let segments = &h.program.layout().segments;
                let range = segments.get(index).ok_or_else(|| past("segment", index, segments.len()))?;
                given(size, "size")?;
                give(offset, range.offset)?;
                give(size, range.size)
            })
        })
    }
    program::fn et_program_check_header(data: *const c_void, size: usize) -> et_header_status_t, otherwise ET_HEADER_NOT_PRESENT, {
        if data.is_null() || size < ET_HEADER_MIN_BYTES {
            return ET_HEADER_SHORT_DATA;
        }
        // SAFETY: the caller gives `size` bytes.
        match HeaderStatus::of(unsafe { std::slice::from_raw_parts(data.cast(), size) }) {
            HeaderStatus::Compatible => ET_HEADER_COMPATIBLE,
            HeaderStatus::Incompatible => ET_HEADER_INCOMPATIBLE,
            HeaderStatus::NotPresent => ET_HEADER_NOT_PRESENT,
            HeaderStatus::ShortData => ET_HEADER_SHORT_DATA,
        }
    }
    program::fn et_program_load_method(
        program: *mut et_program_t,
        name: *const c_char,
        method_options: *const et_method_options_t,
        out: *mut *mut et_method_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a live handle, a NUL-terminated name, valid options and a place for the method.
        code(unsafe {
            handle(program).and_then(|h| {
                let mut kernels = Vec::new();
                let method = Method::load(Arc::clone(&h.program), string(name, "name")?, options(method_options, &mut kernels)?)?;
                give(out, Box::into_raw(Box::new(method)).cast())
            })
        })
    }
    program::fn et_program_describe_delegate(
        program: *const et_program_t,
        method: *const c_char,
        index: usize,
        method_options: *const et_method_options_t,
        sink: et_text_sink_t,
        sink_context: *mut c_void,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a live handle, a NUL-terminated name, valid options and a sink for its context.
        code(unsafe {
            handle(program).and_then(|h| {
                let (mut kernels, method) = (Vec::new(), string(method, "method")?);
                let options = options(method_options, &mut kernels)?;
                method::describe_delegate(&h.program, method, index, options, sink, sink_context)
            })
        })
    }
    program::fn et_method_meta_name(meta: *const et_method_meta_t) -> *const c_char, otherwise null(), {
        // SAFETY: the caller gives live metadata, here and below.
        unsafe { plan(meta) }.map_or(null(), |p| p.name.as_ptr())
    }
    program::fn et_method_meta_input_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| p.inputs.len()) }
    }
    program::fn et_method_meta_output_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| p.outputs.len()) }
    }
    program::fn et_method_meta_attribute_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| attributes(p).count()) }
    }
    program::fn et_method_meta_input_tag(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tag_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above, and a place for the result, here and below.
        unsafe { tell(meta, out, |p| Ok(tag(value(p, Some(&p.inputs), index, "input")?))) }
    }
    program::fn et_method_meta_output_tag(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tag_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| Ok(tag(value(p, Some(&p.outputs), index, "output")?))) }
    }
    program::fn et_method_meta_input_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| tensor_info(value(p, Some(&p.inputs), index, "input")?, "input", index)) }
    }
    program::fn et_method_meta_output_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| tensor_info(value(p, Some(&p.outputs), index, "output")?, "output", index)) }
    }
    program::fn et_method_meta_attribute_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe {
            tell(meta, out, |p| {
                let count = attributes(p).count();
                Ok(info(attributes(p).nth(index).ok_or_else(|| past("attribute", index, count))?))
            })
        }
    }
    program::fn et_method_meta_input_value(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| position(&p.inputs, index, "input")) }
    }
    program::fn et_method_meta_output_value(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut usize,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| position(&p.outputs, index, "output")) }
    }
    program::fn et_method_meta_value_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| p.values.len()) }
    }
    program::fn et_method_meta_value_tag(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tag_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| Ok(tag(value(p, None, index, "value")?))) }
    }
    program::fn et_method_meta_value_tensor(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_tensor_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| tensor_info(value(p, None, index, "value")?, "value", index)) }
    }
    program::fn et_method_meta_buffer_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| p.buffers.len()) }
    }
    program::fn et_method_meta_buffer(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_buffer_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe {
            tell(meta, out, |p| {
                let buffer = p.buffers.get(index).ok_or_else(|| past("planned buffer", index, p.buffers.len()))?;
                Ok(et_buffer_info_t {
                    size: buffer.size,
                    device_type: buffer.device.kind,
                    device_index: buffer.device.index,
                    reserved: [0; 6],
                })
            })
        }
    }
    program::fn et_method_meta_delegate_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| p.delegates.len()) }
    }
    program::fn et_method_meta_delegate(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_delegate_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe {
            tell(meta, out, |p| {
                let delegate = p.delegates.get(index).ok_or_else(|| past("delegate", index, p.delegates.len()))?;
                Ok(et_delegate_info_t {
                    backend: delegate.backend.as_ptr(),
                    payload_size: delegate.payload_size,
                    compile_spec_count: delegate.specs.len(),
                })
            })
        }
    }
    program::fn et_method_meta_operator_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| p.operators.len()) }
    }
    program::fn et_method_meta_operator(meta: *const et_method_meta_t, index: usize) -> *const c_char, otherwise null(), {
        // SAFETY: as above.
        unsafe { plan(meta) }.ok().and_then(|p| p.operators.get(index)).map_or(null(), |n| n.as_ptr())
    }
    program::fn et_method_meta_instruction_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| p.chains.iter().map(Vec::len).sum()) }
    }
    program::fn et_method_meta_instruction(
        meta: *const et_method_meta_t,
        index: usize,
        out: *mut et_instruction_info_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: as above.
        unsafe { tell(meta, out, |p| instruction(p, index)) }
    }
    program::fn et_method_meta_external_count(meta: *const et_method_meta_t) -> usize, otherwise 0, {
        // SAFETY: as above.
        unsafe { count(meta, |p| external(p).len()) }
    }
    program::fn et_method_meta_external_key(meta: *const et_method_meta_t, index: usize) -> *const c_char, otherwise null(), {
        // SAFETY: as above.
        unsafe { plan(meta) }.ok().and_then(|p| external(p).get(index).copied()).map_or(null(), |k| k.as_ptr())
    }
    program::fn et_method_meta_output_encoding(meta: *const et_method_meta_t) -> *const c_char, otherwise null(), {
        // SAFETY: as above.
        unsafe { plan(meta) }.map_or(null(), |p| p.output_encoding.as_ptr())
    }
}
