//! The rule that says which executor runs a node.

use super::Executor;
use crate::graph::{Element, Graph, Node, Op};

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Whichever is faster.
    #[default]
    Auto,
    /// The library wherever it can run a node.
    Library,
    /// Our own kernels wherever there is one.
    Own,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Library, Self::Own];

    /// The mode of a name; the inverse of [`Mode::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The name that stands for it in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Library => "library",
            Self::Own => "own",
        }
    }
}

/// Everything that the rule depends on but the node.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// What the user asked for.
    pub mode: Mode,
}

impl Choice {
    /// Who runs a node.
    pub fn executor(&self, graph: &Graph, node: &Node) -> Executor {
        if !own_can_run(graph, node) {
            return Executor::Library;
        }
        if !library_can_run(graph, node) {
            return Executor::Own;
        }
        match self.mode {
            Mode::Library => Executor::Library,
            Mode::Own => Executor::Own,
            Mode::Auto => faster(graph, node),
        }
    }
}

/// Whether our own kernels do a node.
fn own_can_run(graph: &Graph, node: &Node) -> bool {
    crate::own::can_run(graph, node)
}

/// Whether the library does a node, if our own kernels do: it lacks bfloat16.
fn library_can_run(graph: &Graph, node: &Node) -> bool {
    !node.inputs.iter().chain(&node.outputs).any(|&v| matches!(graph.value(v).element, Element::BFloat16))
}

/// Who is faster, if both can run a node. Whole models on a Xeon with AVX-512 (2 CPUs, the wheel's build, from Python), the
/// fastest tenth of many runs in milliseconds:
///
/// | model | library, 1 thread | own | library, 2 threads | own |
/// |---|---|---|---|---|
/// | squeezenet1_1 (convolutions) | 7.63 | 5.45 | 3.93 | 3.04 |
/// | mobilenet_v3_small (small and depthwise convolutions) | 1.94 | 1.53 | 1.26 | 1.12 |
/// | llama_small (64 rows) | 5.78 | 4.42 | 3.77 | 3.51 |
/// | vit_tiny (197 rows, batches of products) | 29.5 | 29.7 | 18.8 | 19.6 |
/// | lstm (one row at a time) | 0.407 | 0.433 | 0.629 | 0.827 |
/// | mlp (one row) | 0.075 | 0.086 | 0.023 | 0.026 |
///
/// A product of one row reads its weights once, whoever does it. In the library it needs no boundary to the nodes around
/// it, which counts for small ones; ours reads large weights where the program has them, floats and 8-bit numbers, so they need no
/// packing.
fn faster(graph: &Graph, node: &Node) -> Executor {
    let weights = |&filter: &_| graph.value(filter).dims.iter().product::<usize>();
    match node.op {
        Op::FullyConnected
            if crate::own::makes_one_row(graph, node)
                && node.inputs.get(1).map_or(0, weights) < MANY_WEIGHTS =>
        {
            Executor::Library
        }
        _ => Executor::Own,
    }
}

/// Weights of one node that take longer to pack than a boundary between executors costs in many calls.
const MANY_WEIGHTS: usize = 1 << 16;
