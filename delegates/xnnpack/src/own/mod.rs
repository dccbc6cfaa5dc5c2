//! Nodes on our own kernels: [`executorch_gemm`]'s packed products and convolutions.
//!
//! [`Operation`] is one of them, made for a segment of the plan. What a node needs besides its values is worked out
//! before it runs: packed weights when it is made, sizes and scratch memory when shapes change. [`slices`] is the one
//! place where addresses become slices.

mod batch;
mod convolution;
mod narrow;
mod product;
mod quantized;
mod slices;

use crate::arena::Arena;
use crate::cache::{Key, Session};
use crate::graph::{Dims, Element, Graph, Node, Op, Role, Unary};
use crate::names;
use crate::plan;
use crate::threads::ProcessPool;
use batch::BatchProduct;
use convolution::{Convolution, Transposed};
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use executorch_gemm::{Isa, PACKING_VERSION, PackedBytes};
use narrow::Narrow;
pub use product::makes_one_row;
use product::{FullyConnected, HalfFullyConnected};
use quantized::QuantizedRow;

/// Memory for intermediate results, used by one operation after the other.
#[derive(Debug)]
pub struct Scratch(Arena);

impl Scratch {
    /// None yet.
    pub fn new() -> Result<Self> {
        Ok(Self(Arena::new(0)?))
    }

    /// Makes room for `length` elements. They take memory when they are first used.
    pub fn reserve(&mut self, length: usize) -> Result<()> {
        self.0.reserve(length.saturating_mul(size_of::<f32>()))
    }

    fn elements(&mut self) -> &mut [f32] {
        // SAFETY: the arena's bytes are aligned for any vector, were zeroed, and are borrowed through `self` alone.
        unsafe { std::slice::from_raw_parts_mut(self.0.start().cast(), self.0.size() / size_of::<f32>()) }
    }
}

/// Whether there is a kernel for a node, as far as its kind, elements and constants tell.
pub fn can_run(graph: &Graph, node: &Node) -> bool {
    match node.op {
        Op::Convolution(_) | Op::Depthwise(_) => convolution::can_run(graph, node),
        Op::Transposed { .. } => convolution::can_run_transposed(graph, node),
        Op::FullyConnected => {
            product::can_run(graph, node)
                || product::can_run_half(graph, node)
                || quantized::can_run(graph, node)
        }
        Op::BatchMatrixMultiply => batch::can_run(graph, node),
        Op::Convert => narrow::can_run(graph, node),
        _ => false,
    }
}

/// Whether the weights of a node that [`can_run`] stay where the program has them.
pub fn reads_in_place(graph: &Graph, node: &Node) -> bool {
    let is_float = || product::can_run(graph, node) && makes_one_row(graph, node);
    is_float() || quantized::can_run(graph, node)
}

/// Whether a node that [`can_run`] can do the work of the only reader of its result as well.
pub fn can_fuse(graph: &Graph, node: &Node, reader: &Node) -> bool {
    let activates = match reader.op {
        Op::Unary(Unary::Hardswish) => reader.clamp.is_none(),
        Op::Unary(Unary::Clamp) => true,
        _ => false,
    };
    let takes_any = matches!(node.op, Op::Convolution(_) | Op::Depthwise(_) | Op::FullyConnected);
    let is_float = |v: &_| matches!(graph.value(*v).element, Element::Float32);
    activates
        && takes_any
        && node.clamp.is_none()
        && node.inputs.iter().chain(&node.outputs).chain(&reader.outputs).all(is_float)
}

/// Whether a node's values are all 32-bit floats, and those after the first constants.
fn is_float_with_constants(graph: &Graph, node: &Node) -> bool {
    let float = |v: &_| matches!(graph.value(*v).element, Element::Float32);
    let constant = |v: &_| matches!(graph.value(*v).role, Role::Constant(_));
    node.inputs.iter().chain(&node.outputs).all(float) && node.inputs.iter().skip(1).all(constant)
}

/// A node on our own kernels, with what is fused to it.
#[derive(Debug)]
pub struct Operation {
    kind: Kind,
    name: String,
    /// The threads that scratch memory was measured for.
    pool: ProcessPool,
}

#[derive(Debug)]
enum Kind {
    Convolution(Convolution),
    Transposed(Transposed),
    FullyConnected(FullyConnected),
    HalfFullyConnected(HalfFullyConnected),
    QuantizedRow(QuantizedRow),
    BatchProduct(BatchProduct),
    Narrow(Narrow),
}

impl Operation {
    /// Prepares the node of a segment, for which [`can_run`] holds.
    pub fn new(graph: &Graph, part: &plan::Segment, session: &Session) -> Result<Self> {
        let name = names::nodes(graph, &part.nodes);
        let node = |n: Option<&usize>| n.and_then(|&n| graph.nodes.get(n)).ok_or_else(no_kernel);
        let (node, last) = (node(part.nodes.first())?, node(part.nodes.last())?);
        let kind = Self::kind(graph, node, last, session).map_err(|error| error.within(&name))?;
        Ok(Self { kind, name, pool: ProcessPool { threads: 1 } })
    }

    /// `last` is the node itself, or the one that is fused to it.
    fn kind(graph: &Graph, node: &Node, last: &Node, session: &Session) -> Result<Kind> {
        Ok(match &node.op {
            Op::Convolution(_) | Op::Depthwise(_) => {
                Kind::Convolution(Convolution::new(graph, node, last, session)?)
            }
            Op::Transposed { .. } => Kind::Transposed(Transposed::new(graph, node, session)?),
            Op::FullyConnected if product::can_run_half(graph, node) => {
                Kind::HalfFullyConnected(HalfFullyConnected::new(graph, node, session)?)
            }
            Op::FullyConnected if quantized::can_run(graph, node) => {
                Kind::QuantizedRow(QuantizedRow::new(graph, node)?)
            }
            Op::FullyConnected => Kind::FullyConnected(FullyConnected::new(graph, node, last, session)?),
            Op::BatchMatrixMultiply => Kind::BatchProduct(BatchProduct::new(graph, node)?),
            Op::Convert => Kind::Narrow(Narrow::new(graph, node)?),
            _ => return Err(no_kernel()),
        })
    }

    /// The node's name, for messages and profiles.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the shapes that the values of the graph have from now on, and the number of threads that may be used. Tells
    /// how many elements of scratch memory a run needs.
    pub fn reshape(&mut self, shapes: &[Dims], threads: usize) -> Result<usize> {
        self.pool = ProcessPool { threads };
        let pool = &self.pool;
        let length = match &mut self.kind {
            Kind::Convolution(op) => op.reshape(shapes, pool),
            Kind::Transposed(op) => op.reshape(shapes, pool),
            Kind::FullyConnected(op) => op.reshape(shapes, pool),
            Kind::HalfFullyConnected(op) => op.reshape(shapes, pool),
            Kind::QuantizedRow(op) => op.reshape(shapes),
            Kind::BatchProduct(op) => op.reshape(shapes, pool),
            Kind::Narrow(op) => op.reshape(shapes),
        };
        length.map_err(|error| error.within(&self.name))
    }

    /// Runs the node on memory: `addresses` tells where each value of the graph lies.
    ///
    /// # Safety
    /// [`Operation::reshape`] succeeded with shapes for which the addresses of the node's values hold enough elements,
    /// aligned; its results are writable and overlap with nothing else.
    pub unsafe fn run(&self, addresses: &[*mut u8], scratch: &mut Scratch) -> Result<()> {
        let (pool, scratch) = (&self.pool, scratch.elements());
        // SAFETY: the caller's promise, for all.
        let done = unsafe {
            match &self.kind {
                Kind::Convolution(op) => op.run(addresses, pool, scratch),
                Kind::Transposed(op) => op.run(addresses, pool, scratch),
                Kind::FullyConnected(op) => op.run(addresses, pool, scratch),
                Kind::HalfFullyConnected(op) => op.run(addresses, pool, scratch),
                Kind::QuantizedRow(op) => op.run(addresses, pool, scratch),
                Kind::BatchProduct(op) => op.run(addresses, pool, scratch),
                Kind::Narrow(op) => op.run(addresses),
            }
        };
        done.map_err(|error| error.within(&self.name))
    }
}

/// The packed weights of a node. `packing` names how `pack` packs, in `length` bytes.
fn packed(
    session: &Session,
    graph: &Graph,
    node: &Node,
    packing: &str,
    length: usize,
    pack: impl FnOnce(&mut [u8]) -> Result<()>,
) -> Result<PackedBytes> {
    let isa = Isa::active().name();
    let key = Key::of_node(&format!("{packing}, version {PACKING_VERSION}, {isa}"), graph, node);
    let packed = session.get_or_pack(&key, length, pack)?;
    PackedBytes::new(packed, 0..length).map_err(kernel)
}

fn no_kernel() -> Error {
    Error::new(ET_ERROR_INTERNAL, "there is no kernel for this node: the plan is wrong")
}

/// An error of the kernels. They check again what was checked before, so it is a defect of ours.
fn kernel(error: executorch_gemm::Error) -> Error {
    Error::new(ET_ERROR_INTERNAL, error.to_string())
}
