//! Reads a payload: bytes of a program become a checked [`Graph`].
//!
//! Nothing of a payload is believed. What cannot be checked from the bytes alone (that a kernel exists for a node) is
//! left to whoever runs the graph; everything that such code relies on is checked here.

mod constants;
mod header;
mod nodes;
mod operands;
mod types;
mod values;

use crate::graph::{Constant, Graph};
use crate::shape;
use constants::Constants;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use executorch_schema::xnnpack as fb;
use flatbuffers::VerifierOptions;
use header::Regions;
use std::sync::Arc;

/// Bytes that can be shared.
pub type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Finds the program's data of a name. Each name is asked for once.
pub type NamedData<'a> = dyn Fn(&str) -> Result<Constant> + 'a;

/// Most arguments that a payload may have, upstream's limit.
const MAX_ARGUMENTS: u32 = 4096;

/// Stands for a value that is not there.
const NO_VALUE: u32 = u32::MAX;

/// Reads and checks a payload.
///
/// Constants of the result share `blob`, what `named` gave, or copies where those are not aligned to 4 bytes.
///
/// # Errors
/// With upstream's codes: `InvalidArgument` for a header that does not fit the bytes, `DelegateInvalidCompatibility` for
/// another format or a damaged structure, `NotImplemented` for a kind of node that nothing runs, what `named` fails with,
/// and `InvalidProgram` for a graph that cannot be. The message names the node or value, what was expected and found.
pub fn read(blob: Owner, named: &NamedData<'_>) -> Result<Graph> {
    let regions = Regions::of((*blob).as_ref())?;
    let structure = aligned(&blob, &regions)?;
    // In a payload without a header, the bytes are the structure.
    let bytes = structure.bytes();
    let root = verify(bytes)?;
    graph(root, &structure, blob, &regions, named).map_err(advise)
}

fn graph(
    root: fb::Graph<'_>,
    structure: &Constant,
    blob: Owner,
    regions: &Regions,
    named: &NamedData<'_>,
) -> Result<Graph> {
    let (Some(nodes), Some(values)) = (root.xnodes(), root.xvalues()) else {
        return Err(invalid("the lists of nodes and values are not both there"));
    };
    let arguments = root.num_externs();
    if arguments > MAX_ARGUMENTS {
        return Err(invalid(format!(
            "the graph has {arguments} arguments, at most {MAX_ARGUMENTS} are allowed"
        )));
    }
    let constants = Constants::new(root, structure, blob, regions, named)?;
    let values = values::read(values, arguments, constants, structure.size())?;
    let mut graph = nodes::read(nodes, values, structure.size())?;
    shape::settle_declared(&mut graph)?;
    Ok(graph)
}

/// The bytes of the structure, at an address that its reader can use.
fn aligned(blob: &Owner, regions: &Regions) -> Result<Constant> {
    // The structure holds 64-bit numbers.
    const ALIGNMENT: usize = 8;
    let (start, size) = (regions.structure.start, regions.structure.len());
    let within = Constant::new(blob.clone(), start, size)
        .ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "the structure is not within the payload"))?;
    Ok(if within.bytes().as_ptr().addr().is_multiple_of(ALIGNMENT) {
        within
    } else {
        constants::aligned_copy(within.bytes())
    })
}

fn verify(structure: &[u8]) -> Result<fb::Graph<'_>> {
    // What a vector of offsets names repeatedly is looked at again each time: the work stays in proportion to the size.
    const FLOOR: usize = 16 << 20;
    let options = VerifierOptions {
        max_depth: 16,
        max_tables: structure.len().saturating_add(1024),
        max_apparent_size: structure.len().saturating_mul(16).saturating_add(FLOOR),
        ignore_missing_null_terminator: false,
    };
    flatbuffers::root_with_opts::<fb::Graph<'_>>(&options, structure).map_err(|e| {
        // The library's text has several lines.
        let reason = e.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        incompatible(format!(
            "the structure of {} bytes of an XNNPACK payload is damaged: {reason}; export the program again",
            structure.len()
        ))
    })
}

fn advise(error: Error) -> Error {
    let error = error.within("XNNPACK payload");
    if error.code != ET_ERROR_INVALID_PROGRAM {
        return error;
    }
    Error::new(error.code, format!("{}; the program is damaged: export it again", error.message))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ET_ERROR_INVALID_PROGRAM, message)
}

fn incompatible(message: impl Into<String>) -> Error {
    Error::new(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, message)
}
