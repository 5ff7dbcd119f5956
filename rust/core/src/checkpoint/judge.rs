//! Everything that can be said of a part from its columns and the sizes of its files, in one call.

use super::inventory::Inventory;
use super::part::Part;
use super::{coverage, storage};
use crate::interrupt::{Interrupt, Interrupted};
use crate::tally::Tally;

/// Judge form, bounds, coverage and storage of all tensors of a part, keeping at most `most` findings of each code.
///
/// `keys` is for [`coverage::judge`].
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn judge(
    part: &Part,
    inventory: &Inventory,
    keys: &[u8],
    most: usize,
    interrupt: Interrupt<'_>,
) -> Result<Tally, Interrupted> {
    let mut tally = Tally::keeping(most);
    tally.extend(part.findings.iter().cloned());
    coverage::judge(part, keys, &mut tally, interrupt)?;
    storage::judge(part, inventory, &mut tally, interrupt)?;
    Ok(tally)
}
