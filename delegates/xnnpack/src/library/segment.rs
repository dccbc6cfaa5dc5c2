//! A segment of the plan as a runtime of the library.

use super::nodes;
use super::raw::{Environment, Runtime, Subgraph};
use super::threads::Threads;
use super::values::{self, Defined, Kept, Seen};
use super::workspace::{Access, Workspace};
use crate::cache::{Key, Provider, Session};
use crate::graph::{Dims, Graph, Role, ValueId};
use crate::names;
use crate::plan;
use executorch_abi::error::{ET_ERROR_INTERNAL, ET_ERROR_NOT_SUPPORTED};
use executorch_abi::{Error, Result};
use executorch_xnnpack_sys as sys;
use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::ptr;
use std::sync::Arc;

/// What the runtimes of an instance have in common.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Their scratch memory.
    pub workspace: &'a Workspace,
    /// Their threads.
    pub threads: &'a Threads,
    /// Where packed weights come from.
    pub session: &'a Arc<Session>,
    /// Measure each operator.
    pub profiling: bool,
}

/// A run of nodes, ready to be run.
#[derive(Debug)]
pub struct Segment {
    // Dropped before what it points to.
    runtime: Runtime,
    _weights: Provider,
    _kept: Vec<Kept>,
    /// The graph's values at the boundary, by the library's ids, which count from 0: first those that are read.
    boundary: Vec<ValueId>,
    reads: usize,
    /// All values that the nodes read or make, but for constants.
    values: Vec<ValueId>,
    /// Everything that the nodes make has no elements: there is nothing to do.
    is_idle: bool,
    /// Where the boundary's values were last bound to.
    bound: Vec<sys::xnn_external_value>,
    is_bound: bool,
    /// The nodes' names, for messages.
    name: String,
}

// SAFETY: the addresses in `bound` are only used within a call of `run`, which fills them in first.
unsafe impl Send for Segment {}

impl Segment {
    /// Prepares the nodes of a segment.
    ///
    /// # Safety
    /// The threads outlive the segment. Unless instances share the workspace, no other thread uses it meanwhile.
    pub unsafe fn new(graph: &Graph, part: &plan::Segment, context: &Context<'_>) -> Result<Self> {
        // SAFETY: the caller's promise.
        let made = unsafe { Self::build(graph, part, context) };
        made.map_err(|error| blame(graph, part, context, error))
    }

    /// # Safety
    /// As for [`Segment::new`].
    unsafe fn build(graph: &Graph, part: &plan::Segment, context: &Context<'_>) -> Result<Self> {
        let name = names::nodes(graph, &part.nodes);
        let boundary: Vec<ValueId> = part.reads.iter().chain(&part.writes).copied().collect();
        let count = u32::try_from(boundary.len())
            .map_err(|_| Error::new(ET_ERROR_INTERNAL, "a segment has too many values"))?;
        let mut subgraph = Subgraph::new(count)?;
        let mut defined: HashMap<ValueId, Defined> = HashMap::new();
        for (id, &value) in (0..count).zip(&boundary) {
            let is_read = (id as usize) < part.reads.len();
            let seen = if is_read { Seen::Read(id) } else { Seen::Written(id) };
            defined.insert(value, values::define(&mut subgraph, graph.value(value), seen)?);
        }
        // Constants that the library does not pack, and so points to.
        let mut referenced: HashSet<ValueId> = HashSet::new();
        let mut keys = Vec::new();
        for &index in &part.nodes {
            let node = &graph.nodes[index];
            for &value in node.inputs.iter().chain(&node.outputs) {
                if let Entry::Vacant(entry) = defined.entry(value) {
                    entry.insert(values::define(&mut subgraph, graph.value(value), Seen::Inside)?);
                }
            }
            let ids = |values: &[ValueId]| values.iter().map(|v| defined[v].id).collect::<Vec<_>>();
            nodes::define(&mut subgraph, node, &ids(&node.inputs), &ids(&node.outputs))
                .map_err(|error| error.within(names::node(graph, index)))?;
            let packed = if nodes::packs_weights(node) { 1 } else { node.inputs.len() };
            referenced.extend(node.inputs.iter().take(packed));
            let address = |i: usize| node.inputs.get(i).map_or(0, |v| defined[v].data.addr());
            if nodes::packs_weights(node) && address(1) != 0 {
                keys.push(((address(1), address(2)), Key::of_node("XNNPACK", graph, node)));
            }
        }
        let weights = Provider::new(Arc::clone(context.session), keys);
        let environment = Environment {
            threads: context.threads.as_ptr(),
            weights: weights.as_ptr(),
            profiling: context.profiling,
        };
        // SAFETY: what the library points to, packed weights included, is kept beside the runtime and dropped after it;
        // other constants are alive now, and it packs them. The caller vouches for the threads.
        let runtime = unsafe { Runtime::new(subgraph, context.workspace, environment) };
        weights.close();
        let runtime = runtime?;
        let values = defined.keys().copied();
        let values = values.filter(|&v| !matches!(graph.value(v).role, Role::Constant(_))).collect();
        let mut kept = Vec::new();
        for (value, defined) in defined {
            kept.extend(defined.scales);
            kept.extend(defined.constant.filter(|_| referenced.contains(&value)));
        }
        let bound = (0..count).map(|id| sys::xnn_external_value { id, data: ptr::null_mut() }).collect();
        let reads = part.reads.len();
        Ok(Self {
            runtime,
            _weights: weights,
            _kept: kept,
            boundary,
            reads,
            bound,
            values,
            is_idle: false,
            is_bound: false,
            name,
        })
    }

    /// The nodes' names, for messages and profiles.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the shapes that the values of the graph have from now on.
    ///
    /// Fails if the library works out other shapes for what the nodes make.
    pub fn reshape(&mut self, shapes: &[Dims], access: &Access<'_>) -> Result<()> {
        self.is_bound = false;
        self.is_idle = false;
        let shape = |v: ValueId| shapes.get(v.index()).map_or(&[][..], |dims| &dims[..]);
        self.reshape_inner(shape, access).map_err(|error| error.within(&self.name))
    }

    fn reshape_inner<'s>(
        &mut self,
        shape: impl Fn(ValueId) -> &'s [usize],
        access: &Access<'_>,
    ) -> Result<()> {
        let (read, written) = self.boundary.split_at(self.reads);
        // The library does not expect tensors without elements everywhere.
        let is_empty = |&v: &ValueId| shape(v).contains(&0);
        if let Some(&empty) = self.values.iter().find(|v| is_empty(v)) {
            self.is_idle = written.iter().all(is_empty);
            return if self.is_idle { Ok(()) } else { Err(without_elements(shape(empty))) };
        }
        for (id, &value) in (0..).zip(read) {
            self.runtime.reshape_value(id, shape(value))?;
        }
        self.runtime.reshape(access)?;
        for (id, &value) in (self.reads as u32..).zip(written) {
            let found = self.runtime.shape(id)?;
            let expected = shape(value);
            // Memory was given for the expected shape: another one must never be written.
            if found[..] != *expected {
                return Err(Error::new(
                    ET_ERROR_INTERNAL,
                    format!("its result is {expected:?}, but XNNPACK would make {:?}", &found[..]),
                ));
            }
        }
        Ok(())
    }

    /// Runs the nodes on memory: `addresses` tells where each value of the graph lies.
    ///
    /// # Safety
    /// [`Segment::reshape`] succeeded with shapes for which the addresses of all values at the boundary hold enough
    /// bytes, 16 readable ones after them included; those that are written are writable.
    #[inline]
    pub unsafe fn run(&mut self, addresses: &[*mut u8], access: &Access<'_>) -> Result<()> {
        if self.is_idle {
            return Ok(());
        }
        let mut is_changed = !self.is_bound;
        for (bound, value) in self.bound.iter_mut().zip(&self.boundary) {
            let data = addresses.get(value.index()).copied().unwrap_or(ptr::null_mut()).cast();
            is_changed |= bound.data != data;
            bound.data = data;
        }
        if is_changed {
            self.is_bound = false;
            // SAFETY: the caller vouches for the memory.
            unsafe { self.runtime.setup(&self.bound, access) }.map_err(|e| e.within(&self.name))?;
            self.is_bound = true;
        }
        // SAFETY: bound above or in an earlier call since the last reshape, to the memory that the caller vouches for.
        unsafe { self.runtime.invoke(access) }.map_err(|e| e.within(&self.name))
    }

    /// Names of the library's operators and the microseconds that each took in the last run, if profiling is on.
    pub fn profile(&self) -> Result<Vec<(String, u64)>> {
        self.runtime.profile()
    }
}

#[cold]
fn without_elements(shape: &[usize]) -> Error {
    Error::new(
        ET_ERROR_NOT_SUPPORTED,
        format!("a tensor of shape {shape:?} has no elements, from which XNNPACK cannot make others"),
    )
}

/// Finds the node that the library refused: it does not say which.
#[cold]
fn blame(graph: &Graph, part: &plan::Segment, context: &Context<'_>, error: Error) -> Error {
    if part.nodes.len() == 1 {
        return error.within(names::nodes(graph, &part.nodes));
    }
    for &index in &part.nodes {
        let node = &graph.nodes[index];
        let alone = plan::Segment {
            executor: part.executor,
            nodes: vec![index],
            reads: node.inputs.iter().copied().filter(|&v| plan::is_handed_over(graph, v)).collect(),
            writes: node.outputs.iter().copied().filter(|&v| plan::is_handed_over(graph, v)).collect(),
            is_apart: false,
        };
        // SAFETY: as for the whole; it is dropped at once.
        if let Err(error) = unsafe { Segment::build(graph, &alone, context) } {
            return error.within(names::node(graph, index));
        }
    }
    error.within(names::nodes(graph, &part.nodes))
}
