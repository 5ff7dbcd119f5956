use super::{Regions, Search, faults};
use crate::interrupt::Interrupt;
use crate::proof::tests::{Layout, Random, guillotine, plant, sides};

fn located(layout: &Layout, expected: u64) -> Regions {
    layout.with(|chunks| faults(chunks, expected, 0x9E37_79B9_7F4A_7C15, Interrupt::NEVER).unwrap())
}

/// Compare with every element, painted one by one; how many regions there were.
fn check(layout: &Layout, expected: u64) -> usize {
    let regions = located(layout, expected);
    assert!(regions.complete, "{layout:?}");
    let mut seen = vec![0; layout.painted().len()];
    for region in &regions.list {
        assert_ne!(region.times, expected, "{layout:?} {region:?}");
        assert_eq!(u64::try_from(region.chunks.len()).unwrap(), region.times, "{layout:?} {region:?}");
        assert!(region.chunks.is_sorted_by(|a, b| a < b));
        for &row in &region.chunks {
            let (offsets, sizes) = &layout.boxes[usize::try_from(row).unwrap()];
            let inside = (0..layout.shape.len()).all(|d| {
                offsets[d] <= region.low[d] && region.high[d] <= offsets[d] + sizes[d] && region.low[d] < region.high[d]
            });
            assert!(inside, "{layout:?} {region:?}");
        }
        let alone = Layout { shape: layout.shape.clone(), boxes: vec![(region.low.clone(), region.sizes())] };
        for (seen, painted) in seen.iter_mut().zip(alone.painted()) {
            assert!(*seen == 0 || painted == 0, "{layout:?} {region:?} lies over another region");
            *seen += painted * (region.times + 1);
        }
    }
    for (seen, times) in seen.into_iter().zip(layout.painted()) {
        assert_eq!(seen, if times == expected { 0 } else { times + 1 }, "{layout:?}");
    }
    regions.list.len()
}

#[test]
fn every_line_of_four_elements_with_up_to_three_chunks_is_located_like_paint() {
    let (all, mut tried) = (sides(4), 0);
    for count in 0..=3_u32 {
        for code in 0..15_usize.pow(count) {
            let boxes = (0..count).map(|digit| all[code / 15_usize.pow(digit) % 15]);
            let boxes = boxes.map(|(start, size)| (vec![start], vec![size])).collect();
            let layout = Layout { shape: vec![4], boxes };
            (0..4).for_each(|expected| _ = check(&layout, expected));
            tried += 1;
        }
    }
    assert_eq!(tried, 1 + 15 + 225 + 3_375);
}

#[test]
fn every_square_of_four_elements_with_three_chunks_is_located_like_paint() {
    let (all, mut tried) = (sides(2), 0);
    for code in 0..36_usize.pow(3) {
        let boxes = (0..3).map(|digit| {
            let code = code / 36_usize.pow(digit) % 36;
            let ((a, c), (b, d)) = (all[code / 6], all[code % 6]);
            (vec![a, b], vec![c, d])
        });
        check(&Layout { shape: vec![2, 2], boxes: boxes.collect() }, 1);
        tried += 1;
    }
    assert_eq!(tried, 46_656);
}

#[test]
fn random_tilings_with_faults_are_located_like_paint_at_every_rank() {
    let (mut random, mut regions) = (Random(41), [0_usize; 8]);
    for round in 0..16_000 {
        let rank = round % 8;
        let most = [1, 24, 9, 6, 4, 3, 2, 2][rank];
        let shape: Vec<i64> = (0..rank).map(|_| 1 + random.below(most)).collect();
        let mut layout = Layout { boxes: Vec::new(), shape };
        for _ in 0..=random.below(3) {
            let count = usize::try_from(1 + random.below(30)).unwrap();
            layout.boxes.extend(guillotine(&layout.shape, count, &mut random));
        }
        (0..random.below(5)).for_each(|_| plant(&mut layout, &mut random));
        for expected in [1, 2, 5] {
            regions[rank] += check(&layout, expected);
        }
    }
    assert!(regions.iter().all(|&regions| regions > 1_000), "{regions:?}");
}

/// A grid of `side` cells a dimension, each with `size` elements a side.
fn grid(rank: usize, side: i64, size: i64) -> Layout {
    let cells = (0..side.pow(rank.try_into().unwrap())).map(|cell| {
        let offsets = (0..rank).map(|dimension| cell / side.pow(dimension.try_into().unwrap()) % side * size);
        (offsets.collect(), vec![size; rank])
    });
    Layout { shape: vec![side * size; rank], boxes: cells.collect() }
}

#[test]
fn a_missing_a_doubled_and_a_shifted_chunk_are_one_box_each_with_numbers_of_any_size() {
    let mut tried = 0;
    for rank in 1..=6 {
        for size in [1, 5, (i64::MAX - 3) / 4] {
            let whole = grid(rank, 4, size);
            let at = whole.boxes.len() / 2;
            let cell = whole.boxes[at].clone();

            let mut missing = whole.clone();
            missing.boxes.swap_remove(at);
            let found = located(&missing, 1).list;
            assert_eq!((found.len(), &found[0].low, found[0].sizes(), found[0].times), (1, &cell.0, cell.1.clone(), 0));

            let mut doubled = whole.clone();
            doubled.boxes.push(cell.clone());
            let found = located(&doubled, 1).list;
            let chunks = [at, whole.boxes.len()].map(|row| u32::try_from(row).unwrap());
            assert_eq!((found.len(), &found[0].low, found[0].sizes()), (1, &cell.0, cell.1.clone()));
            assert_eq!(found[0].chunks, chunks);

            let mut shifted = whole.clone();
            shifted.boxes[at].0[0] += if cell.0[0] == 0 { 1 } else { -1 };
            assert_eq!(located(&shifted, 1).list.len(), 2, "a gap and an overlap");
            tried += 3;
        }
    }
    assert_eq!(tried, 6 * 3 * 3);
}

#[test]
fn chunks_that_are_all_equal_are_one_region() {
    let layout = Layout { shape: vec![9, 9], boxes: vec![(vec![0, 0], vec![9, 9]); 5_000] };
    let found = located(&layout, 1).list;
    assert_eq!((found.len(), found[0].times, found[0].chunks.len()), (1, 5_000, 5_000));
}

#[test]
fn where_chunks_are_too_many_to_list_their_number_is_still_exact() {
    // Nested squares: the k-th ring from outside is covered k times, and all rings by half a million pairs.
    let count = 1_000_i64;
    let boxes = (0..count).map(|ring| (vec![ring; 2], vec![2 * (count - ring); 2])).collect();
    let layout = Layout { shape: vec![2 * count; 2], boxes };
    let found = located(&layout, 1);
    assert!(found.complete);
    let ring = |ring: i64| (2 * (count - ring)).pow(2) - (2 * (count - ring - 1)).pow(2);
    for (number, times) in (0..count).zip(1_u64..).skip(1) {
        let regions = found.list.iter().filter(|region| region.times == times);
        let elements: i64 = regions.map(|region| region.sizes().iter().product::<i64>()).sum();
        assert_eq!(elements, ring(number));
    }
    assert!(found.list.iter().any(|region| region.chunks.is_empty() && region.times > 0), "too many were listed");
    assert!(found.list.iter().any(|region| !region.chunks.is_empty()), "none were listed");
}

#[test]
fn what_the_allowed_work_does_not_reach_is_admitted() {
    let mut layout = grid(2, 32, 2);
    layout.boxes.retain(|(offsets, _)| (offsets[0] + offsets[1]) % 4 == 0);
    let all = located(&layout, 1);
    for looks in [0, 100, 3_000] {
        let some = layout.with(|chunks| {
            let rows = u64::try_from(chunks.chunks().len()).unwrap();
            let mut search = Search { chunks, rows, seed: 1, looks, interrupt: Interrupt::NEVER };
            search.by_corners::<2, 4>(1).unwrap().unwrap_or_default()
        });
        assert!(!some.complete && some.list.len() < all.list.len(), "{looks} {} {}", some.complete, some.list.len());
    }
    assert!(all.complete && all.list.len() == 512, "{}", all.list.len());
}
