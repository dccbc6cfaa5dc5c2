//! Delegates of a method: initialised when it is loaded, or described without that.

use super::trace::Tracer;
use super::{Delegate, Method, Options};
use crate::data_map::{self, OwnedMap};
use crate::ir::{self, Payload, Plan};
use crate::program::Program;
use crate::registry;
use crate::source::{Buffer, Segment, in_memory};
use executorch_abi::backend::*;
use executorch_abi::data_map::et_data_map_t;
use executorch_abi::error::*;
use executorch_abi::loader::{ET_SEGMENT_BACKEND, et_buffer_t};
use executorch_abi::{Error, Result};
use std::ffi::{CStr, c_void};
use std::ptr;

impl Method {
    /// Initialises the delegates of a method that is being loaded.
    pub(super) fn init_delegates(
        &mut self,
        plan: &Plan,
        program: &Program,
        options: Options<'_>,
    ) -> Result<()> {
        if plan.delegates.is_empty() {
            return Ok(());
        }
        // SAFETY: the program and the caller's map outlive the method, which owns the merged map.
        let merged = self.data_map.insert(unsafe { merged_data(program, options) }?).raw();
        for (i, delegate) in plan.delegates.iter().enumerate() {
            let loaded = init(plan, delegate, program, merged, &self.tracer, options);
            self.delegates.push(loaded.map_err(|e| e.within(place(i, delegate)))?);
        }
        Ok(())
    }
}

fn place(index: usize, delegate: &ir::Delegate) -> String {
    format!("delegate {index} ({})", delegate.backend.to_string_lossy())
}

/// The caller's named data and the program's, as one map.
///
/// # Safety
/// The program and the caller's map outlive the result.
unsafe fn merged_data(program: &Program, options: Options<'_>) -> Result<Box<OwnedMap>> {
    // SAFETY: the caller's promise.
    unsafe {
        let own = OwnedMap::new(data_map::of_program(program));
        let parts: Vec<_> = options.data_map.into_iter().chain([own.raw()]).collect();
        Ok(Box::new(OwnedMap::over(data_map::merge(&parts)?, own)))
    }
}

fn find(delegate: &ir::Delegate) -> Result<&'static et_backend_t> {
    registry::find_backend(&delegate.backend).ok_or_else(|| {
        Error::new(
            ET_ERROR_NOT_FOUND,
            format!(
                "the backend is not registered{}; load its library or install the wheel that has it",
                registry::refusals()
            ),
        )
    })
}

/// The bytes of a payload. Inline ones lie in the program, which must outlive them.
fn payload(delegate: &ir::Delegate, program: &Program) -> Result<Buffer> {
    match delegate.payload {
        Payload::Segment(index) => {
            let range = program.layout().segments.get(index as usize);
            let range =
                range.ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "a checked payload has no segment"))?;
            let size = in_memory(range.size)?;
            let segment =
                Segment { kind: ET_SEGMENT_BACKEND, index: index as usize, name: Some(&delegate.backend) };
            program.loader().load(range.offset, size, segment)
        }
        Payload::Inline(range) => {
            let bytes = program.inline(range)?;
            let raw = et_buffer_t {
                data: bytes.as_ptr().cast(),
                size: bytes.len(),
                free: None,
                context: ptr::null_mut(),
            };
            // SAFETY: the bytes lie in the program, which outlives them.
            Ok(unsafe { Buffer::new(raw) })
        }
    }
}

fn specs(delegate: &ir::Delegate) -> Vec<et_compile_spec_t> {
    let spec = |(key, value): &(std::ffi::CString, Vec<u8>)| et_compile_spec_t {
        key: key.as_ptr(),
        value: value.as_ptr().cast(),
        size: value.len(),
    };
    delegate.specs.iter().map(spec).collect()
}

fn context(
    plan: &Plan,
    delegate: &ir::Delegate,
    merged: *const et_data_map_t,
    tracer: &Tracer,
    options: Options<'_>,
) -> et_backend_init_context_t {
    // SAFETY: the caller's options hold NUL-terminated names.
    let own = options.backend_options.iter().find(|o| unsafe {
        !o.backend.is_null() && CStr::from_ptr(o.backend) == delegate.backend.as_c_str()
    });
    et_backend_init_context_t {
        struct_size: size_of::<et_backend_init_context_t>() as u32,
        reserved: 0,
        method_name: plan.name.as_ptr(),
        data_map: merged,
        method_allocator: options.method_allocator.map_or(ptr::null(), ptr::from_ref),
        tracer: tracer.raw(),
        options: own.map_or(ptr::null(), |o| o.options),
        option_count: own.map_or(0, |o| o.count),
        internal: ptr::null_mut(),
    }
}

fn init(
    plan: &Plan,
    delegate: &ir::Delegate,
    program: &Program,
    merged: *const et_data_map_t,
    tracer: &Tracer,
    options: Options<'_>,
) -> Result<Delegate> {
    let backend = find(delegate)?;
    if !registry::is_available(backend) {
        return Err(Error::new(
            ET_ERROR_NOT_FOUND,
            "the backend is registered but cannot run on this machine",
        ));
    }
    let init =
        backend.init.ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "the backend has no init function"))?;
    let processed = payload(delegate, program)?.into_raw();
    let specs = specs(delegate);
    let context = context(plan, delegate, merged, tracer, options);
    let mut handle = ptr::null_mut();
    // SAFETY: a registered backend obeys the ABI; it takes the payload, and all else lives through the call.
    let code =
        unsafe { init(backend.user_data, &context, &processed, specs.as_ptr(), specs.len(), &mut handle) };
    Error::check(code)?;
    Ok(Delegate { backend, handle })
}

/// Lets a backend write to `sink` what is in the payload of a method's delegate.
///
/// # Safety
/// `sink` may be called with `sink_context`, and the caller's options are valid during the call.
pub unsafe fn describe(
    program: &Program,
    method: &CStr,
    index: usize,
    options: Options<'_>,
    sink: et_text_sink_t,
    sink_context: *mut c_void,
) -> Result<()> {
    if sink.is_none() {
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "the argument `sink` is null"));
    }
    let plan = program.plan_at(program.plan_index(method)?)?;
    let delegate = plan.delegates.get(index).ok_or_else(|| {
        Error::new(
            ET_ERROR_INVALID_ARGUMENT,
            format!("delegate {index} does not exist: the method has {}", plan.delegates.len()),
        )
    })?;
    let describe = || {
        let backend = find(delegate)?;
        let describe = backend.describe.ok_or_else(|| {
            Error::new(ET_ERROR_NOT_IMPLEMENTED, "the backend does not describe its payloads")
        })?;
        // SAFETY: the program and the caller's map are there during this call, which drops the merged map at its end.
        let merged = unsafe { merged_data(program, options) }?;
        let processed = payload(delegate, program)?.into_raw();
        let specs = specs(delegate);
        let options = Options { method_allocator: None, ..options };
        let tracer = Tracer::new(options.tracer);
        let context = context(plan, delegate, merged.raw(), &tracer, options);
        // SAFETY: a registered backend obeys the ABI; it takes the payload, and all else lives through the call.
        Error::check(unsafe {
            describe(backend.user_data, &context, &processed, specs.as_ptr(), specs.len(), sink, sink_context)
        })
    };
    describe().map_err(|e| e.within(place(index, delegate)))
}
