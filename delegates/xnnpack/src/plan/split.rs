//! Long runs of nodes for the library, in parts that several threads prepare at once: making a runtime takes the library
//! one thread, and for a whole model it takes several milliseconds.

use super::{Executor, Segment, cost, is_quantizing};
use crate::graph::{Graph, Op, ValueId};
use crate::library::nodes::packs_weights;
use std::collections::HashMap;

/// Least nanoseconds that the preparation of a part takes: with less, boundaries and scratch memory for each part are not
/// worth it.
const LEAST: u64 = 400_000;
/// Most parts of a run.
const MOST: u64 = 8;

/// Divides those segments whose preparation takes long into as many parts as there are threads at most.
pub fn split(graph: &Graph, segments: Vec<Segment>, threads: usize) -> Vec<Segment> {
    let mut result = Vec::with_capacity(segments.len());
    for segment in segments {
        let cost = cost::of_segment(graph, &segment);
        let parts = (cost / LEAST).min(MOST).min(threads as u64);
        if segment.executor == Executor::Library && parts > 1 {
            result.extend(parts_of(graph, segment, cost / parts));
        } else {
            result.push(segment);
        }
    }
    result
}

/// A segment in parts that take about `share` nanoseconds each.
fn parts_of(graph: &Graph, segment: Segment, share: u64) -> Vec<Segment> {
    let may_begin = beginnings(graph, &segment.nodes);
    let (mut parts, mut begun, mut spent) = (Vec::new(), 0, 0);
    for (place, (&node, may_begin)) in segment.nodes.iter().zip(may_begin).enumerate() {
        let cost = graph.nodes.get(node).map_or(0, |n| cost::of_node(graph, n, segment.executor));
        // The node goes to the side where less is missing or too much.
        if may_begin && place > begun && spent + cost / 2 > share {
            parts.push(segment.nodes[begun..place].to_vec());
            (begun, spent) = (place, 0);
        }
        spent += cost;
    }
    parts.push(segment.nodes[begun..].to_vec());
    let part = |(index, nodes)| Segment { nodes, is_apart: index > 0, ..segment.clone() };
    parts.into_iter().enumerate().map(part).collect()
}

/// Whether a part may begin with each of the nodes of a run.
///
/// It begins with a node that packs weights: the library joins activations to the node before them. It also joins padding
/// to the node after it. And all readers of what is quantized dynamically stay together, since each part would have to
/// quantize it.
fn beginnings(graph: &Graph, nodes: &[usize]) -> Vec<bool> {
    let mut is_padded = vec![false; graph.values.len()];
    let mut quantized: HashMap<ValueId, (usize, usize)> = HashMap::new();
    for node in &graph.nodes {
        let is_pad = matches!(node.op, Op::Pad { .. });
        node.outputs.iter().filter(|_| is_pad).for_each(|v| is_padded[v.index()] = true);
        if is_quantizing(graph, node) {
            quantized.extend(node.outputs.iter().map(|&v| (v, (usize::MAX, 0))));
        }
    }
    let mut may_begin = vec![false; nodes.len()];
    for (place, node) in nodes.iter().filter_map(|&node| graph.nodes.get(node)).enumerate() {
        may_begin[place] = packs_weights(node) && node.inputs.first().is_some_and(|v| !is_padded[v.index()]);
        for input in &node.inputs {
            if let Some((first, last)) = quantized.get_mut(input) {
                (*first, *last) = ((*first).min(place), place);
            }
        }
    }
    for (first, last) in quantized.into_values().filter(|(first, last)| first < last) {
        may_begin[first + 1..=last].fill(false);
    }
    may_begin
}
