//! Checks and reads a `.pte`.

use super::plan::{self, Shared};
use super::{ProgramHeader, c_string, index, invalid, verifier_options};
use crate::ir::{ByteRange, Layout, Plan};
use executorch_abi::Result;
use executorch_schema::program as fb;
use std::collections::HashSet;

/// A checked program.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// What its methods share.
    pub layout: Layout,
    /// Its methods.
    pub plans: Vec<Plan>,
}

/// Checks and reads the structure of a `.pte`: the first `header.program_size` bytes of a file of `file_size`.
pub fn parse(structure: &[u8], header: ProgramHeader, file_size: u64) -> Result<Parsed> {
    let options = verifier_options(structure.len());
    let program = flatbuffers::root_with_opts::<fb::Program<'_>>(&options, structure)
        .map_err(|e| invalid(format!("the program's structure is damaged: {e}")))?;
    let mut layout = Layout { segments: segments(program, header, file_size)?, ..Layout::default() };
    constants(program, structure, &mut layout)?;
    if let Some(table) = program.mutable_data_segments().and_then(|m| m.iter().next()) {
        layout.mutable_data =
            subsegments(table, &layout.segments).map_err(|e| e.within("mutable data segment 0"))?;
    }
    named_data(program, &mut layout)?;
    let inline_payloads: Vec<ByteRange> = program
        .backend_delegate_data()
        .into_iter()
        .flatten()
        .map(|d| d.data().map_or(ByteRange { offset: 0, size: 0 }, |v| range_of(structure, v.bytes())))
        .collect();
    let shared = Shared { layout: &layout, inline_payloads: &inline_payloads };
    let mut plans = Vec::new();
    for (i, table) in program.execution_plan().into_iter().flatten().enumerate() {
        let name = table.name().unwrap_or("without a name").to_owned();
        plans.push(plan::read(table, &shared).map_err(|e| e.within(format!("method {i} ({name})")))?);
    }
    let mut names = HashSet::new();
    if let Some(twice) = plans.iter().find(|p| !names.insert(&p.name)) {
        return Err(invalid(format!("two methods are named {:?}", twice.name)));
    }
    Ok(Parsed { layout, plans })
}

/// Where `part` lies in `whole`, of which it is a slice.
fn range_of(whole: &[u8], part: &[u8]) -> ByteRange {
    ByteRange {
        offset: part.as_ptr().addr().saturating_sub(whole.as_ptr().addr()) as u64,
        size: part.len() as u64,
    }
}

fn segments(program: fb::Program<'_>, header: ProgramHeader, file_size: u64) -> Result<Vec<ByteRange>> {
    let read = |(i, segment): (usize, fb::DataSegment<'_>)| {
        let (offset, size) = (segment.offset(), segment.size());
        let absolute = header.segment_base.checked_add(offset);
        let end = absolute.and_then(|a| a.checked_add(size));
        match (absolute, end) {
            (Some(offset), Some(end)) if end <= file_size && (header.segment_base != 0 || size == 0) => {
                Ok(ByteRange { offset, size })
            }
            _ => Err(invalid(format!(
                "segment {i} lies at {offset} after byte {} and has {size} bytes, but the file has {file_size} bytes",
                header.segment_base
            ))),
        }
    };
    program.segments().map_or(Ok(Vec::new()), |s| s.iter().enumerate().map(read).collect())
}

fn constants(program: fb::Program<'_>, structure: &[u8], layout: &mut Layout) -> Result<()> {
    let segment = program.constant_segment().filter(|s| s.offsets().is_some_and(|o| o.len() > 1));
    let buffers = program.constant_buffer().filter(|b| !b.is_empty());
    match (segment, buffers) {
        (Some(_), Some(_)) => Err(invalid("constants are given both inline and in a segment")),
        (Some(table), None) => {
            layout.constants =
                subsegments(table, &layout.segments).map_err(|e| e.within("the constant segment"))?;
            Ok(())
        }
        (None, Some(buffers)) => {
            layout.constants_are_inline = true;
            layout.constants = buffers
                .iter()
                .map(|b| {
                    b.storage().map_or(ByteRange { offset: 0, size: 0 }, |v| range_of(structure, v.bytes()))
                })
                .collect();
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

/// The ranges of a segment that is cut at offsets: each one reaches to the segment's end, since the file does not
/// say where it ends, and a tensor takes what it needs.
fn subsegments(table: fb::SubsegmentOffsets<'_>, segments: &[ByteRange]) -> Result<Vec<ByteRange>> {
    let at = index(i64::from(table.segment_index()), segments.len(), "segment")?;
    let segment = segments.get(at as usize).copied().unwrap_or(ByteRange { offset: 0, size: 0 });
    let read = |(i, offset): (usize, u64)| match (segment.size.checked_sub(offset), i) {
        // Number 0 is reserved: it means that there is no constant.
        (_, 0) => Ok(ByteRange { offset: segment.offset, size: 0 }),
        (Some(size), _) => Ok(ByteRange { offset: segment.offset + offset, size }),
        (None, _) => {
            Err(invalid(format!("entry {i} starts at {offset}, but segment {at} has {} bytes", segment.size)))
        }
    };
    table.offsets().map_or(Ok(Vec::new()), |o| o.iter().enumerate().map(read).collect())
}

fn named_data(program: fb::Program<'_>, layout: &mut Layout) -> Result<()> {
    let mut keys = HashSet::new();
    for (i, entry) in program.named_data().into_iter().flatten().enumerate() {
        let key = entry.key().ok_or_else(|| invalid(format!("named data {i} has no key")))?;
        if !keys.insert(key) {
            return Err(invalid(format!("two blobs of named data have the key {key:?}")));
        }
        let segment = index(i64::from(entry.segment_index()), layout.segments.len(), "segment")
            .map_err(|e| e.within(format!("named data {key:?}")))?;
        layout.named_data.push((c_string(key, "a key of named data")?, segment));
    }
    Ok(())
}
