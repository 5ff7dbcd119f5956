"""Prove that the shards of a checkpoint fit together.

Nothing is imported before it is used: the command line answers small questions without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardproof._core import __version__
    from shardproof.checkpoint.check import CheckReport, check_checkpoint
    from shardproof.checkpoint.model import Checkpoint
    from shardproof.checkpoint.opening import open_checkpoint
    from shardproof.errors import (
        InvalidInput,
        InvalidType,
        LayoutError,
        LimitExceeded,
        LookupFailed,
        MalformedFile,
        ShardproofError,
        UnsupportedFormat,
    )
    from shardproof.findings import Finding, Findings, Severity
    from shardproof.layout import ChunkLayout, ShardLayout
    from shardproof.metadata import (
        BytesStorageMetadata,
        ChunkStorageMetadata,
        Metadata,
        MetadataIndex,
        StorageMeta,
        TensorProperties,
        TensorStorageMetadata,
    )
    from shardproof.proof import Report, Residue, prove
    from shardproof.protocol import (
        CheckpointableTensor,
        Sharded,
        attach,
        copy_checkpointable_tensor_metadata,
        get_checkpointable_tensor_chunks,
        get_checkpointable_tensor_shard,
        is_checkpointable_tensor,
        validate_checkpointable_tensor_metadata,
    )
    from shardproof.reshard import (
        LayoutDiff,
        PlanCost,
        Read,
        ReadPlan,
        chunks_to_flat_range,
        diff_layouts,
        flat_range_to_chunks,
        plan_reads,
    )

# Where every public name lives; a test holds this equal to the imports above.
_HOME = {
    "__version__": "_core",
    "CheckReport": "checkpoint.check",
    "check_checkpoint": "checkpoint.check",
    "Checkpoint": "checkpoint.model",
    "open_checkpoint": "checkpoint.opening",
    "InvalidInput": "errors",
    "InvalidType": "errors",
    "LayoutError": "errors",
    "LimitExceeded": "errors",
    "LookupFailed": "errors",
    "MalformedFile": "errors",
    "ShardproofError": "errors",
    "UnsupportedFormat": "errors",
    "Finding": "findings",
    "Findings": "findings",
    "Severity": "findings",
    "ChunkLayout": "layout",
    "ShardLayout": "layout",
    "BytesStorageMetadata": "metadata",
    "ChunkStorageMetadata": "metadata",
    "Metadata": "metadata",
    "MetadataIndex": "metadata",
    "StorageMeta": "metadata",
    "TensorProperties": "metadata",
    "TensorStorageMetadata": "metadata",
    "Report": "proof",
    "Residue": "proof",
    "prove": "proof",
    "CheckpointableTensor": "protocol",
    "Sharded": "protocol",
    "attach": "protocol",
    "copy_checkpointable_tensor_metadata": "protocol",
    "get_checkpointable_tensor_chunks": "protocol",
    "get_checkpointable_tensor_shard": "protocol",
    "is_checkpointable_tensor": "protocol",
    "validate_checkpointable_tensor_metadata": "protocol",
    "LayoutDiff": "reshard",
    "PlanCost": "reshard",
    "Read": "reshard",
    "ReadPlan": "reshard",
    "chunks_to_flat_range": "reshard",
    "diff_layouts": "reshard",
    "flat_range_to_chunks": "reshard",
    "plan_reads": "reshard",
}

__all__ = [
    "BytesStorageMetadata",
    "CheckReport",
    "Checkpoint",
    "CheckpointableTensor",
    "ChunkLayout",
    "ChunkStorageMetadata",
    "Finding",
    "Findings",
    "InvalidInput",
    "InvalidType",
    "LayoutDiff",
    "LayoutError",
    "LimitExceeded",
    "LookupFailed",
    "MalformedFile",
    "Metadata",
    "MetadataIndex",
    "PlanCost",
    "Read",
    "ReadPlan",
    "Report",
    "Residue",
    "Severity",
    "ShardLayout",
    "Sharded",
    "ShardproofError",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
    "UnsupportedFormat",
    "__version__",
    "attach",
    "check_checkpoint",
    "chunks_to_flat_range",
    "copy_checkpointable_tensor_metadata",
    "diff_layouts",
    "flat_range_to_chunks",
    "get_checkpointable_tensor_chunks",
    "get_checkpointable_tensor_shard",
    "is_checkpointable_tensor",
    "open_checkpoint",
    "plan_reads",
    "prove",
    "validate_checkpointable_tensor_metadata",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOME:
        msg = f"module 'shardproof' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"shardproof.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
