//! A program as plain data: what [`crate::format`] makes of a file once everything in it is checked.
//!
//! Whoever holds one of these may index with what it says: every value, operator, delegate, buffer and jump
//! target lies in range, every tensor's byte size fits its storage, every shape's product fits.

use executorch_abi::Dtype;
use executorch_abi::tensor::{ET_DEVICE_CPU, ET_DEVICE_CUDA};
use std::ffi::CString;

/// A method.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its name.
    pub name: CString,
    /// Its values; instructions name them by index.
    pub values: Vec<Value>,
    /// Indices of the inputs.
    pub inputs: Vec<u32>,
    /// Indices of the outputs.
    pub outputs: Vec<u32>,
    /// The chains, run one after another.
    pub chains: Vec<Vec<Instruction>>,
    /// Full names of the operators that kernel calls use.
    pub operators: Vec<CString>,
    /// The delegates that delegate calls use.
    pub delegates: Vec<Delegate>,
    /// The planned buffers.
    pub buffers: Vec<PlannedBuffer>,
    /// How the outputs are nested, as PyTorch wrote it; empty if the file does not say.
    pub output_encoding: CString,
}

/// A planned buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedBuffer {
    /// Its bytes.
    pub size: u64,
    /// The device that it must live on.
    pub device: Device,
}

/// A device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// `ET_DEVICE_…`
    pub kind: u8,
    /// Which one of that kind.
    pub index: i8,
}

impl Device {
    /// The host.
    pub const HOST: Self = Self { kind: ET_DEVICE_CPU, index: 0 };

    /// Whether the CPU can use its memory.
    pub fn is_host(self) -> bool {
        self.kind == ET_DEVICE_CPU
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            ET_DEVICE_CPU => f.write_str("the host"),
            ET_DEVICE_CUDA => write!(f, "cuda:{}", self.index),
            other => write!(f, "device {} of type {other}", self.index),
        }
    }
}

/// A value as it is at load.
#[derive(Debug, Clone)]
pub enum Value {
    /// Nothing.
    None,
    /// An integer.
    Int(i64),
    /// A boolean.
    Bool(bool),
    /// A float.
    Double(f64),
    /// A string.
    String(CString),
    /// Integers, by the indices of their values, which an instruction may write.
    IntList(Vec<u32>),
    /// Floats.
    DoubleList(Vec<f64>),
    /// Booleans.
    BoolList(Vec<bool>),
    /// Tensors, by the indices of their values.
    TensorList(Vec<u32>),
    /// Tensors, some absent.
    OptionalTensorList(Vec<Option<u32>>),
    /// A tensor.
    Tensor(Tensor),
}

/// A tensor.
#[derive(Debug, Clone)]
pub struct Tensor {
    /// The element type.
    pub dtype: Dtype,
    /// The sizes; upper bounds if the shape is dynamic.
    pub sizes: Vec<i32>,
    /// The dimension numbers, outermost in memory first.
    pub dim_order: Vec<u8>,
    /// The strides in elements.
    pub strides: Vec<i32>,
    /// Whether the shape may change within its bound.
    pub is_dynamic: bool,
    /// The number of elements.
    pub numel: u64,
    /// Bytes of all elements.
    pub nbytes: u64,
    /// Where its data lives.
    pub storage: Storage,
    /// Its qualified name, if the exporter kept it.
    pub name: Option<CString>,
    /// Where its data lives: with its storage; for an unbound tensor, what the exporter says of the memory to come.
    pub device: Device,
}

/// Where a tensor's data lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// With whoever sets it: an input or output without memory of its own, or a view.
    Unbound,
    /// In the program's constant `index`.
    Constant {
        /// Index into the program's constants.
        index: u32,
    },
    /// In planned memory.
    Planned(Place),
    /// In planned memory, filled from the program's mutable data at load.
    PlannedInitial {
        /// Where it lives.
        place: Place,
        /// Index into the program's mutable data.
        index: u32,
    },
    /// In an external data file, under the tensor's name.
    External,
    /// In planned memory, filled from an external data file at load.
    PlannedExternal(Place),
}

/// A range of planned memory; it ends within its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Index into the plan's buffers.
    pub buffer: u32,
    /// Offset in bytes.
    pub offset: u64,
}

/// An instruction.
#[derive(Debug, Clone)]
pub enum Instruction {
    /// Calls an operator.
    Kernel {
        /// Index into the plan's operators.
        operator: u32,
        /// Indices of the arguments' values.
        args: Vec<u32>,
    },
    /// Calls a delegate.
    Delegate {
        /// Index into the plan's delegates.
        delegate: u32,
        /// Indices of the arguments' values.
        args: Vec<u32>,
    },
    /// Copies a value over another.
    Move {
        /// What is copied.
        from: u32,
        /// What is overwritten.
        to: u32,
    },
    /// Jumps within the chain if a value is false.
    JumpFalse {
        /// The condition's value.
        condition: u32,
        /// The instruction to go on with; the chain's length ends it.
        target: u32,
    },
    /// Unbinds a tensor's memory.
    Free {
        /// The tensor's value.
        value: u32,
    },
}

/// A delegate.
#[derive(Debug, Clone)]
pub struct Delegate {
    /// The backend's id.
    pub backend: CString,
    /// Its payload.
    pub payload: Payload,
    /// Bytes of its payload.
    pub payload_size: u64,
    /// Keys and values that the exporter left for the backend.
    pub specs: Vec<(CString, Vec<u8>)>,
}

/// Where a delegate's payload lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// In the program's structure: a byte range of it.
    Inline(ByteRange),
    /// In the program's segment of this index.
    Segment(u32),
}

/// A range of bytes that lies within what it is a range of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
}

/// What all methods of a file share.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// The segments, by absolute offset in the file.
    pub segments: Vec<ByteRange>,
    /// The constants; index 0 is reserved and empty.
    pub constants: Vec<ByteRange>,
    /// Whether constants lie in the program's structure (old files) or in the file.
    pub constants_are_inline: bool,
    /// Initial values of mutable tensors, by absolute offset in the file; index 0 is reserved and empty.
    pub mutable_data: Vec<ByteRange>,
    /// Named blobs: key and segment.
    pub named_data: Vec<(CString, u32)>,
}
