use proptest::prelude::*;

use super::Volume;
use crate::layout::{Chunks, Table};

#[test]
fn a_scalar_has_one_element_and_a_zero_anywhere_leaves_none() {
    assert_eq!(Volume::of(&[]).to_u128(), Some(1));
    assert!(Volume::of(&[i64::MAX, i64::MAX, 0, i64::MAX]).is_zero());
    assert!(Volume::default().to_le_bytes().is_empty());
}

#[test]
fn products_beyond_128_bits_keep_every_bit() {
    // (2^62)^5 = 2^310: bit 310 is bit 54 of limb 4.
    let volume = Volume::of(&[1 << 62; 5]);
    let mut bytes = vec![0; 40];
    bytes[38] = 1 << 6;
    assert_eq!(volume.to_le_bytes(), bytes);
    assert_eq!(volume.to_u128(), None);
    assert!(volume > Volume::from(u128::MAX));
}

#[test]
fn a_total_spills_from_128_bits_without_losing_a_chunk() {
    let huge = [1_i64 << 62, 1 << 62, 8, 1];
    let (offsets, sizes) = (vec![0; 40], huge.repeat(10));
    let chunks = Chunks::new(&huge, Table::new(&offsets, 10, 4).unwrap(), Table::new(&sizes, 10, 4).unwrap()).unwrap();
    let total = Volume::total(chunks);
    assert_eq!(total, Volume::of(&huge).times(10));
    assert_eq!(total.quotient(&Volume::of(&huge)), Some(10));
}

#[test]
fn a_quotient_has_no_rest_and_no_zero_divisor() {
    assert_eq!(Volume::from(12).quotient(&Volume::from(4)), Some(3));
    assert_eq!(Volume::from(12).quotient(&Volume::from(5)), None);
    assert_eq!(Volume::from(0).quotient(&Volume::from(5)), Some(0));
    assert_eq!(Volume::from(7).quotient(&Volume::from(0)), None);
    assert_eq!(Volume::from(u128::MAX).quotient(&Volume::from(1)), None, "beyond 64 bits");
    assert_eq!(Volume::from(u128::from(u64::MAX)).quotient(&Volume::from(1)), Some(u64::MAX));
}

proptest! {
    #[test]
    fn agrees_with_128_bits_where_they_suffice(a: u64, b: u64, c: u64) {
        let (wide_a, wide_c) = (Volume::from(u128::from(a)), Volume::from(u128::from(c)));
        let expected = u128::from(a) * u128::from(b);
        prop_assert_eq!(wide_a.times(b).to_u128(), Some(expected));
        prop_assert_eq!(wide_a.times(b).plus(&wide_c).to_u128(), expected.checked_add(u128::from(c)));
        prop_assert_eq!(wide_a.cmp(&wide_c), a.cmp(&c));
        prop_assert_eq!(Volume::from(expected).cmp(&wide_c), expected.cmp(&u128::from(c)));
        if a > 0 {
            prop_assert_eq!(Volume::from(expected).quotient(&wide_a), Some(b));
        }
    }
}

#[test]
fn differences_and_digits_are_exact_beyond_128_bits() {
    let huge = Volume::of(&[i64::MAX; 5]);
    let less = huge.minus(&Volume::from(1));
    assert_eq!(less.plus(&Volume::from(1)), huge);
    assert_eq!(huge.minus(&less).to_u128(), Some(1));
    assert!(less.minus(&huge).is_zero() && huge.minus(&huge).is_zero());
    assert_eq!(
        Volume::of(&[1 << 62; 4]).minus(&Volume::of(&[1 << 62, 1 << 62])).plus(&Volume::of(&[1 << 62; 2])),
        Volume::of(&[1 << 62; 4])
    );
    assert_eq!(Volume::of(&[10_i64.pow(18); 4]).to_string(), format!("1{}", "0".repeat(72)));
    assert_eq!(
        (Volume::default().to_string(), Volume::from(u128::MAX).to_string()),
        ("0".to_owned(), u128::MAX.to_string())
    );
}
