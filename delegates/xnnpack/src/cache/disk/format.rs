//! The file that holds a graph's packed weights, and the small one that says which such file belongs to a source file.
//!
//! ```text
//! pack file                                        reference file
//!   0  magic "ETXNPACK"                              0  magic "ETXNREF\0"
//!   8  u32 version, u32 entries                      8  u32 version, u32 zero
//!  16  u64 bytes of the file                        16  the source's digest
//!  24  u64 start of the data                        48  the graph's digest
//!  32  the graph's digest                           80  the state in which the pack file was
//!  64  BLAKE3 of the start of the file,                 found whole, zeros if it was not yet
//!      these 32 bytes left out                     112  BLAKE3 of bytes 0..112
//!  96  for each entry: key, u64 offset, u64 size    144  end
//!      for each 256 KiB of data: u64 XXH3
//!      zeros up to a multiple of 4096
//!      data: each entry at a multiple of 64
//! ```
//! Numbers are little-endian. Every byte of a file is under one of the checksums.

use super::super::digest::Digest;
use super::super::memory::{ALIGNMENT, Packed, SLACK};
use crate::parallel;
use std::collections::HashMap;
use std::hash::Hasher;
use std::io::{self, Write};
use std::ops::Range;
use twox_hash::XxHash3_64;

const PACK_MAGIC: [u8; 8] = *b"ETXNPACK";
const REFERENCE_MAGIC: [u8; 8] = *b"ETXNREF\0";
/// The version of both.
const VERSION: u32 = 3;
const HEADER: usize = 96;
const ENTRY: usize = Digest::SIZE + 16;
const PAGE: usize = 4096;
/// Data under one checksum: small enough that threads share the work, large enough that checksums are few.
const CHUNK: usize = 256 << 10;

/// Most entries of a file: as many as any graph has constants, and few enough to be no burden.
const MOST_ENTRIES: usize = 1 << 20;

/// Where entries lie in a file.
pub type Index = HashMap<Digest, Range<usize>>;

/// Why a file is not used.
pub type Reason = &'static str;

/// Little-endian numbers and digests, one after the other.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        let (taken, rest) = self.0.split_first_chunk().ok_or("it is too short")?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32, Reason> {
        self.take().map(u32::from_le_bytes)
    }

    /// A 64-bit number that has to fit the address space.
    fn size(&mut self) -> Result<usize, Reason> {
        usize::try_from(u64::from_le_bytes(self.take()?)).map_err(|_| "a number in it is too large")
    }

    fn digest(&mut self) -> Result<Digest, Reason> {
        self.take().map(Digest::from_bytes)
    }
}

/// Writes a pack file of some entries.
pub fn write_pack(
    to: &mut (impl Write + ?Sized),
    graph: Digest,
    entries: &[(Digest, &Packed)],
) -> io::Result<()> {
    let mut data = Vec::with_capacity(2 * entries.len() + 1);
    let mut places = Vec::with_capacity(entries.len());
    let mut size = 0;
    for (_, packed) in entries {
        let bytes = packed.as_ref();
        places.push(size);
        let padding = size_of_padding(bytes.len(), ALIGNMENT);
        data.extend([bytes, &ZEROS[..padding]]);
        size += bytes.len() + padding;
    }
    // Kernels read past the end of the last one as well.
    let padding = SLACK + size_of_padding(size + SLACK, PAGE);
    data.push(&ZEROS[..padding]);
    size += padding;
    let sums = sums(&data);
    let data_start = (HEADER + entries.len() * ENTRY + sums.len() * 8).next_multiple_of(PAGE);

    let mut start = Vec::with_capacity(data_start);
    start.extend_from_slice(&PACK_MAGIC);
    start.extend_from_slice(&VERSION.to_le_bytes());
    start.extend_from_slice(&u32::try_from(entries.len()).map_err(io::Error::other)?.to_le_bytes());
    start.extend_from_slice(&((data_start + size) as u64).to_le_bytes());
    start.extend_from_slice(&(data_start as u64).to_le_bytes());
    start.extend_from_slice(graph.as_bytes());
    start.extend_from_slice(&[0; Digest::SIZE]);
    for ((key, packed), place) in entries.iter().zip(places) {
        start.extend_from_slice(key.as_bytes());
        start.extend_from_slice(&((data_start + place) as u64).to_le_bytes());
        start.extend_from_slice(&(packed.as_ref().len() as u64).to_le_bytes());
    }
    sums.iter().for_each(|sum| start.extend_from_slice(&sum.to_le_bytes()));
    start.resize(data_start, 0);
    let sum = start_digest(&start);
    start[64..HEADER].copy_from_slice(sum.as_bytes());
    to.write_all(&start)?;
    data.into_iter().try_for_each(|part| to.write_all(part))
}

static ZEROS: [u8; PAGE + SLACK] = [0; PAGE + SLACK];

fn size_of_padding(size: usize, to: usize) -> usize {
    size.next_multiple_of(to) - size
}

/// The checksums of all chunks of data that is given in parts.
fn sums(parts: &[&[u8]]) -> Vec<u64> {
    let mut sums = Vec::new();
    let (mut hasher, mut room) = (XxHash3_64::with_seed(0), CHUNK);
    for mut part in parts.iter().copied() {
        while !part.is_empty() {
            let (now, later) = part.split_at(part.len().min(room));
            hasher.write(now);
            (part, room) = (later, room - now.len());
            if room == 0 {
                sums.push(hasher.finish());
                (hasher, room) = (XxHash3_64::with_seed(0), CHUNK);
            }
        }
    }
    if room < CHUNK {
        sums.push(hasher.finish());
    }
    sums
}

/// The digest of a file's start without the place where it is written.
fn start_digest(start: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&start[..64]).update(&start[HEADER..]);
    Digest::from_bytes(*hasher.finalize().as_bytes())
}

/// Checks a pack file and says where its entries are. The data, most of the file, is only read if `checks_data`.
pub fn read_pack(file: &[u8], graph: Digest, checks_data: bool) -> Result<Index, Reason> {
    let mut reader = Reader(file);
    if reader.take()? != PACK_MAGIC {
        return Err("it is no file of packed weights");
    }
    if reader.u32()? != VERSION {
        return Err("it has another version");
    }
    let count = reader.u32()? as usize;
    let (size, data_start) = (reader.size()?, reader.size()?);
    if size != file.len() {
        return Err("it has another size than it says");
    }
    if reader.digest()? != graph {
        return Err("it belongs to another graph");
    }
    let sum = reader.digest()?;
    if data_start < HEADER || !data_start.is_multiple_of(PAGE) {
        return Err("its data starts at a bad place");
    }
    let (start, data) = file.split_at_checked(data_start).ok_or("its data starts past its end")?;
    let chunks = data.len().div_ceil(CHUNK);
    if count > MOST_ENTRIES || start.len() != (HEADER + count * ENTRY + chunks * 8).next_multiple_of(PAGE) {
        return Err("its index has a wrong size");
    }
    if start_digest(start) != sum {
        return Err("its index is damaged");
    }
    let last = size.saturating_sub(SLACK);
    let mut index = Index::with_capacity(count);
    for _ in 0..count {
        let (key, offset, size) = (reader.digest()?, reader.size()?, reader.size()?);
        let end = offset.checked_add(size).filter(|&end| end <= last);
        let (Some(end), true, true) = (end, offset >= data_start, offset.is_multiple_of(ALIGNMENT)) else {
            return Err("its index names places outside of its data");
        };
        index.insert(key, offset..end);
    }
    if !checks_data {
        return Ok(index);
    }
    let sums: Vec<u64> =
        (0..chunks).map(|_| reader.take().map(u64::from_le_bytes)).collect::<Result<_, _>>()?;
    // A task for each few chunks, so that starting tasks does not cost more than they.
    let tasks = chunks.div_ceil(4);
    let checked = parallel::map(tasks, |task| {
        let first = task * 4;
        data.chunks(CHUNK)
            .zip(&sums)
            .skip(first)
            .take(4)
            .all(|(chunk, &sum)| XxHash3_64::oneshot(chunk) == sum)
    });
    if checked.into_iter().any(|intact| intact != Some(true)) {
        return Err("its data is damaged");
    }
    Ok(index)
}

/// What a reference file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The graph that the source holds.
    pub graph: Digest,
    /// The state of the graph's pack file in which every byte of it was found to be right.
    pub whole: Option<Digest>,
}

/// The bytes of a reference file.
pub fn write_reference(source: Digest, reference: &Reference) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REFERENCE_SIZE);
    bytes.extend_from_slice(&REFERENCE_MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(source.as_bytes());
    bytes.extend_from_slice(reference.graph.as_bytes());
    bytes.extend_from_slice(reference.whole.map_or(UNKNOWN, |state| *state.as_bytes()).as_slice());
    let sum = Digest::of(&bytes);
    bytes.extend_from_slice(sum.as_bytes());
    bytes
}

/// In place of a state.
const UNKNOWN: [u8; Digest::SIZE] = [0; Digest::SIZE];

/// Bytes of a reference file.
pub const REFERENCE_SIZE: usize = 16 + 4 * Digest::SIZE;

/// What a reference file says of a source.
pub fn read_reference(file: &[u8], source: Digest) -> Result<Reference, Reason> {
    let mut reader = Reader(file);
    if reader.take()? != REFERENCE_MAGIC {
        return Err("it is no reference");
    }
    if reader.u32()? != VERSION {
        return Err("it has another version");
    }
    reader.u32()?;
    let (found, graph, state, sum) = (reader.digest()?, reader.digest()?, reader.digest()?, reader.digest()?);
    if file.len() != REFERENCE_SIZE || Digest::of(&file[..REFERENCE_SIZE - Digest::SIZE]) != sum {
        return Err("it is damaged");
    }
    if found != source {
        return Err("it belongs to another file");
    }
    Ok(Reference { graph, whole: Some(state).filter(|state| *state.as_bytes() != UNKNOWN) })
}
