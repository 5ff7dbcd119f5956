"""The processes of a job, and which boxes of a tensor each of them wants."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from shardproof.errors import InvalidInput, LimitExceeded
from shardproof.layout import ChunkLayout
from shardproof.placement import Placement, Replicate, StridedShard, held_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shardproof.checkpoint.model import Checkpoint, Part, Tensor

__all__ = ["Job", "LikeJob", "MeshJob", "Wanted", "owner_of"]

Column: TypeAlias = "NDArray[np.int64]"

MAX_PROCESSES: Final = 65_536
"""Processes of a job, and pieces of a strided split. The largest jobs have some ten thousand."""

_OWNER: Final = re.compile(r"__(\d+)_\d+\.distcp|(?:.*/)?ocdbt\.process_(\d+)/.*")
"""Names of files that say which process wrote them."""


class Wanted(NamedTuple):
    """What a job wants of one tensor.

    Attributes
    ----------
    members
        For each process the number of its group: the processes of a group hold the same. The key of how they are
        grouped, and for each process its group.
    groups
        Numbers of the groups that want chunks.
    counts
        How many chunks each of these wants.
    chunks
        Their chunks, one group behind the other.
    replicated
        Placements that split a dimension that the tensor does not have: it is replicated there.
    """

    members: tuple[str, Column]
    groups: Column
    counts: list[int]
    chunks: ChunkLayout
    replicated: tuple[str, ...] = ()


class Job(Protocol):
    """Processes that load a checkpoint."""

    @property
    def processes(self) -> Sequence[str]:
        """Names of the processes."""
        ...

    def wanted(self, part: Part, tensor: Tensor) -> Wanted | None:
        """Say what the processes want of a tensor; None if they want nothing of it."""
        ...


@dataclass(frozen=True, slots=True)
class _Members:
    key: str
    shape: tuple[int, ...]
    of: Column


class MeshJob:
    """Processes on a mesh that hold all tensors under the same placements.

    A tensor that has too few dimensions for a placement is replicated on that dimension of the mesh.

    Parameters
    ----------
    mesh_shape
        Processes along each dimension of the mesh.
    placements
        One for each dimension of the mesh.

    Raises
    ------
    InvalidInput
        If there are not as many placements as dimensions of the mesh.
    LimitExceeded
        If there are more processes, or pieces of a strided split, than 65,536.

    Examples
    --------
    >>> from shardproof.placement import Shard
    >>> MeshJob((2, 2), [Shard(0), Replicate()]).processes
    ['0 (0, 0)', '1 (0, 1)', '2 (1, 0)', '3 (1, 1)']
    """

    def __init__(self, mesh_shape: Sequence[int], placements: Sequence[Placement]) -> None:
        if len(mesh_shape) != len(placements):
            raise InvalidInput(
                f"a mesh of {len(mesh_shape)} dimensions needs as many placements, not {len(placements)}: "
                "write one for each, R where nothing is split"
            )
        strided = [placement.split_factor for placement in placements if isinstance(placement, StridedShard)]
        if max(math.prod(mesh_shape), math.prod(strided)) > MAX_PROCESSES:
            raise LimitExceeded(
                f"a mesh of {' x '.join(map(str, mesh_shape))} processes and splits into {math.prod(strided)} pieces: "
                f"more than {MAX_PROCESSES} are not planned"
            )
        self.mesh_shape = tuple(mesh_shape)
        self.placements = tuple(placements)
        coordinates = list(product(*map(range, self.mesh_shape)))
        self.processes = [f"{number} ({', '.join(map(str, place))})" for number, place in enumerate(coordinates)]
        self._coordinates = np.array(coordinates, np.int64)
        self._members: dict[int, _Members] = {}
        self._wanted: dict[tuple[int, ...], Wanted] = {}

    def wanted(self, part: Part, tensor: Tensor) -> Wanted:
        """Give the boxes that each process holds of a tensor of this shape."""
        del part
        shape = tensor.global_shape
        if shape not in self._wanted:
            self._wanted[shape] = self._of_shape(shape)
        return self._wanted[shape]

    def _of_shape(self, shape: tuple[int, ...]) -> Wanted:
        rank = len(shape)
        placements = [
            Replicate() if not isinstance(placement, Replicate) and placement.dim >= rank else placement
            for placement in self.placements
        ]
        if rank not in self._members:
            # Processes that differ only where a tensor is replicated hold the same: one of them is planned for.
            sides = tuple(
                1 if isinstance(placement, Replicate) else side
                for placement, side in zip(placements, self.mesh_shape, strict=True)
            )
            of = np.zeros(len(self._coordinates), np.int64)
            for place, side in zip(self._coordinates.T, sides, strict=True):
                of = of * side + (place if side > 1 else 0)
            self._members[rank] = _Members("x".join(map(str, sides)), sides, of)
        members = self._members[rank]
        held = [held_chunks(shape, self.mesh_shape, placements, place) for place in product(*map(range, members.shape))]
        chunks = [chunk for of_group in held for chunk in of_group]
        return Wanted(
            (members.key, members.of),
            np.arange(len(held)),
            list(map(len, held)),
            ChunkLayout(shape, [chunk.offsets for chunk in chunks], [chunk.sizes for chunk in chunks]),
            tuple(
                f"{own} of mesh dimension {mesh_dim}"
                for mesh_dim, (own, used) in enumerate(zip(self.placements, placements, strict=True))
                if own != used
            ),
        )


class LikeJob:
    """Processes that each want what one process of another checkpoint has stored.

    Where names of files say which process wrote them, as in DCP, its files are taken together; elsewhere each file is
    a process. A tensor that all processes have and one has stored is wanted by that one.

    Parameters
    ----------
    checkpoint
        The other checkpoint.

    Raises
    ------
    LimitExceeded
        If there are more processes than 65,536.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        names: dict[str, int] = {}
        self._owners: dict[str, Column] = {}
        for part in checkpoint.parts.values():
            owners = [names.setdefault(owner_of(part.files.directory + path), len(names)) for path in part.paths]
            self._owners[part.name] = np.array(owners, np.int64)
        if len(names) > MAX_PROCESSES:
            raise LimitExceeded(f"{checkpoint.location}: {len(names)} files, more than {MAX_PROCESSES} are not planned")
        order = sorted(names, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))
        self.processes = order
        renumbered = np.empty(len(names), np.int64)
        renumbered[[names[name] for name in order]] = np.arange(len(names))
        self._owners = {name: renumbered[owners] for name, owners in self._owners.items()}
        self._all = np.arange(len(names))
        self._tensors = {fqn: (part, one) for part in checkpoint.parts.values() for fqn, one in part.tensors.items()}

    def wanted(self, part: Part, tensor: Tensor) -> Wanted | None:
        """Give the chunks of the other checkpoint's tensor of this name, by the process that has stored them."""
        del part
        if tensor.fqn not in self._tensors:
            return None
        other, like = self._tensors[tensor.fqn]
        files = like.records[0]
        (recorded,) = np.nonzero(files >= 0)
        owners = self._owners[other.name][files[recorded]]
        order = np.argsort(owners, kind="stable")
        groups, counts = np.unique(owners[order], return_counts=True)
        offsets, sizes = (column[recorded[order]] for column in like.boxes)
        return Wanted(("", self._all), groups, counts.tolist(), ChunkLayout(like.global_shape, offsets, sizes))


def owner_of(path: str) -> str:
    """Name the process that wrote a file: by its number where the name of the file says it, else by the file.

    Examples
    --------
    >>> owner_of("__3_0.distcp"), owner_of("layers.0.weight/c/0/1")
    ('3', 'layers.0.weight/c/0/1')
    """
    match = _OWNER.fullmatch(path)
    return path if match is None else str(int(match[1] or match[2]))
