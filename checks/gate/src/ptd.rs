//! Files of named data (`.ptd`): one datum more.

use anyhow::{Context as _, Result, ensure};
use executorch_schema::flat_tensor as fb;
use flatbuffers::FlatBufferBuilder;

/// Where the structure starts behind the header.
const HEADER: usize = 48;
/// Of the header without the file's first 8 bytes.
const LENGTH: u32 = 40;
/// Segments begin at multiples of this.
const ALIGNMENT: usize = 128;

/// The file with `data` under `key` besides what it holds.
pub fn with(file: &[u8], key: &str, data: &[u8]) -> Result<Vec<u8>> {
    let base = usize::try_from(u64::from_le_bytes(
        *file.get(32..).and_then(<[u8]>::first_chunk).context("no header")?,
    ))?;
    let options = flatbuffers::VerifierOptions::default();
    let old = flatbuffers::root_with_opts::<fb::FlatTensor<'_>>(&options, file)?;
    let mut segments = Vec::new();
    for segment in old.segments().iter().flatten() {
        let start = base.checked_add(usize::try_from(segment.offset())?).context("a segment's offset")?;
        let end = start.checked_add(usize::try_from(segment.size())?).context("a segment's size")?;
        segments.push(file.get(start..end).context("a segment that is not in the file")?);
    }
    segments.push(data);

    let mut builder = FlatBufferBuilder::new();
    let mut named = Vec::new();
    for entry in old.named_data().iter().flatten() {
        ensure!(entry.key() != Some(key), "{key} is in the file already");
        let tensor_layout = entry.tensor_layout().map(|layout| {
            let args = fb::TensorLayoutArgs {
                scalar_type: layout.scalar_type(),
                sizes: layout.sizes().map(|sizes| builder.create_vector_from_iter(sizes.iter())),
                dim_order: layout.dim_order().map(|order| builder.create_vector(order.bytes())),
            };
            fb::TensorLayout::create(&mut builder, &args)
        });
        let key = entry.key().map(|key| builder.create_string(key));
        let args = fb::NamedDataArgs { key, segment_index: entry.segment_index(), tensor_layout };
        named.push(fb::NamedData::create(&mut builder, &args));
    }
    let segment_index = u32::try_from(segments.len() - 1)?;
    let args =
        fb::NamedDataArgs { key: Some(builder.create_string(key)), segment_index, tensor_layout: None };
    named.push(fb::NamedData::create(&mut builder, &args));

    let (mut places, mut bytes) = (Vec::new(), Vec::new());
    for segment in segments {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        let args = fb::DataSegmentArgs { offset: bytes.len() as u64, size: segment.len() as u64 };
        places.push(fb::DataSegment::create(&mut builder, &args));
        bytes.extend(segment);
    }
    let args = fb::FlatTensorArgs {
        version: old.version(),
        segments: Some(builder.create_vector(&places)),
        named_data: Some(builder.create_vector(&named)),
    };
    let root = fb::FlatTensor::create(&mut builder, &args);
    builder.finish(root, Some("FT01"));
    written(builder.finished_data(), &bytes)
}

/// The file of a structure and its segments, with the header between the structure's first 8 bytes and the rest.
fn written(structure: &[u8], segments: &[u8]) -> Result<Vec<u8>> {
    let (start, rest) = structure.split_at_checked(8).context("an empty structure")?;
    let (root, identifier) = start.split_at(4);
    let root = u32::from_le_bytes(root.try_into()?) + HEADER as u32 - 8;
    let size = HEADER + rest.len();
    let base = size.next_multiple_of(ALIGNMENT);
    let mut file = root.to_le_bytes().to_vec();
    file.extend(identifier);
    file.extend(b"FH01");
    file.extend(LENGTH.to_le_bytes());
    for word in [HEADER, rest.len(), base, segments.len()] {
        file.extend((word as u64).to_le_bytes());
    }
    file.resize(HEADER, 0);
    file.extend(rest);
    file.resize(base, 0);
    file.extend(segments);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = include_bytes!("../../conformance/cuda/cuda_gate.ptd");

    fn data(file: &[u8]) -> Vec<(String, Vec<u8>)> {
        let base = u64::from_le_bytes(file[32..40].try_into().unwrap());
        let tensors = flatbuffers::root::<fb::FlatTensor<'_>>(file).unwrap();
        let segments = tensors.segments().unwrap();
        let read = |entry: fb::NamedData<'_>| {
            let segment = segments.get(entry.segment_index() as usize);
            let start = (base + segment.offset()) as usize;
            (entry.key().unwrap().to_owned(), file[start..start + segment.size() as usize].to_vec())
        };
        tensors.named_data().unwrap().iter().map(read).collect()
    }

    #[test]
    fn all_is_there_and_one_more() {
        let mut expected = data(FILE);
        assert_eq!(expected.len(), 4);
        let file = with(FILE, "more", b"something").unwrap();
        expected.push(("more".into(), b"something".to_vec()));
        assert_eq!(data(&file), expected);
        assert!(with(&file, "more", b"").is_err());
        assert!(with(&FILE[..100], "more", b"").is_err() && with(b"", "more", b"").is_err());
    }
}
