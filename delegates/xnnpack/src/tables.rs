//! Functions of 8-bit numbers, of which there are 256 results.
//!
//! Quantized programs compute a hardswish or the like in 32-bit floats: a conversion, the function, and a conversion back.
//! As one node of 8-bit numbers the library does it with a table, in one pass instead of three, without the floats in
//! between, which would be the largest values of such a program.
//!
//! Results stay the same but where one lies exactly between two steps of its scale, which the table takes away from zero
//! and conversions take to the even step. That is left to functions that hardly ever do.

use crate::graph::{Element, Graph, Node, Op, Role, Unary, ValueId};

/// The same graph, with a single node wherever three do no more than look up a result.
pub fn tabulate(mut graph: Graph) -> Graph {
    let mut uses = vec![Uses::default(); graph.values.len()];
    for (place, node) in graph.nodes.iter().enumerate() {
        for value in &node.inputs {
            let uses = &mut uses[value.index()];
            (uses.readers, uses.reader) = (uses.readers + 1, place);
        }
        node.outputs.iter().for_each(|value| uses[value.index()].maker = Some(place));
    }
    let mut is_needless = vec![false; graph.nodes.len()];
    for place in 0..graph.nodes.len() {
        if let Some((before, after)) = conversions(&graph, &uses, &graph.nodes[place]) {
            let inputs = graph.nodes[before].inputs.clone();
            let outputs = graph.nodes[after].outputs.clone();
            let node = &mut graph.nodes[place];
            (node.inputs, node.outputs) = (inputs, outputs);
            (is_needless[before], is_needless[after]) = (true, true);
        }
    }
    let mut is_needless = is_needless.into_iter();
    graph.nodes.retain(|_| !is_needless.next().unwrap_or(false));
    graph
}

/// Who makes a value, and who reads it.
#[derive(Debug, Clone, Default)]
struct Uses {
    maker: Option<usize>,
    readers: usize,
    /// The last one.
    reader: usize,
}

/// The conversions before and after a node that are needed for it alone, if with them it maps 8-bit numbers to such ones.
fn conversions(graph: &Graph, uses: &[Uses], node: &Node) -> Option<(usize, usize)> {
    let (Op::Unary(function), None) = (&node.op, node.clamp) else { return None };
    let (&[x], &[y]) = (&node.inputs[..], &node.outputs[..]) else { return None };
    let is_between = |v: ValueId| {
        let value = graph.value(v);
        matches!((&value.element, &value.role), (Element::Float32, Role::Internal))
            && uses[v.index()].readers == 1
    };
    if !is_smooth(*function) || !is_between(x) || !is_between(y) {
        return None;
    }
    let (before, after) = (uses[x.index()].maker?, uses[y.index()].reader);
    let (first, last) = (&graph.nodes[before], &graph.nodes[after]);
    let from = graph.value(*first.inputs.first()?);
    let to = graph.value(*last.outputs.first()?);
    let is_table = matches!(
        (&from.element, &to.element),
        (Element::QInt8(_), Element::QInt8(_)) | (Element::QUInt8(_), Element::QUInt8(_))
    );
    let converts = |node: &Node| node.op == Op::Convert && node.clamp.is_none();
    (is_table && converts(first) && converts(last)).then_some((before, after))
}

/// Whether results of a function hardly ever lie between two steps, whatever its argument's scale is.
fn is_smooth(function: Unary) -> bool {
    matches!(
        function,
        Unary::Elu { .. } | Unary::Exp | Unary::Gelu | Unary::Hardswish | Unary::Sigmoid | Unary::Tanh
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Affine, Clamp, Value};

    const FLOAT: Element = Element::Float32;

    fn signed(scale: f32) -> Element {
        Element::QInt8(Affine { scale, zero_point: 1 })
    }

    fn node(op: Op, x: u32, y: u32) -> Node {
        let (inputs, outputs) = ([ValueId(x)].into_iter().collect(), [ValueId(y)].into_iter().collect());
        Node { op, inputs, outputs, clamp: None, transposed_weight: false, debug_handle: y }
    }

    /// A conversion, a function and a conversion in a row; the first value is the input, the last one the output.
    fn row(elements: [Element; 4], function: Unary) -> Graph {
        let role = |i: usize| match i {
            0 => Role::Input(0),
            3 => Role::Output(1),
            _ => Role::Internal,
        };
        let value = |(i, element): (usize, Element)| Value {
            dims: [2, 3].into_iter().collect(),
            element,
            role: role(i),
            serialized_id: i as u32,
        };
        Graph {
            values: elements.into_iter().enumerate().map(value).collect(),
            nodes: vec![node(Op::Convert, 0, 1), node(Op::Unary(function), 1, 2), node(Op::Convert, 2, 3)],
            inputs: vec![ValueId(0)],
            outputs: vec![ValueId(3)],
            arguments: 2,
        }
    }

    #[test]
    fn three_nodes_become_one() {
        let graph = tabulate(row([signed(0.5), FLOAT, FLOAT, signed(0.1)], Unary::Hardswish));
        let [made] = &graph.nodes[..] else { panic!("{:?}", graph.nodes) };
        assert_eq!(made.op, Op::Unary(Unary::Hardswish));
        assert_eq!((&made.inputs[..], &made.outputs[..]), (&[ValueId(0)][..], &[ValueId(3)][..]));
        assert_eq!(made.debug_handle, 2, "the function's");
    }

    #[test]
    fn what_is_needed_otherwise_stays() {
        let made = || row([signed(0.5), FLOAT, FLOAT, signed(0.1)], Unary::Sigmoid);
        let stays = |graph: Graph| {
            let nodes = graph.nodes.len();
            assert_eq!(tabulate(graph).nodes.len(), nodes);
        };
        let mut read_twice = made();
        read_twice.nodes.push(node(Op::Unary(Unary::Abs), 1, 2));
        stays(read_twice);
        let mut seen = made();
        seen.values[2].role = Role::Output(2);
        stays(seen);
        let mut given = made();
        given.values[1].role = Role::Input(2);
        given.nodes.remove(0);
        stays(given);
        let mut clamped = made();
        clamped.nodes[1].clamp = Some(Clamp { min: 0.0, max: 1.0 });
        stays(clamped);
        let unsigned = Element::QUInt8(Affine { scale: 0.5, zero_point: 1 });
        stays(row([signed(0.5), FLOAT, FLOAT, unsigned], Unary::Sigmoid));
        stays(row([signed(0.5), FLOAT, FLOAT, Element::Float16], Unary::Sigmoid));
        stays(row([Element::Float16, FLOAT, FLOAT, signed(0.1)], Unary::Sigmoid));
        stays(row([signed(0.5), FLOAT, FLOAT, signed(0.1)], Unary::Floor));
    }
}
