//! What a delegate may ask the runtime for while it is initialised and while it runs.

use crate::{Element, Error, NamedData, Options, Result, Tracer};
use executorch_abi::backend::*;
use executorch_abi::error::*;
use executorch_abi::memory::et_allocator_t;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Handed to [`Delegate::init`](crate::Delegate::init). What it gives with `'m` may be kept in the handle.
#[derive(Debug)]
pub struct InitContext<'m> {
    raw: NonNull<et_backend_init_context_t>,
    named_data: NamedData<'m>,
}

impl<'m> InitContext<'m> {
    /// # Safety
    /// `raw` is null or obeys the ABI as long as the result lives, and its map and method allocator during `'m`.
    pub(crate) unsafe fn new(raw: *const et_backend_init_context_t) -> Result<Self> {
        let raw = NonNull::new(raw.cast_mut()).ok_or_else(|| incomplete("init"))?;
        // SAFETY: the caller's promise, here and below.
        let map = unsafe { raw.as_ref().data_map.as_ref() }.ok_or_else(|| incomplete("init"))?;
        // SAFETY: as above.
        let context = Self { raw, named_data: unsafe { NamedData::new(map) } };
        // Checked here, so that asking for options cannot fail.
        Options::new(context.raw_options())?;
        Ok(context)
    }

    fn get(&self) -> &et_backend_init_context_t {
        // SAFETY: the constructor's contract.
        unsafe { self.raw.as_ref() }
    }

    /// The method that is loaded or described.
    pub fn method_name(&self) -> &str {
        // SAFETY: a string of the context lives as long as it.
        unsafe { name(self.get().method_name) }
    }

    /// Named data: of the program, and of the data files that the caller gave.
    pub fn named_data(&self) -> NamedData<'m> {
        self.named_data
    }

    /// The options of this load.
    pub fn options(&self) -> Options<'_> {
        Options::new(self.raw_options()).unwrap_or_default()
    }

    fn raw_options(&self) -> &[et_backend_option_t] {
        let context = self.get();
        if context.options.is_null() || context.option_count == 0 {
            return &[];
        }
        // SAFETY: the context holds `option_count` options that live as long as it.
        unsafe { std::slice::from_raw_parts(context.options, context.option_count) }
    }

    /// Memory of the allocator that the caller gave for what lives as long as the method; none if it gave none (use
    /// the heap then). `ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED` if it is exhausted.
    pub fn allocate(&self, size: usize, alignment: usize) -> Result<Option<&'m mut [MaybeUninit<u8>]>> {
        // SAFETY: the constructor's contract.
        let Some(allocator) = (unsafe { self.get().method_allocator.as_ref() }) else { return Ok(None) };
        // SAFETY: memory of the method's allocator lives as long as the method, and nobody resets it before.
        unsafe { allocate(allocator, size, alignment) }.map(Some)
    }

    /// The method's tracer.
    pub fn tracer(&self) -> Tracer<'_> {
        // SAFETY: null, or a tracer that obeys the ABI as long as the context.
        unsafe { Tracer::new(self.get().tracer) }
    }
}

/// Handed to [`Delegate::execute`](crate::Delegate::execute).
#[derive(Debug)]
pub struct ExecuteContext {
    raw: NonNull<et_backend_execute_context_t>,
}

impl ExecuteContext {
    /// # Safety
    /// `raw` is null or obeys the ABI as long as the result lives.
    pub(crate) unsafe fn new(raw: *const et_backend_execute_context_t) -> Result<Self> {
        NonNull::new(raw.cast_mut()).map(|raw| Self { raw }).ok_or_else(|| incomplete("execute"))
    }

    fn get(&self) -> &et_backend_execute_context_t {
        // SAFETY: the constructor's contract.
        unsafe { self.raw.as_ref() }
    }

    /// The method that runs.
    pub fn method_name(&self) -> &str {
        // SAFETY: a string of the context lives as long as it.
        unsafe { name(self.get().method_name) }
    }

    /// Memory for the rest of this call. The second call with the same sizes takes nothing from the system.
    #[allow(clippy::mut_from_ref, reason = "every call gives other memory")]
    pub fn allocate(&self, size: usize, alignment: usize) -> Result<&mut [MaybeUninit<u8>]> {
        // SAFETY: the constructor's contract.
        let allocator = unsafe { self.get().temp_allocator.as_ref() }.ok_or_else(|| incomplete("execute"))?;
        // SAFETY: memory of the call's allocator lives as long as the call, and nobody resets it before.
        unsafe { allocate(allocator, size, alignment) }
    }

    /// [`allocate`](Self::allocate) for `length` zeros, aligned to a cache line.
    #[allow(clippy::mut_from_ref, reason = "every call gives other memory")]
    pub fn zeros<T: Element>(&self, length: usize) -> Result<&mut [T]> {
        let size = length.checked_mul(size_of::<T>()).ok_or_else(|| exhausted(usize::MAX))?;
        let memory = self.allocate(size, 64)?;
        memory.fill(MaybeUninit::new(0));
        // SAFETY: initialised just now, aligned to more than any element type, as long as `length` of them; every
        // bit pattern is a valid element.
        Ok(unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), length) })
    }

    /// The tracer of this run.
    #[inline]
    pub fn tracer(&self) -> Tracer<'_> {
        // SAFETY: null, or a tracer that obeys the ABI as long as the context.
        unsafe { Tracer::new(self.get().tracer) }
    }
}

/// # Safety
/// The allocator obeys the ABI, and is not reset during `'a`.
unsafe fn allocate<'a>(
    allocator: &et_allocator_t,
    size: usize,
    alignment: usize,
) -> Result<&'a mut [MaybeUninit<u8>]> {
    if !alignment.is_power_of_two() {
        let text = format!("{alignment} is no alignment: a power of two is expected");
        return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, text));
    }
    if size == 0 {
        let nothing = NonNull::<MaybeUninit<u8>>::dangling().as_ptr().with_addr(alignment);
        // SAFETY: no bytes need no memory.
        return Ok(unsafe { std::slice::from_raw_parts_mut(nothing, 0) });
    }
    let function = allocator.allocate.ok_or_else(|| exhausted(size))?;
    // SAFETY: the caller's promise.
    let data = unsafe { function(allocator.user_data, size, alignment) };
    if data.is_null() || !data.addr().is_multiple_of(alignment) {
        return Err(exhausted(size));
    }
    // SAFETY: the allocator gave `size` bytes that are this call's alone until it is reset.
    Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), size) })
}

/// The compile specs that the exporter left; keys may repeat.
#[derive(Debug, Clone, Copy)]
pub struct CompileSpecs<'a> {
    specs: &'a [et_compile_spec_t],
}

impl<'a> CompileSpecs<'a> {
    /// # Safety
    /// `specs` holds `count` specs that obey the ABI during `'a`, or `count` is 0.
    pub(crate) unsafe fn new(specs: *const et_compile_spec_t, count: usize) -> Self {
        if specs.is_null() || count == 0 {
            return Self { specs: &[] };
        }
        // SAFETY: the caller's promise.
        Self { specs: unsafe { std::slice::from_raw_parts(specs, count) } }
    }

    /// The keys and values, in the program's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        self.specs.iter().map(|spec| {
            let value = if spec.value.is_null() || spec.size == 0 {
                &[][..]
            } else {
                // SAFETY: the constructor's contract: a spec holds `size` bytes.
                unsafe { std::slice::from_raw_parts(spec.value.cast::<u8>(), spec.size) }
            };
            // SAFETY: as above; keys are NUL-terminated.
            (unsafe { name(spec.key) }, value)
        })
    }

    /// The value of the first spec of a key.
    pub fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }
}

/// # Safety
/// `text` is null or a NUL-terminated string that lives during `'a`.
unsafe fn name<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the caller's promise. The runtime's names are UTF-8.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}

fn incomplete(function: &str) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, format!("the context of {function} is null or lacks a part"))
}

fn exhausted(size: usize) -> Error {
    Error::new(
        ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED,
        format!("{size} bytes could not be had from the caller's allocator"),
    )
}
