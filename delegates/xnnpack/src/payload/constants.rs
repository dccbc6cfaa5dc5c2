//! Bytes of constants and their scales, wherever a payload keeps them.

use super::header::Regions;
use super::{NamedData, Owner, invalid};
use crate::graph::Constant;
use executorch_abi::Result;
use executorch_schema::xnnpack as fb;
use half::bf16;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

type List<'a, T> = flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<T>>;

/// Where entries are listed.
enum Table<'a> {
    /// No constants at all.
    None,
    /// Inside the structure.
    Inline(List<'a, fb::Buffer<'a>>),
    /// Ranges and names.
    Outside(List<'a, fb::ConstantDataOffset<'a>>),
}

/// The constants of a payload. What several values share is fetched, and converted, once.
pub struct Constants<'a> {
    table: Table<'a>,
    structure: &'a Constant,
    blob: Owner,
    region: Range<usize>,
    named: &'a NamedData<'a>,
    fetched: HashMap<u32, Constant>,
    scales: HashMap<u32, Arc<[f32]>>,
    group_scales: HashMap<u32, Arc<[bf16]>>,
}

impl<'a> Constants<'a> {
    /// The constants of a structure.
    pub fn new(
        root: fb::Graph<'a>,
        structure: &'a Constant,
        blob: Owner,
        regions: &Regions,
        named: &'a NamedData<'a>,
    ) -> Result<Self> {
        let inline = root.constant_buffer().filter(|list| !list.is_empty());
        let outside = root.constant_data().filter(|list| !list.is_empty());
        let table = match (inline, outside, &regions.constants) {
            (None, None, _) => Table::None,
            (Some(list), None, None) => Table::Inline(list),
            (None, Some(list), Some(_)) => Table::Outside(list),
            (Some(_), Some(_), _) => {
                return Err(invalid("constants are listed both inside and outside of the structure"));
            }
            // Upstream writes the former without a header and the latter with one, and reads nothing else.
            (Some(_), None, Some(_)) => {
                return Err(invalid("constants lie in the structure of a payload with a header"));
            }
            (None, Some(_), None) => {
                return Err(invalid("constants lie outside of the structure, but there is no header"));
            }
        };
        let region = regions.constants.clone().unwrap_or(0..0);
        let (fetched, scales, group_scales) = Default::default();
        Ok(Self { table, structure, blob, region, named, fetched, scales, group_scales })
    }

    /// The bytes of an entry, at an address that is a multiple of 4.
    pub fn get(&mut self, index: u32) -> Result<Constant> {
        if let Some(constant) = self.fetched.get(&index) {
            return Ok(constant.clone());
        }
        let found = self.fetch(index).map_err(|e| e.within(format!("constant {index}")))?;
        let found = if found.bytes().as_ptr().addr().is_multiple_of(4) {
            found
        } else {
            let mut copy = aligned_copy(found.bytes());
            copy.key = found.key;
            copy
        };
        self.fetched.insert(index, found.clone());
        Ok(found)
    }

    fn fetch(&self, index: u32) -> Result<Constant> {
        let at = index as usize;
        let missing =
            |entries: usize| invalid(format!("does not exist: there are {entries}, 0 stands for none"));
        match &self.table {
            Table::None => Err(missing(0)),
            Table::Inline(list) if at < list.len() => {
                let storage = list.get(at).storage().ok_or_else(|| invalid("has no bytes"))?;
                let structure = self.structure.bytes();
                let start = storage.bytes().as_ptr().addr() - structure.as_ptr().addr();
                self.structure
                    .part(start, storage.len())
                    .ok_or_else(|| invalid("lies outside of the structure"))
            }
            Table::Outside(list) if at < list.len() => self.outside(list.get(at)),
            Table::Inline(list) => Err(missing(list.len())),
            Table::Outside(list) => Err(missing(list.len())),
        }
    }

    fn outside(&self, entry: fb::ConstantDataOffset<'_>) -> Result<Constant> {
        let (offset, size) = (entry.offset(), entry.size());
        if let Some(key) = entry.named_key().filter(|key| !key.is_empty()) {
            if offset != u64::MAX {
                return Err(invalid(format!("has both the key {key:?} and the offset {offset}")));
            }
            let mut found = (self.named)(key).map_err(|e| e.within(format!("named data {key:?}")))?;
            if u64::try_from(found.size()) != Ok(size) {
                return Err(invalid(format!(
                    "should have {size} bytes, but named data {key:?} has {}: it belongs to another program",
                    found.size()
                )));
            }
            found.key = Some(key.into());
            return Ok(found);
        }
        let range = offset.checked_add(size).filter(|&end| end <= self.region.len() as u64);
        // Both fit: they are within the region.
        match range {
            Some(_) => Constant::new(self.blob.clone(), self.region.start + offset as usize, size as usize),
            None => None,
        }
        .ok_or_else(|| {
            let region = self.region.len();
            invalid(format!(
                "lies at {offset} and has {size} bytes, but the payload has {region} bytes of constants"
            ))
        })
    }

    /// Scales for each channel: those of entry `index`, or `inline` if that is 0.
    pub fn scales(
        &mut self,
        index: u32,
        inline: Option<flatbuffers::Vector<'_, f32>>,
        count: usize,
    ) -> Result<Arc<[f32]>> {
        if index == 0 {
            let inline = inline.unwrap_or_default();
            expect_count(inline.len(), count)?;
            let scales: Arc<[f32]> = inline.iter().collect();
            check(&scales)?;
            return Ok(scales);
        }
        let scales = match self.scales.get(&index) {
            Some(scales) => scales.clone(),
            None => {
                let bytes = self.get(index)?;
                let words = exact_words::<4>(bytes.bytes(), index)?;
                let scales: Arc<[f32]> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
                check(&scales).map_err(|e| e.within(format!("constant {index}")))?;
                self.scales.insert(index, scales.clone());
                scales
            }
        };
        expect_count(scales.len(), count).map_err(|e| e.within(format!("constant {index}")))?;
        Ok(scales)
    }

    /// The same for groups, whose scales are bfloat16.
    pub fn group_scales(
        &mut self,
        index: u32,
        inline: Option<flatbuffers::Vector<'_, f32>>,
        count: usize,
    ) -> Result<Arc<[bf16]>> {
        if index == 0 {
            let inline = inline.unwrap_or_default();
            expect_count(inline.len(), count)?;
            let scales: Arc<[bf16]> = inline.iter().map(rounded).collect();
            check(&scales)?;
            return Ok(scales);
        }
        let scales = match self.group_scales.get(&index) {
            Some(scales) => scales.clone(),
            None => {
                let bytes = self.get(index)?;
                let words = exact_words::<2>(bytes.bytes(), index)?;
                let scales: Arc<[bf16]> = words.iter().map(|word| bf16::from_le_bytes(*word)).collect();
                check(&scales).map_err(|e| e.within(format!("constant {index}")))?;
                self.group_scales.insert(index, scales.clone());
                scales
            }
        };
        expect_count(scales.len(), count).map_err(|e| e.within(format!("constant {index}")))?;
        Ok(scales)
    }
}

/// Upstream's way from float32 scales to bfloat16: a factor of about 1 + 2^-8 before the low bits are dropped. Results
/// must agree with it bit by bit.
fn rounded(scale: f32) -> bf16 {
    const FACTOR: f32 = 1.003_891;
    bf16::from_bits(((scale * FACTOR).to_bits() >> 16) as u16)
}

fn exact_words<const N: usize>(bytes: &[u8], index: u32) -> Result<&[[u8; N]]> {
    match bytes.as_chunks() {
        (words, []) => Ok(words),
        _ => {
            Err(invalid(format!("constant {index} has {} bytes, which are no {N}-byte scales", bytes.len())))
        }
    }
}

fn expect_count(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(invalid(format!("there are {found} scales, expected {expected}")))
}

/// Scales must be normal numbers above 0, as the library demands: kernels divide by them.
pub fn check<T: Copy + Into<f32>>(scales: &[T]) -> Result<()> {
    match scales
        .iter()
        .map(|&scale| scale.into())
        .enumerate()
        .find(|(_, scale)| !(scale.is_normal() && *scale > 0.0))
    {
        None => Ok(()),
        Some((at, scale)) => Err(invalid(format!(
            "scale {at} is {scale:e}, expected a positive number that is finite and normal"
        ))),
    }
}

/// A copy of bytes at an address that is a multiple of 16.
pub fn aligned_copy(bytes: &[u8]) -> Constant {
    struct Copy(Vec<u128>);
    impl AsRef<[u8]> for Copy {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    let mut words = vec![0_u128; bytes.len().div_ceil(size_of::<u128>())];
    if let Some(place) = bytemuck::cast_slice_mut(&mut words).get_mut(..bytes.len()) {
        place.copy_from_slice(bytes);
    }
    let owner: Owner = Arc::new(Copy(words));
    Constant::whole(owner, bytes.len())
}
