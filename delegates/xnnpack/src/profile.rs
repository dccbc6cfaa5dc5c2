//! What a tracer is told of a run.

use crate::graph::Graph;
use crate::names;
use crate::plan::Plan;
use executorch_delegate::{Event, Tracer};
use std::ffi::CString;

/// Names of steps, made when a method is loaded with a tracer.
#[derive(Debug)]
pub struct Names {
    steps: Vec<(CString, Option<i32>)>,
}

impl Names {
    /// The names of a plan's segments.
    pub fn new(graph: &Graph, plan: &Plan) -> Self {
        let name = |segment: &crate::plan::Segment| {
            let text = format!("{}: {}", segment.executor.name(), names::nodes(graph, &segment.nodes));
            let first = segment.nodes.first().and_then(|&n| graph.nodes.get(n));
            let handle = first.and_then(|node| i32::try_from(node.debug_handle).ok());
            (CString::new(text).unwrap_or_default(), handle)
        };
        Self { steps: plan.segments.iter().map(name).collect() }
    }

    /// Begins the event of a step.
    pub fn begin<'t>(&self, step: usize, tracer: Tracer<'t>) -> Option<Event<'t>> {
        let (name, handle) = self.steps.get(step)?;
        Some(tracer.begin(name, *handle))
    }
}
