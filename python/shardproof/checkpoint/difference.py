"""How two checkpoints differ, by what their metadata say."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from shardproof.checkpoint.job import owner_of
from shardproof.errors import InvalidInput, LayoutError
from shardproof.reshard import diff_layouts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from shardproof.checkpoint.model import Checkpoint, Part, Tensor
    from shardproof.layout import ChunkLayout

__all__ = ["CheckpointDiff", "Moved", "Recovered", "diff_checkpoints"]

_SIMILAR: Final = 1_000
"""Names up to which similar ones are looked for: comparing all with all is quadratic."""

Key: TypeAlias = tuple[str, str]
"""Name of the part, empty where there is only one, and of the tensor."""
_Side: TypeAlias = "Mapping[Key, tuple[Part, Tensor]]"


class Recovered(NamedTuple):
    """What only one of two tensors covers; not all boxes where that would be very many."""

    key: Key
    only_left: ChunkLayout
    only_right: ChunkLayout
    complete: bool


class Moved(NamedTuple):
    """How many of a tensor's chunks are stored by other processes, and the first of them."""

    key: Key
    chunks: int
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiff:
    """How two checkpoints differ, whatever the order of their tensors and chunks.

    Attributes
    ----------
    only_left, only_right
        Tensors and other entries that only one has.
    renamed
        Tensors of one that may be those of the other under another name: alike in shape and dtype, and in the end of
        the name or most of it.
    reshaped, retyped
        Tensors whose shapes or dtypes differ.
    recovered
        Tensors that cover other elements.
    recut
        Tensors that cover the same elements, cut in another way.
    moved
        Tensors with the same chunks, stored by other processes.
    not_compared
        Tensors that cannot be compared, and why.
    tensors
        How many tensors both have.
    """

    only_left: Sequence[Key]
    only_right: Sequence[Key]
    renamed: Sequence[tuple[Key, Key]]
    reshaped: Sequence[Key]
    retyped: Sequence[Key]
    recovered: Sequence[Recovered]
    recut: Sequence[Key]
    moved: Sequence[Moved]
    not_compared: Sequence[tuple[Key, str]]
    left: _Side = field(repr=False)
    right: _Side = field(repr=False)
    tensors: int

    @property
    def verdict(self) -> Literal["equal", "recut", "different", "not compared"]:
        """Say how they compare: ``"recut"`` is the same content, cut or stored in another way."""
        if any((self.only_left, self.only_right, self.reshaped, self.retyped, self.recovered)):
            return "different"
        if self.not_compared:
            return "not compared"
        return "recut" if self.recut or self.moved else "equal"


def diff_checkpoints(left: Checkpoint, right: Checkpoint) -> CheckpointDiff:
    """Compare names, shapes, dtypes, covered elements, cuts and processes; the elements themselves are not read.

    Processes are compared where both checkpoints name the same ones.

    Parameters
    ----------
    left, right
        The checkpoints.

    Returns
    -------
    CheckpointDiff
        What differs.

    Raises
    ------
    InvalidInput
        If they have several parts, and not of the same names.
    """
    single = len(left.parts) == len(right.parts) == 1
    if not single and set(left.parts) != set(right.parts):
        sides = (f"{one.location} has {', '.join(one.parts) or 'none'}" for one in (left, right))
        raise InvalidInput(
            f"the parts differ ({'; '.join(sides)}): choose one of each (on the command line with --part)"
        )
    lefts, rights = (
        {
            ("" if single else part.name, fqn): (part, one)
            for part in of.parts.values()
            for fqn, one in part.tensors.items()
        }
        for of in (left, right)
    )
    others = [
        {("" if single else part.name, fqn) for part in of.parts.values() for fqn in part.blobs} for of in (left, right)
    ]
    only_left = [key for key in lefts if key not in rights]
    only_right = [key for key in rights if key not in lefts]
    renamed = _renamed({key: lefts[key][1] for key in only_left}, {key: rights[key][1] for key in only_right})
    both = [key for key in lefts if key in rights]
    changes = _Changes(_owners(left, right))
    for key in both:
        changes.compare(key, lefts[key], rights[key])
    return CheckpointDiff(
        only_left=[*only_left, *sorted(others[0] - others[1])],
        only_right=[*only_right, *sorted(others[1] - others[0])],
        renamed=renamed,
        reshaped=changes.reshaped,
        retyped=changes.retyped,
        recovered=changes.recovered,
        recut=changes.recut,
        moved=changes.moved,
        not_compared=changes.not_compared,
        left=lefts,
        right=rights,
        tensors=len(both),
    )


class _Changes:
    """What differs between tensors that both have."""

    def __init__(self, owners: Mapping[str, int] | None) -> None:
        self.owners = owners
        self.reshaped: list[Key] = []
        self.retyped: list[Key] = []
        self.recovered: list[Recovered] = []
        self.recut: list[Key] = []
        self.moved: list[Moved] = []
        self.not_compared: list[tuple[Key, str]] = []

    def compare(self, key: Key, left: tuple[Part, Tensor], right: tuple[Part, Tensor]) -> None:
        """Compare one tensor."""
        one, other = left[1], right[1]
        if one.dtype != other.dtype:
            self.retyped.append(key)
        if one.global_shape != other.global_shape:
            self.reshaped.append(key)
            return
        try:
            difference = diff_layouts(one.chunks, other.chunks)
        except LayoutError as error:
            self.not_compared.append((key, error.findings[0].sentence))
            return
        if difference.verdict == "different":
            self.recovered.append(Recovered(key, difference.only_left, difference.only_right, difference.complete))
        elif difference.verdict == "recut":
            self.recut.append(key)
        elif self.owners is not None:
            self._move(key, left, right)

    def _move(self, key: Key, left: tuple[Part, Tensor], right: tuple[Part, Tensor]) -> None:
        """Compare who has stored the chunks, which are the same apart from empty ones."""
        (one, owners), (_, other) = (_by_place(*side, self.owners or {}) for side in (left, right))
        (at,) = np.nonzero(owners != other)
        if len(at):
            rank = len(left[1].global_shape)
            names = list(self.owners or {})
            box = one[at[0]].tolist()
            first = (names[column[at[0]]] if column[at[0]] >= 0 else "no record" for column in (owners, other))
            self.moved.append(Moved(key, len(at), tuple(box[:rank]), tuple(box[rank:]), *first))


def _by_place(part: Part, tensor: Tensor, numbers: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order the chunks that hold something by where they are: their boxes, and the numbers of their owners."""
    offsets, sizes = tensor.boxes
    owner = np.array([numbers[owner_of(part.files.directory + path)] for path in part.paths] + [-1], np.int64)
    full = (sizes != 0).all(axis=1)
    table = np.hstack((offsets, sizes))[full]
    owners = owner[tensor.records[0][full]]
    order = np.lexsort((owners, *table.T[::-1]))
    return table[order], owners[order]


def _owners(left: Checkpoint, right: Checkpoint) -> Mapping[str, int] | None:
    """Give numbers to the processes that stored the checkpoints; None unless both name the same."""
    first, second = (
        {owner_of(part.files.directory + path) for part in of.parts.values() for path in part.paths}
        for of in (left, right)
    )
    return {name: number for number, name in enumerate(sorted(first))} if first == second else None


def _renamed(lefts: Mapping[Key, Tensor], rights: Mapping[Key, Tensor]) -> list[tuple[Key, Key]]:
    """Suggest which names became which: first by the longest common end, then by likeness."""
    ends: dict[tuple[object, ...], list[Key]] = defaultdict(list)
    for key, tensor in rights.items():
        for end in _ends(key):
            ends[_kind(tensor), end].append(key)
    pairs: dict[Key, Key] = {}
    taken: set[Key] = set()
    for key, tensor in lefts.items():
        for end in _ends(key):
            found = [other for other in ends.get((_kind(tensor), end), ()) if other not in taken]
            if len(found) == 1:
                pairs[key] = found[0]
                taken.add(found[0])
            if found:
                break
    if len(lefts) <= _SIMILAR:
        for key, tensor in lefts.items():
            free = {
                other[1]: other for other, one in rights.items() if other not in taken and _kind(one) == _kind(tensor)
            }
            near = get_close_matches(key[1], free, n=1) if key not in pairs else []
            if near:
                pairs[key] = free[near[0]]
                taken.add(free[near[0]])
    return [(key, pairs[key]) for key in lefts if key in pairs]


def _kind(tensor: Tensor) -> tuple[tuple[int, ...], str]:
    return tensor.global_shape, tensor.dtype


def _ends(key: Key) -> Iterator[str]:
    """Give the name without its first words, one after the other, the longest first."""
    words = key[1].replace("/", ".").split(".")
    return (".".join(words[first:]) for first in range(len(words)))
