//! Checks and reads a `.ptd`.

use super::tensor::shape;
use super::{FlatTensorHeader, verifier_options};
use crate::ir::ByteRange;
use executorch_abi::error::ET_ERROR_INVALID_EXTERNAL_DATA;
use executorch_abi::{Dtype, Error, Result};
use executorch_schema::flat_tensor as fb;
use std::collections::HashMap;
use std::ffi::CString;

/// Named data of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTensor {
    /// Its bytes, by absolute offset in the file.
    pub range: ByteRange,
    /// Element type, sizes and dim order; none for a blob.
    pub layout: Option<(Dtype, Vec<i32>, Vec<u8>)>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ET_ERROR_INVALID_EXTERNAL_DATA, message)
}

/// Checks and reads the structure of a `.ptd`: the first `header.structure_size` bytes of the file.
pub fn parse(structure: &[u8], header: FlatTensorHeader) -> Result<HashMap<CString, NamedTensor>> {
    let options = verifier_options(structure.len());
    let root = flatbuffers::root_with_opts::<fb::FlatTensor<'_>>(&options, structure)
        .map_err(|e| bad(format!("the file's structure is damaged: {e}")))?;
    let segments = root.segments().ok_or_else(|| bad("the field `segments` is missing"))?;
    let names = root.named_data().ok_or_else(|| bad("the field `named_data` is missing"))?;
    let mut data = HashMap::new();
    for entry in names {
        let key = entry.key().ok_or_else(|| bad("an entry has no key"))?;
        let named =
            read(entry, segments, header).map_err(|e| bad(e.message).within(format!("data {key:?}")))?;
        let name = CString::new(key).map_err(|_| bad("a key has a NUL byte inside"))?;
        if data.insert(name, named).is_some() {
            return Err(bad(format!("two entries have the key {key:?}")));
        }
    }
    Ok(data)
}

type Segments<'a> = flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<fb::DataSegment<'a>>>;

fn read(entry: fb::NamedData<'_>, segments: Segments<'_>, header: FlatTensorHeader) -> Result<NamedTensor> {
    let at = entry.segment_index() as usize;
    if at >= segments.len() {
        return Err(bad(format!("segment {at} does not exist: there are {}", segments.len())));
    }
    let (offset, size) = (segments.get(at).offset(), segments.get(at).size());
    if offset.checked_add(size).is_none_or(|end| end > header.segment_size) {
        return Err(bad(format!(
            "segment {at} lies at {offset} and has {size} bytes, but all segments have {} bytes",
            header.segment_size
        )));
    }
    let layout = match entry.tensor_layout() {
        None => None,
        Some(table) => {
            let raw = table.scalar_type().0;
            let dtype = Dtype::from_raw(raw).ok_or_else(|| bad(format!("{raw} is no element type")))?;
            let sizes: Vec<i32> = table.sizes().map(|s| s.iter().collect()).unwrap_or_default();
            let dim_order: Vec<u8> = table.dim_order().map(|d| d.iter().collect()).unwrap_or_default();
            let (_, numel) = shape(&sizes, &dim_order)?;
            let nbytes = numel.checked_mul(dtype.size() as u64);
            if nbytes.is_none_or(|n| n > size) {
                return Err(bad(format!(
                    "a tensor of sizes {sizes:?} and {dtype} does not fit its segment of {size} bytes"
                )));
            }
            Some((dtype, sizes, dim_order))
        }
    };
    // Within `segment_size`, which the header's check keeps within the file.
    Ok(NamedTensor { range: ByteRange { offset: header.segment_base + offset, size }, layout })
}
