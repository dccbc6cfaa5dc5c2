//! Nodes of the graph, as the library is told of them.

use super::raw::Subgraph;
use super::status::check;
use super::values::Id;
use crate::graph::{Binary, Clamp, Convolution, Node, Op, Pool, Unary};
use executorch_abi::{Error, Result, error::ET_ERROR_INTERNAL};
use executorch_xnnpack_sys as sys;

/// Whether the library packs the constants of a node when a runtime is made, and does not need them afterwards.
pub fn packs_weights(node: &Node) -> bool {
    matches!(node.op, Op::FullyConnected | Op::Convolution(_) | Op::Depthwise(_) | Op::Transposed { .. })
}

/// Describes a node. `inputs` and `outputs` are the ids of its values, in its own order.
pub fn define(graph: &mut Subgraph, node: &Node, inputs: &[Id], outputs: &[Id]) -> Result<()> {
    let missing = || Error::new(ET_ERROR_INTERNAL, "a node lacks a value: the graph was not checked");
    let input = |i: usize| inputs.get(i).copied().ok_or_else(missing);
    let output = |i: usize| outputs.get(i).copied().ok_or_else(missing);
    let bias = inputs.get(2).copied().unwrap_or(sys::XNN_INVALID_VALUE_ID);
    let (x, y) = (input(0)?, output(0)?);
    let (min, max) = limits(node.clamp);
    let g = graph.as_ptr();
    // SAFETY, here and in all that follows: the graph is live, and the library checks every id against it; arrays of
    // sizes hold as many as the value has dimensions, as the checked graph guarantees, and are copied.
    let status = match &node.op {
        Op::Unary(op) => return unary(graph, *op, node.clamp, x, y),
        Op::Binary(op) => {
            let params = sys::xnn_binary_params { output_min: f64::from(min), output_max: f64::from(max) };
            let b = input(1)?;
            // SAFETY: see above; the parameters are copied.
            unsafe { sys::xnn_define_binary(g, binary(*op), &params, x, b, y, 0) }
        }
        // SAFETY: see above.
        Op::Convert => unsafe { sys::xnn_define_convert(g, x, y, 0) },
        // SAFETY: see above.
        Op::Copy => unsafe { sys::xnn_define_copy(g, x, y, 0) },
        // SAFETY: see above.
        Op::Softmax => unsafe { sys::xnn_define_softmax(g, x, y, 0) },
        Op::FullyConnected => {
            let flags = if node.transposed_weight { sys::XNN_FLAG_TRANSPOSE_WEIGHTS } else { 0 };
            let filter = input(1)?;
            // SAFETY: see above.
            unsafe { sys::xnn_define_fully_connected(g, min, max, x, filter, bias, y, flags) }
        }
        Op::BatchMatrixMultiply => {
            let flags = if node.transposed_weight { sys::XNN_FLAG_TRANSPOSE_B } else { 0 };
            let b = input(1)?;
            // SAFETY: see above.
            unsafe { sys::xnn_define_batch_matrix_multiply(g, x, b, y, flags) }
        }
        Op::Convolution(p) => {
            let [[top, bottom], [left, right]] = pairs(p.padding)?;
            let ([kh, kw], [sh, sw], [dh, dw]) = (pair(p.kernel)?, pair(p.stride)?, pair(p.dilation)?);
            let (groups, filter) = (narrow(p.groups)?, input(1)?);
            // SAFETY: see above.
            unsafe {
                sys::xnn_define_convolution_2d(
                    g,
                    top,
                    right,
                    bottom,
                    left,
                    kh,
                    kw,
                    sh,
                    sw,
                    dh,
                    dw,
                    groups,
                    p.group_inputs,
                    p.group_outputs,
                    min,
                    max,
                    x,
                    filter,
                    bias,
                    y,
                    0,
                )
            }
        }
        Op::Depthwise(p) => {
            let [[top, bottom], [left, right]] = pairs(p.padding)?;
            let ([kh, kw], [sh, sw], [dh, dw]) = (pair(p.kernel)?, pair(p.stride)?, pair(p.dilation)?);
            let (multiplier, filter) = (narrow(multiplier(p))?, input(1)?);
            // SAFETY: see above.
            unsafe {
                sys::xnn_define_depthwise_convolution_2d(
                    g, top, right, bottom, left, kh, kw, sh, sw, dh, dw, multiplier, p.groups, min, max, x,
                    filter, bias, y, 0,
                )
            }
        }
        Op::Transposed { convolution: p, adjustment } => {
            let [[top, bottom], [left, right]] = pairs(p.padding)?;
            let ([kh, kw], [sh, sw], [dh, dw]) = (pair(p.kernel)?, pair(p.stride)?, pair(p.dilation)?);
            let ([ah, aw], groups, filter) = (pair(*adjustment)?, narrow(p.groups)?, input(1)?);
            // SAFETY: see above.
            unsafe {
                sys::xnn_define_deconvolution_2d(
                    g,
                    top,
                    right,
                    bottom,
                    left,
                    ah,
                    aw,
                    kh,
                    kw,
                    sh,
                    sw,
                    dh,
                    dw,
                    groups,
                    p.group_inputs,
                    p.group_outputs,
                    min,
                    max,
                    x,
                    filter,
                    bias,
                    y,
                    0,
                )
            }
        }
        Op::AveragePool(p) => {
            let ([[top, bottom], [left, right]], [[h, w], [sh, sw], _]) = pool(p)?;
            // SAFETY: see above.
            unsafe {
                sys::xnn_define_average_pooling_2d(
                    g, top, right, bottom, left, h, w, sh, sw, min, max, x, y, 0,
                )
            }
        }
        Op::MaxPool(p) => {
            let ([[top, bottom], [left, right]], [[h, w], [sh, sw], [dh, dw]]) = pool(p)?;
            // SAFETY: see above.
            unsafe {
                sys::xnn_define_max_pooling_2d(
                    g, top, right, bottom, left, h, w, sh, sw, dh, dw, min, max, x, y, 0,
                )
            }
        }
        Op::ArgMaxPool(p) => {
            let ([[top, bottom], [left, right]], [[h, w], ..]) = pool(p)?;
            let places = output(1)?;
            // SAFETY: see above.
            unsafe { sys::xnn_define_argmax_pooling_2d(g, top, right, bottom, left, h, w, x, y, places, 0) }
        }
        Op::GlobalAveragePool { keep_dims } => {
            let flags = if *keep_dims { sys::XNN_FLAG_KEEP_DIMS } else { 0 };
            // SAFETY: see above.
            unsafe { sys::xnn_define_global_average_pooling_2d(g, min, max, x, y, flags) }
        }
        Op::Reshape(dims) => {
            // SAFETY: see above.
            unsafe { sys::xnn_define_static_reshape(g, dims.len(), dims.as_ptr(), x, y, 0) }
        }
        Op::Transpose(order) => {
            // SAFETY: see above.
            unsafe { sys::xnn_define_static_transpose(g, order.len(), order.as_ptr(), x, y, 0) }
        }
        Op::Slice { offsets, sizes } => {
            // SAFETY: see above.
            unsafe { sys::xnn_define_static_slice(g, sizes.len(), offsets.as_ptr(), sizes.as_ptr(), x, y, 0) }
        }
        Op::Pad { before, after, value } => {
            // SAFETY: see above.
            unsafe {
                sys::xnn_define_static_constant_pad(g, before.as_ptr(), after.as_ptr(), *value, x, y, 0)
            }
        }
        Op::Resize { size: [height, width], align_corners } => {
            let flags = if *align_corners { sys::XNN_FLAG_ALIGN_CORNERS } else { 0 };
            // SAFETY: see above.
            unsafe { sys::xnn_define_static_resize_bilinear_2d(g, *height, *width, x, y, flags) }
        }
        Op::Concatenate { axis } => {
            let axis = i32::try_from(*axis).map_err(|_| missing())?;
            match *inputs {
                // SAFETY: see above, for all four.
                [a, b] => unsafe { sys::xnn_define_concatenate2(g, axis, a, b, y, 0) },
                // SAFETY: see above.
                [a, b, c] => unsafe { sys::xnn_define_concatenate3(g, axis, a, b, c, y, 0) },
                // SAFETY: see above.
                [a, b, c, d] => unsafe { sys::xnn_define_concatenate4(g, axis, a, b, c, d, y, 0) },
                // SAFETY: see above.
                [a, b, c, d, e] => unsafe { sys::xnn_define_concatenate5(g, axis, a, b, c, d, e, y, 0) },
                _ => return Err(missing()),
            }
        }
        // SAFETY: see above.
        Op::PRelu => unsafe { sys::xnn_define_prelu(g, x, input(1)?, y, 0) },
    };
    check(status, || "take this node".to_owned())
}

fn unary(graph: &mut Subgraph, op: Unary, clamp: Option<Clamp>, x: Id, y: Id) -> Result<()> {
    // SAFETY: the union is plain numbers, of which all zeros is a value.
    let mut params: sys::xnn_unary_params = unsafe { std::mem::zeroed() };
    let kind = match op {
        Unary::Abs => sys::xnn_unary_operator::xnn_unary_abs,
        Unary::Ceiling => sys::xnn_unary_operator::xnn_unary_ceiling,
        Unary::Clamp => {
            let (min, max) = limits(clamp);
            params.clamp = sys::xnn_unary_params__bindgen_ty_1 { min, max };
            sys::xnn_unary_operator::xnn_unary_clamp
        }
        Unary::Cos => sys::xnn_unary_operator::xnn_unary_cosine,
        Unary::Elu { alpha } => {
            params.elu = sys::xnn_unary_params__bindgen_ty_2 { alpha };
            sys::xnn_unary_operator::xnn_unary_elu
        }
        Unary::Exp => sys::xnn_unary_operator::xnn_unary_exp,
        Unary::Floor => sys::xnn_unary_operator::xnn_unary_floor,
        Unary::Gelu => sys::xnn_unary_operator::xnn_unary_gelu,
        Unary::Hardswish => sys::xnn_unary_operator::xnn_unary_hardswish,
        Unary::LeakyRelu { slope } => {
            params.leaky_relu = sys::xnn_unary_params__bindgen_ty_3 { negative_slope: slope };
            sys::xnn_unary_operator::xnn_unary_leaky_relu
        }
        Unary::Log => sys::xnn_unary_operator::xnn_unary_log,
        Unary::Negate => sys::xnn_unary_operator::xnn_unary_negate,
        Unary::ReciprocalSquareRoot => sys::xnn_unary_operator::xnn_unary_reciprocal_square_root,
        Unary::Sigmoid => sys::xnn_unary_operator::xnn_unary_sigmoid,
        Unary::Sin => sys::xnn_unary_operator::xnn_unary_sine,
        Unary::Square => sys::xnn_unary_operator::xnn_unary_square,
        Unary::SquareRoot => sys::xnn_unary_operator::xnn_unary_square_root,
        Unary::Tanh => sys::xnn_unary_operator::xnn_unary_tanh,
    };
    // SAFETY: the graph is live, and the library checks the ids against it; the parameters are copied.
    let status = unsafe { sys::xnn_define_unary(graph.as_ptr(), kind, &params, x, y, 0) };
    check(status, || "take this node".to_owned())
}

fn binary(op: Binary) -> sys::xnn_binary_operator {
    match op {
        Binary::Add => sys::xnn_binary_operator::xnn_binary_add,
        Binary::Subtract => sys::xnn_binary_operator::xnn_binary_subtract,
        Binary::Multiply => sys::xnn_binary_operator::xnn_binary_multiply,
        Binary::Divide => sys::xnn_binary_operator::xnn_binary_divide,
        Binary::Minimum => sys::xnn_binary_operator::xnn_binary_minimum,
        Binary::Maximum => sys::xnn_binary_operator::xnn_binary_maximum,
    }
}

/// The library's limits for no clamp are infinite.
fn limits(clamp: Option<Clamp>) -> (f32, f32) {
    clamp.map_or((f32::NEG_INFINITY, f32::INFINITY), |c| (c.min, c.max))
}

/// Output channels for each input channel of a depthwise convolution.
fn multiplier(p: &Convolution) -> usize {
    p.group_outputs / p.group_inputs.max(1)
}

type Pairs = [[u32; 2]; 2];

/// Padding, and window, stride and dilation.
fn pool(p: &Pool) -> Result<(Pairs, [[u32; 2]; 3])> {
    Ok((pairs(p.padding)?, [pair(p.window)?, pair(p.stride)?, pair(p.dilation)?]))
}

fn pairs([a, b]: [[usize; 2]; 2]) -> Result<Pairs> {
    Ok([pair(a)?, pair(b)?])
}

fn pair([a, b]: [usize; 2]) -> Result<[u32; 2]> {
    Ok([narrow(a)?, narrow(b)?])
}

fn narrow(number: usize) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| Error::new(ET_ERROR_INTERNAL, format!("{number} does not fit XNNPACK's 32 bits")))
}
