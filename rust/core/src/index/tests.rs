use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
struct Plain {
    rank: usize,
    rows: Vec<(Vec<i64>, bool)>,
}

impl Plain {
    /// The rule, by looking at every row.
    fn find(&self, offset: &[i64], hint: Option<usize>) -> Option<usize> {
        let here: Vec<usize> = (0..self.rows.len()).filter(|&row| self.rows[row].0 == offset).collect();
        let full: Vec<usize> = here.iter().copied().filter(|&row| !self.rows[row].1).collect();
        let among = if full.is_empty() { &here } else { &full };
        hint.filter(|row| among.contains(row)).or(among.first().copied())
    }

    fn check(&self, queries: &[Vec<i64>]) -> usize {
        let offsets: Vec<i64> = self.rows.iter().flat_map(|row| row.0.clone()).collect();
        let sizes: Vec<i64> = self.rows.iter().flat_map(|row| vec![if row.1 { 0 } else { 3 }; self.rank]).collect();
        let offsets = Table::new(&offsets, self.rows.len(), self.rank).unwrap();
        let sizes = Table::new(&sizes, self.rows.len(), self.rank).unwrap();
        let index = OffsetIndex::new(offsets, sizes).unwrap();
        let mut asked = 0;
        // Twice, since an index of sorted rows makes its table on the way.
        for _ in 0..2 {
            for query in queries {
                for hint in [None, Some(0), Some(1), Some(self.rows.len()), Some(usize::MAX)] {
                    assert_eq!(index.find(offsets, sizes, query, hint), self.find(query, hint), "{self:?} {query:?}");
                    asked += 1;
                }
            }
            let flat: Vec<i64> = queries.iter().flatten().copied().collect();
            let table = Table::new(&flat, queries.len(), self.rank).unwrap();
            let mut answers = vec![-7; queries.len()];
            index.find_many(offsets, sizes, table, &mut answers, Interrupt::NEVER).unwrap();
            let expected: Vec<i64> = queries.iter().map(|query| position(self.find(query, None))).collect();
            assert_eq!(answers, expected, "{self:?}");
        }
        assert!(index.memory_bytes() <= 16 * self.rows.len().max(1), "{}", index.memory_bytes());
        asked
    }
}

#[test]
fn every_small_list_of_rows_answers_by_the_rule() {
    // Rows of rank 1 at 0, 1 or 2, each full or empty: all lists of up to four.
    let one: Vec<(Vec<i64>, bool)> = (0..3).flat_map(|start| [(vec![start], false), (vec![start], true)]).collect();
    let queries: Vec<Vec<i64>> = (-1..4).map(|start| vec![start]).collect();
    let mut lists: Vec<Vec<(Vec<i64>, bool)>> = vec![Vec::new()];
    let mut seen = 0;
    for _ in 0..=4 {
        for rows in &lists {
            Plain { rank: 1, rows: rows.clone() }.check(&queries);
            seen += 1;
        }
        lists =
            lists.iter().flat_map(|rows| one.iter().map(|row| [rows.clone(), vec![row.clone()]].concat())).collect();
    }
    assert_eq!(seen, 1 + 6 + 36 + 216 + 1296);
}

#[test]
fn the_one_offset_of_a_scalar_is_found() {
    for count in 0..3 {
        let plain = Plain { rank: 0, rows: vec![(vec![], false); count] };
        assert_eq!(plain.check(&[vec![]]), 10);
    }
}

#[test]
fn offsets_of_another_rank_are_nowhere() {
    let offsets = Table::new(&[0, 4], 2, 1).unwrap();
    let index = OffsetIndex::new(offsets, offsets).unwrap();
    assert_eq!(index.find(offsets, offsets, &[0, 0], Some(0)), None);
    let mut answers = [0; 2];
    index
        .find_many(offsets, offsets, Table::new(&[0, 0, 4, 4], 2, 2).unwrap(), &mut answers, Interrupt::NEVER)
        .unwrap();
    assert_eq!(answers, [-1, -1]);
}

#[test]
fn sorted_rows_hold_no_table_until_it_pays() {
    let offsets: Vec<i64> = (0..1000).collect();
    let offsets = Table::new(&offsets, 1000, 1).unwrap();
    let sizes = Table::new(&[1; 1000], 1000, 1).unwrap();
    let index = OffsetIndex::new(offsets, sizes).unwrap();
    for start in 0..1000 {
        assert_eq!(index.find(offsets, sizes, &[start], None), usize::try_from(start).ok());
    }
    assert_eq!(index.memory_bytes(), 0);
    for start in (0..1000).rev() {
        assert_eq!(index.find(offsets, sizes, &[start], None), usize::try_from(start).ok());
    }
    assert_eq!(index.memory_bytes(), 2048 * 4);
}

fn lists() -> impl Strategy<Value = (Plain, Vec<Vec<i64>>)> {
    let coordinate = || prop_oneof![20 => 0_i64..6, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => any::<i64>()];
    (0_usize..=6, any::<bool>()).prop_flat_map(move |(rank, sorted)| {
        let offset = || prop::collection::vec(coordinate(), rank);
        let rows = prop::collection::vec((offset(), prop::bool::weighted(0.2)), 0..60);
        (rows, prop::collection::vec(offset(), 0..60)).prop_map(move |(mut rows, mut queries)| {
            if sorted {
                rows.sort();
                rows.dedup_by(|after, before| after.0 == before.0);
            }
            queries.extend(rows.iter().map(|row| row.0.clone()));
            // A scalar has an element: it is never empty.
            for row in &mut rows {
                row.1 &= rank > 0;
            }
            (Plain { rank, rows }, queries)
        })
    })
}

proptest! {
    #[test]
    fn random_lists_answer_by_the_rule((plain, queries) in lists()) {
        plain.check(&queries);
    }
}
