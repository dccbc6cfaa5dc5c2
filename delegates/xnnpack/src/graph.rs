//! The graph of a payload as plain data, in which everything was checked: every id names a value, every value is made
//! before it is used and made once, sizes fit the constants' bytes, parameters are in range, and [`crate::shape`] has
//! accepted the declared shapes. What reads a payload builds it; planning, both executors and the description read it.
//!
//! Layouts are XNNPACK's: images are `[N, H, W, C]`, filters of convolutions `[O, KH, KW, I]`, those of depthwise ones
//! `[1, KH, KW, O]`, those of fully connected nodes `[O, I]` (`[I, O]` with [`Node::transposed_weight`]).

use arrayvec::ArrayVec;
use half::bf16;
use std::fmt;
use std::sync::Arc;

/// Most dimensions that a tensor may have, XNNPACK's limit.
pub const MAX_RANK: usize = 6;

/// Sizes of a tensor's dimensions.
pub type Dims = ArrayVec<usize, MAX_RANK>;

/// The place of a value in [`Graph::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// As an index of [`Graph::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A payload's graph.
#[derive(Debug, Clone)]
pub struct Graph {
    /// All values.
    pub values: Vec<Value>,
    /// All nodes, each after those whose results it takes.
    pub nodes: Vec<Node>,
    /// Values that the caller gives. `Role::Input` tells the argument.
    pub inputs: Vec<ValueId>,
    /// Values that the caller receives. `Role::Output` tells the argument.
    pub outputs: Vec<ValueId>,
    /// Arguments of a call: inputs and outputs together. Each is named by exactly one value.
    pub arguments: usize,
}

impl Graph {
    /// The value of an id of this graph.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }
}

/// A tensor of the graph.
#[derive(Debug, Clone)]
pub struct Value {
    /// Sizes; upper bounds where the program has dynamic shapes.
    pub dims: Dims,
    /// What its elements are.
    pub element: Element,
    /// Where it comes from.
    pub role: Role,
    /// The id that the payload gives it, for messages.
    pub serialized_id: u32,
}

/// Where a value comes from and who sees it.
#[derive(Debug, Clone)]
pub enum Role {
    /// The caller gives it as the argument of this index.
    Input(usize),
    /// A node makes it into the caller's argument of this index; nodes may read it as well.
    Output(usize),
    /// A node makes it, nodes read it.
    Internal,
    /// The program holds it.
    Constant(Constant),
}

/// Bytes that a program holds, alive as long as this object.
#[derive(Clone)]
pub struct Constant {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    start: usize,
    size: usize,
    /// The name under which the program keeps them, if they are named data.
    pub key: Option<Arc<str>>,
}

impl Constant {
    /// Bytes `start .. start + size` of `owner`, or nothing if they are not all there.
    pub fn new(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, start: usize, size: usize) -> Option<Self> {
        (*owner).as_ref().get(start..start.checked_add(size)?)?;
        Some(Self { owner, start, size, key: None })
    }

    /// The bytes. They stay where they are as long as a clone of this object lives.
    pub fn bytes(&self) -> &[u8] {
        // An owner that shrinks would be a defect of ours, and shows as missing data.
        (*self.owner).as_ref().get(self.start..self.start + self.size).unwrap_or_default()
    }
}

impl fmt::Debug for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Constant({} bytes, key {:?})", self.size, self.key)
    }
}

/// What the elements of a value are, with what is needed to tell the numbers they stand for. Scales are finite and
/// positive. Names follow XNNPACK's datatypes.
#[derive(Debug, Clone)]
pub enum Element {
    /// 32-bit floating point.
    Float32,
    /// 16-bit floating point.
    Float16,
    /// bfloat16.
    BFloat16,
    /// Signed 32-bit integer (indices).
    Int32,
    /// Signed 8-bit: `scale * (q - zero_point)`.
    QInt8(Affine),
    /// Unsigned 8-bit: the same.
    QUInt8(Affine),
    /// Signed 32-bit (biases): `scale * q`.
    QInt32(Affine),
    /// Signed 8-bit with a scale for each index of a dimension.
    QCInt8(PerChannel),
    /// Signed 32-bit (biases) with a scale for each index of a dimension.
    QCInt32(PerChannel),
    /// 4-bit with a scale for each index of a dimension: `scale * (q - zero_point)`, two in a byte, the first in the low
    /// bits.
    QCInt4(PerChannel),
    /// The same with a scale for each group of neighbours.
    QBInt4(PerGroup),
    /// 8-bit activations whose scale and zero point are worked out while the graph runs, one for each row of the
    /// last `nonbatch_dims` dimensions.
    QDInt8 {
        /// Trailing dimensions that share a scale.
        nonbatch_dims: usize,
    },
    /// As `QDInt8`, in an order of bytes that only one kernel library reads.
    QPInt8 {
        /// Trailing dimensions that share a scale.
        nonbatch_dims: usize,
    },
}

/// One scale and zero point for a whole tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Affine {
    /// The step between neighbouring numbers.
    pub scale: f32,
    /// The integer that stands for 0, in the element's range.
    pub zero_point: i32,
}

/// Scales along one dimension.
#[derive(Debug, Clone)]
pub struct PerChannel {
    /// One for each index of the dimension, in f32 (native byte order, alignment 4).
    pub scales: Arc<[f32]>,
    /// The dimension.
    pub dim: usize,
    /// The integer that stands for 0; 0 but for 4-bit elements.
    pub zero_point: i32,
}

/// Scales for groups of neighbours along the last dimension.
#[derive(Debug, Clone)]
pub struct PerGroup {
    /// For each index of `dim`, one for each group.
    pub scales: Arc<[bf16]>,
    /// The dimension of channels (0).
    pub dim: usize,
    /// Neighbours in a group, positive.
    pub group_size: usize,
    /// The integer that stands for 0.
    pub zero_point: i32,
}

/// One operation.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// What it reads, in the order that [`Op`] tells.
    pub inputs: ArrayVec<ValueId, 5>,
    /// What it makes.
    pub outputs: ArrayVec<ValueId, 2>,
    /// Results are clamped to this; `None` keeps all.
    pub clamp: Option<Clamp>,
    /// The filter of a fully connected node lies as `[I, O]`.
    pub transposed_weight: bool,
    /// The exporter's number for what this node came from.
    pub debug_handle: u32,
}

/// Limits of a node's results, `min <= max`, neither is NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clamp {
    /// Least result.
    pub min: f32,
    /// Greatest result.
    pub max: f32,
}

/// The kinds of nodes with their parameters. `inputs` tells what [`Node::inputs`] holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// inputs: x.
    Unary(Unary),
    /// inputs: a, b, which broadcast.
    Binary(Binary),
    /// Changes the kind of the elements. inputs: x.
    Convert,
    /// inputs: x.
    Copy,
    /// Over the last dimension. inputs: x.
    Softmax,
    /// `x · filterᵀ + bias` over the last dimension. inputs: x, filter, and a bias if there is one.
    FullyConnected,
    /// `a · b` over the last two dimensions. inputs: a, b.
    BatchMatrixMultiply,
    /// inputs: x, filter, and a bias if there is one.
    Convolution(Convolution),
    /// A filter for each channel. inputs: x, filter, and a bias if there is one.
    Depthwise(Convolution),
    /// inputs: x, filter, and a bias if there is one.
    Transposed {
        /// What it has in common with a convolution.
        convolution: Convolution,
        /// Rows and columns to add at the end of the output.
        adjustment: [usize; 2],
    },
    /// inputs: x.
    AveragePool(Pool),
    /// inputs: x.
    MaxPool(Pool),
    /// inputs: x; outputs: the maxima and their places in the window.
    ArgMaxPool(Pool),
    /// The mean of each channel over height and width. inputs: x.
    GlobalAveragePool,
    /// inputs: x. A size of 0 stands for what is left over.
    Reshape(Dims),
    /// inputs: x. Dimension `i` of the output is dimension `permutation[i]` of the input.
    Transpose(Dims),
    /// inputs: x.
    Slice {
        /// First index in each dimension.
        offsets: ArrayVec<usize, MAX_RANK>,
        /// Number of indices; 0 stands for all from the offset on.
        sizes: Dims,
    },
    /// inputs: x.
    Pad {
        /// Elements before, in each dimension.
        before: Dims,
        /// Elements after.
        after: Dims,
        /// What they hold.
        value: f32,
    },
    /// Bilinear. inputs: x.
    Resize {
        /// Height and width of the output.
        size: [usize; 2],
        /// The corners of input and output coincide.
        align_corners: bool,
    },
    /// inputs: two to five.
    Concatenate {
        /// The dimension, from 0.
        axis: usize,
    },
    /// inputs: x, slope (one, or one for each channel).
    PRelu,
}

/// Operations on each element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unary {
    /// `|x|`.
    Abs,
    /// Least integer that is no less.
    Ceiling,
    /// To [`Node::clamp`].
    Clamp,
    /// Cosine.
    Cos,
    /// `x` if positive, else `alpha (eˣ - 1)`.
    Elu {
        /// The factor.
        alpha: f32,
    },
    /// `eˣ`.
    Exp,
    /// Greatest integer that is no greater.
    Floor,
    /// `x Φ(x)`.
    Gelu,
    /// `x clamp(x + 3, 0, 6) / 6`.
    Hardswish,
    /// `x` if positive, else `slope x`.
    LeakyRelu {
        /// The slope.
        slope: f32,
    },
    /// Natural logarithm.
    Log,
    /// `-x`.
    Negate,
    /// `1 / √x`.
    ReciprocalSquareRoot,
    /// `1 / (1 + e⁻ˣ)`.
    Sigmoid,
    /// Sine.
    Sin,
    /// `x²`.
    Square,
    /// `√x`.
    SquareRoot,
    /// Hyperbolic tangent.
    Tanh,
}

/// Operations on pairs of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// `a + b`.
    Add,
    /// `a - b`.
    Subtract,
    /// `a b`.
    Multiply,
    /// `a / b`.
    Divide,
    /// The lesser.
    Minimum,
    /// The greater.
    Maximum,
}

/// Parameters that all convolutions share. Pairs are `[height, width]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolution {
    /// Zeros before and after, for height and for width.
    pub padding: [[usize; 2]; 2],
    /// Size of the kernel.
    pub kernel: [usize; 2],
    /// Input elements between neighbouring outputs (outputs between inputs, if transposed).
    pub stride: [usize; 2],
    /// Elements between neighbouring kernel elements.
    pub dilation: [usize; 2],
    /// Groups.
    pub groups: usize,
    /// Input channels of a group.
    pub group_inputs: usize,
    /// Output channels of a group.
    pub group_outputs: usize,
}

/// Parameters of pooling. Pairs are `[height, width]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Elements before and after, for height and for width.
    pub padding: [[usize; 2]; 2],
    /// Size of the window.
    pub window: [usize; 2],
    /// Input elements between neighbouring outputs.
    pub stride: [usize; 2],
    /// Elements between neighbours in the window.
    pub dilation: [usize; 2],
}
