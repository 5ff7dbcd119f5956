//! Everything that can be said of a part from its columns and the sizes of its files, in one call.

use super::inventory::Inventory;
use super::part::{Part, Tensor};
use super::storage;
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};
use crate::tally::Tally;

/// Judge form, bounds, coverage and storage of all tensors of a part, keeping at most `most` findings of each code.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn judge(part: &Part, inventory: &Inventory, most: usize, interrupt: Interrupt<'_>) -> Result<Tally, Interrupted> {
    let mut tally = Tally::keeping(most);
    tally.extend(part.findings.iter().cloned());
    for tensor in part.tensors() {
        form(tensor, &mut tally);
    }
    storage::judge(part, inventory, &mut tally, interrupt)?;
    Ok(tally)
}

/// Judge the shape of a tensor; whether its chunks can be judged against it.
fn form(tensor: &Tensor, tally: &mut Tally) -> bool {
    let about = |code| Finding::new(code).of_tensor(tensor.fqn());
    let mut sound = true;
    for (dimension, &dim) in tensor.shape().iter().enumerate().filter(|(_, dim)| **dim < 0) {
        let finding = about(Code::ShapeNegative).in_dimension(dimension);
        tally.push(finding.with("field", "global_shape").with("number", dim));
        sound = false;
    }
    let bits = tensor.dtype().bits().unwrap_or(1);
    if sound && byte_length(tensor.shape(), bits).is_none() {
        let finding = about(Code::ShapeOverflow).with("shape", format!("{:?}", tensor.shape()));
        tally.push(finding.with("bits", bits));
    }
    sound
}

/// Bytes that a tensor takes, if 63 bits can count them. A tensor without elements takes none, whatever its shape.
fn byte_length(shape: &[i64], bits: u32) -> Option<i64> {
    if shape.contains(&0) {
        return Some(0);
    }
    let total = shape.iter().try_fold(u128::from(bits), |total, &dim| total.checked_mul(u128::try_from(dim).ok()?))?;
    i64::try_from(total.div_ceil(8)).ok()
}
