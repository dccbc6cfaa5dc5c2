//! Nodes of every kind, as they are written.

use super::{Kind, NONE};
use executorch_schema::xnnpack as fb;
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

type Table = dyn Fn(&mut FlatBufferBuilder<'_>) -> WIPOffset<UnionWIPOffset>;

/// A node: its kind, how its table is written, limits of its results.
pub struct Node {
    pub kind: Kind,
    table: Box<Table>,
    pub clamp: Option<(f32, f32)>,
    pub debug_handle: u32,
}

impl Node {
    /// A node with any table.
    pub fn new(
        kind: Kind,
        table: impl Fn(&mut FlatBufferBuilder<'_>) -> WIPOffset<UnionWIPOffset> + 'static,
    ) -> Self {
        Self { kind, table: Box::new(table), clamp: None, debug_handle: 0 }
    }

    /// The same node with limits of its results.
    pub fn clamped(mut self, min: f32, max: f32) -> Self {
        self.clamp = Some((min, max));
        self
    }

    /// The same table as another kind.
    pub fn of(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    pub(super) fn write<'a>(&self, b: &mut FlatBufferBuilder<'a>) -> WIPOffset<fb::Node<'a>> {
        let table = (self.table)(b);
        let output_min_max = self.clamp.map(|(output_min, output_max)| {
            fb::OutputMinMax::create(b, &fb::OutputMinMaxArgs { output_min, output_max })
        });
        fb::Node::create(
            b,
            &fb::NodeArgs {
                xnode_union_type: self.kind,
                xnode_union: Some(table),
                debug_handle: self.debug_handle,
                output_min_max,
            },
        )
    }
}

/// Any kind with one input and no parameters.
pub fn unary(kind: Kind, input_id: u32, output_id: u32) -> Node {
    unary_with(kind, input_id, output_id, 0)
}

/// The same with flags.
pub fn unary_with(kind: Kind, input_id: u32, output_id: u32, flags: u32) -> Node {
    Node::new(kind, move |b| {
        fb::Unary::create(b, &fb::UnaryArgs { input_id, output_id, flags }).as_union_value()
    })
}

/// Any kind with two inputs and no parameters.
pub fn binary(kind: Kind, input1_id: u32, input2_id: u32, output_id: u32) -> Node {
    binary_with(kind, input1_id, input2_id, output_id, 0)
}

/// The same with flags.
pub fn binary_with(kind: Kind, input1_id: u32, input2_id: u32, output_id: u32, flags: u32) -> Node {
    Node::new(kind, move |b| {
        fb::Binary::create(b, &fb::BinaryArgs { input1_id, input2_id, output_id, flags }).as_union_value()
    })
}

/// ELU.
pub fn elu(alpha: f32, input_id: u32, output_id: u32) -> Node {
    Node::new(Kind::XNNELU, move |b| {
        fb::Elu::create(b, &fb::EluArgs { alpha, input_id, output_id, flags: 0 }).as_union_value()
    })
}

/// Leaky ReLU.
pub fn leaky_relu(negative_slope: f32, input_id: u32, output_id: u32) -> Node {
    Node::new(Kind::XNNLeakyReLU, move |b| {
        let args = fb::LeakyReluArgs { negative_slope, input_id, output_id, flags: 0 };
        fb::LeakyRelu::create(b, &args).as_union_value()
    })
}

/// A fully connected layer.
pub fn fully_connected(x: u32, filter: u32, bias: Option<u32>, output: u32) -> Node {
    fully_connected_with(x, filter, bias, output, 0)
}

/// The same with flags.
pub fn fully_connected_with(
    input1_id: u32,
    filter_id: u32,
    bias: Option<u32>,
    output_id: u32,
    flags: u32,
) -> Node {
    let bias_id = bias.unwrap_or(NONE);
    Node::new(Kind::XNNFullyConnected, move |b| {
        let args = fb::FullyConnectedArgs { input1_id, filter_id, bias_id, output_id, flags };
        fb::FullyConnected::create(b, &args).as_union_value()
    })
}

/// Parameters of a convolution.
#[derive(Debug, Clone, Copy)]
pub struct Conv {
    /// Top, right, bottom, left.
    pub padding: [u32; 4],
    pub kernel: [u32; 2],
    pub stride: [u32; 2],
    pub dilation: [u32; 2],
    pub adjustment: [u32; 2],
    pub groups: u32,
    pub group_inputs: u32,
    pub group_outputs: u32,
    pub flags: u32,
}

impl Conv {
    /// One group, kernel of `kernel` by `kernel`, no padding.
    pub fn new(kernel: u32, inputs: u32, outputs: u32) -> Self {
        Self {
            padding: [0; 4],
            kernel: [kernel; 2],
            stride: [1; 2],
            dilation: [1; 2],
            adjustment: [0; 2],
            groups: 1,
            group_inputs: inputs,
            group_outputs: outputs,
            flags: 0,
        }
    }
}

/// A convolution, depthwise or transposed one.
pub fn conv(kind: Kind, c: Conv, x: u32, filter: u32, bias: Option<u32>, output: u32) -> Node {
    Node::new(kind, move |b| {
        let args = fb::ConvArgs {
            padding_top: c.padding[0],
            padding_right: c.padding[1],
            padding_bottom: c.padding[2],
            padding_left: c.padding[3],
            kernel_height: c.kernel[0],
            kernel_width: c.kernel[1],
            subsampling_height: c.stride[0],
            subsampling_width: c.stride[1],
            dilation_height: c.dilation[0],
            dilation_width: c.dilation[1],
            group_input_channels: c.group_inputs,
            group_output_channels: c.group_outputs,
            groups: c.groups,
            adjustment_height: c.adjustment[0],
            adjustment_width: c.adjustment[1],
            input1_id: x,
            filter_id: filter,
            bias_id: bias.unwrap_or(NONE),
            output_id: output,
            flags: c.flags,
        };
        fb::Conv::create(b, &args).as_union_value()
    })
}

/// Parameters of pooling.
#[derive(Debug, Clone, Copy)]
pub struct Pool {
    /// Top, right, bottom, left.
    pub padding: [u32; 4],
    pub window: [u32; 2],
    pub stride: [u32; 2],
    pub dilation: [u32; 2],
    pub flags: u32,
}

impl Pool {
    /// Windows of `window` by `window` side by side.
    pub fn new(window: u32) -> Self {
        Self { padding: [0; 4], window: [window; 2], stride: [window; 2], dilation: [1; 2], flags: 0 }
    }
}

/// Average or maximum pooling.
pub fn pool(kind: Kind, p: Pool, input_id: u32, output_id: u32) -> Node {
    Node::new(kind, move |b| {
        let args = fb::PoolingArgs {
            padding_top: p.padding[0],
            padding_right: p.padding[1],
            padding_bottom: p.padding[2],
            padding_left: p.padding[3],
            pooling_height: p.window[0],
            pooling_width: p.window[1],
            stride_height: p.stride[0],
            stride_width: p.stride[1],
            dilation_height: p.dilation[0],
            dilation_width: p.dilation[1],
            input_id,
            output_id,
            flags: p.flags,
        };
        fb::Pooling::create(b, &args).as_union_value()
    })
}

/// Maxima and their places.
pub fn argmax_pool(p: Pool, input_id: u32, output_value_id: u32, output_index_id: u32) -> Node {
    Node::new(Kind::XNNArgMaxPooling2d, move |b| {
        let args = fb::ArgMaxPoolingArgs {
            padding_top: p.padding[0],
            padding_right: p.padding[1],
            padding_bottom: p.padding[2],
            padding_left: p.padding[3],
            pooling_height: p.window[0],
            pooling_width: p.window[1],
            input_id,
            output_value_id,
            output_index_id,
            flags: p.flags,
        };
        fb::ArgMaxPooling::create(b, &args).as_union_value()
    })
}

/// A transposition.
pub fn transpose(perm: &[u32], input_id: u32, output_id: u32) -> Node {
    let perm = perm.to_vec();
    Node::new(Kind::XNNStaticTranspose, move |b| {
        let list = Some(b.create_vector(&perm));
        let args =
            fb::TransposeArgs { num_dims: perm.len() as u32, perm: list, input_id, output_id, flags: 0 };
        fb::Transpose::create(b, &args).as_union_value()
    })
}

/// A resize; `flags` 8 aligns corners.
pub fn resize(new_height: u32, new_width: u32, flags: u32, input_id: u32, output_id: u32) -> Node {
    Node::new(Kind::XNNStaticResizeBilinear2D, move |b| {
        fb::Resize::create(b, &fb::ResizeArgs { new_height, new_width, input_id, output_id, flags })
            .as_union_value()
    })
}

/// Padding with a number.
pub fn pad(before: &[u32], after: &[u32], padding_value: f32, input_id: u32, output_id: u32) -> Node {
    let (before, after) = (before.to_vec(), after.to_vec());
    Node::new(Kind::XNNStaticConstantPad, move |b| {
        let (pre, post) = (Some(b.create_vector(&before)), Some(b.create_vector(&after)));
        let args = fb::PadArgs {
            pre_paddings: pre,
            post_paddings: post,
            padding_value,
            input_id,
            output_id,
            flags: 0,
        };
        fb::Pad::create(b, &args).as_union_value()
    })
}

/// Another shape, in which 0 is what is left over.
pub fn reshape(shape: &[u32], input_id: u32, output_id: u32) -> Node {
    let shape = shape.to_vec();
    Node::new(Kind::XNNStaticReshape, move |b| {
        let list = Some(b.create_vector(&shape));
        let args =
            fb::ReshapeArgs { num_dims: shape.len() as u32, new_shape: list, input_id, output_id, flags: 0 };
        fb::Reshape::create(b, &args).as_union_value()
    })
}

/// A slice.
pub fn slice(offsets: &[u32], sizes: &[u32], input_id: u32, output_id: u32) -> Node {
    let (offsets, sizes) = (offsets.to_vec(), sizes.to_vec());
    Node::new(Kind::XNNStaticSlice, move |b| {
        let (first, second) = (Some(b.create_vector(&offsets)), Some(b.create_vector(&sizes)));
        let args = fb::SliceArgs {
            num_dims: offsets.len() as u32,
            offsets: first,
            sizes: second,
            input_id,
            output_id,
            flags: 0,
        };
        fb::Slice::create(b, &args).as_union_value()
    })
}

/// Two to five tensors one after another.
pub fn concatenate(axis: u32, inputs: &[u32], output_id: u32) -> Node {
    let kinds = [Kind::XNNConcatenate2, Kind::XNNConcatenate3, Kind::XNNConcatenate4, Kind::XNNConcatenate5];
    let at = |i: usize| inputs.get(i).copied().unwrap_or(NONE);
    let ids = [0, 1, 2, 3, 4].map(at);
    Node::new(kinds[inputs.len() - 2], move |b| {
        let args = fb::ConcatenateArgs {
            axis,
            input1_id: ids[0],
            input2_id: ids[1],
            input3_id: ids[2],
            input4_id: ids[3],
            output_id,
            flags: 0,
            input5_id: ids[4],
        };
        fb::Concatenate::create(b, &args).as_union_value()
    })
}

/// Attention, which no runtime runs.
pub fn attention(query_id: u32, key_id: u32, value_id: u32, output_id: u32) -> Node {
    Node::new(Kind::XNNScaledDotProductAttention, move |b| {
        let args =
            fb::AttentionArgs { query_id, key_id, value_id, output_id, ..fb::AttentionArgs::default() };
        fb::Attention::create(b, &args).as_union_value()
    })
}
