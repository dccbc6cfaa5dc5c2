//! Nodes of a payload: what each kind's table says, checked on its own.

use super::operands::{Draft, Operands};
use super::values::{List, Values, small};
use super::{NO_VALUE, invalid};
use crate::graph::*;
use arrayvec::ArrayVec;
use executorch_abi::error::ET_ERROR_NOT_IMPLEMENTED;
use executorch_abi::{Error, Result};
use executorch_schema::xnnpack as fb;

/// Flags that a kind may have, by the library's numbers.
mod flag {
    /// The filter, or the second factor, lies transposed.
    pub const TRANSPOSE_WEIGHTS: u32 = 0x1;
    /// The filter is fp32 in a node that computes in fp16: the datatypes say so as well.
    pub const FP32_STATIC_WEIGHTS: u32 = 0x8;
    /// The corners of input and output coincide.
    pub const ALIGN_CORNERS: u32 = 0x8;
    /// Reduced dimensions stay.
    pub const KEEP_DIMS: u32 = 0x40;
    /// Advice on how to run, of no consequence for the result: yield workers, transient indirection buffers, layout of
    /// quantised rows.
    pub const ADVICE: u32 = 0x10 | 0x20 | 0x100;
}

/// Sizes that a resize can have: positions are computed in float32.
const MAX_RESIZED: u32 = (1 << 24) - 1;

/// Reads all nodes. `size` is that of the structure.
pub fn read(list: List<'_, fb::Node<'_>>, values: Values, size: usize) -> Result<Graph> {
    let mut operands = Operands::new(values, list.len().min(size / 32))?;
    for (i, node) in list.iter().enumerate() {
        let kind = node.xnode_union_type();
        draft(node, kind)
            .and_then(|draft| operands.add(draft, clamp(node)?, node.debug_handle()))
            .map_err(|e| e.within(format!("node {i} ({})", kind.variant_name().unwrap_or("unknown kind"))))?;
    }
    operands.finish()
}

fn clamp(node: fb::Node<'_>) -> Result<Option<Clamp>> {
    let Some(table) = node.output_min_max() else { return Ok(None) };
    let (min, max) = (table.output_min(), table.output_max());
    // Not so either if one of them is NaN.
    if !matches!(min.partial_cmp(&max), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)) {
        return Err(invalid(format!(
            "its output is limited to {min} … {max}, expected numbers in this order"
        )));
    }
    let all = min == f32::NEG_INFINITY && max == f32::INFINITY;
    Ok((!all).then_some(Clamp { min, max }))
}

fn draft(node: fb::Node<'_>, kind: fb::NodeUnion) -> Result<Draft> {
    use fb::NodeUnion as Kind;
    match kind {
        Kind::XNNAdd => binary(node.xnode_union_as_xnnadd(), Binary::Add),
        Kind::XNNSubtract => binary(node.xnode_union_as_xnnsubtract(), Binary::Subtract),
        Kind::XNNMultiply => binary(node.xnode_union_as_xnnmultiply(), Binary::Multiply),
        Kind::XNNDiv => binary(node.xnode_union_as_xnndiv(), Binary::Divide),
        Kind::XNNMinimum => binary(node.xnode_union_as_xnnminimum(), Binary::Minimum),
        Kind::XNNMaximum => binary(node.xnode_union_as_xnnmaximum(), Binary::Maximum),
        Kind::XNNPReLU => pair(node.xnode_union_as_xnnpre_lu(), Op::PRelu, 0),
        Kind::XNNBatchMatrixMultiply => {
            let table = node.xnode_union_as_xnnbatch_matrix_multiply();
            pair(table, Op::BatchMatrixMultiply, flag::TRANSPOSE_WEIGHTS)
        }
        Kind::XNNAbs => unary(node.xnode_union_as_xnnabs(), Unary::Abs),
        Kind::XNNCeiling => unary(node.xnode_union_as_xnnceiling(), Unary::Ceiling),
        Kind::XNNClamp => unary(node.xnode_union_as_xnnclamp(), Unary::Clamp),
        Kind::XNNCos => unary(node.xnode_union_as_xnncos(), Unary::Cos),
        Kind::XNNExp => unary(node.xnode_union_as_xnnexp(), Unary::Exp),
        Kind::XNNFloor => unary(node.xnode_union_as_xnnfloor(), Unary::Floor),
        Kind::XNNGelu => unary(node.xnode_union_as_xnngelu(), Unary::Gelu),
        Kind::XNNHardswish => unary(node.xnode_union_as_xnnhardswish(), Unary::Hardswish),
        Kind::XNNLog => unary(node.xnode_union_as_xnnlog(), Unary::Log),
        Kind::XNNNegate => unary(node.xnode_union_as_xnnnegate(), Unary::Negate),
        Kind::XNNReciprocalSquareRoot => {
            unary(node.xnode_union_as_xnnreciprocal_square_root(), Unary::ReciprocalSquareRoot)
        }
        Kind::XNNSigmoid => unary(node.xnode_union_as_xnnsigmoid(), Unary::Sigmoid),
        Kind::XNNSin => unary(node.xnode_union_as_xnnsin(), Unary::Sin),
        Kind::XNNSquare => unary(node.xnode_union_as_xnnsquare(), Unary::Square),
        Kind::XNNSquareRoot => unary(node.xnode_union_as_xnnsquare_root(), Unary::SquareRoot),
        Kind::XNNTanh => unary(node.xnode_union_as_xnntanh(), Unary::Tanh),
        Kind::XNNELU => elu(node.xnode_union_as_xnnelu()),
        Kind::XNNLeakyReLU => leaky_relu(node.xnode_union_as_xnnleaky_re_lu()),
        Kind::XNNSoftmax => single(node.xnode_union_as_xnnsoftmax(), Op::Softmax),
        Kind::XNNConvert => single(node.xnode_union_as_xnnconvert(), Op::Convert),
        Kind::XNNCopy => single(node.xnode_union_as_xnncopy(), Op::Copy),
        Kind::XNNGlobalAvgPooling2d => global_average(node.xnode_union_as_xnnglobal_avg_pooling_2d()),
        Kind::XNNFullyConnected => fully_connected(node.xnode_union_as_xnnfully_connected()),
        Kind::XNNConv2d => convolution(node.xnode_union_as_xnnconv_2d(), |c, _| Ok(Op::Convolution(c))),
        Kind::XNNDepthwiseConv2d => convolution(node.xnode_union_as_xnndepthwise_conv_2d(), depthwise),
        Kind::XNNConvTranspose2d => convolution(node.xnode_union_as_xnnconv_transpose_2d(), transposed),
        Kind::XNNAvgPooling2d => average_pool(node.xnode_union_as_xnnavg_pooling_2d()),
        Kind::XNNMaxPooling2d => max_pool(node.xnode_union_as_xnnmax_pooling_2d()),
        Kind::XNNArgMaxPooling2d => argmax_pool(node.xnode_union_as_xnnarg_max_pooling_2d()),
        Kind::XNNStaticTranspose => transpose(node.xnode_union_as_xnnstatic_transpose()),
        Kind::XNNStaticResizeBilinear2D => resize(node.xnode_union_as_xnnstatic_resize_bilinear_2_d()),
        Kind::XNNStaticConstantPad => pad(node.xnode_union_as_xnnstatic_constant_pad()),
        Kind::XNNStaticReshape => reshape(node.xnode_union_as_xnnstatic_reshape()),
        Kind::XNNStaticSlice => slice(node.xnode_union_as_xnnstatic_slice()),
        Kind::XNNConcatenate2 => concatenate(node.xnode_union_as_xnnconcatenate_2(), 2),
        Kind::XNNConcatenate3 => concatenate(node.xnode_union_as_xnnconcatenate_3(), 3),
        Kind::XNNConcatenate4 => concatenate(node.xnode_union_as_xnnconcatenate_4(), 4),
        Kind::XNNConcatenate5 => concatenate(node.xnode_union_as_xnnconcatenate_5(), 5),
        Kind::XNNScaledDotProductAttention => Err(unsupported(
            "this kind is not supported, as in upstream's runtime; export the program with executorch 1.0 or later, which \
             writes matrix products and a softmax in its place",
        )),
        other => Err(unsupported(&format!(
            "kind {} is not known; export the program with executorch 0.2 to 1.5",
            other.0
        ))),
    }
}

fn unsupported(message: &str) -> Error {
    Error::new(ET_ERROR_NOT_IMPLEMENTED, message)
}

fn there<T>(table: Option<T>) -> Result<T> {
    table.ok_or_else(|| invalid("it has no parameters"))
}

fn single(table: Option<fb::Unary<'_>>, op: Op) -> Result<Draft> {
    let table = there(table)?;
    Draft::new(op, &[table.input_id()], table.output_id()).flags(table.flags(), flag::ADVICE)
}

fn unary(table: Option<fb::Unary<'_>>, op: Unary) -> Result<Draft> {
    single(table, Op::Unary(op))
}

fn pair(table: Option<fb::Binary<'_>>, op: Op, known: u32) -> Result<Draft> {
    let table = there(table)?;
    let flags = table.flags();
    let mut draft = Draft::new(op, &[table.input1_id(), table.input2_id()], table.output_id());
    draft.transposed_weight = flags & known & flag::TRANSPOSE_WEIGHTS != 0;
    draft.flags(flags, known | flag::ADVICE)
}

fn binary(table: Option<fb::Binary<'_>>, op: Binary) -> Result<Draft> {
    pair(table, Op::Binary(op), 0)
}

fn elu(table: Option<fb::Elu<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let alpha = finite("alpha", table.alpha())?;
    let op = Op::Unary(Unary::Elu { alpha });
    Draft::new(op, &[table.input_id()], table.output_id()).flags(table.flags(), flag::ADVICE)
}

fn leaky_relu(table: Option<fb::LeakyRelu<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let slope = finite("negative_slope", table.negative_slope())?;
    let op = Op::Unary(Unary::LeakyRelu { slope });
    Draft::new(op, &[table.input_id()], table.output_id()).flags(table.flags(), flag::ADVICE)
}

fn global_average(table: Option<fb::Unary<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let op = Op::GlobalAveragePool { keep_dims: table.flags() & flag::KEEP_DIMS != 0 };
    Draft::new(op, &[table.input_id()], table.output_id())
        .flags(table.flags(), flag::KEEP_DIMS | flag::ADVICE)
}

/// Operands whose last one, a bias, may be absent.
fn with_bias(x: u32, filter: u32, bias: u32) -> ArrayVec<u32, 3> {
    [x, filter, bias].into_iter().take(if bias == NO_VALUE { 2 } else { 3 }).collect()
}

fn fully_connected(table: Option<fb::FullyConnected<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let inputs = with_bias(table.input1_id(), table.filter_id(), table.bias_id());
    let mut draft = Draft::new(Op::FullyConnected, &inputs, table.output_id());
    draft.transposed_weight = table.flags() & flag::TRANSPOSE_WEIGHTS != 0;
    draft.flags(table.flags(), flag::TRANSPOSE_WEIGHTS | flag::FP32_STATIC_WEIGHTS | flag::ADVICE)
}

fn convolution(
    table: Option<fb::Conv<'_>>,
    make: impl FnOnce(Convolution, fb::Conv<'_>) -> Result<Op>,
) -> Result<Draft> {
    let t = there(table)?;
    let convolution = Convolution {
        padding: padding([t.padding_top(), t.padding_bottom()], [t.padding_left(), t.padding_right()]),
        kernel: positive_pair("kernel", [t.kernel_height(), t.kernel_width()])?,
        stride: positive_pair("subsampling", [t.subsampling_height(), t.subsampling_width()])?,
        dilation: positive_pair("dilation", [t.dilation_height(), t.dilation_width()])?,
        groups: positive("groups", t.groups())?,
        group_inputs: positive("group_input_channels", t.group_input_channels())?,
        group_outputs: positive("group_output_channels", t.group_output_channels())?,
    };
    let inputs = with_bias(t.input1_id(), t.filter_id(), t.bias_id());
    let op = make(convolution, t)?;
    Draft::new(op, &inputs, t.output_id()).flags(t.flags(), flag::FP32_STATIC_WEIGHTS | flag::ADVICE)
}

fn depthwise(convolution: Convolution, _: fb::Conv<'_>) -> Result<Op> {
    match convolution.group_inputs {
        1 => Ok(Op::Depthwise(convolution)),
        found => Err(invalid(format!("group_input_channels is {found}, expected 1"))),
    }
}

fn transposed(convolution: Convolution, table: fb::Conv<'_>) -> Result<Op> {
    let adjustment = [table.adjustment_height() as usize, table.adjustment_width() as usize];
    if adjustment.iter().zip(&convolution.stride).any(|(more, stride)| more >= stride) {
        return Err(invalid(format!(
            "adjustment is {adjustment:?}, expected less than subsampling, which is {:?}",
            convolution.stride
        )));
    }
    Ok(Op::Transposed { convolution, adjustment })
}

fn average_pool(table: Option<fb::Pooling<'_>>) -> Result<Draft> {
    let table = there(table)?;
    // The exporter writes 0 for the dilation, which this kind has not.
    let pool = pool(table, [1, 1])?;
    Draft::new(Op::AveragePool(pool), &[table.input_id()], table.output_id())
        .flags(table.flags(), flag::KEEP_DIMS | flag::ADVICE)
}

fn max_pool(table: Option<fb::Pooling<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let dilation = positive_pair("dilation", [table.dilation_height(), table.dilation_width()])?;
    let pool = pool(table, dilation)?;
    Draft::new(Op::MaxPool(pool), &[table.input_id()], table.output_id())
        .flags(table.flags(), flag::KEEP_DIMS | flag::ADVICE)
}

fn pool(t: fb::Pooling<'_>, dilation: [usize; 2]) -> Result<Pool> {
    checked(Pool {
        padding: padding([t.padding_top(), t.padding_bottom()], [t.padding_left(), t.padding_right()]),
        window: positive_pair("pooling", [t.pooling_height(), t.pooling_width()])?,
        stride: positive_pair("stride", [t.stride_height(), t.stride_width()])?,
        dilation,
    })
}

fn argmax_pool(table: Option<fb::ArgMaxPooling<'_>>) -> Result<Draft> {
    let t = there(table)?;
    let window = positive_pair("pooling", [t.pooling_height(), t.pooling_width()])?;
    let pool = checked(Pool {
        padding: padding([t.padding_top(), t.padding_bottom()], [t.padding_left(), t.padding_right()]),
        window,
        stride: window,
        dilation: [1, 1],
    })?;
    let mut draft = Draft::new(Op::ArgMaxPool(pool), &[t.input_id()], t.output_value_id());
    draft.outputs.push(t.output_index_id());
    draft.flags(t.flags(), flag::KEEP_DIMS | flag::ADVICE)
}

/// Windows must see more than padding, and their elements must be countable in 31 bits.
fn checked(pool: Pool) -> Result<Pool> {
    for ((padding, window), dilation) in pool.padding.iter().zip(pool.window).zip(pool.dilation) {
        let span = (window - 1).checked_mul(dilation).and_then(|span| span.checked_add(1));
        let span =
            span.ok_or_else(|| invalid(format!("a window of {window} elements {dilation} apart overflows")))?;
        if padding.iter().any(|&padding| padding >= span) {
            return Err(invalid(format!("padding is {padding:?}, expected less than the window's {span}")));
        }
    }
    let [height, width] = pool.window;
    if height.checked_mul(width).is_none_or(|elements| i32::try_from(elements).is_err()) {
        return Err(invalid(format!("pooling is {height} × {width} elements, expected fewer than 2^31")));
    }
    Ok(pool)
}

fn transpose(table: Option<fb::Transpose<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let permutation = numbers("perm", table.perm(), table.num_dims())?;
    let mut seen = [false; MAX_RANK];
    for &dim in &permutation {
        let mark = seen.get_mut(dim).filter(|_| dim < permutation.len());
        if mark.is_none_or(|mark| std::mem::replace(mark, true)) {
            return Err(invalid(format!("perm is {permutation:?}, expected each dimension once")));
        }
    }
    Draft::new(Op::Transpose(permutation), &[table.input_id()], table.output_id())
        .flags(table.flags(), flag::ADVICE)
}

fn resize(table: Option<fb::Resize<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let sizes = [table.new_height(), table.new_width()];
    let size = positive_pair("new size", sizes)?;
    if sizes.iter().any(|&size| size > MAX_RESIZED) {
        return Err(invalid(format!("new size is {size:?}, expected at most {MAX_RESIZED}")));
    }
    let op = Op::Resize { size, align_corners: table.flags() & flag::ALIGN_CORNERS != 0 };
    Draft::new(op, &[table.input_id()], table.output_id())
        .flags(table.flags(), flag::ALIGN_CORNERS | flag::ADVICE)
}

fn pad(table: Option<fb::Pad<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let rank = table.pre_paddings().map_or(0, |list| list.len());
    // Longer lists are refused for what they are.
    let rank = u32::try_from(rank).unwrap_or(u32::MAX);
    let before = numbers("pre_paddings", table.pre_paddings(), rank)?;
    let after = numbers("post_paddings", table.post_paddings(), rank)?;
    let op = Op::Pad { before, after, value: table.padding_value() };
    Draft::new(op, &[table.input_id()], table.output_id()).flags(table.flags(), flag::ADVICE)
}

fn reshape(table: Option<fb::Reshape<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let shape = numbers("new_shape", table.new_shape(), table.num_dims())?;
    if shape.iter().filter(|&&size| size == 0).count() > 1 {
        return Err(invalid(format!("new_shape is {shape:?}, expected at most one 0")));
    }
    Draft::new(Op::Reshape(shape), &[table.input_id()], table.output_id()).flags(table.flags(), flag::ADVICE)
}

fn slice(table: Option<fb::Slice<'_>>) -> Result<Draft> {
    let table = there(table)?;
    let offsets = numbers("offsets", table.offsets(), table.num_dims())?;
    let sizes = numbers("sizes", table.sizes(), table.num_dims())?;
    if let Some((offset, _)) = offsets.iter().zip(&sizes).find(|(offset, size)| **size == 0 && **offset != 0)
    {
        // Versions of the library disagree on what that means.
        return Err(invalid(format!("a slice from {offset} on has the size 0, expected a positive one")));
    }
    let op = Op::Slice { offsets, sizes };
    Draft::new(op, &[table.input_id()], table.output_id()).flags(table.flags(), flag::ADVICE)
}

fn concatenate(table: Option<fb::Concatenate<'_>>, count: usize) -> Result<Draft> {
    let t = there(table)?;
    let inputs = [t.input1_id(), t.input2_id(), t.input3_id(), t.input4_id(), t.input5_id()];
    let inputs = inputs.get(..count).unwrap_or_default();
    let op = Op::Concatenate { axis: t.axis() as usize };
    Draft::new(op, inputs, t.output_id()).flags(t.flags(), flag::ADVICE)
}

fn finite(name: &str, value: f32) -> Result<f32> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(invalid(format!("{name} is {value}, expected a finite number")))
    }
}

fn positive(name: &str, value: u32) -> Result<usize> {
    if value > 0 {
        Ok(value as usize)
    } else {
        Err(invalid(format!("{name} is 0, expected a positive number")))
    }
}

fn positive_pair(name: &str, pair: [u32; 2]) -> Result<[usize; 2]> {
    match pair {
        [0, _] | [_, 0] => Err(invalid(format!("{name} is {pair:?}, expected positive numbers"))),
        [height, width] => Ok([height as usize, width as usize]),
    }
}

fn padding(height: [u32; 2], width: [u32; 2]) -> [[usize; 2]; 2] {
    [height, width].map(|pair| pair.map(|size| size as usize))
}

/// A list with a number for each of `count` dimensions.
fn numbers(name: &str, list: Option<flatbuffers::Vector<'_, u32>>, count: u32) -> Result<Dims> {
    let list = list.ok_or_else(|| invalid(format!("{name} is not there")))?;
    let found = list.len();
    if found != count as usize {
        return Err(invalid(format!("{name} has {found} numbers, expected {count}")));
    }
    small(list).ok_or_else(|| invalid(format!("{name} has {found} numbers, at most {MAX_RANK} are allowed")))
}
