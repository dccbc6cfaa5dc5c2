//! The delegate that the runtime calls.

use crate::describe::describe;
use crate::error::cuda;
use crate::instance::Instance;
use crate::options::{SHARED_STREAM, Settings};
use crate::payload::Payload;
use crate::stream;
use executorch_cuda_driver::{Cuda, Device};
use executorch_delegate::{
    Arguments, CompileSpecs, Delegate, Description, Error, ExecuteContext, InitContext, OptionValue, Options,
    Result, export_delegate,
};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The compile spec that names the method.
const METHOD: &str = "method_name";

/// The CUDA delegate. It is available on every machine: what is missing is told when a program is loaded.
#[derive(Debug, Default)]
pub struct CudaDelegate {
    settings: Mutex<Settings>,
}

impl CudaDelegate {
    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A loaded payload.
#[derive(Debug)]
pub struct Handle<'m> {
    instance: Instance,
    /// What it shares with other methods of the model is known by the place of the model's data.
    life: PhantomData<&'m [u8]>,
}

fn read(payload: &[u8], specs: CompileSpecs<'_>) -> Result<(Payload, String)> {
    let spec = specs.get(METHOD).unwrap_or_default();
    let method = std::str::from_utf8(spec).map_err(|_| {
        Error::new(
            executorch_abi::error::ET_ERROR_INVALID_PROGRAM,
            "the compile spec \"method_name\" is no UTF-8 text",
        )
    })?;
    Ok((Payload::read(payload, method)?, method.to_owned()))
}

impl Delegate for CudaDelegate {
    type Handle<'m> = Handle<'m>;

    const NAME: &'static CStr = c"CudaBackend";

    fn init<'m>(
        &self,
        context: &InitContext<'m>,
        payload: executorch_delegate::Payload<'m>,
        specs: CompileSpecs<'_>,
    ) -> Result<Handle<'m>> {
        let settings = self.settings().with(context.options())?;
        let (payload, method) = read(&payload, specs)?;
        let method = if method.is_empty() { context.method_name() } else { &method };
        let instance = Instance::load(&payload, method, &settings, &context.named_data())?;
        Ok(Handle { instance, life: PhantomData })
    }

    fn execute(&self, handle: &mut Handle<'_>, _: &ExecuteContext, arguments: Arguments<'_>) -> Result<()> {
        handle.instance.execute(arguments)
    }

    fn set_options(&self, options: Options<'_>) -> Result<()> {
        let mut settings = self.settings();
        let changed = settings.with(options)?;
        if options.bool(SHARED_STREAM)? == Some(true) {
            // Made now, so that whoever sets the option learns what is wrong.
            let library = Cuda::get().map_err(cuda)?;
            stream::shared(library, Device::current(library).map_err(cuda)?)?;
        }
        *settings = changed;
        Ok(())
    }

    fn get_option(&self, key: &str) -> Result<OptionValue<'_>> {
        self.settings().get(key)
    }

    fn describe(
        &self,
        context: &InitContext<'_>,
        payload: executorch_delegate::Payload<'_>,
        specs: CompileSpecs<'_>,
    ) -> Result<Description> {
        let (payload, _) = read(&payload, specs)?;
        Ok(describe(&payload, &context.named_data()))
    }
}

export_delegate!(lockstep CudaDelegate = CudaDelegate::default());
