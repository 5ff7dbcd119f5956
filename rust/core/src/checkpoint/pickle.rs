//! A pickle machine that never looks up a name and never calls anything.
//!
//! It follows all opcodes of protocols 0 to 5 that describe data. A global is a name and stays one; what would call,
//! build or extend something leaves an inert record of what would have happened. Which globals a format knows, and what
//! may be done with them, is a table of the format's own ([`Names`]); whatever a pickle does with other globals is
//! listed in the arena.
//!
//! Time and memory are linear in the input: every opcode makes one node of twelve bytes at most, the memo holds
//! handles, and nothing recurses. What shared parts would take if they were written out is measured on the way, so that
//! a bomb is refused although it would do no harm here.

use crate::interrupt::{Interrupt, Interrupted};

use super::limits::Limits;

mod arena;
mod cursor;
mod escape;
mod globals;
mod machine;
mod node;
mod number;
mod opcode;
mod refusal;
mod view;

pub use self::arena::Arena;
pub use self::globals::{Deed, Global, Names, Uses};
pub use self::node::Handle;
pub use self::number::Big;
pub use self::refusal::{Problem, Refusal};
pub use self::view::{Items, View};

/// What a format's pickles may do beyond the usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether objects may be asked for by persistent id, as tensors in archives ask for their storage.
    pub persistent_ids: bool,
}

/// Read a pickle up to its STOP, or up to an opcode that cannot be followed: then the refusal says why.
///
/// The arena tells what the pickle would do also when it was refused.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn read<'a, R: Copy>(
    input: &'a [u8],
    names: Names<R>,
    options: Options,
    limits: &Limits,
    interrupt: Interrupt<'_>,
) -> Result<(Arena<'a, R>, Option<Refusal>), Interrupted> {
    machine::Machine::new(input, names, options, limits).run(interrupt)
}

/// Find the bytes at which things in an arena were made, in ascending order of their handles.
///
/// Arenas do not remember it: the pickle is read once more.
#[must_use]
pub fn places_of<R: Copy>(
    input: &[u8],
    names: Names<R>,
    options: Options,
    limits: &Limits,
    handles: &[Handle],
) -> Vec<Option<usize>> {
    machine::Machine::new(input, names, options, limits).places_of(handles)
}

#[cfg(test)]
mod tests;
