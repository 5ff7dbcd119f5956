use proptest::prelude::*;

use super::{Field, Mersenne61, Mersenne127};

/// `a * b` modulo `modulus` by doubling: slow, and obviously right.
fn product(mut a: u128, mut b: u128, modulus: u128) -> u128 {
    let mut result = 0;
    a %= modulus;
    while b > 0 {
        if b & 1 == 1 {
            result = (result + a) % modulus;
        }
        a = (a + a) % modulus;
        b >>= 1;
    }
    result
}

const EDGES_61: [u64; 9] = {
    const P: u64 = Mersenne61::MODULUS;
    [0, 1, 2, P - 2, P - 1, 1 << 60, (1 << 60) - 1, 1 << 32, 0x1555_5555_5555_5555]
};

const EDGES_127: [u128; 11] = {
    const P: u128 = Mersenne127::MODULUS;
    const ALTERNATING: u128 = 0x5555_5555_5555_5555_5555_5555_5555_5555;
    [0, 1, 2, P - 2, P - 1, 1 << 126, 1 << 64, (1 << 64) - 1, 1 << 63, P - (1 << 64), ALTERNATING]
};

#[test]
fn every_pair_of_edges_multiplies_and_adds_like_whole_numbers() {
    const P: u128 = Mersenne127::MODULUS;
    for a in EDGES_61 {
        for b in EDGES_61 {
            let modulus = u128::from(Mersenne61::MODULUS);
            let (x, y) = (Mersenne61(a), Mersenne61(b));
            assert_eq!(u128::from(x.times(y).0), u128::from(a) * u128::from(b) % modulus, "{a} * {b}");
            assert_eq!(u128::from(x.plus(y).0), (u128::from(a) + u128::from(b)) % modulus, "{a} + {b}");
            assert_eq!(x.minus(y).plus(y), x, "{a} - {b}");
            assert_eq!(x.cross(y, y, y), x.times(y).plus(y.times(y)));
        }
    }
    for a in EDGES_127 {
        for b in EDGES_127 {
            let (x, y) = (Mersenne127(a), Mersenne127(b));
            assert_eq!(x.times(y).0, product(a, b, P), "{a} * {b}");
            assert_eq!(x.plus(y).0, (a + b) % P, "{a} + {b}");
            assert_eq!(x.minus(y).plus(y), x, "{a} - {b}");
        }
    }
}

#[test]
fn the_modulus_itself_is_zero() {
    assert_eq!(Mersenne61::of(Mersenne61::MODULUS), Mersenne61::ZERO);
    assert_eq!(Mersenne61::of(u64::MAX), Mersenne61::of(u64::MAX % Mersenne61::MODULUS));
    assert_eq!(Mersenne61::of(7 * Mersenne61::MODULUS), Mersenne61::ZERO);
    assert_eq!(Mersenne127::of_wide(Mersenne127::MODULUS), Mersenne127::ZERO);
    assert_eq!(Mersenne127::of_wide(u128::MAX), Mersenne127::ONE);
}

proptest! {
    #[test]
    fn random_products_agree_with_whole_numbers(a in 0..Mersenne127::MODULUS, b in 0..Mersenne127::MODULUS) {
        prop_assert_eq!(Mersenne127(a).times(Mersenne127(b)).0, product(a, b, Mersenne127::MODULUS));
    }

    #[test]
    fn an_inverse_undoes_a_product(a in 1..Mersenne127::MODULUS, b in 1..Mersenne61::MODULUS) {
        prop_assert_eq!(Mersenne127(a).times(Mersenne127(a).inverse()), Mersenne127::ONE);
        prop_assert_eq!(Mersenne61(b).times(Mersenne61(b).inverse()), Mersenne61::ONE);
    }
}
