//! What the globals of DCP metadata are: the classes of torch, Megatron and TensorPlay, and nothing else.

use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::pickle::Uses;

/// What a global is to DCP metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Metadata,
    Tensor,
    Bytes,
    Properties,
    Chunk,
    Index,
    Record,
    /// A record that says only which file.
    FileOnly,
    Size,
    /// A dtype of torch: the global itself.
    Dtype,
    /// A dtype of TensorPlay: an instance that is built with a number.
    NumberedDtype,
    /// Known, and of no concern to geometry: layouts, paths, plans.
    Other,
}

/// Look a global up.
pub(super) fn names(module: &str, name: &str) -> Option<(Role, Uses)> {
    let class = |role| Some((role, Uses::Class));
    let callable = |role| Some((role, Uses::Callable));
    match (module, name) {
        ("torch", "Size") => return callable(Role::Size),
        ("torch", name) if Dtype::named(name).bits().is_some() => return Some((Role::Dtype, Uses::Value)),
        ("tensorplay", "DType") => return class(Role::NumberedDtype),
        ("torch.serialization", "_get_layout")
        | (
            "pathlib" | "pathlib._local",
            "PosixPath" | "WindowsPath" | "PurePosixPath" | "PureWindowsPath" | "Path" | "PurePath",
        ) => return callable(Role::Other),
        ("collections", "OrderedDict") => return Some((Role::Other, Uses::Mapping)),
        ("copy_reg" | "copyreg", "_reconstructor") => return Some((Role::Other, Uses::Reconstructor)),
        // What a reconstructor is given for the base of a class.
        ("__builtin__" | "builtins", "object") => return Some((Role::Other, Uses::Value)),
        _ => {}
    }
    let inside = module.strip_prefix("torch.").or_else(|| module.strip_prefix("tensorplay."))?;
    match (inside, name) {
        ("distributed.checkpoint.metadata", "Metadata") => class(Role::Metadata),
        ("distributed.checkpoint.metadata", "TensorStorageMetadata") => class(Role::Tensor),
        ("distributed.checkpoint.metadata", "BytesStorageMetadata") => class(Role::Bytes),
        // Up to torch 2.1 properties are those of sharded tensors.
        ("distributed.checkpoint.metadata" | "distributed._shard.sharded_tensor.metadata", "TensorProperties") => {
            class(Role::Properties)
        }
        ("distributed.checkpoint.metadata", "ChunkStorageMetadata") => class(Role::Chunk),
        ("distributed.checkpoint.metadata", "MetadataIndex") => class(Role::Index),
        ("distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING")
        | ("distributed._shard.sharded_tensor.metadata", "MEM_FORMAT_ENCODING")
        | ("distributed.checkpoint.planner", "WriteItemType") => callable(Role::Other),
        ("distributed.checkpoint.filesystem", "_StorageInfo") => class(Role::Record),
        ("distributed.checkpoint.mega_storage", "_MegaStorageInfo") => class(Role::FileOnly),
        ("distributed.checkpoint.metadata", "StorageMeta")
        | ("distributed.checkpoint.planner", "SavePlan" | "WriteItem" | "TensorWriteData" | "BytesIOWriteData")
        | ("distributed.checkpoint.filesystem", "_StoragePrefix") => class(Role::Other),
        _ => None,
    }
}

/// Name of a TensorPlay dtype, as torch spells it.
pub(super) const fn numbered_dtype(number: i64) -> Option<&'static str> {
    Some(match number {
        0 => "uint8",
        1 => "int8",
        2 => "int16",
        3 => "int32",
        4 => "int64",
        5 => "uint16",
        6 => "uint32",
        7 => "uint64",
        8 => "float32",
        9 => "float64",
        10 => "float16",
        11 => "bfloat16",
        12 => "bool",
        13 => "complex64",
        14 => "complex128",
        15 => "complex32",
        16 => "bcomplex32",
        19 => "qint8",
        20 => "quint8",
        21 => "qint32",
        _ => return None,
    })
}
