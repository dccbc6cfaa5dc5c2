//! What a tracer is told of a run.

use crate::graph::Graph;
use crate::library::Segment;
use crate::names;
use crate::plan::{self, Plan};
use executorch_abi::Result;
use executorch_delegate::{Event, Tracer};
use std::ffi::CString;
use std::time::Instant;

/// Names of steps, made when a method is loaded with a tracer.
#[derive(Debug)]
pub struct Names {
    steps: Vec<(CString, Option<i32>)>,
    start: Instant,
}

impl Names {
    /// The names of a plan's segments.
    pub fn new(graph: &Graph, plan: &Plan) -> Self {
        let name = |segment: &plan::Segment| {
            let text = format!("{}: {}", segment.executor.name(), names::nodes(graph, &segment.nodes));
            let first = segment.nodes.first().and_then(|&n| graph.nodes.get(n));
            let handle = first.and_then(|node| i32::try_from(node.debug_handle).ok());
            (CString::new(text).unwrap_or_default(), handle)
        };
        Self { steps: plan.segments.iter().map(name).collect(), start: Instant::now() }
    }

    /// Begins the event of a step, if somebody listens.
    #[inline]
    pub fn begin<'t>(&self, step: usize, tracer: Tracer<'t>) -> Option<Event<'t>> {
        let (name, handle) = self.steps.get(step).filter(|_| tracer.is_attached())?;
        Some(tracer.begin(name, *handle))
    }

    /// Tells how long each operator of the library took in the step that just ended. The times are nanoseconds on a
    /// clock of the delegate's own.
    pub fn operators(&self, segment: &Segment, tracer: Tracer<'_>) -> Result<()> {
        let end = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let operators = segment.profile()?;
        let nanoseconds = |microseconds: &u64| microseconds.saturating_mul(1000);
        let all = operators.iter().map(|(_, time)| nanoseconds(time)).fold(0, u64::saturating_add);
        let mut start = end.saturating_sub(all);
        for (name, time) in &operators {
            let end = start.saturating_add(nanoseconds(time));
            tracer.log(&CString::new(name.as_str()).unwrap_or_default(), None, start, end, &[]);
            start = end;
        }
        Ok(())
    }
}
