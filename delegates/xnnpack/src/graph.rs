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
    /// All values. An internal one that no node makes may be among them: the exporter leaves some. No node reads it.
    pub values: Vec<Value>,
    /// All nodes, each after those whose results it takes.
    pub nodes: Vec<Node>,
    /// Values that the caller gives. `Role::Input` tells the argument.
    pub inputs: Vec<ValueId>,
    /// Values that the caller receives. `Role::Output` tells the argument.
    pub outputs: Vec<ValueId>,
    /// Arguments of a call: inputs and outputs together. Each is named by at most one value.
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
    /// Sizes. Where the program has dynamic shapes, an example of them: a call may have smaller ones, and larger ones. A
    /// single number that is `[]` to the caller is `[1]` here.
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

    /// The first `size` bytes of `owner`, or all if there are fewer.
    pub fn whole(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, size: usize) -> Self {
        let size = size.min((*owner).as_ref().len());
        Self { owner, start: 0, size, key: None }
    }

    /// Bytes `start .. start + size` of these, or nothing if they are not all there. They have no key.
    pub fn part(&self, start: usize, size: usize) -> Option<Self> {
        self.bytes().get(start..start.checked_add(size)?)?;
        Some(Self { owner: self.owner.clone(), start: self.start + start, size, key: None })
    }

    /// Number of bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes of the owner that follow: as many may be read (not used) past the end, where a kernel does that.
    pub fn readable_after(&self) -> usize {
        (*self.owner).as_ref().len().saturating_sub(self.start + self.size)
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
    /// Signed 32-bit integer (places of maxima, also after they were moved; the payload may call them fp32).
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

/// What the elements of a value are, without their numbers' meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Datatype {
    /// [`Element::Float32`].
    Float32,
    /// [`Element::Float16`].
    Float16,
    /// [`Element::BFloat16`].
    BFloat16,
    /// [`Element::Int32`].
    Int32,
    /// [`Element::QInt8`].
    QInt8,
    /// [`Element::QUInt8`].
    QUInt8,
    /// [`Element::QInt32`].
    QInt32,
    /// [`Element::QCInt8`].
    QCInt8,
    /// [`Element::QCInt32`].
    QCInt32,
    /// [`Element::QCInt4`].
    QCInt4,
    /// [`Element::QBInt4`].
    QBInt4,
    /// [`Element::QDInt8`].
    QDInt8,
    /// [`Element::QPInt8`].
    QPInt8,
}

impl Datatype {
    /// The name, as the payload's schema spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "fp32",
            Self::Float16 => "fp16",
            Self::BFloat16 => "bf16",
            Self::Int32 => "int32",
            Self::QInt8 => "qint8",
            Self::QUInt8 => "quint8",
            Self::QInt32 => "qint32",
            Self::QCInt8 => "qcint8",
            Self::QCInt32 => "qcint32",
            Self::QCInt4 => "qcint4",
            Self::QBInt4 => "qbint4",
            Self::QDInt8 => "qdint8",
            Self::QPInt8 => "qpint8",
        }
    }

    /// Whether the elements are floating point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float16 | Self::BFloat16)
    }

    /// Bytes of a dense tensor; nothing if that is more than an allocation may have. Rows of 4-bit elements (the last
    /// dimension) start at whole bytes. Scales and zero points that are worked out at run time are not counted.
    pub fn byte_size(self, dims: &[usize]) -> Option<usize> {
        let numel = |dims: &[usize]| dims.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim));
        let bytes = match self {
            Self::Float32 | Self::Int32 | Self::QInt32 | Self::QCInt32 => numel(dims)?.checked_mul(4),
            Self::Float16 | Self::BFloat16 => numel(dims)?.checked_mul(2),
            Self::QInt8 | Self::QUInt8 | Self::QCInt8 | Self::QDInt8 | Self::QPInt8 => numel(dims),
            Self::QCInt4 | Self::QBInt4 => match dims.split_last() {
                Some((&row, outer)) => numel(outer)?.checked_mul(row.div_ceil(2)),
                None => Some(1),
            },
        };
        bytes.filter(|&bytes| isize::try_from(bytes).is_ok())
    }
}

impl Element {
    /// What the elements are.
    pub fn datatype(&self) -> Datatype {
        match self {
            Self::Float32 => Datatype::Float32,
            Self::Float16 => Datatype::Float16,
            Self::BFloat16 => Datatype::BFloat16,
            Self::Int32 => Datatype::Int32,
            Self::QInt8(_) => Datatype::QInt8,
            Self::QUInt8(_) => Datatype::QUInt8,
            Self::QInt32(_) => Datatype::QInt32,
            Self::QCInt8(_) => Datatype::QCInt8,
            Self::QCInt32(_) => Datatype::QCInt32,
            Self::QCInt4(_) => Datatype::QCInt4,
            Self::QBInt4(_) => Datatype::QBInt4,
            Self::QDInt8 { .. } => Datatype::QDInt8,
            Self::QPInt8 { .. } => Datatype::QPInt8,
        }
    }

    /// The scale and zero point of the whole tensor, if it has just one.
    pub fn affine(&self) -> Option<Affine> {
        match self {
            Self::QInt8(affine) | Self::QUInt8(affine) | Self::QInt32(affine) => Some(*affine),
            _ => None,
        }
    }
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
    /// The dimension of channels: 0, of two.
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
    /// The filter of a fully connected node lies as `[I, O]`; `b` of a batched product lies as `[…, N, K]`.
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
    /// `x · filterᵀ + bias` over the last dimension. inputs: x, filter, and a bias if there is one. The filter may be
    /// no constant if it is floating point; the bias is constant if the filter is.
    FullyConnected,
    /// `a · b` over the last two dimensions; those before broadcast. inputs: a, b.
    BatchMatrixMultiply,
    /// inputs: x, a constant filter, and a constant bias if there is one.
    Convolution(Convolution),
    /// A filter for each channel: `group_inputs` is 1, and `group_outputs` the multiplier. inputs: as above.
    Depthwise(Convolution),
    /// inputs: as above.
    Transposed {
        /// What it has in common with a convolution.
        convolution: Convolution,
        /// Rows and columns to add at the end of the output, fewer than the stride.
        adjustment: [usize; 2],
    },
    /// Padding does not count. Dilation is 1. inputs: x.
    AveragePool(Pool),
    /// inputs: x.
    MaxPool(Pool),
    /// Dilation is 1, stride the window. inputs: x; outputs: the maxima and their places in the window, which are
    /// [`Element::Int32`] whatever the payload says.
    ArgMaxPool(Pool),
    /// The mean of each channel over height and width (the two before the last dimension). inputs: x.
    GlobalAveragePool {
        /// Height and width stay as dimensions of size 1.
        keep_dims: bool,
    },
    /// inputs: x. A size of 0 (at most one) stands for what is left over.
    Reshape(Dims),
    /// inputs: x. Dimension `i` of the output is dimension `permutation[i]` of the input.
    Transpose(Dims),
    /// inputs: x.
    Slice {
        /// First index in each dimension.
        offsets: ArrayVec<usize, MAX_RANK>,
        /// Number of indices; 0 stands for all, and the offset is then 0.
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
    /// inputs: x, slope, which broadcasts to the shape of x.
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

/// Parameters that all convolutions share; all but the padding are positive. Pairs are `[height, width]`.
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

/// Parameters of pooling; all but the padding are positive, and that is less than what the (dilated) window spans. Pairs
/// are `[height, width]`.
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
