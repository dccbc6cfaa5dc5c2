//! Convolutions of 32-bit floats.

use super::slices::{Operand, constant, elements};
use super::{is_float_with_constants, kernel, packed};
use crate::cache::Session;
use crate::graph::{self, Dims, Graph, Node, Op, Unary};
use crate::threads::ProcessPool;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use executorch_gemm::conv::{
    ConvPacking, ConvParams, ConvWeight, Layout, PackedConv, PackedConvTransposed, Tensor4, Tensor4Mut,
    TransposedPacking,
};
use executorch_gemm::{Activation, Pool};

/// Whether [`Convolution`] does a node.
pub fn can_run(graph: &Graph, node: &Node) -> bool {
    is_float_with_constants(graph, node)
}

/// Whether [`Transposed`] does a node.
pub fn can_run_transposed(graph: &Graph, node: &Node) -> bool {
    let one_group = matches!(&node.op, Op::Transposed { convolution, .. } if convolution.groups == 1);
    one_group && is_float_with_constants(graph, node)
}

/// A convolution, depthwise or not.
#[derive(Debug)]
pub struct Convolution {
    packed: PackedConv,
    activation: Activation<f32>,
    images: Images,
}

/// A transposed convolution.
#[derive(Debug)]
pub struct Transposed {
    packed: PackedConvTransposed,
    activation: Activation<f32>,
    images: Images,
}

/// Input and output, with their sizes as the kernels want them: `[N, C, H, W]`.
#[derive(Debug)]
struct Images {
    input: Operand,
    output: Operand,
    input_sizes: [usize; 4],
    output_sizes: [usize; 4],
}

impl Convolution {
    /// Packs the weights of a node for which [`can_run`] holds. `last` is the node, or the activation fused to it.
    pub fn new(graph: &Graph, node: &Node, last: &Node, session: &Session) -> Result<Self> {
        let (Op::Convolution(p) | Op::Depthwise(p)) = &node.op else { return Err(super::no_kernel()) };
        let params = params(p);
        let [kh, kw] = p.kernel;
        let (ins, outs) = (p.group_inputs, params.out_channels);
        let strides = match node.op {
            // `[1, KH, KW, O]`
            Op::Depthwise(_) => [1, 1, kw * outs, outs],
            // `[O, KH, KW, I]`
            _ => [kh * kw * ins, 1, kw * ins, ins],
        };
        let packing = ConvPacking::new(params, Layout::ChannelsLast);
        let operands = Operands::of(graph, node, last)?;
        let length = packing.packed_len().map_err(kernel)?;
        let bytes = packed(session, graph, node, "convolution", length, |to| {
            let (weight, bias) = (elements(operands.filter), operands.bias.map(elements));
            let weight = ConvWeight { data: &weight[..], strides };
            let pool = ProcessPool { threads: crate::threads::count() };
            packing.pack_into(weight, bias.as_deref(), &pool, to).map_err(kernel)
        })?;
        let packed = PackedConv::from_bytes(packing, bytes).map_err(kernel)?;
        Ok(Self { packed, activation: activation(last), images: operands.images })
    }

    /// Takes shapes, and tells how much scratch memory is needed.
    pub fn reshape(&mut self, shapes: &[Dims], pool: &dyn Pool) -> Result<usize> {
        self.images.reshape(shapes)?;
        self.packed.scratch_len(self.images.input_sizes, pool).map_err(kernel)
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    pub unsafe fn run(&self, addresses: &[*mut u8], pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        // SAFETY: the caller's promise.
        let (input, mut output) = unsafe { self.images.views(addresses)? };
        self.packed.run(pool, scratch, &input, &mut output, self.activation).map_err(kernel)
    }
}

impl Transposed {
    /// Packs the weights of a node for which [`can_run_transposed`] holds.
    pub fn new(graph: &Graph, node: &Node, session: &Session) -> Result<Self> {
        let Op::Transposed { convolution: p, adjustment } = &node.op else { return Err(super::no_kernel()) };
        let params = params(p);
        let [kh, kw] = p.kernel;
        let ins = p.group_inputs;
        // `[O, KH, KW, I]`, as `[I, O, KH, KW]`
        let strides = [1, kh * kw * ins, kw * ins, ins];
        let packing = TransposedPacking::new(params, *adjustment);
        let operands = Operands::of(graph, node, node)?;
        let length = packing.packed_len().map_err(kernel)?;
        let bytes = packed(session, graph, node, "transposed convolution", length, |to| {
            let (weight, bias) = (elements(operands.filter), operands.bias.map(elements));
            let weight = ConvWeight { data: &weight[..], strides };
            packing.pack_into(weight, bias.as_deref(), to).map_err(kernel)
        })?;
        let packed = PackedConvTransposed::from_bytes(packing, bytes).map_err(kernel)?;
        Ok(Self { packed, activation: activation(node), images: operands.images })
    }

    /// Takes shapes, and tells how much scratch memory is needed.
    pub fn reshape(&mut self, shapes: &[Dims], pool: &dyn Pool) -> Result<usize> {
        self.images.reshape(shapes)?;
        self.packed.scratch_len(self.images.input_sizes, pool).map_err(kernel)
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    pub unsafe fn run(&self, addresses: &[*mut u8], pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        // SAFETY: the caller's promise.
        let (input, mut output) = unsafe { self.images.views(addresses)? };
        self.packed.run(pool, scratch, &input, &mut output, self.activation).map_err(kernel)
    }
}

/// What a convolution reads and writes.
struct Operands<'g> {
    filter: &'g graph::Constant,
    bias: Option<&'g graph::Constant>,
    images: Images,
}

impl<'g> Operands<'g> {
    fn of(graph: &'g Graph, node: &Node, last: &Node) -> Result<Self> {
        let ([input, filter, rest @ ..], [output, ..]) = (&node.inputs[..], &last.outputs[..]) else {
            return Err(super::no_kernel());
        };
        let filter = constant(graph, *filter)?;
        let bias = rest.first().map(|&bias| constant(graph, bias)).transpose()?;
        let images = Images {
            input: Operand::new(*input),
            output: Operand::new(*output),
            input_sizes: [0; 4],
            output_sizes: [0; 4],
        };
        Ok(Self { filter, bias, images })
    }
}

impl Images {
    fn reshape(&mut self, shapes: &[Dims]) -> Result<()> {
        self.input_sizes = channels_first(self.input.reshape(shapes)?)?;
        self.output_sizes = channels_first(self.output.reshape(shapes)?)?;
        Ok(())
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    unsafe fn views<'a>(&self, addresses: &[*mut u8]) -> Result<(Tensor4<'a, f32>, Tensor4Mut<'a, f32>)> {
        // SAFETY: the caller's promise.
        let (input, output) = unsafe { (self.input.read(addresses)?, self.output.write(addresses)?) };
        let input = Tensor4::dense(input, self.input_sizes, Layout::ChannelsLast).map_err(kernel)?;
        let output = Tensor4Mut::dense(output, self.output_sizes, Layout::ChannelsLast).map_err(kernel)?;
        Ok((input, output))
    }
}

fn channels_first(shape: &[usize]) -> Result<[usize; 4]> {
    match *shape {
        [n, h, w, c] => Ok([n, c, h, w]),
        _ => Err(Error::new(ET_ERROR_INTERNAL, format!("an image of {} dimensions", shape.len()))),
    }
}

fn params(p: &graph::Convolution) -> ConvParams {
    ConvParams {
        in_channels: p.groups * p.group_inputs,
        out_channels: p.groups * p.group_outputs,
        groups: p.groups,
        kernel: p.kernel,
        stride: p.stride,
        padding: p.padding,
        dilation: p.dilation,
    }
}

/// What a node does to its results at last, as the kernels want it.
pub fn activation(node: &Node) -> Activation<f32> {
    match node.clamp {
        None if node.op == Op::Unary(Unary::Hardswish) => Activation::HardSwish,
        None => Activation::None,
        Some(clamp) => Activation::Clamp(clamp.min, clamp.max),
    }
}
