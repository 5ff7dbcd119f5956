"""The CheckpointableTensor protocol: a local tensor that holds shards of a global one."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, Final, Protocol, TypeGuard, runtime_checkable

from shardproof import _core
from shardproof.errors import InvalidType, LookupFailed
from shardproof.layout import FIELDS, ShardLayout, fields_of
from shardproof.metadata import ChunkStorageMetadata

__all__ = [
    "CheckpointableTensor",
    "Sharded",
    "attach",
    "copy_checkpointable_tensor_metadata",
    "get_checkpointable_tensor_chunks",
    "get_checkpointable_tensor_shard",
    "is_checkpointable_tensor",
    "validate_checkpointable_tensor_metadata",
]


@runtime_checkable
class CheckpointableTensor(Protocol):
    """A tensor that says which boxes of a global tensor it holds, and where.

    Any tensor that has a `shape`, can be sliced and carries these four attributes is one: of torch, of TensorPlay, an
    ndarray subclass. For arrays that refuse attributes there is `Sharded`.

    Attributes
    ----------
    global_shape
        Shape of the whole tensor.
    global_offsets
        Where each shard starts in the whole tensor.
    local_offsets
        Where each shard starts in the local tensor.
    local_sizes
        Lengths of each shard.
    """

    global_shape: tuple[int, ...]
    global_offsets: tuple[tuple[int, ...], ...]
    local_offsets: tuple[tuple[int, ...], ...]
    local_sizes: tuple[tuple[int, ...], ...]


def is_checkpointable_tensor(obj: object) -> TypeGuard[CheckpointableTensor]:
    """Say whether an object has a shape, can be sliced and carries the four attributes, none of them None.

    Examples
    --------
    >>> is_checkpointable_tensor([1, 2, 3])
    False
    """
    return (
        hasattr(obj, "shape")
        and hasattr(type(obj), "__getitem__")
        and all(getattr(obj, field, None) is not None for field in FIELDS)
    )


def copy_checkpointable_tensor_metadata(src: CheckpointableTensor, dst: Any) -> None:  # noqa: ANN401 - any tensor
    """Hang the four attributes of one tensor on another, without judging them.

    Raises
    ------
    InvalidType
        If `src` lacks one of them, or `dst` takes no attributes: see `Sharded`.
    """
    values, _ = fields_of(src)
    _hang(values, dst)


def validate_checkpointable_tensor_metadata(tensor: CheckpointableTensor) -> None:
    """Demand that every shard lies inside the global and inside the local tensor.

    The answer is remembered while the four attributes are the very same tuples of tuples of ints and the shape of the
    tensor is the same.

    Raises
    ------
    LayoutError
        With all faults, if there are any.
    InvalidType
        If an attribute is missing or holds something that is not an integer.
    """
    _valid(tensor)


def get_checkpointable_tensor_chunks(tensor: CheckpointableTensor) -> list[ChunkStorageMetadata]:
    """List the boxes of the global tensor that a tensor holds, in the order of its shards.

    Raises
    ------
    LayoutError
        If the layout is faulty.
    InvalidType
        If an attribute is missing or holds something that is not an integer.
    """
    return list(_layout(tensor).chunks)


def get_checkpointable_tensor_shard(tensor: Any, index: Any) -> Any:  # noqa: ANN401 - what slicing gives
    """Give the part of a local tensor that a metadata index means, as a view.

    Parameters
    ----------
    tensor
        A `CheckpointableTensor`.
    index
        A `MetadataIndex`, or torch's or TensorPlay's; `ShardLayout.resolve` says which shard it means.

    Returns
    -------
    tensor
        A slice of `tensor`; the tensor itself, or what a `Sharded` wraps, where it has rank 0.

    Raises
    ------
    LookupFailed
        If no shard is meant.
    LayoutError
        If the layout is faulty.
    InvalidType
        If an attribute is missing, or something in it or in `index` is not an integer.
    """
    layout = _layout(tensor)
    try:
        position = layout.resolve(index)
    except LookupFailed as failed:
        msg = f"{getattr(index, 'fqn', None)!r}: {failed}"
        raise LookupFailed(msg) from None
    if isinstance(tensor, Sharded):
        tensor = tensor.array
    return tensor[layout.slices(position)] if layout.rank else tensor


def attach(
    tensor: Any,  # noqa: ANN401 - any tensor
    *,
    global_shape: tuple[int, ...],
    global_offsets: tuple[tuple[int, ...], ...],
    local_offsets: tuple[tuple[int, ...], ...],
    local_sizes: tuple[tuple[int, ...], ...],
) -> None:
    """Validate a layout for a tensor and hang it on the tensor; a faulty one leaves the tensor as it was.

    Raises
    ------
    LayoutError
        If the layout is faulty.
    InvalidType
        If something in it is not an integer, or the tensor has no shape or takes no attributes: see `Sharded`.
    """
    layout = ShardLayout(global_shape, global_offsets, local_offsets, local_sizes, _shape_of(tensor))
    layout.check()
    _hang((layout.global_shape, *layout.as_tuples()), tensor)


def _hang(values: tuple[Any, ...], tensor: Any) -> None:  # noqa: ANN401 - any tensor
    for field, value in zip(FIELDS, values, strict=True):
        try:
            setattr(tensor, field, value)
        except (AttributeError, TypeError):
            msg = f"{type(tensor).__name__} takes no attribute {field}; wrap it in shardproof.Sharded"
            raise InvalidType(msg) from None


class Sharded:
    """An array with a layout, for arrays that refuse attributes (plain ndarray, jax.Array).

    Slicing gives what slicing the array gives.

    Parameters
    ----------
    array
        Anything with a `shape` that can be sliced.
    layout
        Of a local tensor of this shape.

    Raises
    ------
    LayoutError
        If the layout is faulty.
    InvalidType
        If the array has no shape, or the layout is for another one.

    Examples
    --------
    >>> import numpy as np
    >>> array = np.arange(8)
    >>> sharded = Sharded(array, ShardLayout((16,), [(0,), (12,)], [(0,), (4,)], [(4,), (4,)], array.shape))
    >>> from shardproof import MetadataIndex
    >>> get_checkpointable_tensor_shard(sharded, MetadataIndex("w", (12,)))
    array([4, 5, 6, 7])
    """

    __slots__ = ("__weakref__", "_values", "array", "layout")

    def __init__(self, array: Any, layout: ShardLayout) -> None:  # noqa: ANN401 - any array
        if _shape_of(array) != layout.local_shape:
            msg = f"the layout is for a local tensor of shape {layout.local_shape}, not {_shape_of(array)}"
            raise InvalidType(msg)
        layout.check()
        self.array = array
        self.layout = layout
        self._values = layout.as_tuples()

    # Properties, since runtime-checkable protocols look attributes up on the class.
    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.layout.local_shape

    @property
    def global_shape(self) -> tuple[int, ...]:
        """Shape of the whole tensor."""
        return self.layout.global_shape

    @property
    def global_offsets(self) -> tuple[tuple[int, ...], ...]:
        """Where each shard starts in the whole tensor."""
        return self._values[0]

    @property
    def local_offsets(self) -> tuple[tuple[int, ...], ...]:
        """Where each shard starts in the array."""
        return self._values[1]

    @property
    def local_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of each shard."""
        return self._values[2]

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - as the array
        return self.array[key]

    def __repr__(self) -> str:
        return f"<Sharded: {self.layout!r}>"


class _Remembered:
    """What a valid layout was read from; the layout itself is made when somebody looks something up."""

    __slots__ = ("_layout", "shape", "tensor", "values")

    def __init__(self, values: tuple[Any, Any, Any, Any], shape: tuple[int, ...]) -> None:
        self.values = values
        self.shape = shape
        self.tensor: weakref.ref[Any] | None = None
        self._layout: ShardLayout | None = None

    @property
    def layout(self) -> ShardLayout:
        if self._layout is None:
            self._layout = ShardLayout(*self.values, self.shape)
        return self._layout


# By id, since tensors may be unhashable and compare by element. An entry goes when its tensor goes, before the id can
# be given to another object, and it holds the four values, so that their ids cannot be reused either.
_remembered: Final[dict[int, _Remembered]] = {}


def _valid(tensor: Any) -> _Remembered | ShardLayout:  # noqa: ANN401 - any tensor
    """Demand a valid layout of a tensor, checked once while nothing changes."""
    known = _remembered.get(id(tensor))
    if known is not None:
        shape, offsets, places, sizes = known.values
        if (
            getattr(tensor, "global_shape", None) is shape
            and getattr(tensor, "global_offsets", None) is offsets
            and getattr(tensor, "local_offsets", None) is places
            and getattr(tensor, "local_sizes", None) is sizes
            and tensor.shape == known.shape
        ):
            return known
    if isinstance(tensor, Sharded):
        return tensor.layout
    values, local_shape = fields_of(tensor)
    if not _plainly_inside(values, local_shape):
        layout = ShardLayout(*values, local_shape)
        layout.check()
        if not layout.frozen:
            return layout
    known = _Remembered(values, local_shape)
    try:
        known.tensor = weakref.ref(tensor, partial(_forget, id(tensor)))
    except TypeError:
        return known
    _remembered[id(tensor)] = known
    return known


def _plainly_inside(values: tuple[Any, Any, Any, Any], local_shape: tuple[int, ...]) -> bool:
    """Say whether a layout is of nothing but tuples of ints and valid; if not, one has to look closer."""
    global_shape, global_offsets, local_offsets, local_sizes = values
    if not all(type(value) is tuple for value in values) or not all(type(dim) is int for dim in global_shape):
        return False
    try:
        return _core.tuples_inside(global_shape, global_offsets, local_offsets, local_sizes, local_shape)
    except OverflowError:
        return False


def _layout(tensor: Any) -> ShardLayout:  # noqa: ANN401 - any tensor
    valid = _valid(tensor)
    return valid.layout if isinstance(valid, _Remembered) else valid


def _forget(key: int, _reference: weakref.ref[Any]) -> None:
    _remembered.pop(key, None)


def _shape_of(array: Any) -> tuple[int, ...]:  # noqa: ANN401 - any array
    shape = getattr(array, "shape", None)
    if shape is None:
        msg = f"{type(array).__name__} has no shape"
        raise InvalidType(msg)
    return tuple(shape)
