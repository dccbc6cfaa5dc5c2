//! Which executor runs which nodes, in what order.
//!
//! The nodes of a graph become [`Segment`]s: runs of nodes for the library, each of which becomes one of its runtimes,
//! and single nodes (with what is fused to them) for our own kernels. Nodes whose results nobody reads are left out.
//! [`memory`] places the values that segments hand to each other.

pub mod choice;
pub mod cost;
pub mod memory;
mod split;

#[cfg(test)]
mod tests;

use crate::graph::{Element, Graph, Node, Op, Role, ValueId};
use crate::own;
use choice::Choice;

/// Who runs a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Executor {
    /// The XNNPACK library.
    Library,
    /// Our own kernels.
    Own,
}

impl Executor {
    /// Its name in options, profiles and descriptions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Own => "own",
        }
    }
}

/// Nodes that are run in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Who runs them.
    pub executor: Executor,
    /// Their places in [`Graph::nodes`], ascending. Those of our own kernels begin with the node that the others are
    /// fused to.
    pub nodes: Vec<usize>,
    /// Values from outside that they read, each once, constants excepted.
    pub reads: Vec<ValueId>,
    /// Values that they make for others: outputs of the graph, and what later segments read.
    pub writes: Vec<ValueId>,
    /// It has scratch memory of its own if possible, so that it can be prepared while others are.
    pub is_apart: bool,
}

impl Segment {
    fn new(executor: Executor, nodes: Vec<usize>) -> Self {
        Self { executor, nodes, reads: Vec::new(), writes: Vec::new(), is_apart: false }
    }
}

/// The segments of a graph, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// All segments.
    pub segments: Vec<Segment>,
}

impl Plan {
    /// Divides the nodes of a graph, such that `threads` threads can prepare them.
    pub fn new(graph: &Graph, choice: &Choice, threads: usize) -> Self {
        let live = live_nodes(graph);
        let readers = readers(graph, &live);
        let mut is_fused = vec![false; graph.nodes.len()];
        let mut segments: Vec<Segment> = Vec::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            if !live[index] || is_fused[index] || is_quantizing(graph, node) {
                continue;
            }
            let executor = choice.executor(graph, node);
            if executor == Executor::Own
                && let [result] = node.outputs[..]
                && matches!(graph.value(result).role, Role::Internal)
                && let [follower] = readers[result.index()][..]
                && own::can_fuse(graph, node, &graph.nodes[follower])
            {
                is_fused[follower] = true;
                segments.push(Segment::new(executor, vec![index, follower]));
                continue;
            }
            match segments.last_mut() {
                Some(last) if executor == Executor::Library && last.executor == executor => {
                    last.nodes.push(index);
                }
                _ => segments.push(Segment::new(executor, vec![index])),
            }
        }
        let mut segments = split::split(graph, segments, threads);
        adopt_quantizing(graph, &live, &mut segments);
        connect(graph, &mut segments);
        Self { segments }
    }
}

/// Nodes that an output of the graph depends on.
fn live_nodes(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.values.len()];
    for output in &graph.outputs {
        needed[output.index()] = true;
    }
    let mut live = vec![false; graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        live[index] = node.outputs.iter().any(|output| needed[output.index()]);
        if live[index] {
            node.inputs.iter().for_each(|input| needed[input.index()] = true);
        }
    }
    live
}

/// The live nodes that read each value, once for each time that they do.
fn readers(graph: &Graph, live: &[bool]) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); graph.values.len()];
    for (index, node) in graph.nodes.iter().enumerate().filter(|(index, _)| live[*index]) {
        node.inputs.iter().for_each(|input| readers[input.index()].push(index));
    }
    readers
}

/// Whether a value carries parameters that are worked out while the graph runs. The library keeps them beside the
/// value, in memory of its own: such a value cannot leave the runtime that makes it.
pub fn is_dynamically_quantized(element: &Element) -> bool {
    matches!(element, Element::QDInt8 { .. } | Element::QPInt8 { .. })
}

/// Whether a value may be handed from one segment to another: neither a constant nor dynamically quantized.
pub fn is_handed_over(graph: &Graph, value: ValueId) -> bool {
    let value = graph.value(value);
    !matches!(value.role, Role::Constant(_)) && !is_dynamically_quantized(&value.element)
}

fn is_quantizing(graph: &Graph, node: &Node) -> bool {
    node.op == Op::Convert && node.outputs.iter().any(|&v| is_dynamically_quantized(&graph.value(v).element))
}

/// Puts a node that quantizes dynamically into every segment that reads its result.
fn adopt_quantizing(graph: &Graph, live: &[bool], segments: &mut [Segment]) {
    for (index, node) in graph.nodes.iter().enumerate().filter(|(i, n)| live[*i] && is_quantizing(graph, n)) {
        for segment in segments.iter_mut() {
            let reads = |&n: &usize| graph.nodes[n].inputs.iter().any(|input| node.outputs.contains(input));
            if segment.nodes.iter().any(reads) {
                segment.nodes.push(index);
                segment.nodes.sort_unstable();
            }
        }
    }
}

/// Finds what segments read from and write for each other.
fn connect(graph: &Graph, segments: &mut [Segment]) {
    // How many segments read a value, its maker's own not counted.
    let mut readers = vec![0_usize; graph.values.len()];
    for segment in segments.iter_mut() {
        let made = |v: &ValueId| segment.nodes.iter().any(|&n| graph.nodes[n].outputs.contains(v));
        let mut reads: Vec<ValueId> = segment
            .nodes
            .iter()
            .flat_map(|&n| graph.nodes[n].inputs.iter().copied())
            .filter(|v| !matches!(graph.value(*v).role, Role::Constant(_)) && !made(v))
            .collect();
        reads.sort_unstable();
        reads.dedup();
        reads.iter().for_each(|v| readers[v.index()] += 1);
        segment.reads = reads;
    }
    let mut read_at_all = vec![false; graph.values.len()];
    graph.nodes.iter().flat_map(|n| &n.inputs).for_each(|v| read_at_all[v.index()] = true);
    for segment in segments.iter_mut() {
        for &n in &segment.nodes {
            for &output in &graph.nodes[n].outputs {
                let seen = matches!(graph.value(output).role, Role::Output(_)) || readers[output.index()] > 0;
                // A second result that nobody wants still needs memory.
                if (seen || !read_at_all[output.index()]) && !segment.writes.contains(&output) {
                    segment.writes.push(output);
                }
            }
        }
    }
}
