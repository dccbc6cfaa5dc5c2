//! Names of element types elsewhere: array interface, DLPack, PyTorch.

use crate::dlpack::DataType;
use crate::errors::bad_type;
use executorch_client::Dtype;
use pyo3::PyResult;

/// DLPack's type codes.
const INT: u8 = 0;
const UINT: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const COMPLEX: u8 = 5;
const BOOL: u8 = 6;
const FLOAT8_E4M3FN: u8 = 10;
const FLOAT8_E4M3FNUZ: u8 = 11;
const FLOAT8_E5M2: u8 = 12;
const FLOAT8_E5M2FNUZ: u8 = 13;

/// An element type and what others call it: DLPack's code and bits, and the array interface's kind.
const TABLE: &[(Dtype, u8, u8, Option<u8>)] = &[
    (Dtype::Float32, FLOAT, 32, Some(b'f')),
    (Dtype::Int64, INT, 64, Some(b'i')),
    (Dtype::Bool, BOOL, 8, Some(b'b')),
    (Dtype::UInt8, UINT, 8, Some(b'u')),
    (Dtype::Int32, INT, 32, Some(b'i')),
    (Dtype::Float16, FLOAT, 16, Some(b'f')),
    (Dtype::BFloat16, BFLOAT, 16, None),
    (Dtype::Float64, FLOAT, 64, Some(b'f')),
    (Dtype::Int8, INT, 8, Some(b'i')),
    (Dtype::Int16, INT, 16, Some(b'i')),
    (Dtype::UInt16, UINT, 16, Some(b'u')),
    (Dtype::UInt32, UINT, 32, Some(b'u')),
    (Dtype::UInt64, UINT, 64, Some(b'u')),
    (Dtype::Complex32, COMPLEX, 32, None),
    (Dtype::Complex64, COMPLEX, 64, Some(b'c')),
    (Dtype::Complex128, COMPLEX, 128, Some(b'c')),
    (Dtype::Float8E4M3Fn, FLOAT8_E4M3FN, 8, None),
    (Dtype::Float8E4M3Fnuz, FLOAT8_E4M3FNUZ, 8, None),
    (Dtype::Float8E5M2, FLOAT8_E5M2, 8, None),
    (Dtype::Float8E5M2Fnuz, FLOAT8_E5M2FNUZ, 8, None),
];

/// The element type of DLPack's description.
pub fn from_dlpack(found: DataType) -> PyResult<Dtype> {
    TABLE
        .iter()
        .find(|(_, code, bits, _)| (found.code, found.bits, found.lanes) == (*code, *bits, 1))
        .map(|entry| entry.0)
        .ok_or_else(|| {
            bad_type(format!(
                "no tensor has elements of DLPack type code {}, {} bits, {} lanes",
                found.code, found.bits, found.lanes
            ))
        })
}

/// DLPack's description of an element type, if it has one.
pub fn to_dlpack(dtype: Dtype) -> Option<DataType> {
    let entry = TABLE.iter().find(|entry| entry.0 == dtype)?;
    Some(DataType { code: entry.1, bits: entry.2, lanes: 1 })
}

/// The element type of the array interface's kind and size in bytes.
pub fn from_array_kind(kind: u8, size: usize) -> Option<Dtype> {
    TABLE.iter().find(|entry| entry.3 == Some(kind) && entry.0.size() == size).map(|entry| entry.0)
}

/// The array interface's kind of an element type, if it has one.
pub fn to_array_kind(dtype: Dtype) -> Option<u8> {
    TABLE.iter().find(|entry| entry.0 == dtype)?.3
}

/// The element type of a name such as `"float32"`; `torch.float32` and NumPy's spellings work too.
pub fn from_name(name: &str) -> PyResult<Dtype> {
    let short = name.strip_prefix("torch.").unwrap_or(name);
    let found = Dtype::ALL.iter().copied().find(|dtype| dtype.name() == short);
    found.ok_or_else(|| {
        bad_type(format!("{name:?} is no element type; one is \"float32\", another \"int64\""))
    })
}

/// The name in PyTorch's `ScalarType`, which upstream's representations show.
pub fn scalar_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::UInt8 => "Byte",
        Dtype::Int8 => "Char",
        Dtype::Int16 => "Short",
        Dtype::Int32 => "Int",
        Dtype::Int64 => "Long",
        Dtype::Float16 => "Half",
        Dtype::Float32 => "Float",
        Dtype::Float64 => "Double",
        Dtype::Complex32 => "ComplexHalf",
        Dtype::Complex64 => "ComplexFloat",
        Dtype::Complex128 => "ComplexDouble",
        Dtype::Bool => "Bool",
        Dtype::QInt8 => "QInt8",
        Dtype::QUInt8 => "QUInt8",
        Dtype::QInt32 => "QInt32",
        Dtype::BFloat16 => "BFloat16",
        Dtype::UInt16 => "UInt16",
        Dtype::UInt32 => "UInt32",
        Dtype::UInt64 => "UInt64",
        other => other.name(),
    }
}

/// The element type of a character of `struct` that `memoryview.format` may hold.
pub fn from_format(format: &str) -> Option<Dtype> {
    Some(match format.trim_start_matches(['@', '=', '<']) {
        "?" => Dtype::Bool,
        "b" => Dtype::Int8,
        "B" | "c" => Dtype::UInt8,
        "h" => Dtype::Int16,
        "H" => Dtype::UInt16,
        "i" => Dtype::Int32,
        "I" => Dtype::UInt32,
        "l" | "q" | "n" => Dtype::Int64,
        "L" | "Q" | "N" => Dtype::UInt64,
        "e" => Dtype::Float16,
        "f" => Dtype::Float32,
        "d" => Dtype::Float64,
        _ => return None,
    })
}
