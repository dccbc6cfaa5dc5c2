//! A method, loaded: its values, and its instructions as a flat list of resolved calls.

mod arenas;
mod constants;
mod context;
mod delegate;
mod fold;
mod io;
mod load;
mod memory;
mod prepare;
mod run;
mod signature;
mod trace;
mod uses;
mod values;

pub use constants::Preparing;
pub use context::{kernel_allocate, kernel_fail, kernel_tracer};
pub use delegate::describe as describe_delegate;
pub use fold::Folds;
pub use load::Options;

use crate::data_map::OwnedMap;
use crate::ir::Plan;
use crate::prim;
use crate::program::Program;
use crate::registry::KernelRef;
use executorch_abi::Result;
use executorch_abi::backend::et_backend_t;
use executorch_abi::kernel::et_kernel_release_t;
use executorch_abi::value::et_value_t;
use memory::{Scratch, Table};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use trace::Tracer;
use values::Values;

/// A loaded method. Used by one thread at a time.
pub struct Method {
    // In this order: what is first is dropped first.
    steps: Vec<Step>,
    delegates: Vec<Delegate>,
    args: Table<*mut et_value_t>,
    values: Values,
    scratch: Scratch,
    /// Values that a run may have moved, freed or made views of.
    restored: Vec<u32>,
    inputs_set: Vec<bool>,
    /// Whether a tensor's data may lie on a device, out of reach for kernels.
    uses_devices: bool,
    next: usize,
    executed: u64,
    tracer: Tracer,
    plan_index: usize,
    data_map: Option<Box<OwnedMap>>,
    program: Arc<Program>,
}

/// One instruction, ready to run.
struct Step {
    action: Action,
    /// Its arguments, in the method's table of them.
    args: Range<usize>,
    /// The lists among them whose items may have changed.
    lists: Vec<u32>,
    chain: u32,
    instruction: u32,
}

enum Action {
    Prim(prim::Run),
    Kernel(Call),
    Delegate(usize),
    Move { from: u32, to: u32 },
    JumpFalse { condition: u32, target: usize },
    Free { value: u32 },
}

/// A kernel at a call site.
struct Call {
    kernel: KernelRef,
    state: *mut c_void,
    release: et_kernel_release_t,
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(release) = self.release.filter(|_| !self.state.is_null()) {
            // SAFETY: the kernel's `prepare` made the state, and it is released once.
            unsafe { release(self.state) }
        }
    }
}

/// A delegate's handle.
struct Delegate {
    backend: &'static et_backend_t,
    handle: *mut c_void,
}

impl Drop for Delegate {
    fn drop(&mut self) {
        if let Some(destroy) = self.backend.destroy {
            // SAFETY: the backend's `init` made the handle, and it is destroyed once.
            unsafe { destroy(self.backend.user_data, self.handle) }
        }
    }
}

impl Method {
    /// Its plan.
    pub fn plan(&self) -> Result<&Plan> {
        self.program.plan_at(self.plan_index)
    }

    /// Its program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
}
