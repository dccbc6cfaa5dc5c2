//! What kernels may ask for while they are prepared and while they run.

use super::memory::Scratch;
use crate::ir::{Plan, Storage, Value};
use crate::program::Program;
use executorch_abi::error::*;
use executorch_abi::kernel::et_kernel_context_t;
use executorch_abi::tracer::et_event_tracer_t;
use executorch_abi::{Error, Result};
use std::ffi::c_void;
use std::ptr;

/// Behind `et_kernel_context_t::internal`.
pub struct Running<'a> {
    /// Memory for the call.
    pub scratch: &'a mut Scratch,
    /// The run's tracer, or null.
    pub tracer: *const et_event_tracer_t,
    /// The message of the first failure.
    pub message: Option<String>,
}

/// # Safety
/// `context` is null or what a kernel was handed, during its call.
unsafe fn running<'a>(
    context: *mut et_kernel_context_t,
) -> Option<(&'a mut et_kernel_context_t, &'a mut Running<'a>)> {
    // SAFETY: the caller's promise: `internal` points to the `Running` of this call.
    unsafe {
        let context = context.as_mut()?;
        let running = context.internal.cast::<Running<'a>>().as_mut()?;
        Some((context, running))
    }
}

/// Keeps a kernel's failure.
///
/// # Safety
/// As for the functions of the ABI.
pub unsafe fn kernel_fail(context: *mut et_kernel_context_t, code: et_error_t, message: String) {
    // SAFETY: the caller's promise.
    if let Some((context, running)) = unsafe { running(context) }
        && context.error == ET_OK
    {
        context.error = if code == ET_OK { ET_ERROR_INTERNAL } else { code };
        running.message = Some(message);
    }
}

/// Memory for the rest of a kernel's call.
///
/// # Safety
/// As for the functions of the ABI.
pub unsafe fn kernel_allocate(
    context: *mut et_kernel_context_t,
    size: usize,
    alignment: usize,
) -> Result<*mut c_void> {
    // SAFETY: the caller's promise.
    let (_, running) = unsafe { running(context) }
        .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "the kernel context is null"))?;
    running.scratch.allocate(size, alignment)
}

/// The tracer of a kernel's run, or null.
///
/// # Safety
/// As for the functions of the ABI.
pub unsafe fn kernel_tracer(context: *mut et_kernel_context_t) -> *const et_event_tracer_t {
    // SAFETY: the caller's promise.
    unsafe { running(context) }.map_or(ptr::null(), |(_, r)| r.tracer)
}

/// Preparing a call site; behind `et_prepare_context_t`.
pub mod prepare {
    use super::*;

    /// What a kernel's `prepare` is handed.
    pub struct Preparing<'a> {
        /// The program that holds the constants.
        pub program: &'a Program,
        /// The method.
        pub plan: &'a Plan,
        /// The values of the call's arguments.
        pub args: &'a [u32],
        /// Which values an instruction writes.
        pub written: &'a [bool],
        /// Memory for the calls to come.
        pub scratch: &'a mut Scratch,
    }

    impl Preparing<'_> {
        fn never_written(&self, value: u32) -> bool {
            self.written.get(value as usize) == Some(&false)
        }

        /// Whether an argument never changes after load.
        pub fn is_constant(&self, index: usize) -> bool {
            let Some(&arg) = self.args.get(index) else { return false };
            let fixed = match self.plan.values.get(arg as usize) {
                Some(Value::Tensor(tensor)) => {
                    !tensor.is_dynamic
                        && matches!(tensor.storage, Storage::Constant { .. } | Storage::External)
                }
                Some(Value::IntList(items)) => items.iter().all(|&i| self.never_written(i)),
                Some(Value::TensorList(_) | Value::OptionalTensorList(_)) | None => false,
                Some(_) => !self.plan.inputs.contains(&arg),
            };
            fixed && self.never_written(arg)
        }

        /// The identity of a constant tensor's contents.
        pub fn identity(&self, index: usize) -> Result<[u64; 2]> {
            let tensor = self.args.get(index).and_then(|&a| self.plan.values.get(a as usize));
            match tensor {
                Some(Value::Tensor(tensor)) if self.is_constant(index) => match tensor.storage {
                    Storage::Constant { index } => Ok([self.program.identity(), u64::from(index)]),
                    _ => Err(Error::new(ET_ERROR_NOT_SUPPORTED, "external data has no identity")),
                },
                _ => Err(Error::new(
                    ET_ERROR_INVALID_ARGUMENT,
                    format!("argument {index} of the call is no constant tensor"),
                )),
            }
        }

        /// Takes note that a constant's data will not be read: pages of a mapped file leave memory by themselves, so
        /// there is nothing more to give back.
        pub fn release(&self, index: usize) -> Result<()> {
            if self.is_constant(index) {
                return Ok(());
            }
            Err(Error::new(ET_ERROR_INVALID_ARGUMENT, format!("argument {index} of the call is no constant")))
        }

        /// Reserves scratch.
        pub fn reserve(&mut self, size: usize, alignment: usize) -> Result<()> {
            self.scratch.reserve(size, alignment)
        }
    }
}
