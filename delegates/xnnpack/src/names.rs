//! What nodes and tensors are called in messages and profiles.

use crate::graph::{Element, Graph, ValueId};

/// A tensor's elements and shape, such as `fp32[1, 8]`.
pub fn tensor(kind: &Element, dims: &[usize]) -> String {
    format!("{}{dims:?}", kind.datatype().name())
}

/// A node with its place and its tensors.
pub fn node(graph: &Graph, index: usize) -> String {
    let Some(node) = graph.nodes.get(index) else { return format!("node {index}") };
    let list = |ids: &[ValueId]| {
        let one = |v: &ValueId| {
            let value = graph.value(*v);
            tensor(&value.element, &value.dims)
        };
        ids.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    format!("node {index}, {} of {} to {}", node.kind(), list(&node.inputs), list(&node.outputs))
}

/// Several nodes, shortly.
pub fn nodes(graph: &Graph, indices: &[usize]) -> String {
    let name = |i: &usize| graph.nodes.get(*i).map_or("?", |node| node.kind());
    match indices {
        [] => "no nodes".to_owned(),
        [one] => node(graph, *one),
        [first, .., last] => {
            format!("nodes {first} ({}) to {last} ({})", name(first), name(last))
        }
    }
}
