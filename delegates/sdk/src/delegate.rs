//! The trait of a delegate.

use crate::{
    Arguments, CompileSpecs, Description, Error, ExecuteContext, InitContext, OptionValue, Options, Payload,
    Result,
};
use executorch_abi::error::*;
use std::ffi::CStr;

/// A backend: there is one in the process, shared by all threads; [`export_delegate!`](crate::export_delegate) makes
/// and registers it.
pub trait Delegate: Send + Sync + 'static {
    /// What [`init`](Self::init) makes of a payload: one for each delegate of a loaded method, used by one thread at a
    /// time, dropped with the method. `'m` is the method's life; a handle that borrows nothing ignores it.
    type Handle<'m>: Send;

    /// The id that programs name.
    const NAME: &'static CStr;

    /// Whether it can run on this machine; programs that need it are refused otherwise.
    fn is_available(&self) -> bool {
        true
    }

    /// Reads a payload. The bytes come from a file and may be anything: check all that is used.
    ///
    /// A payload that is not the delegate's, or of another version, is [`ET_ERROR_DELEGATE_INVALID_COMPATIBILITY`].
    fn init<'m>(
        &self,
        context: &InitContext<'m>,
        payload: Payload<'m>,
        specs: CompileSpecs<'_>,
    ) -> Result<Self::Handle<'m>>;

    /// Runs a handle on the arguments of a call. The arguments' kinds, dtypes and shapes are the program's, not what
    /// the payload says of them: check them.
    fn execute(
        &self,
        handle: &mut Self::Handle<'_>,
        context: &ExecuteContext,
        arguments: Arguments<'_>,
    ) -> Result<()>;

    /// Sets options of the process; those of one load are in [`InitContext::options`].
    fn set_options(&self, options: Options<'_>) -> Result<()> {
        let _ = options;
        Err(missing::<Self>("options"))
    }

    /// The value of an option of the process.
    fn get_option(&self, key: &str) -> Result<OptionValue<'_>> {
        let _ = key;
        Err(missing::<Self>("options"))
    }

    /// Says what is in a payload, node by node, without running it: `executorch-runtime inspect` shows it. Called with
    /// the options of a load, on machines where the delegate is not available too.
    fn describe(
        &self,
        context: &InitContext<'_>,
        payload: Payload<'_>,
        specs: CompileSpecs<'_>,
    ) -> Result<Description> {
        let _ = (context, payload, specs);
        Err(missing::<Self>("description of its payloads"))
    }
}

fn missing<D: Delegate + ?Sized>(what: &str) -> Error {
    Error::new(ET_ERROR_NOT_IMPLEMENTED, format!("{} has no {what}", D::NAME.to_string_lossy()))
}
