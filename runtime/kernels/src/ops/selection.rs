//! Which rows of a tensor some index tensors name.

use crate::elements::items;
use crate::op::{Context, bad};
use crate::shape::{Shape, within, wrap};
use crate::strided::{Dim, View, offset_of};
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Args, Dtype, Result, TensorRef};

/// Index numbers of either dtype.
#[derive(Debug, Clone, Copy)]
pub(super) enum Indices<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
}

impl<'a> Indices<'a> {
    /// The numbers of an index tensor, in memory order.
    pub fn of(tensor: TensorRef<'a>) -> Result<Self> {
        match tensor.dtype()? {
            Dtype::Int32 => Ok(Self::I32(items(tensor)?)),
            Dtype::Int64 => Ok(Self::I64(items(tensor)?)),
            other => Err(bad(format!("indices should be int64 or int32, found {other}"))),
        }
    }

    /// One of them.
    #[inline(always)]
    pub fn get(&self, at: usize) -> i64 {
        match self {
            Self::I32(list) => list[at].into(),
            Self::I64(list) => list[at],
        }
    }
}

/// Rows of a tensor: runs of elements that lie behind one another, at the places that indices name.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    /// Dimensions in front of the indexed ones.
    before: View,
    /// What the indices add to the place of a row, in the order of the result.
    offsets: &'a [usize],
    /// Dimensions after the indexed ones that are not part of a run.
    after: View,
    run: usize,
    sizes: [i32; ET_MAX_RANK],
    rank: usize,
}

impl<'a> Selection<'a> {
    fn new(before: &View, offsets: &'a [usize], shape: &[i32], after: &View) -> Result<Self> {
        let mut sizes = [0; ET_MAX_RANK];
        let mut rank = 0;
        for part in [*before, View::contiguous(shape), *after] {
            let mut room = [0; ET_MAX_RANK];
            let count = part.sizes(&mut room)?;
            let place = sizes.get_mut(rank..rank + count);
            place
                .ok_or_else(|| bad(format!("the result has more than {ET_MAX_RANK} dimensions")))?
                .copy_from_slice(&room[..count]);
            rank += count;
        }
        let (mut after, mut run) = (*after, 1);
        while let Some(last) = after.dims().last().copied() {
            if last.size != 1 && last.step != run as isize {
                break;
            }
            run *= last.size;
            after = after.remove(after.dims().len() - 1)?;
        }
        Ok(Self { before: *before, offsets, after, run, sizes, rank })
    }

    /// All of a tensor.
    pub fn all(whole: &View) -> Result<Self> {
        Self::new(&View::point(), &[0], &[], whole)
    }

    /// The parts of a dimension that one index tensor names, which stand in the result as `shape`. An index counts from
    /// the start alone.
    pub fn along(
        context: &mut Context,
        whole: &View,
        dim: usize,
        index: TensorRef<'_>,
        shape: &[i32],
    ) -> Result<Self> {
        let Dim { size, step } = whole.dims().get(dim).copied().unwrap_or_default();
        let (places, numbers) = (View::of(index), Indices::of(index)?);
        let offsets: &'static mut [usize] = context.scratch(index.numel())?;
        for (i, offset) in offsets.iter_mut().enumerate() {
            let at = if index.is_contiguous() { i } else { offset_of(places.dims(), i) as usize };
            *offset = within(numbers.get(at), size)? * step as usize;
        }
        let (before, after) = around(whole, dim, dim + 1)?;
        Self::new(&before, offsets, shape, &after)
    }

    /// What a list of index tensors, masks and nones (argument `list`) names, one for each dimension; none if it names
    /// no dimension.
    pub fn of_list(context: &mut Context, args: &Args<'_>, list: usize, whole: View) -> Result<Option<Self>> {
        let mut entries: [Option<Entry<'_>>; ET_MAX_RANK] = [None; ET_MAX_RANK];
        let (mut shape, mut dim) = (Shape::new(&[])?, 0);
        let (mut first, mut end, mut adjacent) = (None, 0, true);
        for item in 0..args.tensor_count(list)? {
            let Some(tensor) = args.tensor_item(list, item)? else {
                dim += 1;
                continue;
            };
            let entry = Entry::new(tensor, &whole, dim).map_err(|e| e.within(format!("index {item}")))?;
            shape = Shape::broadcast(shape.sizes(), entry.shape())
                .map_err(|e| e.within(format!("index {item}")))?;
            adjacent &= first.is_none() || dim == end;
            first = first.or(Some(dim));
            let place = entries.get_mut(dim).ok_or_else(|| too_many(&whole))?;
            *place = Some(entry);
            dim += entry.dims;
            end = dim;
        }
        if dim > whole.dims().len() {
            return Err(too_many(&whole));
        }
        let Some(first) = first else { return Ok(None) };
        let count = shape.sizes().iter().map(|&s| s as usize).product();
        let offsets: &'static mut [usize] = context.scratch(count)?;
        offsets.fill(0);
        for (dim, entry) in entries.iter().enumerate() {
            if let Some(entry) = entry {
                entry.add(&whole, dim, shape.sizes(), offsets)?;
            }
        }
        if adjacent {
            let (before, after) = around(&whole, first, end)?;
            return Self::new(&before, offsets, shape.sizes(), &after).map(Some);
        }
        // PyTorch puts the indexed dimensions first if others stand between them.
        let mut after = View::point();
        let mut kept = 0;
        for (dim, own) in whole.dims().iter().enumerate() {
            let named =
                entries.iter().enumerate().any(|(d, e)| e.is_some_and(|e| (d..d + e.dims).contains(&dim)));
            if !named {
                after = after.insert(kept, *own)?;
                kept += 1;
            }
        }
        Self::new(&View::point(), offsets, shape.sizes(), &after).map(Some)
    }

    /// The sizes of the result.
    pub fn sizes(&self) -> &[i32] {
        self.sizes.get(..self.rank).unwrap_or_default()
    }

    /// The elements of a row.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Calls `body` with the place of each row from number `first` on, and an item for it.
    pub fn each<T>(&self, first: usize, items: impl Iterator<Item = T>, mut body: impl FnMut(usize, T)) {
        let (inner, count) = (self.after.count(), self.offsets.len());
        if inner == 0 || count == 0 {
            return;
        }
        let (mut after, mut named, mut before) =
            (first % inner, first / inner % count, first / inner / count);
        let mut base = offset_of(self.before.dims(), before);
        for item in items {
            let within = if inner > 1 { offset_of(self.after.dims(), after) } else { 0 };
            body(self.offsets[named] + (base + within) as usize, item);
            after += 1;
            if after < inner {
                continue;
            }
            (after, named) = (0, named + 1);
            if named == count {
                (named, before) = (0, before + 1);
                base = offset_of(self.before.dims(), before);
            }
        }
    }
}

/// The dimensions in front of `first`, and those from `end` on.
fn around(whole: &View, first: usize, end: usize) -> Result<(View, View)> {
    let (mut before, mut after) = (View::point(), View::point());
    for (at, dim) in whole.dims().iter().enumerate() {
        if at < first {
            before = before.insert(at, *dim)?;
        } else if at >= end {
            after = after.insert(at - end, *dim)?;
        }
    }
    Ok((before, after))
}

fn too_many(whole: &View) -> executorch_abi::Error {
    bad(format!("more indices than the {} dimensions of the tensor", whole.dims().len()))
}

/// An index tensor of a list, or a mask, which stands for an index tensor of each of its dimensions.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    tensor: TensorRef<'a>,
    /// The bytes of a mask.
    mask: Option<&'a [u8]>,
    /// How many elements of the mask are true.
    chosen: [i32; 1],
    /// How many dimensions it names.
    dims: usize,
}

impl<'a> Entry<'a> {
    fn new(tensor: TensorRef<'a>, whole: &View, dim: usize) -> Result<Self> {
        if !matches!(tensor.dtype()?, Dtype::Bool | Dtype::UInt8) {
            Indices::of(tensor)?;
            return Ok(Self { tensor, mask: None, chosen: [0], dims: 1 });
        }
        let named = whole.dims().get(dim..dim + tensor.rank()).unwrap_or_default();
        let alike = named.iter().map(|d| d.size).eq(tensor.sizes().iter().map(|&s| s as usize));
        if tensor.rank() == 0 || named.is_empty() || !alike {
            return Err(bad(format!(
                "a mask of the sizes {:?} where the tensor has {:?}",
                tensor.sizes(),
                whole.dims().get(dim..).unwrap_or_default().iter().map(|d| d.size).collect::<Vec<_>>()
            )));
        }
        crate::op::contiguous(tensor, "a mask")?;
        let bytes = tensor.bytes()?;
        let chosen = bytes.iter().filter(|&&b| b != 0).count();
        let chosen = i32::try_from(chosen).map_err(|_| bad("the mask chooses too many elements"))?;
        Ok(Self { tensor, mask: Some(bytes), chosen: [chosen], dims: tensor.rank() })
    }

    fn shape(&self) -> &[i32] {
        if self.mask.is_some() { &self.chosen } else { self.tensor.sizes() }
    }

    /// Adds what the indices contribute to the places, which stand in the order of `shape`.
    fn add(&self, whole: &View, dim: usize, shape: &[i32], offsets: &mut [usize]) -> Result<()> {
        let named = whole.dims().get(dim..dim + self.dims).unwrap_or_default();
        let dims = View::contiguous(shape);
        if let Some(mask) = self.mask {
            // The places of the chosen elements stand along the last dimension, or are one for all.
            let last = shape.last().map_or(1, |&s| s as usize);
            let mut chosen =
                mask.iter().enumerate().filter(|(_, b)| **b != 0).map(|(i, _)| offset_of(named, i) as usize);
            if self.chosen == [1] {
                let place = chosen.next().unwrap_or_default();
                offsets.iter_mut().for_each(|o| *o += place);
                return Ok(());
            }
            for (i, place) in chosen.enumerate() {
                offsets.iter_mut().skip(i).step_by(last.max(1)).for_each(|o| *o += place);
            }
            return Ok(());
        }
        let places = View::of(self.tensor).broadcast(dims.dims())?;
        let numbers = Indices::of(self.tensor)?;
        let Dim { size, step } = named.first().copied().unwrap_or_default();
        let in_order = self.tensor.is_contiguous() && self.tensor.sizes() == shape;
        for (i, offset) in offsets.iter_mut().enumerate() {
            let at = if in_order { i } else { offset_of(places.dims(), i) as usize };
            *offset += wrap(numbers.get(at), size)? * step as usize;
        }
        Ok(())
    }
}
