//! Names of the kinds of nodes, as the payload's schema spells them.

use crate::graph::{Binary, Node, Op, Unary};

impl Node {
    /// The kind's name in the payload's schema.
    pub fn kind(&self) -> &'static str {
        match &self.op {
            Op::Unary(op) => op.kind(),
            Op::Binary(op) => op.kind(),
            Op::Convert => "XNNConvert",
            Op::Copy => "XNNCopy",
            Op::Softmax => "XNNSoftmax",
            Op::FullyConnected => "XNNFullyConnected",
            Op::BatchMatrixMultiply => "XNNBatchMatrixMultiply",
            Op::Convolution(_) => "XNNConv2d",
            Op::Depthwise(_) => "XNNDepthwiseConv2d",
            Op::Transposed { .. } => "XNNConvTranspose2d",
            Op::AveragePool(_) => "XNNAvgPooling2d",
            Op::MaxPool(_) => "XNNMaxPooling2d",
            Op::ArgMaxPool(_) => "XNNArgMaxPooling2d",
            Op::GlobalAveragePool { .. } => "XNNGlobalAvgPooling2d",
            Op::Reshape(_) => "XNNStaticReshape",
            Op::Transpose(_) => "XNNStaticTranspose",
            Op::Slice { .. } => "XNNStaticSlice",
            Op::Pad { .. } => "XNNStaticConstantPad",
            Op::Resize { .. } => "XNNStaticResizeBilinear2D",
            Op::Concatenate { .. } => match self.inputs.len() {
                2 => "XNNConcatenate2",
                3 => "XNNConcatenate3",
                4 => "XNNConcatenate4",
                _ => "XNNConcatenate5",
            },
            Op::PRelu => "XNNPReLU",
        }
    }
}

impl Unary {
    fn kind(self) -> &'static str {
        match self {
            Self::Abs => "XNNAbs",
            Self::Ceiling => "XNNCeiling",
            Self::Clamp => "XNNClamp",
            Self::Cos => "XNNCos",
            Self::Elu { .. } => "XNNELU",
            Self::Exp => "XNNExp",
            Self::Floor => "XNNFloor",
            Self::Gelu => "XNNGelu",
            Self::Hardswish => "XNNHardswish",
            Self::LeakyRelu { .. } => "XNNLeakyReLU",
            Self::Log => "XNNLog",
            Self::Negate => "XNNNegate",
            Self::ReciprocalSquareRoot => "XNNReciprocalSquareRoot",
            Self::Sigmoid => "XNNSigmoid",
            Self::Sin => "XNNSin",
            Self::Square => "XNNSquare",
            Self::SquareRoot => "XNNSquareRoot",
            Self::Tanh => "XNNTanh",
        }
    }
}

impl Binary {
    fn kind(self) -> &'static str {
        match self {
            Self::Add => "XNNAdd",
            Self::Subtract => "XNNSubtract",
            Self::Multiply => "XNNMultiply",
            Self::Divide => "XNNDiv",
            Self::Minimum => "XNNMinimum",
            Self::Maximum => "XNNMaximum",
        }
    }
}
