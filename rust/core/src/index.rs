//! Offsets to positions: which row of a table starts there.

use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState;

use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::Table;

/// More rows than positions of 32 bits can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rows} shards, more than {} can be indexed", OffsetIndex::MOST_ROWS)]
pub struct TooManyRows {
    /// Rows of the table.
    pub rows: usize,
}

/// Where to find the shard that starts at an offset.
///
/// The index holds no coordinates: every look-up takes the two tables it was built from. Rows whose offsets strictly
/// increase are found by bisection and need no memory, until so many look-ups out of order have come that a table pays
/// for itself. Otherwise there is a table of 8 to 16 bytes a row, keyed afresh for every index so that nobody can
/// prepare offsets that collide.
///
/// Of several rows at one offset a non-empty one wins over an empty one, then the hint, then the first.
#[derive(Debug)]
pub struct OffsetIndex {
    rows: usize,
    /// Whether no two rows have equal offsets and no row is empty: then a match is the answer, wherever it was found.
    plain: bool,
    slots: OnceLock<Slots>,
    /// The row found last: the next look-up is often for the one behind it.
    last: AtomicUsize,
    bisections: AtomicUsize,
}

/// Open addressing with linear probing, at most half full; 0 is free, else position + 1.
#[derive(Debug)]
struct Slots {
    places: Box<[u32]>,
    keys: RandomState,
}

impl OffsetIndex {
    /// Rows that can be indexed.
    pub const MOST_ROWS: usize = 0xffff_fffe;

    /// Prepare to find rows of `offsets`; `sizes` say which rows are empty.
    ///
    /// # Errors
    ///
    /// [`TooManyRows`] beyond 2^32 - 2 rows.
    pub fn new(offsets: Table<'_>, sizes: Table<'_>) -> Result<Self, TooManyRows> {
        let rows = offsets.len();
        if rows > Self::MOST_ROWS {
            return Err(TooManyRows { rows });
        }
        let sorted = increases(offsets);
        let mut index = Self {
            rows,
            plain: sorted && !sizes.values().contains(&0),
            slots: OnceLock::new(),
            last: AtomicUsize::new(usize::MAX),
            bisections: AtomicUsize::new(0),
        };
        if !sorted {
            let (slots, repeated) = Slots::of(offsets, sizes);
            index.plain = !repeated && !sizes.values().contains(&0);
            index.slots = OnceLock::from(slots);
        }
        Ok(index)
    }

    /// Bytes of memory that the index holds.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slots.get().map_or(0, |slots| slots.places.len().saturating_mul(size_of::<u32>()))
    }

    /// Find the row that starts at `offset`.
    ///
    /// A hint that is wrong is ignored. Both tables must be those that the index was built from.
    #[must_use]
    pub fn find(&self, offsets: Table<'_>, sizes: Table<'_>, offset: &[i64], hint: Option<usize>) -> Option<usize> {
        let starts_here = |row: usize| offsets.row(row).is_some_and(|start| same(start, offset));
        let hinted = hint.filter(|&row| starts_here(row));
        if hinted.is_some_and(|row| !is_empty(sizes, row)) {
            return hinted;
        }
        let found = self.first(offsets, sizes, offset)?;
        // A hint that points at an empty row still decides among empty ones.
        if is_empty(sizes, found) { hinted.or(Some(found)) } else { Some(found) }
    }

    fn first(&self, offsets: Table<'_>, sizes: Table<'_>, offset: &[i64]) -> Option<usize> {
        if offset.len() != offsets.rank() {
            return None;
        }
        if self.plain {
            let next = self.last.load(Ordering::Relaxed).wrapping_add(1);
            if offsets.row(next).is_some_and(|start| same(start, offset)) {
                self.last.store(next, Ordering::Relaxed);
                return Some(next);
            }
        }
        let found = match self.slots.get() {
            Some(slots) => slots.find(offsets, offset),
            None => self.bisected(offsets, sizes, offset),
        };
        if let Some(row) = found {
            self.last.store(row, Ordering::Relaxed);
        }
        found
    }

    fn bisected(&self, offsets: Table<'_>, sizes: Table<'_>, offset: &[i64]) -> Option<usize> {
        // A table costs about as much as a tenth as many bisections.
        let bisections = self.bisections.fetch_add(1, Ordering::Relaxed);
        if bisections > self.rows / 8 {
            return self.slots(offsets, sizes).find(offsets, offset);
        }
        bisect(offsets, offset)
    }

    fn slots(&self, offsets: Table<'_>, sizes: Table<'_>) -> &Slots {
        self.slots.get_or_init(|| Slots::of(offsets, sizes).0)
    }

    /// Find the rows that start at each of `queries`, -1 where there is none, and hand them to `answer` in order.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] when the caller wants no answer any more.
    pub fn find_many(
        &self,
        offsets: Table<'_>,
        sizes: Table<'_>,
        queries: Table<'_>,
        answers: &mut [i64],
        interrupt: Interrupt<'_>,
    ) -> Result<(), Interrupted> {
        if queries.rank() != offsets.rank() {
            answers.fill(-1);
            return Ok(());
        }
        match offsets.rank() {
            1 => self.find_block::<1>(offsets, sizes, queries, answers, interrupt),
            2 => self.find_block::<2>(offsets, sizes, queries, answers, interrupt),
            3 => self.find_block::<3>(offsets, sizes, queries, answers, interrupt),
            4 => self.find_block::<4>(offsets, sizes, queries, answers, interrupt),
            _ => {
                for (answer, query) in answers.iter_mut().zip(queries.iter()) {
                    *answer = position(self.first(offsets, sizes, query));
                }
                Ok(())
            }
        }
    }

    fn find_block<const RANK: usize>(
        &self,
        offsets: Table<'_>,
        sizes: Table<'_>,
        queries: Table<'_>,
        answers: &mut [i64],
        interrupt: Interrupt<'_>,
    ) -> Result<(), Interrupted> {
        let (rows, _) = offsets.values().as_chunks::<RANK>();
        let (queries, _) = queries.values().as_chunks::<RANK>();
        let mut next = 0;
        let mut out_of_order = 0_usize;
        let mut slots = self.slots.get();
        for (answers, queries) in answers.chunks_mut(BLOCK).zip(queries.chunks(BLOCK)) {
            interrupt.check()?;
            for (answer, query) in answers.iter_mut().zip(queries) {
                let found = if self.plain && rows.get(next) == Some(query) {
                    Some(next)
                } else if let Some(slots) = slots {
                    slots.find_row(rows, query)
                } else {
                    out_of_order = out_of_order.saturating_add(1);
                    if out_of_order > self.rows / 8 {
                        slots = Some(self.slots(offsets, sizes));
                    }
                    rows.binary_search(query).ok()
                };
                next = found.map_or(next, |row| row.wrapping_add(1));
                *answer = position(found);
            }
        }
        Ok(())
    }
}

/// Look-ups between two questions whether to go on.
const BLOCK: usize = 1 << 14;

impl Slots {
    /// Enter every row; the answer says too whether two rows have equal offsets.
    fn of(offsets: Table<'_>, sizes: Table<'_>) -> (Self, bool) {
        let capacity = offsets.len().saturating_mul(2).next_power_of_two().max(2);
        let mut slots = Self { places: vec![0; capacity].into_boxed_slice(), keys: RandomState::default() };
        let repeated = match offsets.rank() {
            1 => slots.enter::<1>(offsets, sizes),
            2 => slots.enter::<2>(offsets, sizes),
            3 => slots.enter::<3>(offsets, sizes),
            4 => slots.enter::<4>(offsets, sizes),
            _ => slots.enter_any(offsets.iter(), |row| offsets.row(row), sizes),
        };
        (slots, repeated)
    }

    fn enter<const RANK: usize>(&mut self, offsets: Table<'_>, sizes: Table<'_>) -> bool {
        let (rows, _) = offsets.values().as_chunks::<RANK>();
        self.enter_any(rows.iter(), |row| rows.get(row), sizes)
    }

    fn enter_any<'a, Row: AsRef<[i64]> + PartialEq + ?Sized + 'a>(
        &mut self,
        rows: impl Iterator<Item = &'a Row>,
        row: impl Fn(usize) -> Option<&'a Row>,
        sizes: Table<'_>,
    ) -> bool {
        let mut repeated = false;
        for (position, offset) in (0_u32..).zip(rows) {
            let mut slot = self.home(offset.as_ref());
            while let Some(place) = self.places.get_mut(slot) {
                let Some(taken) = place.checked_sub(1) else {
                    *place = position.saturating_add(1);
                    break;
                };
                if row(index(taken)).is_some_and(|other| other == offset) {
                    repeated = true;
                    if is_empty(sizes, index(taken)) && !is_empty(sizes, index(position)) {
                        *place = position.saturating_add(1);
                    }
                    break;
                }
                slot = self.after(slot);
            }
        }
        repeated
    }

    fn home(&self, offset: &[i64]) -> usize {
        let mut hasher = self.keys.build_hasher();
        for &coordinate in offset {
            hasher.write_i64(coordinate);
        }
        let mask = self.places.len().wrapping_sub(1);
        usize::try_from(hasher.finish() & u64::try_from(mask).unwrap_or(u64::MAX)).unwrap_or_default()
    }

    fn after(&self, slot: usize) -> usize {
        slot.wrapping_add(1) & self.places.len().wrapping_sub(1)
    }

    fn find(&self, offsets: Table<'_>, offset: &[i64]) -> Option<usize> {
        self.probe(offset, |row| offsets.row(row).is_some_and(|start| same(start, offset)))
    }

    fn find_row<const RANK: usize>(&self, rows: &[[i64; RANK]], query: &[i64; RANK]) -> Option<usize> {
        self.probe(query, |row| rows.get(row) == Some(query))
    }

    fn probe(&self, offset: &[i64], is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let mut slot = self.home(offset);
        loop {
            let row = index(self.places.get(slot)?.checked_sub(1)?);
            if is_it(row) {
                return Some(row);
            }
            slot = self.after(slot);
        }
    }
}

fn index(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

fn position(found: Option<usize>) -> i64 {
    found.and_then(|row| i64::try_from(row).ok()).unwrap_or(-1)
}

fn is_empty(sizes: Table<'_>, row: usize) -> bool {
    sizes.row(row).is_some_and(|sizes| sizes.contains(&0))
}

/// Whether two rows are equal: rows are short, and comparing in place beats a call to compare memory.
fn same(left: &[i64], right: &[i64]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left == right)
}

fn increases(offsets: Table<'_>) -> bool {
    match offsets.rank() {
        0 => offsets.len() <= 1,
        1 => offsets.values().is_sorted_by(|before, after| before < after),
        2 => offsets.values().as_chunks::<2>().0.is_sorted_by(|before, after| before < after),
        3 => offsets.values().as_chunks::<3>().0.is_sorted_by(|before, after| before < after),
        4 => offsets.values().as_chunks::<4>().0.is_sorted_by(|before, after| before < after),
        _ => offsets.iter().is_sorted_by(|before, after| before < after),
    }
}

fn bisect(offsets: Table<'_>, offset: &[i64]) -> Option<usize> {
    let (mut low, mut high) = (0, offsets.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        match offsets.row(middle)?.cmp(offset) {
            std::cmp::Ordering::Less => low = middle.saturating_add(1),
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

#[cfg(test)]
mod tests;
