//! The delegate that the runtime calls.

use crate::cache::{Kept, SAVE_OPTION, Session, save_all};
use crate::describe::describe;
use crate::graph::{Constant, Graph};
use crate::instance::{self, Instance};
use crate::library::{self, Workspace};
use crate::options::Settings;
use crate::plan::Plan;
use crate::plan::choice::Choice;
use crate::tables::tabulate;
use crate::widen::widen;
use crate::{payload, threads};
use executorch_delegate::*;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The XNNPACK delegate.
#[derive(Debug, Default)]
pub struct Xnnpack {
    settings: Mutex<Settings>,
}

impl Xnnpack {
    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A loaded payload.
#[derive(Debug)]
pub struct Handle<'m> {
    instance: Instance,
    _kept: Kept,
    /// Its constants point into the method's data.
    life: PhantomData<&'m [u8]>,
}

impl Delegate for Xnnpack {
    type Handle<'m> = Handle<'m>;

    const NAME: &'static CStr = c"XnnpackBackend";

    fn is_available(&self) -> bool {
        library::initialize().is_ok()
    }

    fn init<'m>(
        &self,
        context: &InitContext<'m>,
        payload: Payload<'m>,
        _: CompileSpecs<'_>,
    ) -> Result<Handle<'m>> {
        let settings = self.settings().with(context.options())?;
        let graph = read(context, payload)?;
        let mode = settings.mode();
        let plan = Plan::new(&graph, &Choice { mode }, threads::count());
        // One string for all delegates of a method, and another for each other method.
        let method = context.method_name().as_ptr().addr();
        let workspace = Workspace::get(settings.sharing(), method)?;
        let profiling = context.tracer().is_attached();
        let session = Arc::new(Session::new(&settings.weights(), &graph, mode.name().as_bytes()));
        let made = instance::Settings { workspace, session: &session, profiling };
        let instance = Instance::new(graph, plan, made)?;
        Ok(Handle { instance, _kept: session.finish(), life: PhantomData })
    }

    fn execute(
        &self,
        handle: &mut Handle<'_>,
        context: &ExecuteContext,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        handle.instance.execute(arguments, context.tracer())
    }

    fn describe(
        &self,
        context: &InitContext<'_>,
        payload: Payload<'_>,
        _: CompileSpecs<'_>,
    ) -> Result<Description> {
        let settings = self.settings().with(context.options())?;
        let graph = read(context, payload)?;
        let plan = Plan::new(&graph, &Choice { mode: settings.mode() }, 1);
        // What no output depends on is run by nobody.
        let mut executors = vec![""; graph.nodes.len()];
        for segment in &plan.segments {
            for &node in &segment.nodes {
                executors[node] = segment.executor.name();
            }
        }
        Ok(describe(&graph, |node| executors[node].into()))
    }

    fn set_options(&self, options: Options<'_>) -> Result<()> {
        let mut settings = self.settings();
        *settings = settings.with(options)?;
        drop(settings);
        match options.bool(SAVE_OPTION)? {
            Some(true) => save_all(),
            _ => Ok(()),
        }
    }

    fn get_option(&self, key: &str) -> Result<OptionValue<'_>> {
        self.settings().get(key)
    }
}

/// The graph of a payload, as it is run. It must not outlive the method.
fn read<'m>(context: &InitContext<'m>, payload: Payload<'m>) -> Result<Graph> {
    let named = context.named_data();
    let constant = |key: &str| {
        let bytes = named.get(key)?;
        let size = bytes.len();
        Ok(Constant::whole(extend(bytes), size))
    };
    payload::read(extend(payload), &constant).map(widen).map(tabulate)
}

/// Bytes of a method's data, without its lifetime.
struct Extended(Buffer<'static>);

impl AsRef<[u8]> for Extended {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Takes the lifetime off a buffer, so that a graph can hold it.
fn extend<'m>(buffer: Buffer<'m>) -> payload::Owner {
    // SAFETY: only the lifetime changes. The result goes into a graph, the graph into an instance, and that into a
    // handle, which is dropped before `'m` ends; or the graph is dropped once it is described. None of them gives an
    // owner away.
    Arc::new(Extended(unsafe { std::mem::transmute::<Buffer<'m>, Buffer<'static>>(buffer) }))
}

export_delegate!(lockstep Xnnpack = Xnnpack::default());
