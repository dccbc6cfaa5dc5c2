//! Tells a tracer what a method does. Without one, everything here is a branch.

use super::{Action, Method, Step};
use crate::method::signature::Signature;
use executorch_abi::Error;
use executorch_abi::Result;
use executorch_abi::tracer::*;
use executorch_abi::value::et_value_t;
use std::ffi::CStr;
use std::ptr;

/// The caller's tracer, if it gave one.
#[derive(Clone, Copy, Default)]
pub struct Tracer(Option<et_event_tracer_t>);

/// An event that has begun.
#[must_use]
pub struct Begun(Option<u64>);

fn place(step: Option<&Step>) -> et_event_place_t {
    et_event_place_t {
        chain: step.map_or(-1, |s| s.chain as i32),
        instruction: step.map_or(-1, |s| i64::from(s.instruction)),
        delegate_id: -1,
        reserved: 0,
        delegate_name: ptr::null(),
    }
}

/// The name of an instruction's event; upstream's tools know these.
pub(super) fn event_name(action: Option<&Action>) -> &'static CStr {
    match action {
        Some(Action::Delegate(_)) => c"DELEGATE_CALL",
        Some(Action::Move { .. }) => c"MOVE_CALL",
        Some(Action::JumpFalse { .. }) => c"JF_CALL",
        Some(Action::Free { .. }) => c"FREE_CALL",
        _ => c"OPERATOR_CALL",
    }
}

impl Tracer {
    /// A tracer that the caller gave; it obeys the ABI and outlives the method.
    pub fn new(tracer: Option<et_event_tracer_t>) -> Self {
        Self(tracer)
    }

    /// What is handed to kernels and delegates: the tracer, or null.
    pub fn raw(&self) -> *const et_event_tracer_t {
        self.0.as_ref().map_or(ptr::null(), ptr::from_ref)
    }

    /// Starts a block of events.
    pub fn block(&self, name: &CStr) {
        if let Some((tracer, begin)) = self.0.as_ref().and_then(|t| Some((t, t.begin_block?))) {
            // SAFETY: the caller's tracer obeys the ABI; the name lives through the call.
            unsafe { begin(tracer.user_data, name.as_ptr()) }
        }
    }

    /// Starts an event outside of instructions.
    pub fn begin(&self, name: &CStr) -> Begun {
        if self.0.is_none() { Begun(None) } else { self.start(name, None) }
    }

    /// Starts an instruction's event.
    pub(super) fn begin_step(&self, step: &Step) -> Begun {
        if self.0.is_none() { Begun(None) } else { self.start(event_name(Some(&step.action)), Some(step)) }
    }

    #[cold]
    fn start(&self, name: &CStr, step: Option<&Step>) -> Begun {
        let callback = self.0.as_ref().and_then(|t| Some((t, t.begin_event?)));
        // SAFETY: the caller's tracer obeys the ABI; name and place live through the call.
        Begun(callback.map(|(tracer, begin)| unsafe { begin(tracer.user_data, name.as_ptr(), &place(step)) }))
    }

    /// Ends an event.
    pub fn end(&self, event: Begun) {
        if let Some(token) = event.0
            && let Some((tracer, end)) = self.0.as_ref().and_then(|t| Some((t, t.end_event?)))
        {
            // SAFETY: the caller's tracer obeys the ABI.
            unsafe { end(tracer.user_data, token, ptr::null(), 0) }
        }
    }

    /// Tells of memory that the method allocated for its whole life.
    pub fn allocated(&self, name: &CStr, sizes: impl Iterator<Item = u64>) {
        let Some(tracer) = self.0.as_ref() else { return };
        let (Some(track), Some(record)) = (tracer.track_allocator, tracer.track_allocation) else { return };
        // SAFETY: the caller's tracer obeys the ABI; the name lives through the call.
        unsafe {
            let number = track(tracer.user_data, name.as_ptr());
            for size in sizes {
                record(tracer.user_data, number, usize::try_from(size).unwrap_or(usize::MAX));
            }
        }
    }

    fn wants(&self, flag: u32) -> bool {
        self.0.as_ref().is_some_and(|t| t.flags & flag != 0 && t.log_value.is_some())
    }

    fn log(&self, step: Option<&Step>, value: *const et_value_t) -> Result<()> {
        let Some((tracer, log)) = self.0.as_ref().and_then(|t| Some((t, t.log_value?))) else {
            return Ok(());
        };
        // SAFETY: the caller's tracer obeys the ABI; the value is one of the method's.
        let code = unsafe { log(tracer.user_data, &place(step), value, step.is_none()) };
        Error::check(code).map_err(|e| e.within("the tracer refused a value"))
    }
}

impl Method {
    /// Gives the tracer what the step at `at` has computed, if it wants that: a kernel's outputs, the result of one of
    /// the runtime's own operators, and all arguments of a delegate, which says of none that it only reads it.
    pub(super) fn trace_results(&self, at: usize) -> Result<()> {
        if !self.tracer.wants(ET_TRACER_LOG_INTERMEDIATE) {
            return Ok(());
        }
        let Some(step) = self.steps.get(at) else { return Ok(()) };
        let count = step.args.len();
        let results = match &step.action {
            Action::Kernel(call) => {
                let signature = call.kernel.signature.as_deref().and_then(|s| Signature::parse(s).ok());
                signature.map_or(count.saturating_sub(1)..count, |s| {
                    s.input_count()..s.input_count() + s.output_count()
                })
            }
            Action::Prim(_) => count.saturating_sub(1)..count,
            Action::Delegate(_) => 0..count,
            Action::Move { .. } | Action::JumpFalse { .. } | Action::Free { .. } => 0..0,
        };
        for index in results {
            let value = self.args.at(step.args.start + index);
            // SAFETY: an entry of the table, which holds the addresses of this method's values.
            self.tracer.log(Some(step), unsafe { *value })?;
        }
        Ok(())
    }

    /// Gives the tracer the method's outputs, if it wants them.
    pub(super) fn trace_outputs(&self) -> Result<()> {
        if !self.tracer.wants(ET_TRACER_LOG_OUTPUTS) {
            return Ok(());
        }
        for &value in &self.plan()?.outputs {
            self.tracer.log(None, self.values.values.at(value as usize))?;
        }
        Ok(())
    }
}
