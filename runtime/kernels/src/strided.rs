//! Where the elements of a part of a tensor lie. A view is arithmetic alone: it holds no memory, and copying through
//! it ([`crate::moves`]) checks its reach.

use crate::op::bad;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Result, TensorRef};

/// The most dimensions of a view: copies may split each dimension of a tensor in two.
pub const MAX_DIMS: usize = 2 * ET_MAX_RANK;

/// One dimension of a view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dim {
    /// Elements along the dimension.
    pub size: usize,
    /// From one to the next, in elements of the memory; it may be 0 or negative.
    pub step: isize,
}

/// The places of some elements: dimensions, outermost first, and where the first element lies.
#[derive(Debug, Clone, Copy)]
pub struct View {
    dims: [Dim; MAX_DIMS],
    rank: usize,
    start: isize,
}

impl View {
    /// One element, the first.
    pub fn point() -> Self {
        Self { dims: [Dim::default(); MAX_DIMS], rank: 0, start: 0 }
    }

    /// A whole tensor.
    pub fn of(tensor: TensorRef<'_>) -> Self {
        let mut view = Self::point();
        for (&size, &stride) in tensor.sizes().iter().zip(tensor.strides()) {
            view.put(Dim { size: size as usize, step: stride as isize });
        }
        view
    }

    /// `count` elements behind one another.
    pub fn line(count: usize) -> Self {
        let mut view = Self::point();
        view.put(Dim { size: count, step: 1 });
        view
    }

    /// Memory of some sizes in the contiguous order.
    pub fn contiguous(sizes: &[i32]) -> Self {
        let mut view = Self::point();
        for &size in sizes.iter().take(MAX_DIMS) {
            view.put(Dim { size: size as usize, step: 0 });
        }
        let mut step = 1;
        for dim in view.dims.iter_mut().take(view.rank).rev() {
            dim.step = step;
            step *= dim.size.max(1) as isize;
        }
        view
    }

    /// Adds a dimension where there is room for sure.
    fn put(&mut self, dim: Dim) {
        self.dims[self.rank] = dim;
        self.rank += 1;
    }

    /// The dimensions.
    pub fn dims(&self) -> &[Dim] {
        self.dims.get(..self.rank).unwrap_or_default()
    }

    /// The place of the first element.
    pub fn start(&self) -> isize {
        self.start
    }

    /// The view `by` elements further on.
    pub fn moved(mut self, by: isize) -> Self {
        self.start = self.start.saturating_add(by);
        self
    }

    /// The number of elements.
    pub fn count(&self) -> usize {
        self.dims().iter().map(|d| d.size).product()
    }

    /// The sizes, as a tensor has them.
    pub fn sizes(&self, room: &mut [i32; ET_MAX_RANK]) -> Result<usize> {
        let rank = self.rank;
        let place = room.get_mut(..rank);
        let place = place.ok_or_else(|| bad(format!("{rank} dimensions, at most {ET_MAX_RANK}")))?;
        for (size, dim) in place.iter_mut().zip(self.dims()) {
            *size =
                i32::try_from(dim.size).map_err(|_| bad(format!("the size {} is too large", dim.size)))?;
        }
        Ok(rank)
    }

    fn dim(&mut self, dim: usize) -> Result<&mut Dim> {
        let rank = self.rank;
        self.dims
            .get_mut(..rank)
            .and_then(|dims| dims.get_mut(dim))
            .ok_or_else(|| bad(format!("dimension {dim} of a view with {rank} dimensions")))
    }

    /// Keeps every `step`th of `length` elements along a dimension, from `first` on; `step` may be 0 (the same element
    /// again) or negative.
    pub fn pick(mut self, dim: usize, first: usize, length: usize, step: isize) -> Result<Self> {
        let at = self.dim(dim)?;
        let last = first as isize + step * (length.max(1) - 1) as isize;
        if length > 0 && (first >= at.size || last < 0 || last >= at.size as isize) {
            return Err(bad(format!(
                "{length} elements from {first} on in steps of {step} exceed the dimension's size {}",
                at.size
            )));
        }
        let by = at.step;
        *at = Dim { size: length, step: by * step };
        if length > 0 {
            self.start += by * first as isize;
        }
        Ok(self)
    }

    /// Keeps `length` elements along a dimension, from `first` on.
    pub fn narrow(self, dim: usize, first: usize, length: usize) -> Result<Self> {
        self.pick(dim, first, length, 1)
    }

    /// Keeps one index of a dimension, which goes away.
    pub fn select(self, dim: usize, index: usize) -> Result<Self> {
        self.pick(dim, index, 1, 1)?.remove(dim)
    }

    /// Takes a dimension away that has one element, or whose elements the caller visits in another way.
    pub fn remove(mut self, dim: usize) -> Result<Self> {
        self.dim(dim)?;
        self.dims.copy_within(dim + 1..self.rank, dim);
        self.rank -= 1;
        Ok(self)
    }

    /// Puts a dimension in front of dimension `at`.
    pub fn insert(mut self, at: usize, dim: Dim) -> Result<Self> {
        if at > self.rank || self.rank == MAX_DIMS {
            return Err(bad(format!("no dimension can be put at {at} of {}", self.rank)));
        }
        self.dims.copy_within(at..self.rank, at + 1);
        self.dims[at] = dim;
        self.rank += 1;
        Ok(self)
    }

    /// Splits a dimension in an outer one and one of `inner` elements.
    pub fn split(mut self, dim: usize, inner: usize) -> Result<Self> {
        let at = self.dim(dim)?;
        if inner == 0 || !at.size.is_multiple_of(inner) {
            return Err(bad(format!("the size {} of dimension {dim} is no multiple of {inner}", at.size)));
        }
        let outer = Dim { size: at.size / inner, step: at.step * inner as isize };
        at.size = inner;
        self.insert(dim, outer)
    }

    /// The dimensions in another order.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let mut view = Self { start: self.start, ..Self::point() };
        for &dim in order {
            let found = self.dims().get(dim).copied();
            view = view.insert(view.rank, found.ok_or_else(|| bad(format!("no dimension {dim}")))?)?;
        }
        Ok(view)
    }

    /// The view repeated to `sizes`: dimensions are put in front, and sizes of 1 repeat their element.
    pub fn broadcast(&self, sizes: &[Dim]) -> Result<Self> {
        let mismatch = || {
            let (from, to) = (self.dims().iter().map(|d| d.size), sizes.iter().map(|d| d.size));
            bad(format!(
                "sizes {:?} do not broadcast to {:?}",
                from.collect::<Vec<_>>(),
                to.collect::<Vec<_>>()
            ))
        };
        let lead = sizes.len().checked_sub(self.rank).ok_or_else(mismatch)?;
        let mut view = Self { start: self.start, ..Self::point() };
        for (at, to) in sizes.iter().enumerate() {
            let own = at.checked_sub(lead).and_then(|d| self.dims().get(d)).copied();
            let dim = match own.unwrap_or(Dim { size: 1, step: 0 }) {
                own if own.size == to.size => own,
                own if own.size == 1 => Dim { size: to.size, step: 0 },
                _ => return Err(mismatch()),
            };
            view = view.insert(at, dim)?;
        }
        Ok(view)
    }
}

/// Where element `index` (counted in the dimensions' order) of some dimensions lies, from their first.
pub fn offset_of(dims: &[Dim], mut index: usize) -> isize {
    let mut offset = 0;
    for dim in dims.iter().rev() {
        let size = dim.size.max(1);
        offset += (index % size) as isize * dim.step;
        index /= size;
    }
    offset
}

/// What `start:end:step` names of `size` elements, as Python slices do: the first index and how many there are.
pub fn slice(start: Option<i64>, end: Option<i64>, step: i64, size: usize) -> Result<(usize, usize)> {
    let step = usize::try_from(step).ok().filter(|&s| s > 0);
    let step = step.ok_or_else(|| bad("the step of a slice should be at least 1"))?;
    let bound = |index: Option<i64>, otherwise: usize| match index {
        None => otherwise,
        Some(i) if i < 0 => usize::try_from(i.saturating_add(size as i64)).unwrap_or(0),
        Some(i) => usize::try_from(i).unwrap_or(size).min(size),
    };
    let (first, end) = (bound(start, 0), bound(end, size));
    Ok((first, end.saturating_sub(first).div_ceil(step)))
}
