//! Kernels: registering them, and what they may ask for while they are prepared and run.

use crate::error::et_error_t;
use crate::registration::et_registration_t;
use crate::tracer::et_event_tracer_t;
use crate::value::et_value_t;
use std::ffi::{c_char, c_void};

/// Handed to a kernel while it runs; valid during the call.
#[repr(C)]
#[derive(Debug)]
pub struct et_kernel_context_t {
    /// `sizeof(et_kernel_context_t)` as the runtime knows it.
    pub struct_size: u32,
    /// The first failure of this call, set by `et_kernel_context_fail`.
    pub error: et_error_t,
    /// What the kernel's `prepare` made for this call site; null if it has none.
    pub state: *mut c_void,
    /// `user_data` of the kernel's registration.
    pub user_data: *mut c_void,
    /// The runtime's own.
    pub internal: *mut c_void,
}

/// Handed to a kernel's `prepare`; opaque, valid during the call.
pub struct et_prepare_context_t {
    _private: (),
}

/// Runs a kernel. `args` holds the operator's arguments in schema order, then its outputs, then the slots that
/// the exporter adds for the return values. Fails by returning a code or by `et_kernel_context_fail`.
pub type et_kernel_run_t = Option<
    unsafe extern "C" fn(
        context: *mut et_kernel_context_t,
        args: *const *mut et_value_t,
        count: usize,
    ) -> et_error_t,
>;

/// Runs once for each call site, while a method is loaded: arguments that are constant have their final
/// values. Writes what it made to `state` (null if nothing); `release` frees it when the method is released.
pub type et_kernel_prepare_t = Option<
    unsafe extern "C" fn(
        context: *mut et_prepare_context_t,
        args: *const *mut et_value_t,
        count: usize,
        state: *mut *mut c_void,
    ) -> et_error_t,
>;

/// Frees what `prepare` made.
pub type et_kernel_release_t = Option<unsafe extern "C" fn(state: *mut c_void)>;

/// Flag of [`et_kernel_t::flags`]: the outputs depend on the arguments alone, so a call whose arguments are all
/// constant may be run once at load, after `prepare`; its results are then constants. Needs a `signature`.
pub const ET_KERNEL_PURE: u32 = 1;

/// A kernel. The table that holds it must live as long as the process.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct et_kernel_t {
    /// `sizeof(et_kernel_t)`; the distance from one entry of a table to the next.
    pub struct_size: u32,
    /// `ET_KERNEL_…` flags.
    pub flags: u32,
    /// `"namespace::name.overload"`, such as `"aten::add.out"`.
    pub name: *const c_char,
    /// The dtypes and dim orders that it serves, as upstream writes them (`"v1/6;0,1|6;0,1|…"`), one entry for
    /// each tensor among the arguments; null serves all that no keyed kernel of this name does.
    pub key: *const c_char,
    /// The kinds of its arguments, checked when a method is loaded; null to check nothing.
    ///
    /// One character each, inputs, then `>`, then outputs: `T` tensor, `S` number (int, float or bool), `I` int,
    /// `D` float or int, `B` bool, `N` string, `L` int list, `F` float list, `O` bool list, `X` tensor list,
    /// `Y` list of optional tensors; in lower case, none is allowed too. Example for `add.out`: `"TTS>T"`.
    pub signature: *const c_char,
    /// Runs it.
    pub run: et_kernel_run_t,
    /// Prepares a call site; may be null.
    pub prepare: et_kernel_prepare_t,
    /// Frees what `prepare` made; may be null if it makes nothing.
    pub release: et_kernel_release_t,
    /// Passed on in the context.
    pub user_data: *mut c_void,
}

unsafe extern "C" {
    /// Registers `count` kernels of a table that lives as long as the process. Meant for static initialisers:
    /// it never aborts and never prints.
    ///
    /// Registering an entry that is identical to a registered one does nothing. Another kernel under a taken
    /// name and key is refused; the message names both libraries. Refusals are kept among the registration
    /// errors; the other entries of the table are registered all the same.
    pub fn et_register_kernels(
        registration: *const et_registration_t,
        kernels: *const et_kernel_t,
        count: usize,
    ) -> et_error_t;

    /// The number of registered kernels.
    pub fn et_kernel_count() -> usize;

    /// The name of kernel number `index`, in order of registration; null past the end. It lives as long as the
    /// process.
    pub fn et_kernel_name(index: usize) -> *const c_char;

    /// Whether a kernel or one of the runtime's own operators serves `name` for any dtype.
    pub fn et_kernel_exists(name: *const c_char) -> bool;

    /// Records a failure with a message; the first one of a call wins. The kernel returns right after.
    pub fn et_kernel_context_fail(
        context: *mut et_kernel_context_t,
        code: et_error_t,
        message: *const c_char,
    );

    /// Memory for the rest of this call, `size` bytes aligned to `alignment` (a power of two).
    ///
    /// Initialised, with bytes of any value. The second run of a call site with the same sizes allocates nothing from the system.
    pub fn et_kernel_context_allocate(
        context: *mut et_kernel_context_t,
        size: usize,
        alignment: usize,
        out: *mut *mut c_void,
    ) -> et_error_t;

    /// The tracer of this run; null if there is none.
    pub fn et_kernel_context_tracer(context: *mut et_kernel_context_t) -> *const et_event_tracer_t;

    /// Whether argument `index` never changes after load: a scalar or list that no instruction writes, or a
    /// tensor whose shape and data are constant, in the file or as the result of a call that was run at load
    /// (such as the `permute_copy` of a linear layer's weight), or a list of such tensors.
    pub fn et_prepare_is_constant(context: *mut et_prepare_context_t, index: usize) -> bool;

    /// An identity of the contents of constant tensor argument `index`: equal for the same constant of the same
    /// program, or of the same file if it is mapped, in every method and module of the process, and for the
    /// same computation on it at load; never reused. It says nothing of the tensor's dtype and shape.
    ///
    /// Fails with `ET_ERROR_INVALID_ARGUMENT` if the argument is no constant tensor, and with
    /// `ET_ERROR_NOT_SUPPORTED` for external data that is not mapped. Writes two numbers.
    pub fn et_prepare_constant_identity(
        context: *mut et_prepare_context_t,
        index: usize,
        identity: *mut u64,
    ) -> et_error_t;

    /// Promises that `run` will not read the data of constant tensor argument `index` (it was packed), so that
    /// the runtime gives its memory back once no other instruction needs it: `data` is then null if the tensor
    /// was computed at load, and pages of a mapped file leave memory. What `prepare` makes must be a copy.
    pub fn et_prepare_release_constant(context: *mut et_prepare_context_t, index: usize) -> et_error_t;

    /// Reserves memory for `et_kernel_context_allocate`, so that the first run does not allocate.
    pub fn et_prepare_reserve(
        context: *mut et_prepare_context_t,
        size: usize,
        alignment: usize,
    ) -> et_error_t;
}
