use super::choice::{Choice, Mode};
use super::memory::{ALIGNMENT, Layout, SLACK};
use super::*;
use crate::graph::*;
use std::sync::Arc;

/// A graph that is put together node by node.
#[derive(Default)]
struct Builder {
    values: Vec<Value>,
    nodes: Vec<Node>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl Builder {
    fn value(&mut self, dims: &[usize], element: Element, role: Role) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(Value { dims: dims.iter().copied().collect(), element, role, serialized_id: id.0 });
        id
    }

    fn input(&mut self, dims: &[usize]) -> ValueId {
        let id = self.value(dims, Element::Float32, Role::Input(self.inputs.len()));
        self.inputs.push(id);
        id
    }

    fn constant(&mut self, dims: &[usize], element: Element) -> ValueId {
        let size = dims.iter().product::<usize>() * 4;
        let constant = Constant::new(Arc::new(vec![0_u8; size]), 0, size).unwrap();
        self.value(dims, element, Role::Constant(constant))
    }

    fn inside(&mut self, dims: &[usize]) -> ValueId {
        self.value(dims, Element::Float32, Role::Internal)
    }

    fn output(&mut self, dims: &[usize]) -> ValueId {
        let argument = self.inputs.len() + self.outputs.len();
        let id = self.value(dims, Element::Float32, Role::Output(argument));
        self.outputs.push(id);
        id
    }

    fn node(&mut self, op: Op, inputs: &[ValueId], outputs: &[ValueId]) -> usize {
        self.nodes.push(Node {
            op,
            inputs: inputs.iter().copied().collect(),
            outputs: outputs.iter().copied().collect(),
            clamp: None,
            transposed_weight: false,
            debug_handle: 0,
        });
        self.nodes.len() - 1
    }

    fn linear(&mut self, x: ValueId, y: ValueId) -> usize {
        let filter = self.constant(&[8, 8], Element::Float32);
        self.node(Op::FullyConnected, &[x, filter], &[y])
    }

    fn unary(&mut self, x: ValueId, y: ValueId) -> usize {
        self.node(Op::Unary(Unary::Tanh), &[x], &[y])
    }

    fn finish(self) -> Graph {
        let arguments = self.inputs.len() + self.outputs.len();
        Graph {
            values: self.values,
            nodes: self.nodes,
            inputs: self.inputs,
            outputs: self.outputs,
            arguments,
        }
    }
}

fn plan(graph: &Graph, mode: Mode) -> Plan {
    Plan::new(graph, &Choice { mode }, 1)
}

fn shapes(plan: &Plan) -> Vec<(Executor, &[usize])> {
    plan.segments.iter().map(|s| (s.executor, &s.nodes[..])).collect()
}

const D: &[usize] = &[4, 8];

/// tanh, linear, tanh, tanh, linear, and a node that nobody needs.
fn chain() -> Graph {
    let mut b = Builder::default();
    let x = b.input(D);
    let [a, c, d, e, dead] = [(); 5].map(|()| b.inside(D));
    let y = b.output(D);
    b.unary(x, a);
    b.linear(a, c);
    b.unary(c, d);
    b.unary(d, e);
    b.unary(d, dead);
    b.linear(e, y);
    b.finish()
}

#[test]
fn runs_for_the_library_and_nodes_for_ours() {
    let graph = chain();
    let own = plan(&graph, Mode::Own);
    use Executor::{Library, Own};
    assert_eq!(
        shapes(&own),
        [(Library, &[0][..]), (Own, &[1]), (Library, &[2, 3]), (Own, &[5])],
        "node 4 is dead"
    );
    let ids = |v: &[ValueId]| v.iter().map(|v| v.0).collect::<Vec<_>>();
    let boundary: Vec<_> = own.segments.iter().map(|s| (ids(&s.reads), ids(&s.writes))).collect();
    assert_eq!(boundary, [(vec![0], vec![1]), (vec![1], vec![2]), (vec![2], vec![4]), (vec![4], vec![6])]);
    assert_eq!(shapes(&plan(&graph, Mode::Library)), [(Library, &[0, 1, 2, 3, 5][..])]);
}

#[test]
fn dynamic_quantization_stays_with_its_readers() {
    let mut b = Builder::default();
    let x = b.input(D);
    let quantized = b.value(D, Element::QDInt8 { nonbatch_dims: 1 }, Role::Internal);
    let (a, c, d) = (b.inside(D), b.inside(D), b.inside(D));
    let y = b.output(D);
    let convert = b.node(Op::Convert, &[x], &[quantized]);
    let channels = PerChannel { scales: Arc::new([1.0; 8]), dim: 0, zero_point: 0 };
    let filter = b.constant(&[8, 8], Element::QCInt8(channels));
    let first = b.node(Op::FullyConnected, &[quantized, filter], &[a]);
    let middle = b.linear(a, c);
    let second = b.node(Op::FullyConnected, &[quantized, filter], &[d]);
    let sum = b.node(Op::Binary(Binary::Add), &[c, d], &[y]);
    let graph = b.finish();
    let plan = plan(&graph, Mode::Own);
    use Executor::{Library, Own};
    let expected = [(Library, &[convert, first][..]), (Own, &[middle]), (Library, &[convert, second, sum])];
    assert_eq!(shapes(&plan), expected, "each reader's segment quantizes");
    for segment in &plan.segments {
        assert!(!segment.reads.contains(&quantized) && !segment.writes.contains(&quantized));
    }
    assert!(plan.segments[2].reads.contains(&x));
}

#[test]
fn unread_second_results_have_memory() {
    let mut b = Builder::default();
    let x = b.input(&[1, 4, 4, 8]);
    let places = b.value(&[1, 2, 2, 8], Element::Int32, Role::Internal);
    let y = b.output(&[1, 2, 2, 8]);
    let pool = Pool { padding: [[0; 2]; 2], window: [2; 2], stride: [2; 2], dilation: [1; 2] };
    b.node(Op::ArgMaxPool(pool), &[x], &[y, places]);
    let graph = b.finish();
    let plan = plan(&graph, Mode::Auto);
    assert_eq!(plan.segments[0].writes, [y, places]);
    let layout = Layout::new(&graph, &plan, |_| Some(128)).unwrap();
    assert_eq!(layout.offsets, [None, Some(0), None]);
}

#[test]
fn places_do_not_overlap_while_in_use() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..200 {
        let mut b = Builder::default();
        let mut values = vec![b.input(D)];
        for _ in 0..rng.usize(1..20) {
            let x = values[rng.usize(..values.len())];
            let y = b.inside(D);
            if rng.bool() {
                b.linear(x, y)
            } else {
                b.unary(x, y)
            };
            values.push(y);
        }
        let all: Vec<ValueId> = values.clone();
        let mut sum = all[0];
        for &value in &all[1..] {
            let next = b.inside(D);
            b.node(Op::Binary(Binary::Add), &[sum, value], &[next]);
            sum = next;
        }
        let y = b.output(D);
        b.linear(sum, y);
        let graph = b.finish();
        let plan = plan(&graph, Mode::Own);
        let sizes: Vec<usize> = graph.values.iter().map(|_| rng.usize(..5000)).collect();
        let layout = Layout::new(&graph, &plan, |v| Some(sizes[v.index()])).unwrap();
        // Who is alive at each time, worked out directly.
        for time in 0..plan.segments.len() {
            let alive: Vec<ValueId> = (0..graph.values.len() as u32)
                .map(ValueId)
                .filter(|v| layout.offsets[v.index()].is_some())
                .filter(|v| plan.segments[..=time].iter().any(|s| s.writes.contains(v)))
                .filter(|v| {
                    plan.segments[time].writes.contains(v)
                        || plan.segments[time..].iter().any(|s| s.reads.contains(v))
                })
                .collect();
            for (i, a) in alive.iter().enumerate() {
                let range = |v: &ValueId| {
                    let start = layout.offsets[v.index()].unwrap();
                    assert!(start.is_multiple_of(ALIGNMENT));
                    start..start + sizes[v.index()] + SLACK
                };
                assert!(range(a).end <= layout.size);
                for other in &alive[i + 1..] {
                    let (a, b) = (range(a), range(other));
                    assert!(a.end <= b.start || b.end <= a.start, "{a:?} and {b:?} overlap");
                }
            }
        }
        // All that segments hand over has a place, and nothing else.
        for segment in &plan.segments {
            for value in segment.reads.iter().chain(&segment.writes) {
                let inside = matches!(graph.value(*value).role, Role::Internal);
                assert_eq!(layout.offsets[value.index()].is_some(), inside);
            }
        }
    }
}

#[test]
fn memory_is_used_again() {
    let graph = chain();
    let plan = plan(&graph, Mode::Own);
    let layout = Layout::new(&graph, &plan, |_| Some(1000)).unwrap();
    // Three values in a row, of which two are in use at a time.
    assert_eq!(layout.size, 2 * 1024);
    assert_eq!(Layout::new(&graph, &plan, |_| Some(usize::MAX)), None);
}

/// A chain of large layers of 8-bit integers, which take the library about 0.3 ms each. `between` adds what comes before a
/// layer.
fn long_chain(layers: usize, between: impl Fn(&mut Builder, ValueId) -> ValueId) -> Graph {
    const WIDE: &[usize] = &[2, 512];
    let mut b = Builder::default();
    let int8 = || Element::QInt8(Affine { scale: 1.0, zero_point: 0 });
    let mut last = b.input(WIDE);
    b.values[0].element = int8();
    for layer in 0..layers {
        let x = between(&mut b, last);
        let channels = PerChannel { scales: Arc::new([1.0; 512]), dim: 0, zero_point: 0 };
        let bytes = Constant::new(Arc::new(vec![0_u8; 512 * 512]), 0, 512 * 512).unwrap();
        let filter = b.value(&[512, 512], Element::QCInt8(channels), Role::Constant(bytes));
        let role = if layer + 1 == layers { Role::Output(1) } else { Role::Internal };
        let y = b.value(WIDE, int8(), role);
        b.node(Op::FullyConnected, &[x, filter], &[y]);
        last = y;
    }
    b.outputs.push(last);
    b.finish()
}

#[test]
fn long_runs_become_parts() {
    let graph = long_chain(8, |_, x| x);
    let parts = |threads| Plan::new(&graph, &Choice { mode: Mode::Auto }, threads);
    for threads in 1..=12 {
        let plan = parts(threads);
        // As many as there is work for: less than two layers are no part.
        assert_eq!(plan.segments.len(), threads.min(4));
        let nodes: Vec<usize> = plan.segments.iter().flat_map(|s| s.nodes.iter().copied()).collect();
        assert!(nodes.iter().copied().eq(0..8), "each once, in order");
        let apart: Vec<bool> = plan.segments.iter().map(|s| s.is_apart).collect();
        assert!(!apart[0] && apart[1..].iter().all(|&apart| apart));
        for two in plan.segments.windows(2) {
            assert_eq!((&two[0].writes, two[0].writes.len()), (&two[1].reads, 1));
        }
    }
    assert_eq!(
        shapes(&parts(2)),
        [(Executor::Library, &[0, 1, 2, 3][..]), (Executor::Library, &[4, 5, 6, 7])]
    );
}

#[test]
fn what_the_library_does_together_stays_together() {
    // Padding before each layer, which the library may do with it.
    let graph = long_chain(8, |b, x| {
        let y = b.value(&[2, 512], Element::QInt8(Affine { scale: 1.0, zero_point: 0 }), Role::Internal);
        b.node(Op::Pad { before: Dims::new(), after: Dims::new(), value: 0.0 }, &[x], &[y]);
        y
    });
    let plan = Plan::new(&graph, &Choice { mode: Mode::Auto }, 8);
    assert_eq!(plan.segments.len(), 1);

    // All layers read the same dynamically quantized value.
    let mut graph = long_chain(8, |_, x| x);
    let quantized = ValueId(graph.values.len() as u32);
    let value = graph.values[0].clone();
    graph.values.push(Value { element: Element::QDInt8 { nonbatch_dims: 1 }, role: Role::Internal, ..value });
    for node in &mut graph.nodes {
        node.inputs[0] = quantized;
        graph.values[node.outputs[0].index()].role = Role::Output(1);
    }
    let convert = Node {
        op: Op::Convert,
        inputs: [ValueId(0)].into_iter().collect(),
        outputs: [quantized].into_iter().collect(),
        clamp: None,
        transposed_weight: false,
        debug_handle: 0,
    };
    graph.nodes.insert(0, convert);
    graph.outputs = graph.nodes[1..].iter().map(|node| node.outputs[0]).collect();
    let plan = Plan::new(&graph, &Choice { mode: Mode::Auto }, 8);
    assert_eq!(shapes(&plan), [(Executor::Library, &[0, 1, 2, 3, 4, 5, 6, 7, 8][..])]);
}
