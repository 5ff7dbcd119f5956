//! The regular grid that cuts an array into chunks.

/// Offsets and sizes of a box.
pub type Region = (Vec<i64>, Vec<i64>);

/// A shape, cut from its origin into chunks of one shape; the last ones may stick out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    shape: Box<[i64]>,
    chunk_shape: Box<[i64]>,
}

impl Grid {
    /// Cut `shape`, which is nowhere negative, into chunks that are at least 1 in every dimension.
    ///
    /// `None` when that is not what they are, or their ranks differ.
    #[must_use]
    pub fn new(shape: Box<[i64]>, chunk_shape: Box<[i64]>) -> Option<Self> {
        let sound = shape.len() == chunk_shape.len()
            && shape.iter().all(|&extent| extent >= 0)
            && chunk_shape.iter().all(|&extent| extent >= 1);
        sound.then_some(Self { shape, chunk_shape })
    }

    /// Shape of the whole.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Shape of a chunk.
    #[must_use]
    pub fn chunk_shape(&self) -> &[i64] {
        &self.chunk_shape
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Elements of a whole chunk; `None` beyond 128 bits.
    #[must_use]
    pub fn chunk_elements(&self) -> Option<u128> {
        volume(&self.chunk_shape)
    }

    /// Chunks along each dimension.
    pub fn cells(&self) -> impl Iterator<Item = i64> {
        let extents = self.shape.iter().zip(&self.chunk_shape);
        extents.map(|(&extent, &chunk)| whole_chunks(extent, chunk))
    }

    /// Number of chunks; `None` beyond 128 bits.
    #[must_use]
    pub fn cell_count(&self) -> Option<u128> {
        product(self.cells())
    }

    /// The box of a cell, clipped to the shape; `None` for a cell outside the grid or of another rank.
    #[must_use]
    pub fn region(&self, cell: &[i64]) -> Option<Region> {
        if cell.len() != self.rank() || self.first_outside(cell).is_some() {
            return None;
        }
        let dimensions = cell.iter().zip(&self.shape).zip(&self.chunk_shape);
        let spans = dimensions.map(|((&at, &extent), &chunk)| {
            let offset = at.checked_mul(chunk)?;
            Some((offset, chunk.min(extent.checked_sub(offset)?)))
        });
        spans.collect::<Option<Vec<_>>>().map(|spans| spans.into_iter().unzip())
    }

    /// The box that a cell would have in a larger array; `None` where its offset is beyond 64 bits.
    #[must_use]
    pub fn unclipped(&self, cell: &[i64]) -> Option<Region> {
        let offsets = cell.iter().zip(&self.chunk_shape).map(|(&at, &chunk)| at.checked_mul(chunk));
        Some((offsets.collect::<Option<_>>()?, self.chunk_shape.to_vec()))
    }

    /// The first dimension in which a cell lies outside the grid.
    #[must_use]
    pub fn first_outside(&self, cell: &[i64]) -> Option<usize> {
        cell.iter().zip(self.cells()).position(|(&at, cells)| !(0..cells).contains(&at))
    }

    /// Place of a cell in row-major order; `None` beyond 128 bits.
    #[must_use]
    pub fn position(&self, cell: &[i64]) -> Option<u128> {
        cell.iter().zip(self.cells()).try_fold(0_u128, |position, (&at, cells)| {
            position.checked_mul(u128::try_from(cells).ok()?)?.checked_add(u128::try_from(at).ok()?)
        })
    }

    /// The cell at a place in row-major order; the inverse of [`Grid::position`] within the grid.
    #[must_use]
    pub fn cell(&self, position: u128) -> Option<Vec<i64>> {
        let cells: Vec<i64> = self.cells().collect();
        let mut rest = position;
        let mut cell = Vec::with_capacity(cells.len());
        for along in cells.into_iter().rev() {
            let along = u128::try_from(along).ok()?;
            cell.push(i64::try_from(rest.checked_rem(along)?).ok()?);
            rest = rest.checked_div(along)?;
        }
        cell.reverse();
        (rest == 0).then_some(cell)
    }
}

/// How many elements a box of these sizes has; `None` beyond 128 bits or for a negative size.
#[must_use]
pub fn volume(sizes: &[i64]) -> Option<u128> {
    product(sizes.iter().copied())
}

fn product(numbers: impl Iterator<Item = i64>) -> Option<u128> {
    let mut factors = Vec::new();
    for number in numbers {
        match u128::try_from(number) {
            // One empty dimension makes nothing of all the others, however large.
            Ok(0) => return Some(0),
            Ok(number) => factors.push(number),
            Err(_) => return None,
        }
    }
    factors.into_iter().try_fold(1_u128, u128::checked_mul)
}

/// `extent / chunk`, rounded up.
const fn whole_chunks(extent: i64, chunk: i64) -> i64 {
    // Neither is negative and `chunk` is not 0: the quotient is at most `extent`, and it is smaller where 1 is added.
    let quotient = match extent.checked_div(chunk) {
        Some(quotient) => quotient,
        None => 0,
    };
    match extent.checked_rem(chunk) {
        Some(0) | None => quotient,
        Some(_) => quotient.saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(shape: &[i64], chunk_shape: &[i64]) -> Grid {
        Grid::new(shape.into(), chunk_shape.into()).expect("a sound grid")
    }

    #[test]
    fn cells_tile_the_array_in_order_of_position() {
        let mut tried = 0;
        for (rows, columns) in (0..6).flat_map(|rows| (0..6).map(move |columns| (rows, columns))) {
            for (tall, wide) in (1..5).flat_map(|tall| (1..5).map(move |wide| (tall, wide))) {
                let grid = grid(&[rows, columns], &[tall, wide]);
                let mut covered = std::collections::BTreeMap::new();
                for position in 0..grid.cell_count().unwrap() {
                    let cell = grid.cell(position).unwrap();
                    assert_eq!(grid.position(&cell), Some(position));
                    let (offsets, sizes) = grid.region(&cell).unwrap();
                    for row in offsets[0]..offsets[0] + sizes[0] {
                        for column in offsets[1]..offsets[1] + sizes[1] {
                            *covered.entry((row, column)).or_insert(0) += 1;
                        }
                    }
                }
                assert_eq!(covered.len(), usize::try_from(rows * columns).unwrap());
                assert!(covered.values().all(|&times| times == 1));
                tried += 1;
            }
        }
        assert_eq!(tried, 36 * 16);
    }

    #[test]
    fn a_scalar_has_one_cell_without_coordinates() {
        let scalar = grid(&[], &[]);
        assert_eq!(scalar.cell_count(), Some(1));
        assert_eq!(scalar.region(&[]), Some((vec![], vec![])));
        assert_eq!(scalar.cell(0), Some(vec![]));
        assert_eq!(scalar.cell(1), None);
        assert_eq!(scalar.region(&[0]), None);
    }

    #[test]
    fn the_ends_of_64_bits_are_exact() {
        let huge = grid(&[i64::MAX, i64::MAX], &[1, i64::MAX - 1]);
        assert_eq!(huge.cell_count(), Some(u128::try_from(i64::MAX).unwrap() * 2));
        assert_eq!(huge.region(&[i64::MAX - 1, 1]), Some((vec![i64::MAX - 1, i64::MAX - 1], vec![1, 1])));
        assert_eq!(huge.region(&[i64::MAX, 0]), None);
        assert_eq!(huge.first_outside(&[0, 2]), Some(1));
        assert_eq!(huge.unclipped(&[0, 2]), None);
        assert_eq!(huge.unclipped(&[i64::MAX, 0]), Some((vec![i64::MAX, 0], vec![1, i64::MAX - 1])));
        assert_eq!(grid(&[i64::MAX; 3], &[1; 3]).cell_count(), None);
        assert_eq!(volume(&[i64::MAX, i64::MAX, i64::MAX, 0]), Some(0));
        assert_eq!(Grid::new([4, 0].into(), [2, 0].into()), None);
        assert_eq!(Grid::new([6, 4].into(), [2].into()), None);
        assert_eq!(Grid::new([-1].into(), [2].into()), None);
    }
}
