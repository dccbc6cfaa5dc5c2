//! A program: its checked structure and the data that it points to.

use crate::format::{HeaderStatus, ProgramHeader, parse_program};
use crate::ir::{ByteRange, Layout, Plan, Storage, Tensor};
use crate::method::Folds;
use crate::source::{Buffer, Loader, Segment, in_memory};
use executorch_abi::error::*;
use executorch_abi::loader::{ET_SEGMENT_CONSTANT, ET_SEGMENT_PROGRAM};
use executorch_abi::program::ET_HEADER_MIN_BYTES;
use executorch_abi::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(1);

/// A number that identifies nothing else in the process.
pub fn next_identity() -> u64 {
    NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed)
}

/// A loaded program; immutable.
#[derive(Debug)]
pub struct Program {
    layout: Layout,
    plans: Vec<Plan>,
    structure: Buffer,
    /// All constants of a file that keeps them in a segment.
    constants: Buffer,
    constants_offset: u64,
    identity: u64,
    folds: Arc<Folds>,
    // Dropped last: buffers may point into what the loader keeps.
    loader: Loader,
}

impl Program {
    /// Reads and checks everything but the contents of segments.
    pub fn load(loader: Loader) -> Result<Self> {
        let size = loader.size()?;
        let segment = Segment { kind: ET_SEGMENT_PROGRAM, index: 0, name: None };
        let head_size = size.min(ET_HEADER_MIN_BYTES as u64) as usize;
        if head_size < ET_HEADER_MIN_BYTES {
            return Err(Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!(
                    "the file has {size} bytes, a program has at least {ET_HEADER_MIN_BYTES}: it is truncated"
                ),
            ));
        }
        let head = loader.load(0, head_size, segment)?;
        let header = ProgramHeader::parse(&head.bytes()[..head_size], size)?;
        drop(head);
        let length = in_memory(header.program_size)?;
        let structure = loader.load(0, length, segment)?;
        let bytes = structure.bytes().get(..length).unwrap_or_default();
        let parsed = parse_program(bytes, header, size)?;
        // A file that is mapped has one number for all who load it.
        let identity = structure.identity(bytes).map_or_else(next_identity, |[file, _]| file);
        let mut program = Self {
            layout: parsed.layout,
            plans: parsed.plans,
            structure,
            constants: Buffer::default(),
            constants_offset: 0,
            identity,
            folds: Folds::of_file(identity),
            loader,
        };
        program.load_constants()?;
        Ok(program)
    }

    fn load_constants(&mut self) -> Result<()> {
        let used = self.layout.constants.iter().filter(|r| r.size > 0);
        let (mut start, mut end) = (u64::MAX, 0);
        for range in used {
            start = start.min(range.offset);
            end = end.max(range.offset + range.size);
        }
        if self.layout.constants_are_inline || start >= end {
            return Ok(());
        }
        let size = in_memory(end - start)?;
        let segment = Segment { kind: ET_SEGMENT_CONSTANT, index: 0, name: None };
        self.constants = self.loader.load(start, size, segment)?;
        self.constants_offset = start;
        Ok(())
    }

    /// The methods.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// What the methods share.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where segments come from.
    pub fn loader(&self) -> &Loader {
        &self.loader
    }

    /// The structure's bytes, in which inline payloads and old files' constants lie.
    pub fn structure(&self) -> &[u8] {
        self.structure.bytes()
    }

    /// The bytes of a constant, to the end of its segment.
    pub fn constant(&self, index: u32) -> Result<&[u8]> {
        let range = self.layout.constants.get(index as usize).copied().ok_or_else(|| {
            Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("constant {index} does not exist: there are {}", self.layout.constants.len()),
            )
        })?;
        let base = if self.layout.constants_are_inline { 0 } else { self.constants_offset };
        slice(self.constants().bytes(), base, range)
    }

    /// The number of the method of a name.
    pub fn plan_index(&self, name: &std::ffi::CStr) -> Result<usize> {
        self.plans.iter().position(|p| p.name.as_c_str() == name).ok_or_else(|| {
            let names: Vec<_> = self.plans.iter().map(|p| p.name.to_string_lossy()).collect();
            Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("there is no method {name:?}; the program has: {}", names.join(", ")),
            )
        })
    }

    /// A method by its number.
    pub fn plan_at(&self, index: usize) -> Result<&Plan> {
        self.plans.get(index).ok_or_else(|| {
            Error::new(
                ET_ERROR_INVALID_ARGUMENT,
                format!("method {index} does not exist: there are {}", self.plans.len()),
            )
        })
    }

    /// A range of the structure: an inline payload.
    pub fn inline(&self, range: ByteRange) -> Result<&[u8]> {
        slice(self.structure(), 0, range)
    }

    /// A number that no other program of the process has or had, unless it is the same file, mapped.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The results of calls on its constants that were run at load.
    pub fn folds(&self) -> &Folds {
        &self.folds
    }

    /// The buffer that holds the constants.
    fn constants(&self) -> &Buffer {
        if self.layout.constants_are_inline { &self.structure } else { &self.constants }
    }

    /// Bytes of all constants.
    pub fn constant_bytes(&self) -> u64 {
        self.constants().bytes().len() as u64
    }

    /// Gives the memory of a constant tensor's data back, as far as it can be had again.
    pub fn give_back(&self, tensor: &Tensor) {
        let Storage::Constant { index } = tensor.storage else { return };
        let size = usize::try_from(tensor.nbytes).unwrap_or(usize::MAX);
        if let Some(bytes) = self.constant(index).ok().and_then(|bytes| bytes.get(..size)) {
            self.constants().discard(bytes);
        }
    }

    /// What a file's first bytes say.
    pub fn check_header(head: &[u8]) -> HeaderStatus {
        HeaderStatus::of(head)
    }
}

fn slice(bytes: &[u8], base: u64, range: ByteRange) -> Result<&[u8]> {
    if range.size == 0 {
        return Ok(&[]);
    }
    let start = range.offset.checked_sub(base).and_then(|s| usize::try_from(s).ok());
    let size = usize::try_from(range.size).ok();
    start
        .zip(size)
        .and_then(|(start, size)| bytes.get(start..start.checked_add(size)?))
        .ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "a checked range lies outside of its data"))
}
