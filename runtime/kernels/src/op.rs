//! The bridge between an operator and the C ABI: how it is declared, called, and how it fails.

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

/// What an operator may ask the runtime for during a call.
pub struct Context {
    raw: *mut et_kernel_context_t,
}

impl Context {
    /// Zeroed memory for the rest of the call.
    pub fn scratch<T: Scratch>(&mut self, length: usize) -> Result<&'static mut [T]> {
        if length == 0 {
            return Ok(&mut []);
        }
        let size = length.checked_mul(size_of::<T>()).ok_or_else(|| {
            Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, format!("{length} elements of scratch overflow"))
        })?;
        let mut data = ptr::null_mut();
        // SAFETY: the context is that of the running call; `data` is a place for the pointer.
        Error::check(unsafe { et_kernel_context_allocate(self.raw, size, 64, &mut data) })?;
        // SAFETY: the runtime gave `size` bytes, aligned, that are this call's alone; zero is a value of every `T`.
        // The body cannot keep the slice: what it returns has no room for it.
        unsafe {
            ptr::write_bytes(data.cast::<u8>(), 0, size);
            Ok(std::slice::from_raw_parts_mut(data.cast(), length))
        }
    }
}

/// Types that scratch may hold: zero bytes are a value.
pub trait Scratch: Copy + 'static {}
impl Scratch for f32 {}
impl Scratch for f64 {}
impl Scratch for u8 {}

unsafe extern "C" fn run(
    context: *mut et_kernel_context_t,
    args: *const *mut et_value_t,
    count: usize,
) -> et_error_t {
    let call = || -> Result<()> {
        // SAFETY: the runtime passes the entry's user data, which `entry` made of a `Body`.
        let body = unsafe { std::mem::transmute::<*mut c_void, Body>((*context).user_data) };
        // SAFETY: the runtime's arguments are valid during the call.
        body(&mut Context { raw: context }, &unsafe { Args::new(args, count) })
    };
    let result = catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(Error::new(ET_ERROR_INTERNAL, "the operator hit a bug; please report it")));
    let Err(error) = result else { return ET_OK };
    let message = CString::new(error.message).unwrap_or_default();
    // SAFETY: the context is that of the running call; the message is copied.
    unsafe { et_kernel_context_fail(context, error.code, message.as_ptr()) };
    error.code
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
    // SAFETY: the loop below refuses an output that shares memory with an input, before anything is written.
    let mut out = unsafe { args.out(index) }?;
    out.resize(sizes).map_err(|e| e.within("the output"))?;
    let start = out.view().data_ptr().addr();
    let end = start + out.view().numel() * out.view().dtype()?.size();
    for input in inputs {
        let first = input.data_ptr().addr();
        let last = first + input.numel() * input.dtype()?.size();
        if start < last && first < end {
            return Err(bad("the output overlaps an input in memory; give it memory of its own"));
        }
    }
    Ok(out)
}

/// Checks that a tensor's memory order is the order of its dimensions.
pub fn contiguous(tensor: TensorRef<'_>, what: &str) -> Result<()> {
    if tensor.is_contiguous() {
        return Ok(());
    }
    Err(bad(format!("{what} has the dim order {:?}, expected the contiguous one", tensor.dim_order())))
}
