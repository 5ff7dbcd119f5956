//! What the globals of DeepSpeed's pickles are: those of any archive of torch, and a few classes of its own.

use crate::checkpoint::archive;
use crate::checkpoint::pickle::Uses;

/// What a global is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// One that any archive may have.
    Archive(archive::Role),
    /// `_rebuild_from_type_v2`: a tensor with attributes; the third argument is what makes the tensor.
    TensorOfType,
    /// Where a fragment of a parameter lies in a partition.
    Fragment,
    /// The stage, built with a number.
    Stage,
    /// Known, and of no concern.
    Other,
}

/// Look up a global.
pub(super) fn names(module: &str, name: &str) -> Option<(Role, Uses)> {
    Some(match (module, name) {
        ("torch._tensor", "_rebuild_from_type_v2") => (Role::TensorOfType, Uses::Callable),
        ("torch", "Tensor") | ("torch.nn.parameter", "Parameter") => (Role::Other, Uses::Value),
        ("torch", "device") => (Role::Other, Uses::Callable),
        ("deepspeed.utils.tensor_fragment", "fragment_address") => (Role::Fragment, Uses::Class),
        ("deepspeed.runtime.zero.config", "ZeroStageEnum") => (Role::Stage, Uses::Callable),
        ("deepspeed.runtime.fp16.loss_scaler", "LossScaler" | "DynamicLossScaler") => (Role::Other, Uses::Class),
        _ => {
            let (role, uses) = archive::names(module, name)?;
            (Role::Archive(role), uses)
        }
    })
}
