//! `DeepSpeed`'s ZeRO checkpoints: the files that all processes wrote into the directory of one tag.
//!
//! Nothing in them says where an element is. Stages 1 and 2 lay the parameters of a group one after another and cut
//! the result anywhere: each process says which fragment of which parameter is where in its partition, and in the order
//! of the processes fragments add up to the parameter. Stage 3 gives each process an equal share of each parameter.
//! Either way a parameter becomes boxes whose bytes are one stretch of a file.

mod cut;
mod document;
mod enter;
mod join;
mod name;
mod role;
mod share;
mod slice;
mod state;

pub use self::join::{ReadFile, Reading, read};
pub use self::name::{Kind, Name};
