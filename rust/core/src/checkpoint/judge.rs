//! Everything that can be said of a part from its columns and the sizes of its files, in one call.

use super::inventory::Inventory;
use super::part::Part;
use super::storage;
use super::tally::Tally;
use crate::interrupt::{Interrupt, Interrupted};

/// Judge form, bounds, coverage and storage of all tensors of a part, keeping at most `most` findings of each code.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn judge(part: &Part, inventory: &Inventory, most: usize, interrupt: Interrupt<'_>) -> Result<Tally, Interrupted> {
    let mut tally = Tally::keeping(most);
    tally.extend(part.findings.iter().cloned());
    storage::judge(part, inventory, &mut tally, interrupt)?;
    Ok(tally)
}
