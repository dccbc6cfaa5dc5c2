//! Broadcasting: shapes aligned at the right, sizes of 1 repeated.

use crate::op::bad;
use executorch_abi::tensor::ET_MAX_RANK;
use executorch_abi::{Error, Result, TensorRef};

/// A shape of at most [`ET_MAX_RANK`] dimensions, on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    sizes: [i32; ET_MAX_RANK],
    rank: usize,
}

impl Shape {
    /// A shape of some sizes.
    pub fn new(sizes: &[i32]) -> Result<Self> {
        let mut shape = Self { sizes: [0; ET_MAX_RANK], rank: sizes.len() };
        let place = shape.sizes.get_mut(..sizes.len());
        place
            .ok_or_else(|| bad(format!("{} dimensions, at most {ET_MAX_RANK}", sizes.len())))?
            .copy_from_slice(sizes);
        Ok(shape)
    }

    /// The sizes.
    pub fn sizes(&self) -> &[i32] {
        self.sizes.get(..self.rank).unwrap_or_default()
    }

    /// Changes the last size.
    pub fn set_last(&mut self, size: i32) {
        if let Some(last) = self.rank.checked_sub(1).and_then(|at| self.sizes.get_mut(at)) {
            *last = size;
        }
    }

    /// Changes the size of dimension `at`, if there is one.
    pub fn set(&mut self, at: usize, size: i32) {
        if let Some(place) = self.sizes.get_mut(..self.rank).and_then(|sizes| sizes.get_mut(at)) {
            *place = size;
        }
    }

    /// The shape that both of two shapes broadcast to.
    pub fn broadcast(a: &[i32], b: &[i32]) -> Result<Self> {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let mut shape = Self::new(long)?;
        let lead = long.len() - short.len();
        for (size, &other) in shape.sizes.iter_mut().skip(lead).zip(short) {
            *size = match (*size, other) {
                (x, y) if x == y => x,
                (1, y) => y,
                (x, 1) => x,
                _ => return Err(bad(format!("sizes {a:?} and {b:?} do not broadcast"))),
            };
        }
        Ok(shape)
    }
}

/// What `index` names among `size` things, where it may count from the end.
fn from_end(index: i64, size: usize) -> Option<usize> {
    let wrapped = if index < 0 { index.saturating_add(size as i64) } else { index };
    usize::try_from(wrapped).ok().filter(|&i| i < size)
}

/// The dimension that `dim` names in a tensor of `rank` dimensions, where it may count from the end. A tensor without
/// dimensions takes 0 and -1.
pub fn dimension(dim: i64, rank: usize) -> Result<usize> {
    from_end(dim, rank.max(1))
        .ok_or_else(|| bad(format!("dimension {dim} of a tensor with {rank} dimensions")))
}

/// The element that `index` names among `size`, where it may count from the end.
pub fn wrap(index: i64, size: usize) -> Result<usize> {
    from_end(index, size).ok_or_else(|| out_of_range(index, size))
}

/// The element that `index` names among `size`, counted from the start alone.
pub fn within(index: i64, size: usize) -> Result<usize> {
    usize::try_from(index).ok().filter(|&i| i < size).ok_or_else(|| out_of_range(index, size))
}

#[cold]
fn out_of_range(index: i64, size: usize) -> Error {
    bad(format!("index {index} is out of range for {size} elements"))
}

/// How a tensor's elements lie in memory: sizes, and the distance of neighbours along each dimension, in elements.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout<'a> {
    /// Sizes, outermost dimension first.
    pub sizes: &'a [i32],
    /// Strides, one for each size.
    pub strides: &'a [i32],
    /// Where the first element is.
    pub start: usize,
}

impl<'a> Layout<'a> {
    /// The layout of a tensor.
    pub fn of(tensor: TensorRef<'a>) -> Self {
        Self { sizes: tensor.sizes(), strides: tensor.strides(), start: 0 }
    }

    /// The stride along dimension `at` of a broadcast to `rank` dimensions: 0 where an element is repeated.
    fn stride(&self, at: usize, rank: usize) -> usize {
        let own = (at + self.sizes.len()).checked_sub(rank);
        let own = own.and_then(|d| self.sizes.get(d).zip(self.strides.get(d)));
        own.map_or(0, |(&size, &stride)| if size == 1 { 0 } else { stride as usize })
    }
}

/// The runs in which a broadcast walks its `N` inputs while it writes a dense output from its first element in memory
/// to its last.
#[derive(Debug)]
pub struct Rows<const N: usize> {
    /// Elements of a run.
    pub length: usize,
    /// Distance of neighbours within a run, in each input: 0 where the input repeats one element.
    pub steps: [usize; N],
    /// Where the first run starts in each input.
    starts: [usize; N],
    /// The dimensions outside a run, innermost first.
    sizes: [usize; ET_MAX_RANK],
    strides: [[usize; N]; ET_MAX_RANK],
    rank: usize,
}

impl<const N: usize> Rows<N> {
    /// One run of `length` elements in all inputs.
    pub fn flat(length: usize) -> Self {
        Self {
            length,
            steps: [1; N],
            starts: [0; N],
            sizes: [1; ET_MAX_RANK],
            strides: [[0; N]; ET_MAX_RANK],
            rank: 0,
        }
    }

    /// The runs of inputs that are broadcast to the sizes of an output, which lies dense in `order` (its dimensions,
    /// outermost in memory first).
    pub fn new(sizes: &[i32], order: &[u8], inputs: [Layout<'_>; N]) -> Self {
        let mut rows = Self::flat(1);
        (rows.steps, rows.starts) = ([0; N], inputs.map(|t| t.start));
        // The outermost dimension so far: its size and strides.
        let (mut size, mut strides) = (1, [0; N]);
        for &dim in order.iter().rev() {
            let own_size = sizes.get(usize::from(dim)).copied().unwrap_or(1) as usize;
            if own_size == 1 {
                continue;
            }
            let own = inputs.map(|t| t.stride(dim.into(), sizes.len()));
            if size == 1 {
                (size, strides) = (own_size, own);
            } else if (0..N).all(|i| own[i] == strides[i] * size) {
                size *= own_size;
            } else {
                rows.close(size, strides);
                (size, strides) = (own_size, own);
            }
        }
        rows.close(size, strides);
        rows
    }

    /// Adds a dimension outside the others; the first one is the run.
    fn close(&mut self, size: usize, strides: [usize; N]) {
        if self.length == 1 {
            (self.length, self.steps) = (size, strides);
        } else if let (Some(s), Some(t)) = (self.sizes.get_mut(self.rank), self.strides.get_mut(self.rank)) {
            (*s, *t) = (size, strides);
            self.rank += 1;
        }
    }

    /// The number of runs.
    pub fn count(&self) -> usize {
        self.sizes.iter().take(self.rank).product()
    }

    /// Where the first run starts in input `i`.
    pub fn start(&self, i: usize) -> usize {
        self.starts[i]
    }

    /// Whether input `i` is read from its start to its end without a gap.
    pub fn is_linear(&self, i: usize) -> bool {
        let mut next = self.length;
        let mut dims = self.sizes.iter().zip(&self.strides).take(self.rank);
        self.steps[i] == 1
            && dims.all(|(size, strides)| {
                let follows = strides[i] == next;
                next *= size;
                follows
            })
    }

    /// Whether all runs read the same elements of input `i`.
    pub fn repeats(&self, i: usize) -> bool {
        self.strides.iter().take(self.rank).all(|strides| strides[i] == 0)
    }

    /// A walk that begins at element `at` of the output.
    pub fn walk(&self, at: usize) -> Walk<'_, N> {
        let length = self.length.max(1);
        let mut walk = Walk { rows: self, done: at % length, index: [0; ET_MAX_RANK], starts: self.starts };
        let mut rest = at / length;
        let dims = self.sizes.iter().zip(&self.strides).take(self.rank);
        for (index, (&size, strides)) in walk.index.iter_mut().zip(dims) {
            *index = rest % size.max(1);
            rest /= size.max(1);
            for (start, stride) in walk.starts.iter_mut().zip(strides) {
                *start += *index * stride;
            }
        }
        walk
    }
}

/// A place in [`Rows`].
#[derive(Debug)]
pub struct Walk<'a, const N: usize> {
    rows: &'a Rows<N>,
    /// Elements of the run that lie behind.
    done: usize,
    index: [usize; ET_MAX_RANK],
    /// Where the run starts in each input.
    starts: [usize; N],
}

impl<const N: usize> Walk<'_, N> {
    /// Elements of the run that are left.
    pub fn left(&self) -> usize {
        self.rows.length - self.done
    }

    /// The place in input `i`.
    pub fn at(&self, i: usize) -> usize {
        self.starts[i] + self.done * self.rows.steps[i]
    }

    /// Goes on by `n` elements, at most those that are left of the run.
    pub fn advance(&mut self, n: usize) {
        self.done += n;
        if self.done < self.rows.length {
            return;
        }
        self.done = 0;
        let dims = self.rows.sizes.iter().zip(&self.rows.strides).take(self.rows.rank);
        for (index, (&size, strides)) in self.index.iter_mut().zip(dims) {
            *index += 1;
            let wraps = *index == size;
            for (start, stride) in self.starts.iter_mut().zip(strides) {
                // A wrap goes back to the dimension's beginning.
                *start = if wraps { *start - stride * (size - 1) } else { *start + stride };
            }
            if !wraps {
                return;
            }
            *index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, Rows, Shape};

    #[test]
    fn shapes_broadcast() {
        let shape = |a: &[i32], b: &[i32]| Shape::broadcast(a, b).map(|s| s.sizes().to_vec());
        assert_eq!(shape(&[2, 1, 4], &[3, 1]), Ok(vec![2, 3, 4]));
        assert_eq!(shape(&[], &[0]), Ok(vec![0]));
        assert_eq!(shape(&[1], &[5, 5]), Ok(vec![5, 5]));
        assert!(shape(&[2], &[3]).is_err());
        assert!(shape(&[0], &[2]).is_err());
    }

    /// All places of a walk in parts of `step` elements, each part from a walk of its own.
    fn places<const N: usize>(rows: &Rows<N>, count: usize, step: usize) -> Vec<[usize; N]> {
        let mut all = Vec::new();
        for begin in (0..count).step_by(step) {
            let mut walk = rows.walk(begin);
            let mut rest = step.min(count - begin);
            while rest > 0 {
                let n = walk.left().min(rest);
                all.extend((0..n).map(|k| std::array::from_fn(|i| walk.at(i) + k * rows.steps[i])));
                walk.advance(n);
                rest -= n;
            }
        }
        all
    }

    #[test]
    fn walks_find_every_element() {
        // An output in channels-last order of an input in it, one in the contiguous order, and a repeated column.
        let sizes = [2, 3, 4, 5];
        let inputs = [
            Layout { sizes: &sizes, strides: &[60, 1, 15, 3], start: 7 },
            Layout { sizes: &sizes, strides: &[60, 20, 5, 1], start: 0 },
            Layout { sizes: &[3, 1, 1], strides: &[1, 1, 1], start: 0 },
        ];
        let rows = Rows::new(&sizes, &[0, 2, 3, 1], inputs);
        let mut expected = Vec::new();
        for n in 0..2 {
            for hw in 0..20 {
                for c in 0..3 {
                    expected.push([7 + n * 60 + hw * 3 + c, n * 60 + c * 20 + hw, c]);
                }
            }
        }
        assert_eq!(rows.length, 3);
        for step in [1, 2, 7, 120] {
            assert_eq!(places(&rows, 120, step), expected);
        }
    }

    #[test]
    fn dimensions_that_continue_are_one_run() {
        let dense = Layout { sizes: &[2, 3, 4], strides: &[12, 4, 1], start: 0 };
        let rows = Rows::new(dense.sizes, &[0, 1, 2], [dense, Layout::default()]);
        assert_eq!((rows.length, rows.steps, rows.count()), (24, [1, 0], 1));
        let rows = Rows::new(
            dense.sizes,
            &[0, 1, 2],
            [dense, Layout { sizes: &[3, 4], strides: &[4, 1], start: 0 }],
        );
        assert_eq!((rows.length, rows.steps, rows.count()), (12, [1, 1], 2));
        assert_eq!(Rows::<1>::new(&[], &[], [Layout::default()]).length, 1);
    }
}
