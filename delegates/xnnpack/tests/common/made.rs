//! Payloads made by hand: of any kind of node, in either version, with constants wherever they can be, and with any mistake.
//!
//! A [`Made`] is plain data that a test fills, changes and turns into bytes:
//!
//! ```ignore
//! let mut made = Made::new();
//! let x = made.input(fp32(), &[2, 3]);
//! let w = made.constant(fp32(), &[4, 3], &[0.5; 12]);
//! let y = made.output(fp32(), &[2, 4]);
//! made.node(node::fully_connected(x, w, None, y));
//! let graph = made.read()?;
//! ```

pub mod catalog;
pub mod node;

use super::{Named, read};
use executorch_abi::Result;
use executorch_backend_xnnpack::graph::Graph;
use executorch_backend_xnnpack::payload::Owner;
use executorch_core::ir::ByteRange;
use executorch_schema::xnnpack as fb;
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};
use std::sync::Arc;

pub use fb::{Datatype, NodeUnion as Kind};
use node::Node;

/// Stands for a value that is not there.
pub const NONE: u32 = u32::MAX;

/// Where constants are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In the structure, which stands alone (XN00).
    Inline,
    /// After the structure, which has a header.
    Region,
    /// In the program, by name.
    Named,
}

/// Scales.
#[derive(Debug, Clone)]
pub enum Quant {
    /// One for all.
    Tensor { scale: f32, zero_point: i32 },
    /// Along a dimension. With an `index`, they are that constant, and `count` is written.
    Channel { scales: Vec<f32>, dim: i32, index: u32, count: u32 },
    /// For groups along the last dimension.
    Group { scales: Vec<f32>, dim: i32, size: i32, index: u32, count: u32 },
    /// Worked out at run time.
    Token(i32),
    /// A kind that does not exist.
    Unknown(u8),
}

/// A tensor as it is written.
#[derive(Debug, Clone)]
pub struct Value {
    pub datatype: Datatype,
    pub dims: Option<Vec<u32>>,
    pub num_dims: u32,
    pub constant: u32,
    pub external: u32,
    pub flags: u32,
    pub id: u32,
    pub dynamic: Datatype,
    pub quant: Option<Quant>,
}

/// Bytes outside of the structure, as they are listed.
#[derive(Debug, Clone)]
pub struct Entry {
    pub offset: u64,
    pub size: u64,
    pub key: Option<String>,
}

/// A payload.
pub struct Made {
    pub identifier: [u8; 4],
    pub header: bool,
    pub values: Vec<Value>,
    pub nodes: Vec<Node>,
    pub arguments: u32,
    /// Entries after the reserved one.
    pub constants: Vec<Vec<u8>>,
    pub storage: Storage,
    /// Changes the list of what lies outside, before it is written.
    pub tamper: Option<fn(&mut Vec<Entry>)>,
    /// Bytes that the header adds to what is true: structure offset and size, constants' offset and size.
    pub header_error: [i64; 4],
    pub omit_values: bool,
    pub omit_nodes: bool,
}

/// 32-bit floating point, without scales.
pub fn fp32() -> (Datatype, Option<Quant>) {
    (Datatype::FP32, None)
}

/// Any other datatype without scales.
pub fn plain(datatype: Datatype) -> (Datatype, Option<Quant>) {
    (datatype, None)
}

/// Signed 8-bit with one scale.
pub fn qint8(scale: f32, zero_point: i32) -> (Datatype, Option<Quant>) {
    (Datatype::QINT8, Some(Quant::Tensor { scale, zero_point }))
}

/// Dynamically quantised rows.
pub fn qdint8() -> (Datatype, Option<Quant>) {
    (Datatype::QDINT8, Some(Quant::Token(1)))
}

/// Scales along a dimension, inside of the structure.
pub fn per_channel(datatype: Datatype, scales: &[f32], dim: i32) -> (Datatype, Option<Quant>) {
    (datatype, Some(Quant::Channel { scales: scales.to_vec(), dim, index: 0, count: 0 }))
}

/// 4-bit with scales for groups, inside of the structure.
pub fn per_group(scales: &[f32], size: i32) -> (Datatype, Option<Quant>) {
    (Datatype::QBINT4, Some(Quant::Group { scales: scales.to_vec(), dim: 0, size, index: 0, count: 0 }))
}

impl Default for Made {
    fn default() -> Self {
        Self::new()
    }
}

impl Made {
    /// An empty payload as upstream's exporter writes it today: XN01, with a header, constants by name.
    pub fn new() -> Self {
        Self {
            identifier: *b"XN01",
            header: true,
            values: Vec::new(),
            nodes: Vec::new(),
            arguments: 0,
            constants: Vec::new(),
            storage: Storage::Named,
            tamper: None,
            header_error: [0; 4],
            omit_values: false,
            omit_nodes: false,
        }
    }

    /// The same as old exporters wrote it: XN00, no header, constants in the structure.
    pub fn old() -> Self {
        Self { identifier: *b"XN00", header: false, storage: Storage::Inline, ..Self::new() }
    }

    /// Adds a value that a node makes for others; its id.
    pub fn internal(&mut self, (datatype, quant): (Datatype, Option<Quant>), dims: &[u32]) -> u32 {
        let id = self.values.len() as u32;
        self.values.push(Value {
            datatype,
            dims: Some(dims.to_vec()),
            num_dims: dims.len() as u32,
            constant: 0,
            external: NONE,
            flags: 0,
            id,
            dynamic: Datatype::INVALID,
            quant,
        });
        id
    }

    /// Adds an input, the next argument; its id.
    pub fn input(&mut self, element: (Datatype, Option<Quant>), dims: &[u32]) -> u32 {
        self.argument(element, dims, 1)
    }

    /// Adds an output, the next argument; its id.
    pub fn output(&mut self, element: (Datatype, Option<Quant>), dims: &[u32]) -> u32 {
        self.argument(element, dims, 2)
    }

    fn argument(&mut self, element: (Datatype, Option<Quant>), dims: &[u32], flags: u32) -> u32 {
        let id = self.internal(element, dims);
        let argument = self.arguments;
        self.arguments += 1;
        let value = &mut self.values[id as usize];
        (value.external, value.flags) = (argument, flags);
        id
    }

    /// Adds a constant of floating point numbers; its id.
    pub fn constant(&mut self, element: (Datatype, Option<Quant>), dims: &[u32], numbers: &[f32]) -> u32 {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constant_bytes(element, dims, &bytes)
    }

    /// Adds a constant of bytes; its id.
    pub fn constant_bytes(&mut self, element: (Datatype, Option<Quant>), dims: &[u32], bytes: &[u8]) -> u32 {
        let id = self.internal(element, dims);
        self.values[id as usize].constant = self.entry(bytes);
        id
    }

    /// Adds bytes that values or scales can name; their number.
    pub fn entry(&mut self, bytes: &[u8]) -> u32 {
        self.constants.push(bytes.to_vec());
        self.constants.len() as u32
    }

    /// Adds a node.
    pub fn node(&mut self, node: Node) -> &mut Self {
        self.nodes.push(node);
        self
    }

    /// The named data that goes with the payload.
    pub fn named(&self) -> Named {
        let entry = |(i, bytes): (usize, &Vec<u8>)| {
            let size = bytes.len() as u64;
            let owner: Owner = Arc::new(bytes.clone());
            (format!("key {}", i + 1), (owner, ByteRange { offset: 0, size }))
        };
        self.constants.iter().enumerate().map(entry).collect()
    }

    /// Reads the payload.
    pub fn read(&self) -> Result<Graph> {
        read(&self.bytes(), &self.named())
    }

    /// The payload.
    pub fn bytes(&self) -> Vec<u8> {
        let (entries, region) = self.entries();
        let structure = self.structure(entries);
        if !self.header {
            return structure;
        }
        const START: usize = 32;
        let constants_at = START + structure.len().next_multiple_of(16);
        let truth = [START, structure.len(), constants_at, region.len()];
        let [start, size, constants, constants_size] =
            [0, 1, 2, 3].map(|i| (truth[i] as i64).wrapping_add(self.header_error[i]));
        let mut bytes = b"\0\0\0\0XH00".to_vec();
        bytes.extend(30_u16.to_le_bytes());
        for word in [start, size, constants] {
            bytes.extend((word as u32).to_le_bytes());
        }
        bytes.extend((constants_size as u64).to_le_bytes());
        bytes.resize(START, 0);
        bytes.extend(structure);
        bytes.resize(constants_at, 0);
        bytes.extend(region);
        bytes
    }

    /// What lies outside of the structure: the list, and the bytes after the structure.
    fn entries(&self) -> (Vec<Entry>, Vec<u8>) {
        let mut list = vec![Entry { offset: 0, size: 0, key: None }];
        let mut region = Vec::new();
        for (i, bytes) in self.constants.iter().enumerate() {
            let size = bytes.len() as u64;
            if self.storage == Storage::Named {
                list.push(Entry { offset: u64::MAX, size, key: Some(format!("key {}", i + 1)) });
                continue;
            }
            region.resize(region.len().next_multiple_of(16), 0);
            list.push(Entry { offset: region.len() as u64, size, key: None });
            region.extend(bytes);
        }
        if let Some(tamper) = self.tamper {
            tamper(&mut list);
        }
        (list, region)
    }

    fn structure(&self, entries: Vec<Entry>) -> Vec<u8> {
        let b = &mut FlatBufferBuilder::new();
        let values: Vec<_> = self.values.iter().map(|value| value.write(b)).collect();
        let values = (!self.omit_values).then(|| b.create_vector(&values));
        let nodes: Vec<_> = self.nodes.iter().map(|node| node.write(b)).collect();
        let nodes = (!self.omit_nodes).then(|| b.create_vector(&nodes));
        let buffers = (self.storage == Storage::Inline).then(|| {
            let mut list = vec![fb::Buffer::create(b, &fb::BufferArgs::default())];
            for bytes in &self.constants {
                let storage = Some(b.create_vector(bytes));
                list.push(fb::Buffer::create(b, &fb::BufferArgs { storage }));
            }
            b.create_vector(&list)
        });
        let data = (self.storage != Storage::Inline).then(|| {
            let mut list = Vec::new();
            for Entry { offset, size, key } in entries {
                let named_key = key.map(|key| b.create_string(&key));
                let args = fb::ConstantDataOffsetArgs { offset, size, named_key };
                list.push(fb::ConstantDataOffset::create(b, &args));
            }
            b.create_vector(&list)
        });
        let version = Some(b.create_string("0"));
        let graph = fb::Graph::create(
            b,
            &fb::GraphArgs {
                version,
                xnodes: nodes,
                xvalues: values,
                num_externs: self.arguments,
                constant_buffer: buffers,
                constant_data: data,
                ..fb::GraphArgs::default()
            },
        );
        b.finish(graph, std::str::from_utf8(&self.identifier).ok());
        b.finished_data().to_vec()
    }
}

impl Value {
    fn write<'a>(&self, b: &mut FlatBufferBuilder<'a>) -> WIPOffset<fb::Value<'a>> {
        let dims = self.dims.as_ref().map(|dims| b.create_vector(dims));
        let tensor = fb::TensorValue::create(
            b,
            &fb::TensorValueArgs {
                datatype: self.datatype,
                num_dims: self.num_dims,
                dims,
                constant_buffer_idx: self.constant,
                external_id: self.external,
                flags: self.flags,
                id_out: self.id,
                dq_datatype: self.dynamic,
            },
        );
        let (kind, table) = match &self.quant {
            None => (fb::ValueUnion::TensorValue, tensor.as_union_value()),
            Some(quant) => {
                let (kind, parameters) = quant.write(b);
                let args = fb::QuantizedTensorValueArgs {
                    tensor_value: Some(tensor),
                    quant_params_type: kind,
                    quant_params: Some(parameters),
                };
                (
                    fb::ValueUnion::QuantizedTensorValue,
                    fb::QuantizedTensorValue::create(b, &args).as_union_value(),
                )
            }
        };
        fb::Value::create(b, &fb::ValueArgs { xvalue_union_type: kind, xvalue_union: Some(table) })
    }
}

impl Quant {
    fn write(&self, b: &mut FlatBufferBuilder<'_>) -> (fb::QuantParams, WIPOffset<UnionWIPOffset>) {
        match self {
            Self::Tensor { scale, zero_point } => {
                let args = fb::PerTensorQuantArgs { scale: *scale, zero_point: *zero_point };
                (fb::QuantParams::PerTensorQuant, fb::PerTensorQuant::create(b, &args).as_union_value())
            }
            Self::Channel { scales, dim, index, count } => {
                let scale = Some(b.create_vector(scales));
                let args = fb::PerChannelQuantArgs {
                    scale,
                    channel_dim: *dim,
                    scale_buffer_idx: *index,
                    num_scales: *count,
                };
                (fb::QuantParams::PerChannelQuant, fb::PerChannelQuant::create(b, &args).as_union_value())
            }
            Self::Group { scales, dim, size, index, count } => {
                let scale = Some(b.create_vector(scales));
                let args = fb::PerChannelGroupQuantArgs {
                    scale,
                    channel_dim: *dim,
                    group_size: *size,
                    scale_buffer_idx: *index,
                    num_scales: *count,
                };
                let table = fb::PerChannelGroupQuant::create(b, &args);
                (fb::QuantParams::PerChannelGroupQuant, table.as_union_value())
            }
            Self::Token(dims) => {
                let args = fb::PerTokenDynamicQuantArgs { num_nonbatch_dims: *dims };
                let table = fb::PerTokenDynamicQuant::create(b, &args);
                (fb::QuantParams::PerTokenDynamicQuant, table.as_union_value())
            }
            Self::Unknown(kind) => {
                let table = fb::PerTokenDynamicQuant::create(b, &fb::PerTokenDynamicQuantArgs::default());
                (fb::QuantParams(*kind), table.as_union_value())
            }
        }
    }
}
