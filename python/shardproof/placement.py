"""Which boxes of a tensor each process of a mesh holds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from shardproof.errors import InvalidInput
from shardproof.metadata import ChunkStorageMetadata

__all__ = ["Placement", "Replicate", "Shard", "StridedShard", "held_chunks", "parse_mesh", "parse_placements"]

_Intervals: TypeAlias = tuple[tuple[int, int], ...]
"""Disjoint half-open (start, stop), in the order in which the local tensor holds them; none is empty."""


@dataclass(frozen=True, slots=True)
class Replicate:
    """Every process along the mesh dimension holds the same."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, slots=True)
class Shard:
    """The processes split what is left of `dim` into equal pieces, the last ones short or empty.

    Attributes
    ----------
    dim
        Tensor dimension that is split.
    """

    dim: int

    def __str__(self) -> str:
        return f"S{self.dim}"


@dataclass(frozen=True, slots=True)
class StridedShard:
    """What is left of `dim` is cut into `split_factor` pieces, and every process holds its share of each.

    This is how a split that was made by a later mesh dimension first (tensor parallel before fully sharded) is written
    from left to right.

    Attributes
    ----------
    dim
        Tensor dimension that is split.
    split_factor
        Number of pieces before the split.
    """

    dim: int
    split_factor: int

    def __str__(self) -> str:
        return f"SS{self.dim}/{self.split_factor}"


Placement: TypeAlias = Replicate | Shard | StridedShard

_WORDS: tuple[tuple[re.Pattern[str], type[Placement]], ...] = (
    (re.compile(r"R|Replicate\(\)"), Replicate),
    (re.compile(r"S(\d+)|(?:S|Shard)\((?:dim=)?(\d+)\)"), Shard),
    (
        re.compile(r"SS(\d+)/0*([1-9]\d*)|(?:_S|_StridedShard)\((?:dim=)?(\d+), *(?:sf=|split_factor=)?0*([1-9]\d*)\)"),
        StridedShard,
    ),
)
"""Ways to write a placement, ours and those in which torch prints it, with the numbers that it takes."""
_BETWEEN = re.compile(r",(?![^()]*\))")


def parse_placements(text: str) -> tuple[Placement, ...]:
    """Read placements such as ``S0,R,SS1/4``, one for each mesh dimension.

    Parameters
    ----------
    text
        ``R`` replicates, ``S0`` shards dimension 0, ``SS0/2`` shards dimension 0 with a split factor of 2. What torch
        prints is read too: ``S(0)``, ``Shard(dim=0)``, ``_S(0, 2)``, ``_StridedShard(dim=0, sf=2)``, ``Replicate()``.

    Raises
    ------
    InvalidInput
        If a word is none of these.

    Examples
    --------
    >>> parse_placements("S0,R,SS1/4")
    (Shard(dim=0), Replicate(), StridedShard(dim=1, split_factor=4))
    >>> parse_placements("S(0), _S(0, 2)")
    (Shard(dim=0), StridedShard(dim=0, split_factor=2))
    """
    return tuple(_placement(position, word.strip()) for position, word in enumerate(_BETWEEN.split(text)))


def _placement(position: int, word: str) -> Placement:
    for pattern, kind in _WORDS:
        if match := pattern.fullmatch(word):
            return kind(*(int(number) for number in match.groups() if number is not None))
    msg = f"placement {position}: {word!r} is none of R, S<dim>, SS<dim>/<split factor>"
    raise InvalidInput(msg)


def parse_mesh(text: str) -> tuple[int, ...]:
    """Read the shape of a mesh such as ``4x2``.

    Raises
    ------
    InvalidInput
        If a part is not a positive integer.

    Examples
    --------
    >>> parse_mesh("4x2")
    (4, 2)
    """
    sides = text.split("x")
    if not all(re.fullmatch(r"0*[1-9]\d*", side) for side in sides):
        msg = f"{text!r} is not a mesh: write its sizes with x between them, such as 4x2"
        raise InvalidInput(msg)
    return tuple(int(side) for side in sides)


def held_chunks(
    global_shape: Sequence[int],
    mesh_shape: Sequence[int],
    placements: Sequence[Placement],
    coordinate: Sequence[int],
) -> list[ChunkStorageMetadata]:
    """List the boxes that the process at a coordinate of a mesh holds.

    Placements are applied from left to right, each to what the one before left, with pieces of the size that
    ``torch.chunk`` gives: ``ceil(n / processes)`` until nothing is left. A process that holds nothing gets one empty
    chunk, as a framework saves it. Under ``[Shard, StridedShard]`` on one dimension a process holds several runs of
    rows; DTensor names only the first offset and the number of rows, which are other rows than those it holds.

    Parameters
    ----------
    global_shape
        Shape of the tensor.
    mesh_shape
        Processes along each mesh dimension.
    placements
        One for each mesh dimension.
    coordinate
        Of the process, one number for each mesh dimension.

    Returns
    -------
    list of ChunkStorageMetadata
        Disjoint boxes in the order in which the local tensor holds them (row-major over the runs of each dimension).

    Raises
    ------
    InvalidInput
        If a placement names a dimension that the tensor does not have, or the lengths or the coordinate do not fit
        the mesh.

    Examples
    --------
    >>> held_chunks((5,), (2,), [Shard(0)], (1,))
    [ChunkStorageMetadata(offsets=(3,), sizes=(2,))]
    >>> [chunk.offsets for chunk in held_chunks((8, 4), (2,), [StridedShard(0, 2)], (0,))]
    [(0, 0), (4, 0)]
    """
    _check_mesh(len(global_shape), mesh_shape, placements, coordinate)
    held: list[_Intervals] = [((0, length),) if length else () for length in global_shape]
    for processes, placement, place in zip(mesh_shape, placements, coordinate, strict=True):
        match placement:
            case Replicate():
                pass
            case Shard(dim):
                held[dim] = _share(held[dim], processes, place)
            case StridedShard(dim, split_factor):
                pieces = (_share(held[dim], split_factor, piece) for piece in range(split_factor))
                held[dim] = _joined(run for piece in pieces for run in _share(piece, processes, place))
    if all(held):
        return [
            ChunkStorageMetadata(tuple(start for start, _ in runs), tuple(stop - start for start, stop in runs))
            for runs in itertools.product(*held)
        ]
    # What is empty in one dimension starts behind the end there, where no other chunk can be.
    offsets = tuple(runs[0][0] if runs else length for runs, length in zip(held, global_shape, strict=True))
    sizes = tuple(runs[0][1] - runs[0][0] if runs else 0 for runs in held)
    return [ChunkStorageMetadata(offsets, sizes)]


def _check_mesh(
    rank: int, mesh_shape: Sequence[int], placements: Sequence[Placement], coordinate: Sequence[int]
) -> None:
    if not len(mesh_shape) == len(placements) == len(coordinate):
        msg = (
            f"a mesh of {len(mesh_shape)} dimensions needs as many placements and coordinates, "
            f"not {len(placements)} and {len(coordinate)}"
        )
        raise InvalidInput(msg)
    for mesh_dim, (processes, placement, place) in enumerate(zip(mesh_shape, placements, coordinate, strict=True)):
        if not 0 <= place < processes:
            msg = f"coordinate {place} of mesh dimension {mesh_dim} is not in 0..{processes}"
            raise InvalidInput(msg)
        if not isinstance(placement, Replicate) and not 0 <= placement.dim < rank:
            msg = f"placement {placement} of mesh dimension {mesh_dim}: the tensor has {rank} dimensions"
            raise InvalidInput(msg)


def _share(held: _Intervals, processes: int, place: int) -> _Intervals:
    """Cut the rows of `held`, taken one behind the other, and give the piece of one process."""
    length = sum(stop - start for start, stop in held)
    size = -(-length // processes)
    first, last = min(place * size, length), min((place + 1) * size, length)
    return _joined(_between(held, first, last))


def _between(held: _Intervals, first: int, last: int) -> Iterator[tuple[int, int]]:
    passed = 0
    for start, stop in held:
        low, high = max(first - passed, 0), min(last - passed, stop - start)
        if low < high:
            yield start + low, start + high
        passed += stop - start


def _joined(runs: Iterator[tuple[int, int]]) -> _Intervals:
    """Join runs that follow each other without a gap."""
    joined: list[tuple[int, int]] = []
    for start, stop in runs:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], stop
        else:
            joined.append((start, stop))
    return tuple(joined)
