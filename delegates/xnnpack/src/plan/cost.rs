//! About how long it takes to prepare nodes, by which the work of a load is shared out.

use super::{Executor, Segment};
use crate::graph::{Convolution, Graph, Node, Op, Role};

/// Nanoseconds to make an operator, whatever it does.
const OPERATOR: u64 = 12_000;
/// Nanoseconds to pack a byte of weights, the first touch of new memory included.
const BYTE: u64 = 1;
/// Nanoseconds for an address in the library's tables of what a convolution reads.
const ADDRESS: u64 = 5;

/// About how many nanoseconds the preparation of a segment takes.
pub fn of_segment(graph: &Graph, segment: &Segment) -> u64 {
    let nodes = segment.nodes.iter().filter_map(|&node| graph.nodes.get(node));
    nodes.map(|node| of_node(graph, node, segment.executor)).fold(0, u64::saturating_add)
}

/// About how many nanoseconds the preparation of a node takes.
pub fn of_node(graph: &Graph, node: &Node, executor: Executor) -> u64 {
    let addresses = if executor == Executor::Library { addresses(graph, node) } else { 0 };
    let is_packed = executor == Executor::Library || !crate::own::reads_in_place(graph, node);
    let weights = if is_packed { weights(graph, node) } else { 0 };
    OPERATOR
        .saturating_add((weights as u64).saturating_mul(BYTE))
        .saturating_add((addresses as u64).saturating_mul(ADDRESS))
}

/// Bytes of the constants that a node has to pack.
fn weights(graph: &Graph, node: &Node) -> usize {
    let Some(&filter) = node.inputs.get(1) else { return 0 };
    match &graph.value(filter).role {
        Role::Constant(constant) => constant.bytes().len(),
        _ => 0,
    }
}

/// Addresses in the library's table for a node: one for each place of the kernel at each output, unless the kernel has
/// one place only. Depthwise convolutions share most of them within a row.
fn addresses(graph: &Graph, node: &Node) -> usize {
    let outputs = || {
        let dims = node.outputs.first().map_or(&[][..], |&v| &graph.value(v).dims[..]);
        dims.split_last().map_or(0, |(_, places)| places.iter().fold(1, |n: usize, &d| n.saturating_mul(d)))
    };
    match &node.op {
        Op::Convolution(Convolution { kernel: [1, 1], stride: [1, 1], .. }) => 0,
        Op::Convolution(p) | Op::Transposed { convolution: p, .. } => {
            outputs().saturating_mul(p.kernel[0].saturating_mul(p.kernel[1]))
        }
        Op::Depthwise(p) => outputs().saturating_mul(p.kernel[0]),
        _ => 0,
    }
}
