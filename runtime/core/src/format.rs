//! Reads the file formats and checks all of them: `.pte` to [`crate::ir`], `.ptd` to a table of named data.

mod flat_tensor;
mod header;
mod plan;
mod program;
mod tensor;

pub(crate) use tensor::dense_strides;

pub use flat_tensor::{NamedTensor, parse as parse_flat_tensor};
pub use header::{FlatTensorHeader, HeaderStatus, ProgramHeader};
pub use program::{Parsed, parse as parse_program};

use crate::ir::Device;
use executorch_abi::error::*;
use executorch_abi::tensor::{ET_DEVICE_CPU, ET_DEVICE_CUDA};
use executorch_abi::{Error, Result};
use executorch_schema::program as fb;
use flatbuffers::VerifierOptions;

/// What a verification may cost: FlatBuffers may name one table from many places, which a reader then meets as
/// often, so the sum is bounded by the size of the structure.
fn verifier_options(size: usize) -> VerifierOptions {
    const FLOOR: usize = 64 << 20;
    VerifierOptions {
        max_depth: 64,
        max_tables: size.saturating_add(1024),
        max_apparent_size: size.saturating_mul(16).saturating_add(FLOOR),
        ignore_missing_null_terminator: false,
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ET_ERROR_INVALID_PROGRAM, message)
}

/// A required field of a table.
fn required<T>(field: Option<T>, name: &str) -> Result<T> {
    field.ok_or_else(|| invalid(format!("the field `{name}` is missing")))
}

/// An index that the file gives, checked against the number of things that it may name.
fn index(found: i64, count: usize, what: &str) -> Result<u32> {
    match u32::try_from(found) {
        Ok(index) if (index as usize) < count => Ok(index),
        _ => Err(invalid(format!("{what} {found} does not exist: there are {count}"))),
    }
}

/// A device that the file names.
fn device(kind: fb::DeviceType, index: i8) -> Result<Device> {
    let kind = kind.0.cast_unsigned();
    match kind {
        // However the host is numbered, there is one.
        ET_DEVICE_CPU => Ok(Device::HOST),
        ET_DEVICE_CUDA if index >= 0 => Ok(Device { kind, index }),
        ET_DEVICE_CUDA => Err(invalid(format!("{index} is no number of a CUDA device"))),
        other => Err(invalid(format!("{other} is no type of device that this runtime knows"))),
    }
}

/// A string of the file, which must not have a NUL inside.
fn c_string(text: &str, what: &str) -> Result<std::ffi::CString> {
    std::ffi::CString::new(text).map_err(|_| invalid(format!("{what} has a NUL byte inside")))
}
