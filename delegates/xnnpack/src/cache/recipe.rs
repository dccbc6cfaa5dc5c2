//! What packed weights depend on, written down so that equal descriptions mean equal packed bytes.

use super::digest::Fields;
use crate::graph::{
    Affine, Constant, Convolution, Element, Graph, Node, Op, PerChannel, Pool, Role, Unary, Value,
};

/// Names packed weights: how they are packed, and the constants that they are packed from.
#[derive(Debug, Clone)]
pub struct Key {
    /// Short: what is long in it stands there by its digest, so that names can be made of it again and again.
    pub(super) recipe: Fields,
    pub(super) constants: Vec<Constant>,
}

impl Key {
    /// A key of weights that `packer` packs. Its name stands for its code: one that packs otherwise needs another name.
    pub fn new(packer: &str) -> Self {
        Self { recipe: Fields::new(packer), constants: Vec::new() }
    }

    /// A key of the weights of a node, with everything that the graph says of it and of its constants. Other values'
    /// sizes are left out: no weights are packed for them, and methods that differ in nothing else share their weights.
    pub fn of_node(packer: &str, graph: &Graph, node: &Node) -> Self {
        let mut key = Self::new(packer);
        let mut described = Fields::with_capacity("node", 4096);
        write_op(&mut described, node);
        for &id in node.inputs.iter().chain(&node.outputs) {
            let value = graph.value(id);
            match &value.role {
                Role::Constant(constant) => {
                    described.number(1);
                    write_value(&mut described, value);
                    key.constants.push(constant.clone());
                }
                _ => {
                    described.number(0);
                    write_element(&mut described, &value.element);
                }
            }
        }
        key.recipe.digest(described.finish());
        key
    }

    /// Adds a number that the packing depends on.
    pub fn number(mut self, number: u64) -> Self {
        self.recipe.number(number);
        self
    }

    /// Adds bytes that the packing depends on.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.recipe.bytes(bytes);
        self
    }

    /// Adds a constant that is packed.
    pub fn constant(mut self, constant: &Constant) -> Self {
        self.constants.push(constant.clone());
        self
    }
}

impl PartialEq for Key {
    /// Whether they name the same weights of the same constants: equal ones elsewhere count as others.
    fn eq(&self, other: &Self) -> bool {
        let places =
            |key: &Self| -> Vec<_> { key.constants.iter().map(|c| c.bytes().as_ptr_range()).collect() };
        self.recipe == other.recipe && places(self) == places(other)
    }
}

/// Writes down a whole graph but for the contents of its constants.
pub(super) fn write_graph(fields: &mut Fields, graph: &Graph) {
    fields.number(graph.values.len() as u64);
    for value in &graph.values {
        match value.role {
            Role::Input(argument) => fields.number(0).number(argument as u64),
            Role::Output(argument) => fields.number(1).number(argument as u64),
            Role::Internal => fields.number(2),
            Role::Constant(_) => fields.number(3),
        };
        write_value(fields, value);
    }
    fields.number(graph.nodes.len() as u64);
    for node in &graph.nodes {
        write_op(fields, node);
        for ids in [&node.inputs[..], &node.outputs[..]] {
            fields.number(ids.len() as u64);
            for id in ids {
                fields.number(id.0.into());
            }
        }
    }
}

fn write_value(fields: &mut Fields, value: &Value) {
    fields.numbers(&value.dims);
    write_element(fields, &value.element);
}

fn write_element<'f>(fields: &'f mut Fields, element: &Element) -> &'f mut Fields {
    match element {
        Element::Float32 => fields.number(0),
        Element::Float16 => fields.number(1),
        Element::BFloat16 => fields.number(2),
        Element::Int32 => fields.number(3),
        Element::QInt8(a) => write_affine(fields, 4, a),
        Element::QUInt8(a) => write_affine(fields, 5, a),
        Element::QInt32(a) => write_affine(fields, 6, a),
        Element::QCInt8(c) => write_channels(fields, 7, c),
        Element::QCInt32(c) => write_channels(fields, 8, c),
        Element::QCInt4(c) => write_channels(fields, 9, c),
        Element::QBInt4(g) => {
            fields.number(10).bytes(bytemuck::cast_slice(&g.scales)).number(g.dim as u64);
            fields.number(g.group_size as u64).number(g.zero_point.cast_unsigned().into())
        }
        Element::QDInt8 { nonbatch_dims } => fields.number(11).number(*nonbatch_dims as u64),
        Element::QPInt8 { nonbatch_dims } => fields.number(12).number(*nonbatch_dims as u64),
    }
}

fn write_affine<'f>(fields: &'f mut Fields, tag: u64, affine: &Affine) -> &'f mut Fields {
    fields.number(tag).float(affine.scale).number(affine.zero_point.cast_unsigned().into())
}

fn write_channels<'f>(fields: &'f mut Fields, tag: u64, channels: &PerChannel) -> &'f mut Fields {
    fields.number(tag).bytes(bytemuck::cast_slice(&channels.scales));
    fields.number(channels.dim as u64).number(channels.zero_point.cast_unsigned().into())
}

/// What a node does, without the values that it reads and makes.
fn write_op(fields: &mut Fields, node: &Node) {
    match &node.op {
        Op::Unary(unary) => write_unary(fields.number(0), *unary),
        Op::Binary(binary) => fields.number(1).number(*binary as u64),
        Op::Convert => fields.number(2),
        Op::Copy => fields.number(3),
        Op::Softmax => fields.number(4),
        Op::FullyConnected => fields.number(5),
        Op::BatchMatrixMultiply => fields.number(6),
        Op::Convolution(convolution) => write_convolution(fields.number(7), convolution),
        Op::Depthwise(convolution) => write_convolution(fields.number(8), convolution),
        Op::Transposed { convolution, adjustment } => {
            write_convolution(fields.number(9), convolution).numbers(adjustment)
        }
        Op::AveragePool(pool) => write_pool(fields.number(10), pool),
        Op::MaxPool(pool) => write_pool(fields.number(11), pool),
        Op::ArgMaxPool(pool) => write_pool(fields.number(12), pool),
        Op::GlobalAveragePool { keep_dims } => fields.number(13).number((*keep_dims).into()),
        Op::Reshape(dims) => fields.number(14).numbers(dims),
        Op::Transpose(dims) => fields.number(15).numbers(dims),
        Op::Slice { offsets, sizes } => fields.number(16).numbers(offsets).numbers(sizes),
        Op::Pad { before, after, value } => fields.number(17).numbers(before).numbers(after).float(*value),
        Op::Resize { size, align_corners } => fields.number(18).numbers(size).number((*align_corners).into()),
        Op::Concatenate { axis } => fields.number(19).number(*axis as u64),
        Op::PRelu => fields.number(20),
    };
    match node.clamp {
        Some(clamp) => fields.number(1).float(clamp.min).float(clamp.max),
        None => fields.number(0),
    };
    fields.number(node.transposed_weight.into());
}

fn write_unary(fields: &mut Fields, unary: Unary) -> &mut Fields {
    match unary {
        Unary::Abs => fields.number(0),
        Unary::Ceiling => fields.number(1),
        Unary::Clamp => fields.number(2),
        Unary::Cos => fields.number(3),
        Unary::Elu { alpha } => fields.number(4).float(alpha),
        Unary::Exp => fields.number(5),
        Unary::Floor => fields.number(6),
        Unary::Gelu => fields.number(7),
        Unary::Hardswish => fields.number(8),
        Unary::LeakyRelu { slope } => fields.number(9).float(slope),
        Unary::Log => fields.number(10),
        Unary::Negate => fields.number(11),
        Unary::ReciprocalSquareRoot => fields.number(12),
        Unary::Sigmoid => fields.number(13),
        Unary::Sin => fields.number(14),
        Unary::Square => fields.number(15),
        Unary::SquareRoot => fields.number(16),
        Unary::Tanh => fields.number(17),
    }
}

fn write_convolution<'f>(fields: &'f mut Fields, convolution: &Convolution) -> &'f mut Fields {
    let Convolution { padding, kernel, stride, dilation, groups, group_inputs, group_outputs } = convolution;
    fields.numbers(padding.as_flattened()).numbers(kernel).numbers(stride).numbers(dilation);
    fields.numbers(&[*groups, *group_inputs, *group_outputs])
}

fn write_pool<'f>(fields: &'f mut Fields, pool: &Pool) -> &'f mut Fields {
    let Pool { padding, window, stride, dilation } = pool;
    fields.numbers(padding.as_flattened()).numbers(window).numbers(stride).numbers(dilation)
}
