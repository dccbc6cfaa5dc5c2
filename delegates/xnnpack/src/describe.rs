//! What a graph looks like to people: for `inspect`, in the form that all delegates share.
//!
//! Ids are places in [`Graph::values`], since an old payload's id can stand for two values.

use crate::graph::*;
use executorch_delegate::{Description, Node as NodeText, Role as RoleName, Value as ValueText};
use std::fmt::Display;

/// Describes a graph. `executor` tells what runs the node of an index.
pub fn describe(graph: &Graph, executor: impl Fn(usize) -> String) -> Description {
    let nodes = graph.nodes.iter().enumerate().map(|(i, node)| NodeText {
        name: node.kind().into(),
        inputs: node.inputs.iter().map(|id| id.0).collect(),
        outputs: node.outputs.iter().map(|id| id.0).collect(),
        executor: executor(i),
        detail: node_detail(node),
    });
    let values = graph.values.iter().zip(0..).map(|(value, id)| ValueText {
        id,
        name: String::new(),
        dtype: value.element.datatype().name().into(),
        // Sizes fit: usize has at most 64 bits.
        shape: Some(value.dims.iter().map(|&size| size as u64).collect()),
        role: match value.role {
            Role::Input(_) => RoleName::Input,
            Role::Output(_) => RoleName::Output,
            Role::Internal => RoleName::Internal,
            Role::Constant(_) => RoleName::Constant,
        },
        detail: value_detail(value),
    });
    Description {
        format: "XNNPACK graph".into(),
        nodes: nodes.collect(),
        values: values.collect(),
        notes: Vec::new(),
    }
}

/// Parts of a text that are worth saying.
#[derive(Default)]
struct Parts(Vec<String>);

impl Parts {
    fn say(&mut self, part: impl Into<String>) {
        self.0.push(part.into());
    }

    /// Says a pair unless it is the usual one.
    fn pair(&mut self, name: &str, [height, width]: [usize; 2], usual: usize) {
        if [height, width] != [usual; 2] {
            self.say(format!("{name} {height}x{width}"));
        }
    }

    fn padding(&mut self, [[top, bottom], [left, right]]: [[usize; 2]; 2]) {
        if [top, bottom, left, right].iter().all(|&size| size == top) {
            if top > 0 {
                self.say(format!("padding {top}"));
            }
        } else {
            self.say(format!("padding top {top} bottom {bottom} left {left} right {right}"));
        }
    }

    fn text(self) -> String {
        self.0.join(", ")
    }
}

/// Numbers of a shape, such as `2x3`, with a text for 0.
fn product(sizes: &[usize], zero: &str) -> String {
    let show = |size: &usize| if *size == 0 { zero.to_owned() } else { size.to_string() };
    sizes.iter().map(show).collect::<Vec<_>>().join("x")
}

fn node_detail(node: &Node) -> String {
    let mut parts = Parts::default();
    match &node.op {
        Op::Unary(Unary::Elu { alpha }) => parts.say(format!("alpha {alpha}")),
        Op::Unary(Unary::LeakyRelu { slope }) => parts.say(format!("slope {slope}")),
        Op::Convolution(c) | Op::Depthwise(c) => convolution(&mut parts, c),
        Op::Transposed { convolution: c, adjustment } => {
            convolution(&mut parts, c);
            parts.pair("adjustment", *adjustment, 0);
        }
        Op::AveragePool(p) | Op::MaxPool(p) | Op::ArgMaxPool(p) => {
            parts.pair("window", p.window, 0);
            parts.pair("stride", p.stride, 1);
            parts.padding(p.padding);
            parts.pair("dilation", p.dilation, 1);
        }
        Op::GlobalAveragePool { keep_dims: true } => parts.say("keeps dimensions"),
        Op::Reshape(shape) => parts.say(format!("to {}", product(shape, "?"))),
        Op::Transpose(permutation) => parts.say(format!("permutation {permutation:?}")),
        Op::Slice { offsets, sizes } => parts.say(format!("from {offsets:?}, {}", product(sizes, "all"))),
        Op::Pad { before, after, value } => {
            parts.say(format!("{before:?} before, {after:?} after, with {value}"))
        }
        Op::Resize { size, align_corners } => {
            parts.say(format!("to {}", product(size, "0")));
            if *align_corners {
                parts.say("aligned corners");
            }
        }
        Op::Concatenate { axis } => parts.say(format!("along {axis}")),
        _ => {}
    }
    if node.transposed_weight {
        parts.say("second factor transposed");
    }
    if let Some(Clamp { min, max }) = node.clamp {
        parts.say(format!("clamped to {min} to {max}"));
    }
    parts.text()
}

fn convolution(parts: &mut Parts, c: &Convolution) {
    parts.pair("kernel", c.kernel, 0);
    parts.pair("stride", c.stride, 1);
    parts.padding(c.padding);
    parts.pair("dilation", c.dilation, 1);
    if c.groups > 1 {
        parts.say(format!("{} groups of {} to {} channels", c.groups, c.group_inputs, c.group_outputs));
    }
}

fn value_detail(value: &Value) -> String {
    let mut parts = Parts::default();
    match &value.element {
        Element::QInt8(a) | Element::QUInt8(a) => {
            parts.say(format!("scale {}, zero point {}", a.scale, a.zero_point));
        }
        Element::QInt32(a) => parts.say(format!("scale {}", a.scale)),
        Element::QCInt8(p) | Element::QCInt32(p) | Element::QCInt4(p) => {
            parts.say(format!(
                "{} scales along {}{}",
                p.scales.len(),
                p.dim,
                range(p.scales.iter().copied())
            ));
        }
        Element::QBInt4(p) => {
            let scales = range(p.scales.iter().map(|scale| scale.to_f32()));
            parts.say(format!("{} scales for groups of {}{scales}", p.scales.len(), p.group_size));
        }
        Element::QDInt8 { nonbatch_dims } | Element::QPInt8 { nonbatch_dims } => {
            parts.say(format!("a scale for the last {nonbatch_dims} dimensions, found while running"));
        }
        Element::Float32 | Element::Float16 | Element::BFloat16 | Element::Int32 => {}
    }
    match &value.role {
        Role::Input(argument) | Role::Output(argument) => parts.say(format!("argument {argument}")),
        Role::Constant(constant) => {
            parts.say(format!("{} bytes", constant.size()));
            if let Some(key) = &constant.key {
                parts.say(format!("named {key}"));
            }
        }
        Role::Internal => {}
    }
    parts.text()
}

/// The least and the greatest of some scales.
fn range(scales: impl Iterator<Item = f32> + Clone) -> impl Display {
    let least = scales.clone().fold(f32::INFINITY, f32::min);
    let most = scales.fold(0.0, f32::max);
    if least <= most { format!(" ({least:.3e} to {most:.3e})") } else { String::new() }
}
