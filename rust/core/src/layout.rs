//! Borrowed tables of offsets and sizes, checked once at construction.

/// `rows` vectors of `rank` coordinates each, row-major, one after another.
///
/// A table that exists is rectangular: kernels never check again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table<'a> {
    values: &'a [i64],
    rows: usize,
    rank: usize,
}

/// Tables or shapes that do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// `rows * rank` is not the number of values.
    #[error("{values} values are not {rows} rows of {rank}")]
    NotRectangular {
        /// Values that are there.
        values: usize,
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        rank: usize,
    },
    /// Two tables of one layout have different numbers of rows.
    #[error("{left} rows against {right}")]
    RowsDiffer {
        /// Rows of the first table.
        left: usize,
        /// Rows of the second table.
        right: usize,
    },
    /// A table and a shape have different ranks.
    #[error("rank {left} against rank {right}")]
    RankDiffers {
        /// Rank of the first.
        left: usize,
        /// Rank of the second.
        right: usize,
    },
}

impl<'a> Table<'a> {
    /// View `values` as `rows` rows of `rank` columns.
    ///
    /// At rank 0 there are no values, and `rows` alone says how many (empty) rows there are.
    ///
    /// # Errors
    ///
    /// [`ShapeError::NotRectangular`] when the counts do not agree.
    pub fn new(values: &'a [i64], rows: usize, rank: usize) -> Result<Self, ShapeError> {
        if rows.checked_mul(rank) == Some(values.len()) {
            Ok(Self { values, rows, rank })
        } else {
            Err(ShapeError::NotRectangular { values: values.len(), rows, rank })
        }
    }

    /// All coordinates, row-major.
    #[must_use]
    pub const fn values(self) -> &'a [i64] {
        self.values
    }

    /// Number of rows.
    #[must_use]
    pub const fn len(self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.rows == 0
    }

    /// Coordinates in a row.
    #[must_use]
    pub const fn rank(self) -> usize {
        self.rank
    }

    /// Row `position`, if there is one.
    #[must_use]
    pub fn row(self, position: usize) -> Option<&'a [i64]> {
        if position >= self.rows {
            return None;
        }
        let start = position.checked_mul(self.rank)?;
        self.values.get(start..start.checked_add(self.rank)?)
    }

    /// The rows from `first` up to `stop`, if they are there.
    #[must_use]
    pub fn between(self, first: usize, stop: usize) -> Option<Self> {
        let rows = stop.checked_sub(first)?;
        if stop > self.rows {
            return None;
        }
        let values = self.values.get(first.checked_mul(self.rank)?..stop.checked_mul(self.rank)?)?;
        Some(Self { values, rows, rank: self.rank })
    }

    /// All rows in order; at rank 0, `len()` empty slices.
    pub fn iter(self) -> impl Iterator<Item = &'a [i64]> + Clone {
        (0..self.rows).filter_map(move |position| self.row(position))
    }
}

/// The chunks of one tensor: `global_shape`, and `offsets` and `sizes` with a row per chunk.
///
/// Rectangular and of one rank; the numbers themselves may be anything. [`crate::bounds`] judges them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks<'a> {
    shape: &'a [i64],
    offsets: Table<'a>,
    sizes: Table<'a>,
}

impl<'a> Chunks<'a> {
    /// Put a shape and two tables together.
    ///
    /// # Errors
    ///
    /// [`ShapeError::RowsDiffer`] or [`ShapeError::RankDiffers`] when they do not belong together.
    pub fn new(shape: &'a [i64], offsets: Table<'a>, sizes: Table<'a>) -> Result<Self, ShapeError> {
        if offsets.len() != sizes.len() {
            return Err(ShapeError::RowsDiffer { left: offsets.len(), right: sizes.len() });
        }
        for table in [offsets, sizes] {
            if table.rank() != shape.len() {
                return Err(ShapeError::RankDiffers { left: shape.len(), right: table.rank() });
            }
        }
        Ok(Self { shape, offsets, sizes })
    }

    /// Shape of the whole tensor.
    #[must_use]
    pub const fn shape(self) -> &'a [i64] {
        self.shape
    }

    /// Starts of the chunks.
    #[must_use]
    pub const fn offsets(self) -> Table<'a> {
        self.offsets
    }

    /// Sizes of the chunks.
    #[must_use]
    pub const fn sizes(self) -> Table<'a> {
        self.sizes
    }

    /// Number of dimensions.
    #[must_use]
    pub const fn rank(self) -> usize {
        self.shape.len()
    }

    /// Number of chunks.
    #[must_use]
    pub const fn len(self) -> usize {
        self.offsets.len()
    }

    /// Whether there are no chunks.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.offsets.is_empty()
    }

    /// All chunks in order, as (offsets, sizes).
    pub fn iter(self) -> impl Iterator<Item = (&'a [i64], &'a [i64])> + Clone {
        self.offsets.iter().zip(self.sizes.iter())
    }
}

/// The shards of one local tensor: chunks, each with its place in the local tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards<'a> {
    chunks: Chunks<'a>,
    local_shape: &'a [i64],
    local_offsets: Table<'a>,
}

impl<'a> Shards<'a> {
    /// Put chunks and their places together.
    ///
    /// # Errors
    ///
    /// [`ShapeError::RowsDiffer`] or [`ShapeError::RankDiffers`] when they do not belong together.
    pub fn new(chunks: Chunks<'a>, local_shape: &'a [i64], local_offsets: Table<'a>) -> Result<Self, ShapeError> {
        let places = Chunks::new(local_shape, local_offsets, chunks.sizes())?;
        if places.rank() != chunks.rank() {
            return Err(ShapeError::RankDiffers { left: chunks.rank(), right: places.rank() });
        }
        Ok(Self { chunks, local_shape, local_offsets })
    }

    /// The chunks of the global tensor.
    #[must_use]
    pub const fn chunks(self) -> Chunks<'a> {
        self.chunks
    }

    /// Shape of the local tensor.
    #[must_use]
    pub const fn local_shape(self) -> &'a [i64] {
        self.local_shape
    }

    /// Starts of the shards in the local tensor.
    #[must_use]
    pub const fn local_offsets(self) -> Table<'a> {
        self.local_offsets
    }

    /// The boxes of the local tensor that the shards are.
    #[must_use]
    pub const fn places(self) -> Chunks<'a> {
        Chunks { shape: self.local_shape, offsets: self.local_offsets, sizes: self.chunks.sizes }
    }
}

/// Chunks of which [`crate::bounds`] found that every one lies inside the tensor, with no negative number anywhere.
///
/// Ends are then at most `i64::MAX`: `offset + size` cannot overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside<'a>(Chunks<'a>);

impl<'a> Inside<'a> {
    /// Vouch for `chunks`; for [`crate::bounds`] alone.
    pub(crate) const fn vouched(chunks: Chunks<'a>) -> Self {
        Self(chunks)
    }

    /// The chunks themselves.
    #[must_use]
    pub const fn chunks(self) -> Chunks<'a> {
        self.0
    }
}

/// Boxes that a kernel made: columns of starts and sizes, a row per box.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boxes {
    count: usize,
    offsets: Vec<i64>,
    sizes: Vec<i64>,
}

impl Boxes {
    /// Add a box; all have the same rank.
    pub(crate) fn push(&mut self, offsets: &[i64], sizes: &[i64]) {
        self.count = self.count.saturating_add(1);
        self.offsets.extend_from_slice(offsets);
        self.sizes.extend_from_slice(sizes);
    }

    /// Look at the boxes as chunks of a tensor.
    ///
    /// # Errors
    ///
    /// [`ShapeError`] when the tensor has another rank.
    pub fn of<'a>(&'a self, shape: &'a [i64]) -> Result<Chunks<'a>, ShapeError> {
        let table = |values| Table::new(values, self.count, shape.len());
        Chunks::new(shape, table(&self.offsets)?, table(&self.sizes)?)
    }

    /// Number of boxes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The columns: starts, then sizes.
    #[must_use]
    pub fn into_columns(self) -> (Vec<i64>, Vec<i64>) {
        (self.offsets, self.sizes)
    }
}
