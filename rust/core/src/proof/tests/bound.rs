//! How often lanes in small fields are deceived, against the bound that is proved for them.

use super::{Layout, Product, Random, Sum, guillotine, plant};
use crate::field::Field;
use crate::proof::keys::Pole;

/// The integers modulo a small prime, where a false accept can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Small<const MODULUS: u64, const CHOICES: u64>(u64);

/// For fractions, whose coordinates are small.
type Tiny = Small<251, 200>;
/// For products, whose points have larger numbers.
type Wider = Small<8191, 6000>;

impl<const MODULUS: u64, const CHOICES: u64> Field for Small<MODULUS, CHOICES> {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1);
    const BITS: u32 = 8;

    fn of(number: u64) -> Self {
        Self(number % MODULUS)
    }

    fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0) % MODULUS)
    }

    fn minus(self, other: Self) -> Self {
        Self((self.0 + MODULUS - other.0) % MODULUS)
    }

    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0 % MODULUS)
    }
}

impl<const MODULUS: u64, const CHOICES: u64> Pole for Small<MODULUS, CHOICES> {
    const LARGEST_DIM: i64 = (MODULUS - CHOICES - 1).cast_signed();
    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "small numbers are exact as floats")]
    const CHOICES: f64 = CHOICES as f64;

    fn pole(key: [u8; 16], _lane: usize) -> Self {
        Self(u64::from_le_bytes(*key.first_chunk().unwrap()) % CHOICES + 1)
    }

    fn size(number: i64) -> Self {
        Self::of(number.cast_unsigned())
    }

    fn at(self, coordinate: i64) -> Self {
        self.plus(Self::of(coordinate.cast_unsigned()))
    }
}

/// Ask about layouts that are not whole, each with fresh keys; answer how many passed and how many should at most.
fn deceived(layouts: impl Iterator<Item = Layout>, random: &mut Random) -> (f64, f64) {
    let (mut passed, mut allowed) = (0.0, 0.0);
    for layout in layouts {
        assert_ne!(layout.multiplicity(), Some(1));
        let most = 2.0 * f64::from(u32::try_from(layout.boxes.len()).unwrap()) + 1.0;
        let degree: f64 = layout.shape.iter().map(|&dim| most.min(f64::from(i32::try_from(dim).unwrap()))).sum();
        allowed += (degree / Tiny::CHOICES).min(1.0);
        passed += f64::from(u8::from(match layout.shape.len() {
            1 => layout.passes::<[i64; 1], Sum<[i64; 1], Tiny, 1>>(1, random),
            2 => layout.passes::<[i64; 2], Sum<[i64; 2], Tiny, 1>>(1, random),
            _ => layout.passes::<[i64; 3], Sum<[i64; 3], Tiny, 1>>(1, random),
        }));
    }
    (passed, allowed)
}

/// The same for products of corners, ranks 1 and 2.
fn deceived_by_products(layouts: impl Iterator<Item = Layout>, random: &mut Random) -> (f64, f64) {
    let (mut passed, mut allowed) = (0.0, 0.0);
    for layout in layouts {
        assert_ne!(layout.multiplicity(), Some(1));
        let rank = layout.shape.len();
        let corners = if rank == 1 { 1.0 } else { 2.0 };
        allowed += corners * f64::from(u32::try_from(layout.boxes.len() + 1).unwrap()) / Wider::CHOICES;
        passed += f64::from(u8::from(if rank == 1 {
            layout.passes::<[i64; 1], Product<Wider, 1>>(1, random)
        } else {
            layout.passes::<[i64; 2], Product<Wider, 1>>(1, random)
        }));
    }
    (passed, allowed)
}

#[test]
fn random_near_misses_pass_less_often_than_the_bound_and_sometimes_do() {
    let mut random = Random(11);
    for rank in 1..=3_usize {
        let mut layouts = Vec::new();
        while layouts.len() < 20_000 {
            let shape: Vec<i64> = (0..rank).map(|_| 4 + random.below(if rank == 3 { 9 } else { 40 })).collect();
            let mut layout = Layout { boxes: guillotine(&shape, 6, &mut random), shape };
            plant(&mut layout, &mut random);
            if layout.multiplicity() != Some(1) {
                layouts.push(layout);
            }
        }
        let (passed, allowed) = deceived(layouts.iter().cloned(), &mut random);
        assert!(passed > 0.0, "rank {rank}: a test that never sees a false accept says nothing: {passed}");
        assert!(passed < allowed, "rank {rank}: {passed} > {allowed}");
        if rank < 3 {
            // With one fault the few roots that are left rarely agree anywhere: more of them, and more often.
            let mut worse = layouts.clone();
            for layout in &mut worse {
                (0..4).for_each(|_| plant(layout, &mut random));
            }
            worse.retain(|layout| layout.multiplicity() != Some(1));
            let many = (0..10).flat_map(|_| worse.iter().cloned());
            let (passed, allowed) = deceived_by_products(many, &mut random);
            assert!(passed > 0.0 && passed < allowed, "rank {rank}: {passed} of at most {allowed}");
        }
    }
}

#[test]
fn structured_near_misses_pass_less_often_than_the_bound() {
    let line = |starts: Vec<i64>, size, dim| Layout {
        boxes: starts.into_iter().map(|start| (vec![start], vec![size])).collect(),
        shape: vec![dim],
    };
    // Every other pair shifted by one, a Thue-Morse exchange of neighbours, and one arithmetic progression for another.
    let shifted = line((0..10).map(|cell| 4 * cell + i64::from(cell % 2 == 1)).collect(), 3, 40);
    let morse =
        line((0..16_i64).filter(|cell| cell.count_ones() % 2 == 0).flat_map(|cell| [2 * cell; 2]).collect(), 2, 32);
    let progression = line((0..10).map(|cell| 3 * cell).chain([0]).collect(), 4, 40);
    let board = Layout {
        boxes: (0..64)
            .filter(|cell| (cell / 8 + cell % 8) % 2 == 0)
            .map(|cell| (vec![cell / 8, cell % 8], vec![1, 1]))
            .collect(),
        shape: vec![8, 8],
    };
    let mut random = Random(12);
    for (family, layout) in [shifted, morse, progression, board].into_iter().enumerate() {
        for ask in [deceived, deceived_by_products] {
            let (passed, allowed) = ask(std::iter::repeat_n(layout.clone(), 20_000), &mut random);
            assert!(passed < allowed, "family {family}: {passed} > {allowed}");
        }
    }
}
