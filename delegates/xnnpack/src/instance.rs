//! A graph that is ready to be run: its segments, and the memory between them.

use crate::arena::Arena;
use crate::cache::Session;
use crate::graph::{Constant, Dims, Graph, Role, ValueId};
use crate::library::{self, Workspace};
use crate::plan::memory::{Layout, SLACK};
use crate::plan::{Executor, Plan};
use crate::prepare::{self, Step};
use crate::{arguments, own, profile, readable, shape, threads};
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_delegate::{Arguments, Tracer};
use std::sync::Arc;

/// What an instance is made with, besides its graph.
#[derive(Debug)]
pub struct Settings<'a> {
    /// Scratch memory of the library.
    pub workspace: Workspace,
    /// Where packed weights come from.
    pub session: &'a Arc<Session>,
    /// Measure each node.
    pub profiling: bool,
}

/// A loaded delegate. One thread at a time uses it.
#[derive(Debug)]
pub struct Instance {
    // Dropped first: they point to what follows.
    steps: Vec<Step>,
    threads: library::Threads,
    workspace: Workspace,
    graph: Graph,
    plan: Plan,
    /// As many arguments, the first ones, are inputs.
    read_arguments: usize,
    /// The shapes of the inputs of the last call, in the order of [`Graph::inputs`].
    given: Vec<Dims>,
    /// The shape that each value has now, if `is_shaped`.
    shapes: Vec<Dims>,
    is_shaped: bool,
    /// For values that segments hand to each other.
    arena: Arena,
    /// For all of our own kernels, which run one after the other.
    scratch: own::Scratch,
    /// Where each value lies in this call.
    addresses: Vec<*mut u8>,
    /// Values of arguments whose own memory could not be used, and what stands for it.
    substitutes: Vec<Option<Arena>>,
    /// Whether the library reads an argument's value, by value.
    is_read_by_library: Vec<bool>,
    profile: Option<profile::Names>,
}

// SAFETY: the addresses are only used within a call, which fills them in first.
unsafe impl Send for Instance {}

impl Instance {
    /// Prepares a graph that was planned.
    pub fn new(mut graph: Graph, plan: Plan, settings: Settings<'_>) -> Result<Self> {
        let read_arguments = read_arguments(&graph)?;
        let threads = library::Threads::new(threads::count());
        let context = library::Context {
            workspace: &settings.workspace,
            threads: &threads,
            session: settings.session,
            profiling: settings.profiling,
        };
        // The largest shapes: the first call of these finds all done, and what cannot be run is refused now.
        let given: Vec<Dims> = graph.inputs.iter().map(|&v| graph.value(v).dims.clone()).collect();
        let mut shapes = Vec::with_capacity(graph.values.len());
        infer(&graph, &given, &mut shapes)?;
        // SAFETY: the threads are kept beside the steps, and dropped after them. A workspace that instances do not share is
        // this one's alone.
        let (steps, scratch) = unsafe { prepare::steps(&graph, &plan, &shapes, &context)? };
        release_constants(&mut graph);
        let count = graph.values.len();
        let mut is_read_by_library = vec![false; count];
        for segment in plan.segments.iter().filter(|s| s.executor == Executor::Library) {
            let inside = segment.nodes.iter().flat_map(|&n| &graph.nodes[n].inputs);
            segment.reads.iter().chain(inside).for_each(|v| is_read_by_library[v.index()] = true);
        }
        let profile = settings.profiling.then(|| profile::Names::new(&graph, &plan));
        let mut instance = Self {
            steps,
            threads,
            read_arguments,
            workspace: settings.workspace,
            plan,
            given,
            shapes,
            is_shaped: false,
            arena: Arena::new(0)?,
            scratch: own::Scratch::new()?,
            addresses: vec![std::ptr::null_mut(); count],
            substitutes: (0..count).map(|_| None).collect(),
            is_read_by_library,
            profile,
            graph,
        };
        instance.lay_out()?;
        instance.scratch.reserve(scratch)?;
        instance.is_shaped = true;
        Ok(instance)
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Runs the graph on the arguments of a call.
    pub fn execute(&mut self, arguments: Arguments<'_>, tracer: Tracer<'_>) -> Result<()> {
        let first_output = self.read_arguments;
        let written = self.graph.arguments.saturating_sub(first_output);
        let (inputs, mut outputs) = arguments.split(first_output, written)?;
        for (&id, shape) in self.graph.inputs.iter().zip(&mut self.given) {
            let argument = place(&self.graph, id);
            let tensor = inputs.tensor(argument)?;
            self.is_shaped &= !arguments::take_input(self.graph.value(id), &tensor, shape)
                .map_err(|error| error.within(format_args!("argument {argument}")))?;
        }
        if threads::count() != self.threads.count() {
            self.threads.set_count(threads::count());
            self.is_shaped = false;
        }
        if !self.is_shaped {
            self.reshape()?;
        }
        for &id in &self.graph.inputs {
            let tensor = inputs.tensor(place(&self.graph, id))?;
            let bytes = tensor.bytes()?;
            let needs_slack = self.is_read_by_library[id.index()]
                && (tensor.raw().capacity_bytes as usize) < bytes.len() + SLACK;
            let alignment = arguments::alignment(self.graph.value(id));
            self.addresses[id.index()] = if is_usable(bytes.as_ptr(), bytes.len(), alignment, needs_slack) {
                bytes.as_ptr().cast_mut()
            } else {
                let start = substitute(&mut self.substitutes[id.index()], bytes.len())?;
                // SAFETY: the substitute has room for the bytes, and is this instance's alone.
                unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                start
            };
        }
        for &id in &self.graph.outputs {
            let argument = place(&self.graph, id);
            let mut tensor = outputs.tensor(argument - first_output)?;
            let value = self.graph.value(id);
            let shape = &self.shapes[id.index()];
            arguments::resize_output(value, &mut tensor, shape)
                .map_err(|error| error.within(format_args!("argument {argument}")))?;
            let bytes = tensor.bytes()?;
            let (start, length) = (bytes.as_mut_ptr(), bytes.len());
            let needs_slack = self.is_read_by_library[id.index()]
                && (tensor.view().raw().capacity_bytes as usize) < length + SLACK;
            let alignment = arguments::alignment(value);
            self.addresses[id.index()] = if is_usable(start, length, alignment, needs_slack) {
                start
            } else {
                substitute(&mut self.substitutes[id.index()], length)?
            };
        }
        self.run(tracer)?;
        for &id in &self.graph.outputs {
            let mut tensor = outputs.tensor(place(&self.graph, id) - first_output)?;
            let bytes = tensor.bytes()?;
            let from = self.addresses[id.index()].cast_const();
            if from != bytes.as_ptr() && !bytes.is_empty() {
                // SAFETY: the substitute holds as many bytes as the output, and is no part of it.
                unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from, bytes.len()) };
            }
            arguments::widen(self.graph.value(id), &mut tensor)?;
        }
        Ok(())
    }

    /// Prepares everything for the shapes of the inputs in `shapes`.
    #[cold]
    fn reshape(&mut self) -> Result<()> {
        self.is_shaped = false;
        infer(&self.graph, &self.given, &mut self.shapes)?;
        self.lay_out()?;
        let threads = self.threads.count();
        let scratch = prepare::reshape(&mut self.steps, &self.plan, &self.shapes, &self.workspace, threads)?;
        self.scratch.reserve(scratch)?;
        self.is_shaped = true;
        Ok(())
    }

    /// Gives the values between segments their places, for the shapes in `shapes`.
    fn lay_out(&mut self) -> Result<()> {
        let shapes = &self.shapes;
        let bytes = |id: ValueId| self.graph.value(id).element.datatype().byte_size(shapes.get(id.index())?);
        let layout = Layout::new(&self.graph, &self.plan, bytes).ok_or_else(|| {
            Error::new(ET_ERROR_MEMORY_ALLOCATION_FAILED, "the sizes of these shapes overflow")
        })?;
        self.arena.reserve(layout.size)?;
        for (address, offset) in self.addresses.iter_mut().zip(&layout.offsets) {
            *address = match offset {
                Some(offset) => self.arena.start().wrapping_add(*offset),
                None => std::ptr::null_mut(),
            };
        }
        Ok(())
    }

    fn run(&mut self, tracer: Tracer<'_>) -> Result<()> {
        let access = self.workspace.access();
        for (index, step) in self.steps.iter_mut().enumerate() {
            let event = self.profile.as_ref().and_then(|profile| profile.begin(index, tracer));
            match step {
                // SAFETY: `reshape` succeeded for the shapes that the values have now. Arguments lie where `execute`
                // found room for them, values between segments in the arena, each with readable bytes after it.
                Step::Library(segment) => unsafe { segment.run(&self.addresses, &access)? },
                // SAFETY: as above.
                Step::Own(operation) => unsafe { operation.run(&self.addresses, &mut self.scratch)? },
            }
            if let (Some(event), Some(profile)) = (event, &self.profile) {
                drop(event);
                if let Step::Library(segment) = step {
                    profile.operators(segment, tracer)?;
                }
            }
        }
        Ok(())
    }
}

/// The shapes of all values for those that are given for the inputs.
fn infer(graph: &Graph, given: &[Dims], shapes: &mut Vec<Dims>) -> Result<()> {
    let given: Vec<&[usize]> = given.iter().map(|dims| &dims[..]).collect();
    shape::infer_into(graph, &given, shapes)
}

/// Whether nodes can work on memory of the caller.
#[inline]
fn is_usable(start: *const u8, length: usize, alignment: usize, needs_slack: bool) -> bool {
    start.addr().is_multiple_of(alignment)
        && (!needs_slack || length == 0 || readable::past_address(start.addr(), length))
}

/// Memory that stands for an argument's.
#[cold]
fn substitute(place: &mut Option<Arena>, size: usize) -> Result<*mut u8> {
    let size = size.saturating_add(SLACK);
    match place {
        Some(arena) => {
            arena.reserve(size)?;
            Ok(arena.start())
        }
        None => Ok(place.insert(Arena::new(size)?).start()),
    }
}

/// Gives back the constants that no step points to: all others have been packed.
fn release_constants(graph: &mut Graph) {
    let nothing: Arc<[u8]> = Arc::new([]);
    for value in &mut graph.values {
        if let Role::Constant(constant) = &mut value.role {
            *constant = Constant::whole(Arc::new(Arc::clone(&nothing)), 0);
        }
    }
}

/// The number of arguments before the first output. Fails if an input comes after it.
fn read_arguments(graph: &Graph) -> Result<usize> {
    let places = |ids: &[ValueId]| ids.iter().map(|&id| place(graph, id)).collect::<Vec<_>>();
    let first_output = places(&graph.outputs).into_iter().min().unwrap_or(graph.arguments);
    match places(&graph.inputs).into_iter().max() {
        Some(last_input) if last_input > first_output => Err(Error::new(
            ET_ERROR_DELEGATE_INVALID_COMPATIBILITY,
            format!("argument {last_input} is an input, but argument {first_output} before it an output"),
        )),
        _ => Ok(first_output),
    }
}

/// The argument that a value is.
#[inline]
fn place(graph: &Graph, id: ValueId) -> usize {
    match graph.value(id).role {
        Role::Input(argument) | Role::Output(argument) => argument,
        // The lists name no others.
        _ => usize::MAX,
    }
}
