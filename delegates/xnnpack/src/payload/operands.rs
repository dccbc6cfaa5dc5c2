//! Connects nodes with values: every id is of a value, made before it is used, and made once.

use super::values::Values;
use super::{invalid, types};
use crate::graph::*;
use arrayvec::ArrayVec;
use executorch_abi::Result;

/// A node whose operands are still the payload's ids.
pub struct Draft {
    op: Op,
    inputs: ArrayVec<u32, 5>,
    pub outputs: ArrayVec<u32, 2>,
    pub transposed_weight: bool,
}

impl Draft {
    /// A node with at most five operands.
    pub fn new(op: Op, inputs: &[u32], output: u32) -> Self {
        let inputs = inputs.iter().copied().take(5).collect();
        Self { op, inputs, outputs: ArrayVec::from_iter([output]), transposed_weight: false }
    }

    /// The node, if its kind may have these flags.
    pub fn flags(self, flags: u32, known: u32) -> Result<Self> {
        match flags & !known {
            0 => Ok(self),
            more => Err(invalid(format!("its flags {more:#x} have no meaning that is supported"))),
        }
    }
}

/// A graph whose nodes are being added.
pub struct Operands {
    values: Values,
    nodes: Vec<Node>,
    /// Which values may be read by now.
    made: Vec<bool>,
}

impl Operands {
    /// No nodes but those that old payloads imply.
    pub fn new(values: Values, likely: usize) -> Result<Self> {
        let made = values
            .values
            .iter()
            .map(|value| matches!(value.role, Role::Input(_) | Role::Constant(_)))
            .collect();
        let mut all = Self { values, nodes: Vec::with_capacity(likely), made };
        for (input, twin) in std::mem::take(&mut all.values.quantised) {
            all.make(twin)?;
            all.nodes.push(Node {
                op: Op::Convert,
                inputs: ArrayVec::from_iter([input]),
                outputs: ArrayVec::from_iter([twin]),
                clamp: None,
                transposed_weight: false,
                debug_handle: 0,
            });
        }
        Ok(all)
    }

    /// Adds the next node.
    pub fn add(&mut self, draft: Draft, clamp: Option<Clamp>, debug_handle: u32) -> Result<()> {
        let Draft { op, inputs, outputs, transposed_weight } = draft;
        if clamp.is_some() && !clamps(&op) {
            return Err(invalid("its output is limited, which this kind does not do"));
        }
        let inputs = inputs.iter().map(|&id| self.readable(id)).collect::<Result<ArrayVec<_, 5>>>()?;
        let outputs =
            outputs.iter().map(|&id| self.id(id, "its output")).collect::<Result<ArrayVec<_, 2>>>()?;
        let node = Node { op, inputs, outputs, clamp, transposed_weight, debug_handle };
        for &output in &node.outputs {
            self.make(output)?;
        }
        self.name_places(&node);
        types::check(&node, &self.values.values)?;
        self.nodes.push(node);
        Ok(())
    }

    /// The exporter calls places of maxima fp32, and what moves them as well, while kernels write integers: whatever node
    /// makes such a value, it is int32.
    fn name_places(&mut self, node: &Node) {
        let datatype =
            |id: &ValueId| self.values.values.get(id.index()).map(|value| value.element.datatype());
        let moved = matches!(
            node.op,
            Op::Copy | Op::Reshape(_) | Op::Transpose(_) | Op::Slice { .. } | Op::Concatenate { .. }
        );
        let places = match node.op {
            Op::ArgMaxPool(_) => node.outputs.get(1),
            _ if moved && node.inputs.iter().all(|id| datatype(id) == Some(Datatype::Int32)) => {
                node.outputs.first()
            }
            _ => None,
        };
        if let Some(value) = places.and_then(|id| self.values.values.get_mut(id.index()))
            && value.element.datatype() == Datatype::Float32
        {
            value.element = Element::Int32;
        }
    }

    /// The graph, if every output is made.
    pub fn finish(self) -> Result<Graph> {
        let Self { values, nodes, made } = self;
        let Values { values, inputs, outputs, arguments, .. } = values;
        for (value, made) in values.iter().zip(&made) {
            if let (Role::Output(argument), false) = (&value.role, made) {
                let id = value.serialized_id;
                return Err(invalid(format!(
                    "value {id} is argument {argument}, an output, but no node makes it"
                )));
            }
        }
        Ok(Graph { values, nodes, inputs, outputs, arguments })
    }

    fn id(&self, id: u32, what: &str) -> Result<ValueId> {
        let found = self.values.ids.get(&id).copied();
        found.ok_or_else(|| invalid(format!("{what} is value {id}, which does not exist")))
    }

    fn readable(&self, id: u32) -> Result<ValueId> {
        let found = self.id(id, "an input")?;
        if self.made.get(found.index()) == Some(&true) {
            return Ok(found);
        }
        Err(invalid(format!("an input is value {id}, which no node before makes")))
    }

    fn make(&mut self, id: ValueId) -> Result<()> {
        let Some((value, made)) = self.values.values.get(id.index()).zip(self.made.get_mut(id.index()))
        else {
            return Err(invalid("its output is lost"));
        };
        let serialized = value.serialized_id;
        match value.role {
            Role::Input(argument) => {
                return Err(invalid(format!(
                    "its output is value {serialized}, which is argument {argument}, an input"
                )));
            }
            Role::Constant(_) => {
                return Err(invalid(format!("its output is value {serialized}, which is a constant")));
            }
            Role::Output(_) | Role::Internal => {}
        }
        if std::mem::replace(made, true) {
            return Err(invalid(format!("its output is value {serialized}, which another node makes")));
        }
        Ok(())
    }
}

/// Whether a kind can limit its results.
fn clamps(op: &Op) -> bool {
    use Binary::*;
    matches!(
        op,
        Op::Unary(Unary::Clamp)
            | Op::Binary(Add | Subtract | Multiply | Divide)
            | Op::FullyConnected
            | Op::Convolution(_)
            | Op::Depthwise(_)
            | Op::Transposed { .. }
            | Op::AveragePool(_)
            | Op::MaxPool(_)
            | Op::GlobalAveragePool { .. }
    )
}
