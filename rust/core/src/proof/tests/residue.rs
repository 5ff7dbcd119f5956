use super::{Layout, Random, guillotine};
use crate::field::{Field, Mersenne127};
use crate::interrupt::Interrupt;
use crate::proof::residue::{Identity, Share, salt, share};

fn add(left: Share, right: Share) -> Share {
    Share {
        uneven: left.uneven.plus(right.uneven),
        coverage: left.coverage.plus(right.coverage),
        faults: left.faults + right.faults,
    }
}

fn of(fqn: &str, dtype: &str, layout: &Layout, keys: &[u8]) -> Share {
    layout.with(|chunks| share(fqn, dtype, chunks.chunks(), keys, Interrupt::NEVER).unwrap())
}

#[test]
fn shares_of_pieces_add_up_to_the_salt_at_every_rank_and_size() {
    let mut random = Random(21);
    let keys = random.keys(11);
    for rank in 0..=9_usize {
        // Also around multiples of 2^61 - 1, which is zero in the smaller field.
        for dim in [5, (1 << 61) - 1, 2 * ((1 << 61) - 1), i64::MAX] {
            let shape = vec![dim; rank];
            let boxes = guillotine(&shape, 12, &mut random);
            let identity = Identity { fqn: "w", dtype: "float32", shape: &shape };
            let nothing = Share { uneven: Mersenne127::ZERO, coverage: Mersenne127::ZERO, faults: 0 };
            let pieces = boxes.chunks(3).map(|boxes| Layout { shape: shape.clone(), boxes: boxes.to_vec() });
            let total = pieces.map(|piece| of("w", "float32", &piece, &keys)).fold(nothing, add);
            assert_eq!(total.uneven, Mersenne127::ZERO, "{rank} {dim}");
            assert_eq!(total.coverage, salt(&identity, &keys).unwrap(), "{rank} {dim}");
        }
    }
}

#[test]
fn no_two_identities_share_a_salt() {
    let keys = Random(22).keys(5);
    let identities = [
        ("w", "f", vec![2, 3]),
        ("w", "f", vec![3, 2]),
        ("w", "f", vec![2, 3, 1]),
        ("w", "g", vec![2, 3]),
        ("wf", "", vec![2, 3]),
        ("", "wf", vec![2, 3]),
        ("\0w", "f", vec![2, 3]),
        ("w\0", "f", vec![2, 3]),
        ("a name beyond eight bytes", "f", vec![2, 3]),
        ("a name beyond eight byte", "sf", vec![2, 3]),
    ];
    let salts: Vec<_> =
        identities.iter().map(|(fqn, dtype, shape)| salt(&Identity { fqn, dtype, shape }, &keys).unwrap()).collect();
    for (first, left) in salts.iter().enumerate() {
        assert!(salts.iter().skip(first + 1).all(|right| left != right), "{:?}", identities[first]);
    }
}

#[test]
fn faults_are_counted_and_do_not_cancel() {
    let keys = Random(23).keys(3);
    let (offsets, sizes) = ([0, 0, 6], [8, 4, -4]);
    let table = |values| crate::layout::Table::new(values, 3, 1).unwrap();
    let chunks = crate::layout::Chunks::new(&[8], table(&offsets), table(&sizes)).unwrap();
    let share = share("w", "", chunks, &keys, Interrupt::NEVER).unwrap();
    assert_eq!(share.faults, 1);
    assert_ne!(share.uneven, Mersenne127::ZERO);
}
