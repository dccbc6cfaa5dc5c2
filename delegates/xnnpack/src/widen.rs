//! 32-bit floats in place of bfloat16 where neither executor has a kernel for that.
//!
//! Nothing quantizes bfloat16 dynamically, and no product of such values ends in it. Both are done in 32 bits, with a
//! conversion before or after. Results stay the same: every bfloat16 is such a float, and products are summed in 32 bits
//! anyway, before they are rounded once.

use crate::graph::{Element, Graph, Node, Op, Role, Value, ValueId};
use crate::plan::is_dynamically_quantized;

/// The same graph, with conversions where they are needed.
pub fn widen(mut graph: Graph) -> Graph {
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        let is_dynamic = |&v: &ValueId| is_dynamically_quantized(&graph.value(v).element);
        let (from_dynamic, to_dynamic) =
            (node.inputs.iter().any(is_dynamic), node.outputs.iter().any(is_dynamic));
        if to_dynamic && let Some(input) = node.inputs.first_mut().filter(|v| is_brain(&graph, **v)) {
            let narrow = std::mem::replace(input, wide(&mut graph, *input));
            nodes.push(conversion(narrow, *input, node.debug_handle));
        }
        if from_dynamic && let Some(output) = node.outputs.first_mut().filter(|v| is_brain(&graph, **v)) {
            let narrow = std::mem::replace(output, wide(&mut graph, *output));
            let after = conversion(*output, narrow, node.debug_handle);
            nodes.extend([node, after]);
        } else {
            nodes.push(node);
        }
    }
    graph.nodes = nodes;
    graph
}

fn is_brain(graph: &Graph, value: ValueId) -> bool {
    matches!(graph.value(value).element, Element::BFloat16)
}

/// A new value for the numbers of `narrow`.
fn wide(graph: &mut Graph, narrow: ValueId) -> ValueId {
    let Value { ref dims, serialized_id, .. } = *graph.value(narrow);
    let value = Value { dims: dims.clone(), element: Element::Float32, role: Role::Internal, serialized_id };
    // The graph's ids are 32 bits wide, and each of its nodes adds two values at the most.
    let id = ValueId(graph.values.len() as u32);
    graph.values.push(value);
    id
}

fn conversion(from: ValueId, to: ValueId, debug_handle: u32) -> Node {
    let (inputs, outputs) = ([from].into_iter().collect(), [to].into_iter().collect());
    Node { op: Op::Convert, inputs, outputs, clamp: None, transposed_weight: false, debug_handle }
}
