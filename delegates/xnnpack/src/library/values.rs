//! Values of the graph, as the library is told of them.

use super::raw::Subgraph;
use super::status::check;
use crate::graph::{Constant, Element, Role, Value};
use crate::names;
use crate::plan::memory::SLACK;
use crate::readable;
use executorch_abi::{Error, Result, error::ET_ERROR_INTERNAL};
use executorch_xnnpack_sys as sys;
use std::ffi::c_void;
use std::ptr;

/// The library's id of a value, in the graph of one segment.
pub type Id = u32;

/// Who sees a value of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The segment's own nodes.
    Inside,
    /// Given from outside, under this id.
    Read(Id),
    /// Given to the outside, under this id.
    Written(Id),
}

/// What the library points to and does not own: to be kept as long as a runtime of the graph.
#[derive(Debug)]
pub enum Kept {
    /// A constant, of which a copy of the bytes was not needed.
    Constant(Constant),
    /// A copy of a constant with readable bytes after it.
    Copy(readable::Copy),
    /// Scales of an element.
    Element(Element),
}

impl Kept {
    /// The first byte of a constant.
    fn start(&self) -> *const u8 {
        match self {
            Self::Constant(constant) => constant.bytes().as_ptr(),
            Self::Copy(copy) => copy.as_ptr(),
            Self::Element(_) => ptr::null(),
        }
    }
}

/// A value that the library knows.
#[derive(Debug)]
pub struct Defined {
    /// The library's id.
    pub id: Id,
    /// Where a constant's bytes are for the library; null if it is none.
    pub data: *const u8,
    /// The constant, or what stands for it.
    pub constant: Option<Kept>,
    /// What else the library points to.
    pub scales: Option<Kept>,
}

/// Describes a value.
pub fn define(graph: &mut Subgraph, value: &Value, seen: Seen) -> Result<Defined> {
    let constant = match &value.role {
        Role::Constant(constant) => {
            let is_readable = constant.readable_after() >= SLACK || readable::past(constant.bytes());
            Some(match is_readable {
                true => Kept::Constant(constant.clone()),
                false => Kept::Copy(readable::Copy::new(constant.bytes())),
            })
        }
        _ => None,
    };
    let start = constant.as_ref().map_or(ptr::null(), Kept::start);
    let data = start.cast::<c_void>();
    let mut scales = None;
    let (external, flags) = match seen {
        Seen::Inside => (sys::XNN_INVALID_VALUE_ID, 0),
        Seen::Read(id) => (id, sys::XNN_VALUE_FLAG_EXTERNAL_INPUT),
        Seen::Written(id) => (id, sys::XNN_VALUE_FLAG_EXTERNAL_OUTPUT),
    };
    let dims = &value.dims;
    let (rank, sizes) = (dims.len(), dims.as_ptr());
    let mut id = sys::XNN_INVALID_VALUE_ID;
    let raw = graph.as_ptr();
    let element = &value.element;
    let kind = datatype(element);
    let status = match element {
        Element::Float32 | Element::Float16 | Element::BFloat16 | Element::Int32 => {
            // SAFETY: a live graph; `sizes` holds `rank` sizes, which are copied; the constant's bytes hold a tensor
            // of that shape, as the graph guarantees, and are kept by the caller; `id` is writable.
            unsafe { sys::xnn_define_tensor_value(raw, kind, rank, sizes, data, external, flags, &mut id) }
        }
        Element::QInt8(affine) | Element::QUInt8(affine) | Element::QInt32(affine) => {
            let (zero, scale) = (affine.zero_point, affine.scale);
            // SAFETY: as above.
            unsafe {
                sys::xnn_define_quantized_tensor_value(
                    raw, kind, zero, scale, rank, sizes, data, external, flags, &mut id,
                )
            }
        }
        Element::QCInt8(channels) | Element::QCInt32(channels) | Element::QCInt4(channels) => {
            scales = Some(Kept::Element(element.clone()));
            let (zero, scales, dim) = (channels.zero_point, channels.scales.as_ptr(), channels.dim);
            // SAFETY: as above; there is a scale for each index of the dimension, as the graph guarantees, and the
            // caller keeps them.
            unsafe {
                sys::xnn_define_channelwise_quantized_tensor_value_v2(
                    raw, kind, zero, scales, rank, dim, sizes, data, external, flags, &mut id,
                )
            }
        }
        Element::QBInt4(groups) => {
            scales = Some(Kept::Element(element.clone()));
            let scales = groups.scales.as_ptr().cast::<u16>();
            let (zero, dim, size) = (groups.zero_point, groups.dim, groups.group_size);
            // SAFETY: as above, with a scale for each group; a `bf16` is its 16 bits.
            unsafe {
                sys::xnn_define_blockwise_quantized_tensor_value(
                    raw, kind, zero, scales, rank, dim, size, sizes, data, external, flags, &mut id,
                )
            }
        }
        Element::QDInt8 { nonbatch_dims } | Element::QPInt8 { nonbatch_dims } => {
            // SAFETY: as above; such a value has no data.
            unsafe {
                sys::xnn_define_dynamically_quantized_tensor_value(
                    raw,
                    kind,
                    rank,
                    *nonbatch_dims,
                    sizes,
                    external,
                    flags,
                    &mut id,
                )
            }
        }
    };
    check(status, || format!("take value {}, {}", value.serialized_id, names::tensor(element, dims)))?;
    if id == sys::XNN_INVALID_VALUE_ID {
        return Err(Error::new(ET_ERROR_INTERNAL, "XNNPACK gave a value no id"));
    }
    Ok(Defined { id, data: start, constant, scales })
}

fn datatype(element: &Element) -> sys::xnn_datatype {
    match element {
        Element::Float32 => sys::xnn_datatype::xnn_datatype_fp32,
        Element::Float16 => sys::xnn_datatype::xnn_datatype_fp16,
        Element::BFloat16 => sys::xnn_datatype::xnn_datatype_bf16,
        Element::Int32 => sys::xnn_datatype::xnn_datatype_int32,
        Element::QInt8(_) => sys::xnn_datatype::xnn_datatype_qint8,
        Element::QUInt8(_) => sys::xnn_datatype::xnn_datatype_quint8,
        Element::QInt32(_) => sys::xnn_datatype::xnn_datatype_qint32,
        Element::QCInt8(_) => sys::xnn_datatype::xnn_datatype_qcint8,
        Element::QCInt32(_) => sys::xnn_datatype::xnn_datatype_qcint32,
        Element::QCInt4(_) => sys::xnn_datatype::xnn_datatype_qcint4,
        Element::QBInt4(_) => sys::xnn_datatype::xnn_datatype_qbint4,
        Element::QDInt8 { .. } => sys::xnn_datatype::xnn_datatype_qdint8,
        Element::QPInt8 { .. } => sys::xnn_datatype::xnn_datatype_qpint8,
    }
}
