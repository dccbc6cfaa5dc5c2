//! Fully connected nodes: products with constant weights.

use super::convolution::activation;
use super::slices::{Operand, constant, elements};
use super::{is_float_with_constants, kernel, packed};
use crate::cache::Session;
use crate::graph::{Constant, Dims, Element, Graph, Node, Op, Role, ValueId};
use crate::pages;
use crate::threads::ProcessPool;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use executorch_gemm::{Activation, Addend, Isa, Lhs, Matrix, MatrixMut, PackedB, Pool, Product, Rhs};
use executorch_simd::convert;
use half::bf16;
use std::borrow::Cow;

/// Whether [`FullyConnected`] does a node.
pub fn can_run(graph: &Graph, node: &Node) -> bool {
    node.op == Op::FullyConnected && is_float_with_constants(graph, node)
}

/// Whether [`HalfFullyConnected`] does a node.
pub fn can_run_half(graph: &Graph, node: &Node) -> bool {
    let kind = |v: &_| &graph.value(*v).element;
    let constant = |v: &_| matches!(graph.value(*v).role, Role::Constant(_));
    let float = |e: &Element| matches!(e, Element::BFloat16 | Element::Float32);
    node.op == Op::FullyConnected
        && node.inputs.iter().take(2).all(|v| matches!(kind(v), Element::BFloat16))
        && node.inputs.iter().skip(1).all(constant)
        && node.inputs.iter().skip(2).chain(&node.outputs).all(|v| float(kind(v)))
}

/// The weights of a layer of `ins` inputs and `outs` outputs.
#[derive(Debug)]
enum Weights {
    Packed(PackedB<f32>),
    /// As the program holds them.
    Plain(Plain),
}

impl Weights {
    /// `[ins, outs]`.
    fn shape(&self) -> [usize; 2] {
        match self {
            Self::Packed(packed) => packed.shape(),
            Self::Plain(plain) => plain.shape,
        }
    }

    fn rhs(&self) -> Result<Rhs<'_, f32>> {
        Ok(match self {
            Self::Packed(packed) => Rhs::Packed(packed),
            Self::Plain(plain) => Rhs::View(plain.matrix()?),
        })
    }
}

/// Weights where the program has them: a product of one row reads each of them once, so bringing them into another order
/// (and into memory of their own) would take longer than the product.
#[derive(Debug)]
struct Plain {
    constant: Constant,
    shape: [usize; 2],
    /// The rows of the constant are inputs, not outputs.
    is_transposed: bool,
}

impl Plain {
    /// The weights of a node that makes one row, if they are aligned 32-bit floats.
    fn of(graph: &Graph, node: &Node, filter: ValueId, shape: [usize; 2]) -> Result<Option<Self>> {
        let constant = constant(graph, filter)?;
        let is_float = matches!(graph.value(filter).element, Element::Float32);
        let is_readable = bytemuck::try_cast_slice::<u8, f32>(constant.bytes()).is_ok();
        if !is_float || !is_readable || !makes_one_row(graph, node) {
            return Ok(None);
        }
        pages::read_ahead(constant.bytes());
        Ok(Some(Self { constant: constant.clone(), shape, is_transposed: node.transposed_weight }))
    }

    fn matrix(&self) -> Result<Matrix<'_, f32>> {
        let [ins, outs] = self.shape;
        let elements = bytemuck::try_cast_slice(self.constant.bytes());
        let elements = elements.map_err(|e| Error::new(ET_ERROR_INTERNAL, e.to_string()))?;
        let matrix = match self.is_transposed {
            true => Matrix::row_major(elements, ins, outs),
            false => Matrix::row_major(elements, outs, ins).map(|matrix| matrix.transposed()),
        };
        matrix.map_err(kernel)
    }
}

/// Whether a fully connected node makes one row, as its shapes are declared.
pub fn makes_one_row(graph: &Graph, node: &Node) -> bool {
    let rows =
        |v: &_| graph.value(*v).dims.split_last().map_or(1, |(_, rows)| rows.iter().product::<usize>());
    node.outputs.iter().all(|v| rows(v) <= 1)
}

/// The weights of a fully connected node, and what it reads and writes.
#[derive(Debug)]
struct Layer {
    weights: Weights,
    bias: Option<Vec<f32>>,
    activation: Activation<f32>,
    input: Operand,
    output: Operand,
    rows: usize,
}

impl Layer {
    /// `last` makes the result.
    fn new(
        graph: &Graph,
        node: &Node,
        last: &Node,
        session: &Session,
        widen: fn(&Constant) -> Cow<'_, [f32]>,
    ) -> Result<Self> {
        let ([input, filter, rest @ ..], [output, ..]) = (&node.inputs[..], &last.outputs[..]) else {
            return Err(super::no_kernel());
        };
        let &[first, second] = &graph.value(*filter).dims[..] else { return Err(super::no_kernel()) };
        let (outs, ins) = if node.transposed_weight { (second, first) } else { (first, second) };
        let shape = [ins, outs];
        let weights = match Plain::of(graph, node, *filter, shape)? {
            Some(plain) => Weights::Plain(plain),
            None => {
                let filter = constant(graph, *filter)?;
                let isa = Isa::active();
                let length = PackedB::<f32>::packed_len(shape, isa).map_err(kernel)?;
                let bytes = packed(session, graph, node, "fully connected", length, |to| {
                    let filter = widen(filter);
                    let matrix = Matrix::row_major(&filter, first, second).map_err(kernel)?;
                    let matrix = if node.transposed_weight { matrix } else { matrix.transposed() };
                    let pool = ProcessPool { threads: crate::threads::count() };
                    PackedB::pack_into(&matrix, isa, &pool, to).map_err(kernel)
                })?;
                Weights::Packed(PackedB::from_bytes(shape, isa, bytes).map_err(kernel)?)
            }
        };
        let bias = match rest.first() {
            None => None,
            Some(&id) => {
                let bytes = constant(graph, id)?;
                Some(match graph.value(id).element {
                    Element::BFloat16 => widened(bytes).into_owned(),
                    _ => elements::<f32>(bytes).into_owned(),
                })
            }
        };
        Ok(Self {
            weights,
            bias,
            activation: activation(last),
            input: Operand::new(*input),
            output: Operand::new(*output),
            rows: 0,
        })
    }

    fn reshape(&mut self, shapes: &[Dims]) -> Result<()> {
        self.input.reshape(shapes)?;
        self.output.reshape(shapes)?;
        let [ins, outs] = self.weights.shape();
        self.rows = self.output.len() / outs.max(1);
        if self.rows.checked_mul(ins) != Some(self.input.len()) || self.rows * outs != self.output.len() {
            return Err(Error::new(ET_ERROR_INTERNAL, "input and output have different numbers of rows"));
        }
        Ok(())
    }

    fn product<'a>(&'a self, input: Matrix<'a, f32>) -> Result<Product<'a, f32>> {
        let mut product = Product::new(Lhs::View(input), self.weights.rhs()?);
        product.addend = self.bias.as_deref().map_or(Addend::None, Addend::Row);
        product.activation = self.activation;
        Ok(product)
    }

    /// Scratch elements of the product.
    fn scratch_len(&self, pool: &dyn Pool) -> Result<usize> {
        // Only the sizes matter: one element, repeated, stands for all.
        let input = Matrix::new(&[0.0], [self.rows, self.weights.shape()[0]], [0; 2]).map_err(kernel)?;
        self.product(input)?.scratch_len(pool).map_err(kernel)
    }

    fn run(&self, input: &[f32], output: &mut [f32], pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        let [ins, outs] = self.weights.shape();
        let input = Matrix::row_major(input, self.rows, ins).map_err(kernel)?;
        let output = MatrixMut::row_major(output, self.rows, outs).map_err(kernel)?;
        self.product(input)?.run(pool, scratch, output).map_err(kernel)
    }
}

/// A fully connected node of 32-bit floats.
#[derive(Debug)]
pub struct FullyConnected {
    layer: Layer,
}

impl FullyConnected {
    /// Packs the weights of a node for which [`can_run`] holds. `last` is the node, or the activation fused to it.
    pub fn new(graph: &Graph, node: &Node, last: &Node, session: &Session) -> Result<Self> {
        Ok(Self { layer: Layer::new(graph, node, last, session, elements)? })
    }

    /// Takes shapes, and tells how much scratch memory is needed.
    pub fn reshape(&mut self, shapes: &[Dims], pool: &dyn Pool) -> Result<usize> {
        self.layer.reshape(shapes)?;
        self.layer.scratch_len(pool)
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    pub unsafe fn run(&self, addresses: &[*mut u8], pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        let layer = &self.layer;
        // SAFETY: the caller's promise.
        let (input, output) = unsafe { (layer.input.read(addresses)?, layer.output.write(addresses)?) };
        layer.run(input, output, pool, scratch)
    }
}

/// A fully connected node of bfloat16 input and weights. Products are summed in 32 bits, as the weights are packed.
#[derive(Debug)]
pub struct HalfFullyConnected {
    layer: Layer,
    /// The output is bfloat16 too.
    narrows: bool,
}

impl HalfFullyConnected {
    /// Packs the weights of a node for which [`can_run_half`] holds.
    pub fn new(graph: &Graph, node: &Node, session: &Session) -> Result<Self> {
        let layer = Layer::new(graph, node, node, session, widened)?;
        let is_half = |v: &_| matches!(graph.value(*v).element, Element::BFloat16);
        Ok(Self { layer, narrows: node.outputs.first().is_some_and(is_half) })
    }

    /// Takes shapes, and tells how much scratch memory is needed: the input in 32 bits, the output if it is to be
    /// narrowed, and the product's own.
    pub fn reshape(&mut self, shapes: &[Dims], pool: &dyn Pool) -> Result<usize> {
        self.layer.reshape(shapes)?;
        let output = if self.narrows { self.layer.output.len() } else { 0 };
        let parts = [self.layer.input.len(), output, self.layer.scratch_len(pool)?];
        let sum = parts.iter().try_fold(0_usize, |sum, &part| sum.checked_add(part));
        sum.ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "the scratch memory overflows"))
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    pub unsafe fn run(&self, addresses: &[*mut u8], pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        let short = || Error::new(ET_ERROR_INTERNAL, "the scratch memory is too short");
        let layer = &self.layer;
        let (wide, scratch) = scratch.split_at_mut_checked(layer.input.len()).ok_or_else(short)?;
        // SAFETY: the caller's promise.
        convert(unsafe { layer.input.read::<bf16>(addresses)? }, wide);
        if !self.narrows {
            // SAFETY: the caller's promise.
            return layer.run(wide, unsafe { layer.output.write(addresses)? }, pool, scratch);
        }
        let (result, scratch) = scratch.split_at_mut_checked(layer.output.len()).ok_or_else(short)?;
        layer.run(wide, result, pool, scratch)?;
        // SAFETY: the caller's promise.
        convert(result, unsafe { layer.output.write::<bf16>(addresses)? });
        Ok(())
    }
}

fn widened(constant: &Constant) -> Cow<'_, [f32]> {
    let narrow = elements::<bf16>(constant);
    let mut wide = vec![0.0; narrow.len()];
    convert(&narrow, &mut wide);
    Cow::Owned(wide)
}
