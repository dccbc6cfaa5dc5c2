//! From the safe trait to the table of C functions that the runtime calls. [`export_delegate!`](crate::export_delegate)
//! is the way to use it.

use crate::{
    Arguments, Buffer, CompileSpecs, Delegate, Error, ExecuteContext, InitContext, OptionValue, Options,
    Result,
};
use executorch_abi::backend::*;
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use executorch_abi::panic_text;
use executorch_abi::registration::*;
use executorch_abi::value::et_value_t;
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// Makes a type the backend of its library: `export_delegate!(Type = expression)`.
///
/// The expression makes the one delegate of the process, when the runtime first asks for it. The delegate is registered
/// when the library is loaded, under the name and version of the crate that calls the macro; what the runtime refuses is
/// told by the next load of a program that needs it. `export_delegate!(lockstep Type = expression)` is for delegates
/// that belong to the runtime's own release: another release's runtime refuses them.
///
/// It also defines `pub fn register_delegate()`, which does the same again: for programs that link the crate in as an
/// `rlib`, out of which the linker may leave a static initialiser. Registering twice changes nothing. A module exports
/// one delegate; a library with several puts each in a module of its own.
#[macro_export]
macro_rules! export_delegate {
    (lockstep $type:ty = $make:expr) => {
        $crate::export_delegate!(@ $type, $make, $crate::abi::registration::ET_REGISTRATION_LOCKSTEP);
    };
    ($type:ty = $make:expr) => {
        $crate::export_delegate!(@ $type, $make, 0);
    };
    (@ $type:ty, $make:expr, $flags:expr) => {
        /// Registers the delegate with the runtime, as loading the library does; again changes nothing.
        pub fn register_delegate() -> $crate::Result<()> {
            static DELEGATE: $crate::export::Slot<$type> = $crate::export::slot(|| $make);
            static TABLE: $crate::export::Table = $crate::export::Table::of(&DELEGATE);
            TABLE.register(
                concat!(env!("CARGO_PKG_NAME"), "\0"),
                concat!(env!("CARGO_PKG_VERSION"), "\0"),
                $flags,
            )
        }

        const _: () = {
            extern "C" fn at_load() {
                // The registry keeps what it refuses.
                let _ = register_delegate();
            }

            #[used]
            #[unsafe(link_section = ".init_array")]
            static REGISTER: extern "C" fn() = at_load;
        };
    };
}

/// The place of a delegate, made when it is first asked for.
pub type Slot<D> = LazyLock<D>;

/// An empty place.
pub const fn slot<D>(make: fn() -> D) -> Slot<D> {
    LazyLock::new(make)
}

/// The table of a delegate.
pub struct Table(et_backend_t);

// SAFETY: the table is constant, and points to a name and a delegate that any thread may use.
unsafe impl Sync for Table {}

impl Table {
    /// The table of the delegate in a slot.
    pub const fn of<D: Delegate>(slot: &'static Slot<D>) -> Self {
        Self(et_backend_t {
            struct_size: size_of::<et_backend_t>() as u32,
            reserved: 0,
            name: D::NAME.as_ptr(),
            user_data: std::ptr::from_ref(slot).cast_mut().cast(),
            is_available: Some(is_available::<D>),
            init: Some(init::<D>),
            execute: Some(execute::<D>),
            destroy: Some(destroy::<D>),
            set_options: Some(set_options::<D>),
            get_options: Some(get_options::<D>),
            describe: Some(describe::<D>),
        })
    }

    /// Hands the table to the runtime. `component` and `version` end with NUL.
    pub fn register(&'static self, component: &'static str, version: &'static str, flags: u32) -> Result<()> {
        let text = |text: &'static str| CStr::from_bytes_until_nul(text.as_bytes()).unwrap_or_default();
        let registration = et_registration_t {
            struct_size: size_of::<et_registration_t>() as u32,
            abi_major: ET_ABI_MAJOR,
            abi_minor: ET_ABI_MINOR,
            flags,
            reserved: 0,
            component_name: text(component).as_ptr(),
            component_version: text(version).as_ptr(),
        };
        // SAFETY: the table is static, and the registration lives through the call, which copies it.
        Error::check(unsafe { et_register_backend(&registration, &self.0) })
    }
}

/// Runs the body of an entry point: an error or a panic becomes the thread's last error.
fn guard<D: Delegate>(body: impl FnOnce() -> Result<()>) -> et_error_t {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => ET_OK,
        Ok(Err(error)) => error.set_last(),
        Err(panic) => panicked::<D>(&*panic).set_last(),
    }
}

#[cold]
fn panicked<D: Delegate>(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic_text(panic).unwrap_or("no message");
    let name = D::NAME.to_string_lossy();
    Error::new(ET_ERROR_INTERNAL, format!("{name} hit a bug: {text}; please report it to its authors"))
}

/// # Safety
/// `user_data` is that of a table of `D`.
unsafe fn delegate<D: Delegate>(user_data: *mut c_void) -> &'static D {
    // SAFETY: the caller's promise: `Table::of` made it of a static slot.
    let slot: &'static Slot<D> = unsafe { &*user_data.cast() };
    slot
}

unsafe extern "C" fn is_available<D: Delegate>(user_data: *mut c_void) -> bool {
    let mut available = false;
    guard::<D>(|| {
        // SAFETY: the runtime passes the table's own user data, here and below.
        available = unsafe { delegate::<D>(user_data) }.is_available();
        Ok(())
    });
    available
}

unsafe extern "C" fn init<D: Delegate>(
    user_data: *mut c_void,
    context: *const et_backend_init_context_t,
    processed: *const et_buffer_t,
    specs: *const et_compile_spec_t,
    spec_count: usize,
    handle: *mut *mut c_void,
) -> et_error_t {
    // SAFETY: the runtime gives the buffer to this call.
    let payload = unsafe { Buffer::new(processed.read()) };
    guard::<D>(|| {
        // SAFETY: the runtime's arguments obey the ABI. The delegate is told of a life `'m` of which it knows nothing;
        // all that carries it lives until after `destroy`, which is where the handle ends.
        let made = unsafe {
            let (context, specs) = (InitContext::new(context)?, CompileSpecs::new(specs, spec_count));
            delegate::<D>(user_data).init(&context, payload, specs)?
        };
        // SAFETY: the runtime gives a place for the handle.
        unsafe { handle.write(Box::into_raw(Box::new(made)).cast()) };
        Ok(())
    })
}

unsafe extern "C" fn execute<D: Delegate>(
    user_data: *mut c_void,
    context: *const et_backend_execute_context_t,
    handle: *mut c_void,
    args: *const *mut et_value_t,
    count: usize,
) -> et_error_t {
    guard::<D>(|| {
        // SAFETY: the runtime's arguments obey the ABI; the handle is `init`'s, and this thread's alone.
        unsafe {
            let (context, arguments) = (ExecuteContext::new(context)?, Arguments::new(args, count));
            let handle = handle.cast::<D::Handle<'_>>().as_mut();
            let handle = handle.ok_or_else(|| {
                Error::new(ET_ERROR_DELEGATE_INVALID_HANDLE, "the delegate was not initialised")
            })?;
            delegate::<D>(user_data).execute(handle, &context, arguments)
        }
    })
}

unsafe extern "C" fn destroy<D: Delegate>(_: *mut c_void, handle: *mut c_void) {
    if !handle.is_null() {
        // SAFETY: `init` boxed the handle, and it is destroyed once.
        let handle = unsafe { Box::from_raw(handle.cast::<D::Handle<'_>>()) };
        guard::<D>(|| {
            drop(handle);
            Ok(())
        });
    }
}

unsafe extern "C" fn set_options<D: Delegate>(
    user_data: *mut c_void,
    options: *const et_backend_option_t,
    count: usize,
) -> et_error_t {
    guard::<D>(|| {
        let options = if options.is_null() || count == 0 {
            &[]
        } else {
            // SAFETY: the caller gives `count` options.
            unsafe { std::slice::from_raw_parts(options, count) }
        };
        // SAFETY: as for `is_available`.
        unsafe { delegate::<D>(user_data) }.set_options(Options::new(options)?)
    })
}

unsafe extern "C" fn get_options<D: Delegate>(
    user_data: *mut c_void,
    options: *mut et_backend_option_t,
    count: usize,
) -> et_error_t {
    guard::<D>(|| {
        if options.is_null() || count == 0 {
            return Ok(());
        }
        // SAFETY: the caller gives `count` options, which this call alone uses.
        let options = unsafe { std::slice::from_raw_parts_mut(options, count) };
        // SAFETY: as for `is_available`.
        let delegate = unsafe { delegate::<D>(user_data) };
        let read = |option: &et_backend_option_t| -> Result<OptionValue<'static>> {
            let key = crate::options::text(&option.key)
                .ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "an option's key is no UTF-8 text"))?;
            delegate.get_option(key)
        };
        // All are read before one is written: a failure leaves them as they were.
        let values = options.iter().map(read).collect::<Result<Vec<_>>>()?;
        options.iter_mut().zip(values).try_for_each(|(option, value)| value.write(option))
    })
}

unsafe extern "C" fn describe<D: Delegate>(
    user_data: *mut c_void,
    context: *const et_backend_init_context_t,
    processed: *const et_buffer_t,
    specs: *const et_compile_spec_t,
    spec_count: usize,
    sink: et_text_sink_t,
    sink_context: *mut c_void,
) -> et_error_t {
    // SAFETY: the caller gives the buffer to this call.
    let payload = unsafe { Buffer::new(processed.read()) };
    guard::<D>(|| {
        let sink = sink.ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "there is no sink"))?;
        // SAFETY: the arguments obey the ABI, as for `init`; nothing that is told of them outlives the call.
        let description = unsafe {
            let (context, specs) = (InitContext::new(context)?, CompileSpecs::new(specs, spec_count));
            delegate::<D>(user_data).describe(&context, payload, specs)?
        };
        let text = serde_json::to_string(&description)
            .map_err(|e| Error::new(ET_ERROR_INTERNAL, format!("the description cannot be written: {e}")))?;
        // SAFETY: the text lives through the call, which copies it.
        unsafe { sink(sink_context, text.as_ptr().cast(), text.len()) };
        Ok(())
    })
}
