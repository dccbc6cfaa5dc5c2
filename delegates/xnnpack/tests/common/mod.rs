//! What the tests of the delegate share: payloads out of programs, and payloads made by hand.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

// They define what the C interface declares.
extern crate executorch_core as _;
extern crate executorch_threadpool as _;

#[path = "../../../../runtime/core/tests/common/counting.rs"]
pub mod counting;
pub mod invariants;
pub mod made;
pub mod mutation;
#[path = "../../../../runtime/core/tests/common/random.rs"]
pub mod random;
pub mod refused;
pub mod run;

use executorch_abi::error::ET_ERROR_NOT_FOUND;
use executorch_abi::{Error, Result};
use executorch_backend_xnnpack::graph::{Constant, Graph};
use executorch_backend_xnnpack::payload::{self, Owner};
use executorch_core::format::{FlatTensorHeader, Parsed, ProgramHeader, parse_flat_tensor, parse_program};
use executorch_core::ir::{ByteRange, Payload};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Named data by key, with the file that it lies in.
pub type Named = HashMap<String, (Owner, ByteRange)>;

/// The payloads of a program that are for this delegate, and its named data.
pub struct Program {
    pub payloads: Vec<Vec<u8>>,
    /// For each payload the method that it belongs to.
    pub methods: Vec<String>,
    pub named: Named,
}

impl Program {
    /// Reads a `.pte`, and the `.ptd` files beside it that are named like it or hold constants of many programs.
    pub fn open(path: &Path) -> Self {
        let file = Arc::new(std::fs::read(path).unwrap());
        let header = ProgramHeader::parse(&file, file.len() as u64).unwrap();
        let structure = &file[..header.program_size as usize];
        let Parsed { layout, plans } = parse_program(structure, header, file.len() as u64).unwrap();
        let at = |range: ByteRange| range.offset as usize..(range.offset + range.size) as usize;
        let delegates =
            plans.iter().flat_map(|plan| plan.delegates.iter().map(move |part| (&plan.name, part)));
        let (methods, payloads) = delegates
            .filter(|(_, delegate)| delegate.backend.as_c_str() == c"XnnpackBackend")
            .map(|(method, delegate)| {
                let payload = match delegate.payload {
                    Payload::Inline(range) => &structure[at(range)],
                    Payload::Segment(segment) => &file[at(layout.segments[segment as usize])],
                };
                (method.to_str().unwrap().to_owned(), payload.to_vec())
            })
            .unzip();
        let owner: Owner = file.clone();
        let own = layout.named_data.iter().map(|(key, segment)| {
            (key.to_str().unwrap().to_owned(), (owner.clone(), layout.segments[*segment as usize]))
        });
        let mut named: Named = own.collect();
        let data = [path.with_extension("ptd"), path.with_file_name("_default_external_constant.ptd")];
        for path in data.iter().filter(|path| path.exists()) {
            named.extend(external(path));
        }
        Self { payloads, methods, named }
    }
}

fn external(path: &Path) -> Named {
    let file = Arc::new(std::fs::read(path).unwrap());
    let header = FlatTensorHeader::parse(&file, file.len() as u64).unwrap();
    let entries = parse_flat_tensor(&file[..header.structure_size as usize], header).unwrap();
    let owner: Owner = file;
    entries
        .into_iter()
        .map(|(key, tensor)| (key.into_string().unwrap(), (owner.clone(), tensor.range)))
        .collect()
}

/// Reads a payload with named data.
pub fn read(payload: &[u8], named: &Named) -> Result<Graph> {
    read_shared(Arc::new(payload.to_vec()), named)
}

/// The same for bytes that are shared already.
pub fn read_shared(payload: Owner, named: &Named) -> Result<Graph> {
    payload::read(payload, &|key| {
        let missing = || Error::new(ET_ERROR_NOT_FOUND, "the program has no such data");
        let (owner, range) = named.get(key).ok_or_else(missing)?;
        Constant::new(owner.clone(), range.offset as usize, range.size as usize).ok_or_else(missing)
    })
}

/// Lowered programs: those committed, and those of the folder with larger ones (`ET_MODELS`) where it exists.
pub fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let models = std::env::var_os("ET_MODELS").map_or_else(|| root.join("../shared/models"), PathBuf::from);
    let folders = [root.join("runtime/core/tests/programs"), root.join("checks/conformance/xnnpack"), models];
    let mut found: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension().is_some_and(|e| e == "pte") && !Program::open(path).payloads.is_empty()
        })
        .collect();
    found.sort();
    found
}
