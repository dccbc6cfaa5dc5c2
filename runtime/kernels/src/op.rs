//! The bridge between an operator and the C ABI: how it is declared, called, and how it fails.

use bytemuck::Pod;
use executorch_abi::error::*;
use executorch_abi::kernel::*;
use executorch_abi::registration::et_registration_t;
use executorch_abi::value::et_value_t;
use executorch_abi::{Args, Error, Result, TensorMut, TensorRef};
use std::ffi::{CStr, CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// An operator's body.
pub type Body = fn(&mut Context, &Args<'_>) -> Result<()>;

/// The operators of a family, as the runtime registers them.
pub struct Table {
    entries: &'static [et_kernel_t],
}

// SAFETY: a table is constant data: names, and functions that may be called from any thread.
unsafe impl Sync for Table {}

impl Table {
    /// A table of constant entries.
    pub const fn new(entries: &'static [et_kernel_t]) -> Self {
        Self { entries }
    }

    /// Hands the entries to the runtime, which keeps what it refuses.
    pub fn register(&'static self, registration: &et_registration_t) {
        // SAFETY: the entries are static.
        unsafe { et_register_kernels(registration, self.entries.as_ptr(), self.entries.len()) };
    }

    /// The body of an [`entry`].
    #[cfg(test)]
    pub fn body(&self, name: &str) -> Option<Body> {
        let found = self.names().position(|n| n.to_str() == Ok(name));
        let entry = found.and_then(|at| self.entries.get(at)).filter(|e| e.prepare.is_none());
        // SAFETY: `entry` made the pointer of a `Body`.
        entry.map(|e| unsafe { std::mem::transmute::<*mut c_void, Body>(e.user_data) })
    }

    /// The names of the operators.
    pub fn names(&self) -> impl Iterator<Item = &'static CStr> {
        // SAFETY: `entry` takes names that are static C strings.
        self.entries.iter().map(|e| unsafe { CStr::from_ptr(e.name) })
    }
}

/// An entry of a table: a name, the kinds of its arguments (see `et_kernel_t::signature`) and a body, all of whose
/// results depend on the arguments alone.
pub const fn entry(name: &'static CStr, signature: &'static CStr, body: Body) -> et_kernel_t {
    et_kernel_t {
        struct_size: size_of::<et_kernel_t>() as u32,
        flags: ET_KERNEL_PURE,
        name: name.as_ptr(),
        key: ptr::null(),
        signature: signature.as_ptr(),
        run: Some(run),
        prepare: None,
        release: None,
        user_data: body as *const () as *mut c_void,
    }
}

/// [`entry`] for an operator whose results depend on more than its arguments, or that writes to one of them.
pub const fn impure(name: &'static CStr, signature: &'static CStr, body: Body) -> et_kernel_t {
    et_kernel_t { flags: 0, ..entry(name, signature, body) }
}

/// What an operator may ask the runtime for during a call.
pub struct Context {
    raw: *mut et_kernel_context_t,
}

#[cfg(test)]
impl Context {
    /// A context outside a run, whose scratch is never given back.
    pub fn detached() -> Self {
        Self { raw: ptr::null_mut() }
    }
}

impl Context {
    /// Memory for the rest of the call; it holds any values.
    pub fn scratch<T: Pod>(&mut self, length: usize) -> Result<&'static mut [T]> {
        let size = length.checked_mul(size_of::<T>()).ok_or_else(|| {
            Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, format!("{length} elements of scratch overflow"))
        })?;
        if size == 0 {
            // SAFETY: no bytes need no memory, whether there are no values or values without a size.
            return Ok(unsafe { std::slice::from_raw_parts_mut(ptr::dangling_mut(), length) });
        }
        #[cfg(test)]
        if self.raw.is_null() {
            return Ok(vec![T::zeroed(); length].leak());
        }
        let mut data = ptr::null_mut();
        // SAFETY: the context is that of the running call; `data` is a place for the pointer.
        Error::check(unsafe { et_kernel_context_allocate(self.raw, size, 64, &mut data) })?;
        // SAFETY: the runtime gave `size` initialised bytes, aligned to more than any plain type, that are this call's
        // alone; any bytes are a value of `T`. The body cannot keep the slice: what it returns has no room for it.
        Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), length) })
    }
}

/// What a `prepare` step may ask the runtime for.
pub struct Prepare {
    raw: *mut et_prepare_context_t,
}

impl Prepare {
    /// Whether an argument never changes after load.
    pub fn is_constant(&self, argument: usize) -> bool {
        // SAFETY: the context is that of the running step, here and below.
        unsafe { et_prepare_is_constant(self.raw, argument) }
    }

    /// An identity of a constant tensor's contents, equal for the same constant in all methods and modules; none if
    /// the runtime knows none.
    pub fn identity(&self, argument: usize) -> Option<[u64; 2]> {
        let mut identity = [0; 2];
        // SAFETY: as above; there is room for two numbers.
        let code = unsafe { et_prepare_constant_identity(self.raw, argument, identity.as_mut_ptr()) };
        (code == ET_OK).then_some(identity)
    }

    /// Promises that the runs will not read a constant tensor's data.
    pub fn release(&mut self, argument: usize) -> Result<()> {
        // SAFETY: as above.
        Error::check(unsafe { et_prepare_release_constant(self.raw, argument) })
    }

    /// Reserves scratch, so that the first run allocates none.
    pub fn reserve<T: Pod>(&mut self, length: usize) -> Result<()> {
        // SAFETY: as above.
        Error::check(unsafe { et_prepare_reserve(self.raw, length.saturating_mul(size_of::<T>()), 64) })
    }
}

/// An operator that does some of its work once, while a method is loaded: the state of one call site.
pub trait Prepared: Sized + Send + Sync + 'static {
    /// Makes the state from the arguments that are constant ([`Prepare::is_constant`]; the others have no values yet),
    /// or none if there is nothing to prepare.
    fn prepare(context: &mut Prepare, args: &Args<'_>) -> Result<Option<Self>>;

    /// Runs the call.
    fn run(state: Option<&Self>, context: &mut Context, args: &Args<'_>) -> Result<()>;
}

/// [`entry`] for an operator that prepares its calls.
pub const fn prepared<P: Prepared>(name: &'static CStr, signature: &'static CStr) -> et_kernel_t {
    et_kernel_t {
        struct_size: size_of::<et_kernel_t>() as u32,
        flags: ET_KERNEL_PURE,
        name: name.as_ptr(),
        key: ptr::null(),
        signature: signature.as_ptr(),
        run: Some(run_prepared::<P>),
        prepare: Some(prepare::<P>),
        release: Some(release::<P>),
        user_data: ptr::null_mut(),
    }
}

unsafe extern "C" fn prepare<P: Prepared>(
    context: *mut et_prepare_context_t,
    args: *const *mut et_value_t,
    count: usize,
    state: *mut *mut c_void,
) -> et_error_t {
    // SAFETY: the runtime's arguments are valid during the call.
    let call = || P::prepare(&mut Prepare { raw: context }, &unsafe { Args::new(args, count) });
    match guarded(call) {
        Ok(made) => {
            let made = made.map_or(ptr::null_mut(), |p| Box::into_raw(Box::new(p)));
            // SAFETY: a place for the state.
            unsafe { *state = made.cast() };
            ET_OK
        }
        Err(error) => error.set_last(),
    }
}

unsafe extern "C" fn run_prepared<P: Prepared>(
    context: *mut et_kernel_context_t,
    args: *const *mut et_value_t,
    count: usize,
) -> et_error_t {
    // SAFETY: the runtime hands back the state that `prepare` made, alive until `release`.
    let state = unsafe { (*context).state.cast::<P>().as_ref() };
    finish(context, || {
        // SAFETY: the runtime's arguments are valid during the call.
        P::run(state, &mut Context { raw: context }, &unsafe { Args::new(args, count) })
    })
}

unsafe extern "C" fn release<P: Prepared>(state: *mut c_void) {
    if !state.is_null() {
        // SAFETY: `prepare` made the box of this type, and the runtime releases it once.
        drop(unsafe { Box::from_raw(state.cast::<P>()) });
    }
}

fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(Error::new(ET_ERROR_INTERNAL, "the operator hit a bug; please report it")))
}

/// Makes a call and reports its error to the runtime.
fn finish(context: *mut et_kernel_context_t, call: impl FnOnce() -> Result<()>) -> et_error_t {
    let Err(error) = guarded(call) else { return ET_OK };
    let message = CString::new(error.message).unwrap_or_default();
    // SAFETY: the context is that of the running call; the message is copied.
    unsafe { et_kernel_context_fail(context, error.code, message.as_ptr()) };
    error.code
}

unsafe extern "C" fn run(
    context: *mut et_kernel_context_t,
    args: *const *mut et_value_t,
    count: usize,
) -> et_error_t {
    finish(context, || {
        // SAFETY: the runtime passes the entry's user data, which `entry` made of a `Body`.
        let body = unsafe { std::mem::transmute::<*mut c_void, Body>((*context).user_data) };
        // SAFETY: the runtime's arguments are valid during the call.
        body(&mut Context { raw: context }, &unsafe { Args::new(args, count) })
    })
}

/// An error about the operator's arguments.
pub fn bad(message: impl Into<String>) -> Error {
    Error::new(ET_ERROR_INVALID_ARGUMENT, message)
}

/// The output at `index`, of the given sizes, apart in memory from the inputs.
///
/// An output that is one of the inputs in the same place is an error too: operators that work in place take the
/// output alone.
pub fn output<'a>(
    args: &Args<'a>,
    index: usize,
    sizes: &[i32],
    inputs: &[TensorRef<'_>],
) -> Result<TensorMut<'a>> {
    // SAFETY: `apart` refuses an output that shares memory with an input, before anything is written.
    let mut out = unsafe { args.out(index) }?;
    out.resize(sizes).map_err(|e| e.within("the output"))?;
    apart(&out, inputs)?;
    Ok(out)
}

/// [`output`], for item `item` of a list of outputs.
pub fn list_output<'a>(
    args: &Args<'a>,
    index: usize,
    item: usize,
    sizes: &[i32],
    inputs: &[TensorRef<'_>],
) -> Result<TensorMut<'a>> {
    // SAFETY: as in `output`; the caller uses one item at a time.
    let mut out = unsafe { args.out_item(index, item) }?;
    out.resize(sizes).map_err(|e| e.within(format!("output {item}")))?;
    apart(&out, inputs)?;
    Ok(out)
}

/// Checks that an output shares no memory with some inputs.
pub fn apart(out: &TensorMut<'_>, inputs: &[TensorRef<'_>]) -> Result<()> {
    let start = out.view().data_ptr().addr();
    let end = start + out.view().numel() * out.view().dtype()?.size();
    for input in inputs {
        let first = input.data_ptr().addr();
        let last = first + input.numel() * input.dtype()?.size();
        if start < last && first < end {
            return Err(bad("the output overlaps an input in memory; give it memory of its own"));
        }
    }
    Ok(())
}

/// Checks that a tensor's memory order is the order of its dimensions.
pub fn contiguous(tensor: TensorRef<'_>, what: &str) -> Result<()> {
    if tensor.is_contiguous() {
        return Ok(());
    }
    Err(bad(format!("{what} has the dim order {:?}, expected the contiguous one", tensor.dim_order())))
}
