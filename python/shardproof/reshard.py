"""Resharding: what to read from where, how two layouts differ, flat ranges."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from shardproof import _core
from shardproof.errors import InvalidInput
from shardproof.findings import Finding, Findings, Severity
from shardproof.layout import ChunkLayout, layout_error
from shardproof.metadata import integers

__all__ = [
    "LayoutDiff",
    "PlanCost",
    "Read",
    "ReadPlan",
    "chunks_to_flat_range",
    "diff_layouts",
    "flat_range_to_chunks",
    "plan_reads",
]

Column: TypeAlias = NDArray[np.int64]

_MOST: Final = 10_000
"""Findings that are kept; all are counted."""
_UNLIMITED: Final = (1 << 64) - 1


class Read(NamedTuple):
    """One read: a region of a saved chunk that fills a region of a wanted chunk.

    Attributes
    ----------
    saved_position, wanted_position
        Which chunks.
    saved_offsets, wanted_offsets
        Where the region starts in each, relative to the chunk.
    lengths
        Its size.
    """

    saved_position: int
    wanted_position: int
    saved_offsets: tuple[int, ...]
    wanted_offsets: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def saved_slices(self) -> tuple[slice, ...]:
        """The region as slices of the saved chunk."""
        return tuple(slice(start, start + n) for start, n in zip(self.saved_offsets, self.lengths, strict=True))

    @property
    def wanted_slices(self) -> tuple[slice, ...]:
        """The region as slices of the wanted chunk."""
        return tuple(slice(start, start + n) for start, n in zip(self.wanted_offsets, self.lengths, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class PlanCost:
    """What executing a plan amounts to.

    A run is a stretch of a saved chunk, stored row-major, that a read takes as a whole: many short runs are what makes
    a load slow.

    Attributes
    ----------
    reads
        How many reads.
    bytes
        How many bytes they read.
    runs
        How many contiguous runs those are.
    shortest_run, longest_run
        Bytes of the shortest and of the longest run; 0 when nothing is read.
    sources
        How many saved chunks each wanted chunk reads from, int64 (M,).
    """

    reads: int
    bytes: int
    runs: int
    shortest_run: int
    longest_run: int
    sources: Column


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReadPlan(Sequence[Read]):
    """K reads as columns, ordered by wanted position, then by saved position.

    A sequence of `Read`, each made when it is looked at: a million objects would cost more than planning them.

    Attributes
    ----------
    saved, wanted
        The layouts.
    saved_positions, wanted_positions
        Which chunks, int64 (K,), read-only.
    saved_offsets, wanted_offsets
        Where the region starts, relative to the chunk, int64 (K, rank), read-only.
    lengths
        Size of the region, int64 (K, rank), read-only.
    findings
        Wanted elements without a source (SP311) and with several (SP312).
    complete
        Whether the findings name all of them. Naming those of a very intricate plan stops at some point.
    """

    saved: ChunkLayout
    wanted: ChunkLayout
    saved_positions: Column
    wanted_positions: Column
    saved_offsets: Column
    wanted_offsets: Column
    lengths: Column
    findings: Findings
    complete: bool

    def __len__(self) -> int:
        return len(self.saved_positions)

    @overload
    def __getitem__(self, position: int) -> Read: ...
    @overload
    def __getitem__(self, position: slice) -> list[Read]: ...
    def __getitem__(self, position: int | slice) -> Read | list[Read]:
        if isinstance(position, slice):
            return [self[one] for one in range(*position.indices(len(self)))]
        return Read(
            int(self.saved_positions[position]),
            int(self.wanted_positions[position]),
            tuple(self.saved_offsets[position].tolist()),
            tuple(self.wanted_offsets[position].tolist()),
            tuple(self.lengths[position].tolist()),
        )

    def cost(self, itemsize: int) -> PlanCost:
        """Add up what executing the plan amounts to.

        Parameters
        ----------
        itemsize
            Bytes of an element.

        Returns
        -------
        PlanCost
            Reads, bytes, contiguous runs and their lengths, and how many saved chunks each wanted chunk reads from.

        Raises
        ------
        InvalidInput
            If `itemsize` is not positive, or the elements are 2^128 or more.

        Examples
        --------
        Eight slabs of rows, wanted as eight slabs of columns: every run is 8 elements long.

        >>> rows = ChunkLayout((64, 64), [(8 * i, 0) for i in range(8)], [(8, 64)] * 8)
        >>> columns = ChunkLayout((64, 64), [(0, 8 * i) for i in range(8)], [(64, 8)] * 8)
        >>> cost = plan_reads(rows, columns).cost(itemsize=4)
        >>> cost.reads, cost.runs, cost.longest_run, int(cost.sources.max())
        (64, 512, 32, 8)
        """
        (cost,) = self.costs(itemsize, [len(self.wanted)])
        return cost

    def costs(self, itemsize: int, groups: Sequence[int]) -> list[PlanCost]:
        """Add up what executing each part of the plan amounts to, as `cost` does for all of it.

        Parameters
        ----------
        itemsize
            Bytes of an element.
        groups
            How many wanted chunks each part is for, in their order.

        Returns
        -------
        list of PlanCost
            One for each group; `PlanCost.sources` is about the wanted chunks of the group.

        Raises
        ------
        InvalidInput
            If `itemsize` is not positive, the groups are not all of the wanted chunks, or the elements are 2^128 or
            more.

        Examples
        --------
        >>> saved = ChunkLayout((8,), [(0,), (5,)], [(5,), (3,)])
        >>> wanted = ChunkLayout((8,), [(0,), (4,), (6,)], [(4,), (2,), (2,)])
        >>> [cost.reads for cost in plan_reads(saved, wanted).costs(4, groups=[1, 2])]
        [1, 3]
        """
        itemsize = operator.index(itemsize)
        if itemsize < 1:
            msg = f"itemsize is {itemsize}, not a positive number of bytes"
            raise InvalidInput(msg)
        chunks = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.array(groups, np.int64))))
        if chunks[-1] != len(self.wanted) or (np.diff(chunks) < 0).any():
            msg = f"groups of {int(chunks[-1])} chunks in all do not make up {len(self.wanted)} wanted chunks"
            raise InvalidInput(msg)
        sources = np.bincount(self.wanted_positions, minlength=len(self.wanted))
        rows = np.searchsorted(self.wanted_positions, chunks).tolist()
        return [
            self._cost(itemsize, slice(*of_rows), sources[slice(*of_chunks)])
            for of_rows, of_chunks in zip(itertools.pairwise(rows), itertools.pairwise(chunks.tolist()), strict=True)
        ]

    def _cost(self, itemsize: int, rows: slice, sources: Column) -> PlanCost:
        reads = rows.stop - rows.start
        if not reads:
            return PlanCost(0, 0, 0, 0, 0, sources)
        elements, runs, shortest, longest = _core.plan_cost(
            self.saved.sizes, self.saved_positions[rows], self.lengths[rows]
        )
        return PlanCost(reads, elements * itemsize, runs, shortest * itemsize, longest * itemsize, sources)

    def __repr__(self) -> str:
        return f"<ReadPlan: {len(self)} reads from {len(self.saved)} chunks into {len(self.wanted)}>"


@dataclass(frozen=True, slots=True)
class LayoutDiff:
    """How two layouts of one tensor compare, whatever the order of their chunks.

    Attributes
    ----------
    verdict
        ``"equal"``: the same chunks, each as often. ``"recut"``: the same elements, cut in another way.
        ``"different"``: elements that only one side covers.
    only_left, only_right
        What only one side covers.
    complete
        Whether those are all boxes. Naming those of a very intricate difference stops at some point.
    """

    verdict: Literal["equal", "recut", "different"]
    only_left: ChunkLayout
    only_right: ChunkLayout
    complete: bool


def plan_reads(saved: ChunkLayout, wanted: ChunkLayout, *, max_reads: int | None = None) -> ReadPlan:
    """Plan which saved regions fill which wanted chunks.

    Empty chunks are never read and need no read. Chunks that only touch share nothing. A tensor of rank 0 is one
    element. Saved chunks that overlap are all read, and `ReadPlan.findings` says where that happens.

    Parameters
    ----------
    saved, wanted
        Layouts of one tensor, of equal `global_shape`: N and M chunks.
    max_reads
        Refuse, with the count and before the plan is allocated, when more reads are needed.

    Returns
    -------
    ReadPlan
        K reads as columns, ordered by wanted position, then by saved position.

    Raises
    ------
    InvalidInput
        If the global shapes differ.
    LayoutError
        If a chunk is faulty or lies outside the tensor. Empty chunks behind the end are allowed.
    LimitExceeded
        If more than `max_reads` reads are needed, or more than memory holds.

    Examples
    --------
    >>> saved = ChunkLayout((10,), [(0,), (1,), (8,)], [(1,), (7,), (2,)])
    >>> wanted = ChunkLayout((10,), [(0,), (5,)], [(5,), (5,)])
    >>> plan = plan_reads(saved, wanted)
    >>> plan.lengths.ravel()
    array([1, 4, 3, 2])
    >>> plan[2]
    Read(saved_position=1, wanted_position=1, saved_offsets=(4,), wanted_offsets=(0,), lengths=(3,))
    """
    most = _UNLIMITED if max_reads is None else min(operator.index(max_reads), _UNLIMITED)
    if most < 0:
        msg = f"max_reads is {max_reads}, not a number of reads"
        raise InvalidInput(msg)
    tables = _tables(saved, wanted, "saved", "wanted")
    columns, (records, counts), complete = _core.plan_reads(saved.global_shape, *tables, most, _MOST)
    for column in columns:
        column.flags.writeable = False
    findings = Findings(map(Finding.from_core, records), {f"SP{code}": n for code, n in counts.items() if n})
    return ReadPlan(saved, wanted, *columns, findings, complete)


def diff_layouts(left: ChunkLayout, right: ChunkLayout) -> LayoutDiff:
    """Compare two layouts of one tensor, whatever the order of their chunks.

    Empty chunks do not count. How often elements are covered is not compared where the chunks differ: `prove` does.

    Parameters
    ----------
    left, right
        Layouts of equal `global_shape`.

    Returns
    -------
    LayoutDiff
        Whether the chunks or at least the elements are the same, and which are not.

    Raises
    ------
    InvalidInput
        If the global shapes differ.
    LayoutError
        If a chunk is faulty or lies outside the tensor. Empty chunks behind the end are allowed.
    LimitExceeded
        If the layouts cut each other into more pieces than memory holds.

    Examples
    --------
    >>> rows = ChunkLayout((4, 4), [(0, 0), (2, 0)], [(2, 4), (2, 4)])
    >>> columns = ChunkLayout((4, 4), [(0, 2), (0, 0)], [(4, 2), (4, 2)])
    >>> diff_layouts(rows, columns).verdict
    'recut'
    >>> missing = diff_layouts(rows, ChunkLayout((4, 4), [(2, 0)], [(2, 4)])).only_left
    >>> list(missing)
    [ChunkStorageMetadata(offsets=(0, 0), sizes=(2, 4))]
    """
    tables = _tables(left, right, "left", "right")
    verdict, only_left, only_right, complete = _core.diff_layouts(left.global_shape, *tables)
    shape = left.global_shape
    return LayoutDiff(verdict, ChunkLayout(shape, *only_left), ChunkLayout(shape, *only_right), complete)


def flat_range_to_chunks(global_shape: Iterable[Any], start: int, stop: int) -> ChunkLayout:
    """Cut a range of the row-major flattening of a tensor into chunks.

    The chunks are the fewest that are each one stretch of the flattened tensor, in its order, so that each is a slice
    of a flat buffer. An empty range has none.

    Parameters
    ----------
    global_shape
        Shape of the tensor.
    start, stop
        Half-open range of element numbers.

    Returns
    -------
    ChunkLayout
        At most two chunks for each dimension but the first, and one.

    Raises
    ------
    InvalidInput
        If the range is not inside the tensor, or a dimension is negative.
    InvalidType
        If a number is not an integer.

    Examples
    --------
    >>> [(chunk.offsets, chunk.sizes) for chunk in flat_range_to_chunks((4, 6), 4, 15)]
    [((0, 4), (1, 2)), ((1, 0), (1, 6)), ((2, 0), (1, 3))]
    """
    shape = integers(global_shape, "global_shape")
    start, stop = integers((start, stop), "range")
    limit = np.iinfo(np.int64).max
    if start < 0 or stop < start or any(dim > limit for dim in shape) or stop > 1 << 127:
        msg = f"{start}..{stop} is not a range of the elements of a tensor of shape {shape}"
        raise InvalidInput(msg)
    return ChunkLayout(shape, *_core.flat_range_to_chunks(shape, start, stop))


def chunks_to_flat_range(chunks: ChunkLayout) -> tuple[int, int]:
    """Join chunks into the range of the row-major flattening that they are.

    The chunks may come in any order. Empty chunks do not count; no chunks are the range 0..0.

    Parameters
    ----------
    chunks
        Each one stretch of the flattened tensor, together one stretch too.

    Returns
    -------
    tuple of int
        Half-open range of element numbers.

    Raises
    ------
    InvalidInput
        If a chunk is not contiguous in the flattened tensor, or there is a gap or an overlap.
    LayoutError
        If a chunk is faulty or lies outside the tensor. Empty chunks behind the end are allowed.

    Examples
    --------
    >>> chunks_to_flat_range(ChunkLayout((3, 4), [(2, 0), (0, 0)], [(1, 2), (2, 4)]))
    (0, 10)
    """
    return _core.chunks_to_flat_range(chunks.global_shape, *_inside(chunks, "the layout"))


def _tables(left: ChunkLayout, right: ChunkLayout, *names: str) -> tuple[Column, Column, Column, Column]:
    if left.global_shape != right.global_shape:
        msg = f"the {names[0]} tensor has shape {left.global_shape}, the {names[1]} one {right.global_shape}"
        raise InvalidInput(msg)
    return (*_inside(left, f"the {names[0]} layout"), *_inside(right, f"the {names[1]} layout"))


def _inside(layout: ChunkLayout, what: str) -> tuple[Column, Column]:
    """Give the tables of a layout whose chunks lie inside; empty chunks behind the end are moved to its start."""
    findings = layout.findings()
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise layout_error(findings, what)
    offsets, sizes = layout.offsets, layout.sizes
    if findings.total:
        empty = (sizes == 0).any(axis=1, keepdims=True)
        offsets, sizes = np.where(empty, 0, offsets), np.where(empty, 0, sizes)
    return offsets, sizes
