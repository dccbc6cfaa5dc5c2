//! Owners of the library's objects. The unsafe calls that make, drive and free them stand here; those that describe
//! values and nodes stand in [`super::values`] and [`super::nodes`].

use super::status::check;
use super::workspace;
use crate::graph::{Dims, MAX_RANK};
use executorch_abi::error::{ET_ERROR_INTERNAL, ET_ERROR_NOT_SUPPORTED};
use executorch_abi::{Error, Result};
use executorch_xnnpack_sys as sys;
use std::ptr::{self, NonNull};

/// Prepares the library for this CPU. Everything else here needs it.
pub fn initialize() -> Result<()> {
    sys::initialize().map_err(|message| Error::new(ET_ERROR_NOT_SUPPORTED, message))
}

fn made<T>(object: *mut T, what: &str) -> Result<NonNull<T>> {
    NonNull::new(object).ok_or_else(|| Error::new(ET_ERROR_INTERNAL, format!("XNNPACK made no {what}")))
}

/// A graph in the library's form, needed until a runtime is made of it.
#[derive(Debug)]
pub struct Subgraph {
    raw: NonNull<sys::xnn_subgraph>,
}

impl Subgraph {
    /// An empty graph in which ids below `externals` are kept for values that it shares with the outside.
    pub fn new(externals: u32) -> Result<Self> {
        initialize()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the library is initialized, and `raw` is writable.
        let status = unsafe { sys::xnn_create_subgraph(externals, 0, &mut raw) };
        check(status, || format!("make a graph of {externals} external values"))?;
        Ok(Self { raw: made(raw, "graph")? })
    }

    /// The library's object, valid as long as this one.
    pub fn as_ptr(&mut self) -> sys::xnn_subgraph_t {
        self.raw.as_ptr()
    }
}

impl Drop for Subgraph {
    fn drop(&mut self) {
        // SAFETY: made by the library, deleted once. Runtimes keep nothing of it.
        unsafe { sys::xnn_delete_subgraph(self.raw.as_ptr()) };
    }
}

/// Scratch memory of runtimes.
#[derive(Debug)]
pub struct Workspace {
    raw: NonNull<sys::xnn_workspace>,
}

// SAFETY: whoever uses it holds an `Access`, or is the only one to have it.
unsafe impl Send for Workspace {}
// SAFETY: as above.
unsafe impl Sync for Workspace {}

impl Workspace {
    /// An empty workspace, which grows as runtimes need it.
    pub fn new() -> Result<Self> {
        initialize()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the library is initialized, and `raw` is writable.
        check(unsafe { sys::xnn_create_workspace(&mut raw) }, || "make a workspace".to_owned())?;
        Ok(Self { raw: made(raw, "workspace")? })
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // SAFETY: made by the library, released once, after the runtimes on it, which keep it alive.
        unsafe { sys::xnn_release_workspace(self.raw.as_ptr()) };
    }
}

/// What a runtime is made with.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// Threads; null for none but the caller's.
    pub threads: sys::pool::pthreadpool_t,
    /// Where packed weights are kept.
    pub weights: sys::xnn_weights_cache_t,
    /// Measure each operator.
    pub profiling: bool,
}

/// A graph that can be run.
#[derive(Debug)]
pub struct Runtime {
    raw: NonNull<sys::xnn_runtime>,
    workspace: workspace::Workspace,
}

// SAFETY: used by one thread at a time (`&mut self`), each with an `Access` to the workspace.
unsafe impl Send for Runtime {}

impl Runtime {
    /// Makes a runtime of a graph and packs its weights.
    ///
    /// # Safety
    /// What the graph's values point to is valid now, and as long as the runtime if the library does not pack it: data of
    /// constants that are no weights, and scales. So are the threads and the weights of `environment`.
    pub unsafe fn new(
        mut graph: Subgraph,
        workspace: &workspace::Workspace,
        environment: Environment,
    ) -> Result<Self> {
        let flags = if environment.profiling { sys::XNN_FLAG_BASIC_PROFILING } else { 0 };
        let mut raw = ptr::null_mut();
        let _access = workspace.access();
        // SAFETY: all objects are alive, the workspace is this thread's for now, and `raw` is writable.
        let status = unsafe {
            sys::xnn_create_runtime_v4(
                graph.as_ptr(),
                environment.weights,
                workspace.raw().raw.as_ptr(),
                environment.threads,
                flags,
                &mut raw,
            )
        };
        check(status, || "prepare these nodes".to_owned())?;
        Ok(Self { raw: made(raw, "runtime")?, workspace: workspace.clone() })
    }

    /// Tells the shape that a value will have.
    pub fn reshape_value(&mut self, id: u32, dims: &[usize]) -> Result<()> {
        // SAFETY: a live runtime; `dims` holds as many sizes as is said, and no more than the library has room for.
        let status = unsafe {
            let rank = dims.len().min(MAX_RANK);
            sys::xnn_reshape_external_value(self.raw.as_ptr(), id, rank, dims.as_ptr())
        };
        check(status, || format!("give value {id} the shape {dims:?}"))
    }

    /// Works out all shapes and the memory that they need.
    pub fn reshape(&mut self, _access: &workspace::Access<'_>) -> Result<()> {
        // SAFETY: a live runtime, whose workspace is this thread's for now.
        let status = unsafe { sys::xnn_reshape_runtime(self.raw.as_ptr()) };
        check(status, || "take these shapes".to_owned())
    }

    /// The shape of a value after [`Runtime::reshape`].
    pub fn shape(&self, id: u32) -> Result<Dims> {
        let mut dims = [0_usize; MAX_RANK];
        let mut rank = 0;
        // SAFETY: a live runtime; the library writes at most its own limit of sizes, for which there is room.
        let status =
            unsafe { sys::xnn_get_external_value_shape(self.raw.as_ptr(), id, &mut rank, dims.as_mut_ptr()) };
        check(status, || format!("tell the shape of value {id}"))?;
        Ok(dims.into_iter().take(rank).collect())
    }

    /// Binds values to memory.
    ///
    /// # Safety
    /// Each address holds its value's bytes, and 16 more that can be read, until others are bound; results' are
    /// writable.
    pub unsafe fn setup(
        &mut self,
        values: &[sys::xnn_external_value],
        _access: &workspace::Access<'_>,
    ) -> Result<()> {
        // SAFETY: a live runtime that was reshaped; the caller vouches for the memory.
        let status = unsafe { sys::xnn_setup_runtime_v2(self.raw.as_ptr(), values.len(), values.as_ptr()) };
        check(status, || "bind its values to memory".to_owned())
    }

    /// Runs the graph.
    ///
    /// # Safety
    /// [`Runtime::setup`] succeeded after the last [`Runtime::reshape`], and what it promised still holds.
    #[inline]
    pub unsafe fn invoke(&mut self, _access: &workspace::Access<'_>) -> Result<()> {
        // SAFETY: as the caller promises.
        let status = unsafe { sys::xnn_invoke_runtime(self.raw.as_ptr()) };
        check(status, || "run these nodes".to_owned())
    }

    /// Names of the operators and the microseconds that each took in the last run, if profiling is on.
    pub fn profile(&self) -> Result<Vec<(String, u64)>> {
        let names = self.profile_bytes(sys::xnn_profile_info::xnn_profile_info_operator_name)?;
        let times = self.profile_bytes(sys::xnn_profile_info::xnn_profile_info_operator_timing)?;
        let names = names.split(|&b| b == 0).map(|name| String::from_utf8_lossy(name).into_owned());
        let times = times.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
        Ok(names.zip(times).collect())
    }

    fn profile_bytes(&self, what: sys::xnn_profile_info) -> Result<Vec<u8>> {
        let mut needed = 0;
        // SAFETY: a live runtime. Without room the library only tells how much it needs, as its status says.
        let _ = unsafe {
            sys::xnn_get_runtime_profiling_info(self.raw.as_ptr(), what, 0, ptr::null_mut(), &mut needed)
        };
        // As numbers of 64 bits, so that the times are aligned.
        let mut room = vec![0_u64; needed.div_ceil(8)];
        let mut unused = 0;
        // SAFETY: as above, with as much room as is said.
        let status = unsafe {
            sys::xnn_get_runtime_profiling_info(
                self.raw.as_ptr(),
                what,
                room.len() * 8,
                room.as_mut_ptr().cast(),
                &mut unused,
            )
        };
        check(status, || "tell how long its operators took".to_owned())?;
        let mut bytes: Vec<u8> = room.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.truncate(needed);
        Ok(bytes)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _access = self.workspace.access();
        // SAFETY: made by the library, deleted once, while the workspace is this thread's.
        unsafe { sys::xnn_delete_runtime(self.raw.as_ptr()) };
    }
}
