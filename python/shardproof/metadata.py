"""The records of distributed checkpoints, with the meaning that PyTorch DCP gives them.

Wherever one of these is taken, an object of torch or TensorPlay with the same attributes is taken too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import index as as_integer
from typing import Any, TypeAlias

from shardproof.errors import InvalidType

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
    "integers",
]


def integers(values: Iterable[object], what: str) -> tuple[int, ...]:
    """Make a tuple of plain ints of offsets or sizes.

    Parameters
    ----------
    values
        Anything that can be iterated and holds integers, such as a ``torch.Size`` or an integer array.
    what
        What the values are, for the error.

    Raises
    ------
    InvalidType
        If `values` cannot be iterated or one of them is not an integer; a bool is not.

    Examples
    --------
    >>> integers([4, 0], "offset")
    (4, 0)
    """
    if type(values) is tuple:
        for value in values:
            if type(value) is not int:
                break
        else:
            return values
    try:
        found = tuple(values)
    except TypeError:
        msg = f"{what} is {values!r}, which is no sequence of integers"
        raise InvalidType(msg) from None
    return tuple(_integer(value, dimension, what) for dimension, value in enumerate(found))


def _integer(value: Any, dimension: int, what: str) -> int:  # noqa: ANN401 - anything at all may be in there
    # numpy's bool answers __index__ in some versions; both kinds go by the name.
    if type(value).__name__ not in {"bool", "bool_"}:
        try:
            return as_integer(value)
        except TypeError:
            pass
    msg = f"{what}, dimension {dimension}: {value!r} is of type {type(value).__name__}, which is no integer"
    raise InvalidType(msg)


@dataclass
class ChunkStorageMetadata:
    """A box of a global tensor.

    Attributes
    ----------
    offsets
        Start in each dimension, in elements.
    sizes
        Length in each dimension, in elements.

    Examples
    --------
    >>> ChunkStorageMetadata(offsets=(0, 4), sizes=(2, 4))
    ChunkStorageMetadata(offsets=(0, 4), sizes=(2, 4))
    """

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass
class TensorProperties:
    """What a saved tensor is made of.

    Attributes
    ----------
    dtype
        Name of the element type, as torch spells it, or a framework's own object.
    layout, requires_grad, memory_format, pin_memory
        As torch records them; only `dtype` has a meaning here.
    """

    dtype: Any = "float32"
    layout: Any = "strided"
    requires_grad: bool = False
    memory_format: Any = "contiguous_format"
    pin_memory: bool = False


@dataclass
class TensorStorageMetadata:
    """A saved tensor.

    Attributes
    ----------
    properties
        What it is made of.
    size
        Its global shape.
    chunks
        The chunks that were saved, in the order in which they were planned.
    """

    properties: TensorProperties
    size: tuple[int, ...]
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A saved object that is not a tensor."""


@dataclass
class StorageMeta:
    """Where and how a checkpoint was saved.

    Attributes
    ----------
    checkpoint_id
        Path or name of the checkpoint.
    save_id, load_id
        Unique names of the save and of the load.
    modules
        Import names of storage extensions.
    """

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


StorageMetadata: TypeAlias = TensorStorageMetadata | BytesStorageMetadata


@dataclass
class Metadata:
    """A checkpoint.

    Attributes
    ----------
    state_dict_metadata
        What was saved, by fqn.
    planner_data
        Belongs to the planner that saved.
    storage_data
        Where the bytes are, by `MetadataIndex`.
    storage_meta
        Where and how it was saved.
    version
        Version of the storage layout.
    """

    state_dict_metadata: dict[str, StorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True, init=False)
class MetadataIndex:
    """Which chunk of which tensor.

    Two are equal, and have the same hash, when `fqn` and `offset` are equal: `index` is a hint.

    Attributes
    ----------
    fqn
        Fully qualified name.
    offset
        Start of the chunk in the global tensor, as a tuple of ints; None for what is not cut into chunks.
    index
        Where in the list of chunks it probably is.

    Raises
    ------
    InvalidType
        If `offset` is not a sequence of integers.

    Examples
    --------
    >>> MetadataIndex("weight", [4, 0], index=1) == MetadataIndex("weight", (4, 0))
    True
    """

    fqn: str
    offset: tuple[int, ...] | None = None
    index: int | None = field(default=None, compare=False)

    def __init__(self, fqn: str, offset: Iterable[object] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else integers(offset, f"offset of {fqn!r}"))
        object.__setattr__(self, "index", index)
