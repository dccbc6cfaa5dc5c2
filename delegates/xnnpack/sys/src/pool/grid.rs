//! A range of several dimensions, cut into tiles that are counted in row-major order.

/// The range and its tiles.
pub struct Grid<const D: usize> {
    range: [usize; D],
    tile: [usize; D],
    /// Tiles along each dimension.
    count: [usize; D],
}

impl<const D: usize> Grid<D> {
    /// Cuts the last `T` dimensions of `range` into tiles of these sizes, the others into single indices.
    pub fn new<const T: usize>(range: [usize; D], tiles: [usize; T]) -> Self {
        let mut tile = [1; D];
        for (to, from) in tile.iter_mut().rev().zip(tiles.iter().rev()) {
            // An empty tile would never cover the range.
            *to = (*from).max(1);
        }
        let mut count = range;
        for (count, tile) in count.iter_mut().zip(tile) {
            *count = count.div_ceil(tile);
        }
        Self { range, tile, count }
    }

    /// The number of tiles.
    pub fn len(&self) -> usize {
        self.count.iter().fold(1, |product: usize, &count| product.saturating_mul(count))
    }

    /// The tile with this number, which must be below [`Grid::len`].
    pub fn at(&self, number: usize) -> Position<'_, D> {
        let mut index = [0; D];
        let mut rest = number;
        for (index, &count) in index.iter_mut().zip(&self.count).rev() {
            // No dimension of a grid that has tiles is empty.
            *index = rest % count.max(1);
            rest /= count.max(1);
        }
        Position { grid: self, index }
    }
}

/// A tile's place.
pub struct Position<'a, const D: usize> {
    grid: &'a Grid<D>,
    /// Tiles before this one, along each dimension.
    index: [usize; D],
}

impl<const D: usize> Position<'_, D> {
    /// The tile's first index in each dimension.
    pub fn starts(&self) -> [usize; D] {
        std::array::from_fn(|dim| self.index[dim] * self.grid.tile[dim])
    }

    /// The tile's size in the last `T` dimensions; at the edge it is cut to the range.
    pub fn extents<const T: usize>(&self) -> [usize; T] {
        const { assert!(T <= D) };
        let grid = self.grid;
        std::array::from_fn(|tiled| {
            let dim = D - T + tiled;
            grid.tile[dim].min(grid.range[dim] - self.index[dim] * grid.tile[dim])
        })
    }

    /// Goes to the next tile; after the last comes the first.
    pub fn advance(&mut self) {
        for (index, &count) in self.index.iter_mut().zip(&self.grid.count).rev() {
            *index += 1;
            if *index < count {
                return;
            }
            *index = 0;
        }
    }
}
