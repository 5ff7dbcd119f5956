"""What a picture of a tensor shows: panels of rectangles in element coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from shardproof.report.picture import coverage_of_cells, drawn_dimensions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from shardproof.layout import ChunkLayout

    Table: TypeAlias = NDArray[np.int64]
    Box: TypeAlias = tuple[Sequence[int], Sequence[int]]
    """Offsets and sizes."""

__all__ = ["RECTANGLES", "SEVERAL", "Area", "Cells", "Panel", "Scene", "scene_of"]

PANELS: Final = 12
"""Slices that are drawn; more are counted."""
RECTANGLES: Final = 3_000
"""Chunks of a picture up to which each is drawn; its panels have equal parts."""
MARKS: Final = 400
"""Places of a panel that are marked as wrong; more are counted."""
CELLS: Final = 48
"""Cells along the longer side where chunks are too many."""
SEVERAL: Final = -2
"""Owner of a cell with chunks of several owners."""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle in elements: where it starts and ends across and down, and which chunk or finding it is of."""

    left: int
    top: int
    right: int
    bottom: int
    of: int = -1


@dataclass(frozen=True, slots=True)
class Cells:
    """How chunks too many to draw cover a panel.

    Attributes
    ----------
    covered
        How often the elements of a cell are covered, on average; a row of cells a row.
    owners
        Owner of the chunks with their middle in the cell, `SEVERAL` where they differ or there is none.
    """

    covered: NDArray[np.float64]
    owners: Table


@dataclass(frozen=True, slots=True)
class Panel:
    """One slice of a tensor.

    Attributes
    ----------
    slab
        Dimension, start and stop of every dimension that is not drawn.
    chunks
        Rectangles of the chunks, each of a row of the layout.
    cells
        In their place where they are too many.
    outside
        Those of chunks that stick out of the tensor: the parts inside.
    gaps, doubled
        What no chunk covers, and what several do, each of one of the boxes that were given.
    unmarked
        How many more such places there are.
    """

    slab: tuple[tuple[int, int, int], ...]
    chunks: tuple[Area, ...]
    cells: Cells | None
    outside: tuple[Area, ...]
    gaps: tuple[Area, ...]
    doubled: tuple[Area, ...]
    unmarked: int


@dataclass(frozen=True, slots=True)
class Scene:
    """A tensor as panels.

    Attributes
    ----------
    global_shape
        Shape of the tensor.
    across, down
        Dimensions that are drawn; None for a tensor of lower rank.
    panels
        Slices: those where something is wrong before others, in order.
    slices
        How many slices there are.
    empty, faulty
        Chunks that are not drawn: without elements, or with numbers that are no place in any tensor.
    """

    global_shape: tuple[int, ...]
    across: int | None
    down: int | None
    panels: tuple[Panel, ...]
    slices: int
    empty: int = 0
    faulty: int = 0
    owners: Table = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def width(self) -> int:
        """Elements across."""
        return 1 if self.across is None else self.global_shape[self.across]

    @property
    def rectangles(self) -> int:
        """Number of chunks that are drawn."""
        return sum(len(panel.chunks) for panel in self.panels)

    @property
    def height(self) -> int:
        """Elements down."""
        return 1 if self.down is None else self.global_shape[self.down]


def scene_of(
    chunks: ChunkLayout,
    owners: Sequence[int] | None = None,
    *,
    gaps: Sequence[Box] = (),
    doubled: Sequence[Box] = (),
    rectangles: int = RECTANGLES,
) -> Scene:
    """Lay out a tensor: the two dimensions that are cut most are drawn, the others sliced between their cuts.

    Parameters
    ----------
    chunks
        The layout. Of a chunk that sticks out the part inside the tensor is drawn.
    owners
        For each chunk the number of whoever holds it; all the same unless given.
    gaps, doubled
        Boxes of the findings about elements that no chunk covers, and that several do.
    rectangles
        Chunks up to which each is drawn.

    Returns
    -------
    Scene
        No panels if the tensor has no elements.

    Examples
    --------
    >>> from shardproof import ChunkLayout
    >>> scene = scene_of(ChunkLayout((4, 6), [(0, 0), (2, 0)], [(2, 6), (2, 6)]))
    >>> [(area.left, area.top, area.right, area.bottom) for area in scene.panels[0].chunks]
    [(0, 0, 6, 2), (0, 2, 6, 4)]
    """
    shape = chunks.global_shape
    _, offsets, sizes, positions = chunks.sound_rows()
    rows = np.arange(len(chunks)) if positions is None else np.asarray(positions, np.int64)
    owned = np.zeros(len(chunks), np.int64) if owners is None else np.asarray(owners, np.int64)
    drawable = all(0 < dim < 2**63 for dim in shape)
    sane = np.all((offsets >= 0) & (sizes >= 0), axis=1)
    empty = int((sane & (sizes == 0).any(axis=1)).sum())
    whole = np.array(shape if drawable else [0] * len(shape), np.int64)
    starts = np.minimum(offsets, whole)
    inside = np.where(sane[:, None], whole - starts, 0)
    stops = starts + np.minimum(sizes, inside)
    kept = np.flatnonzero(sane & (stops > starts).all(axis=1))
    faulty = len(chunks) - empty - len(kept)
    if not drawable:
        return Scene(shape, None, None, (), 0, empty, faulty, owned)
    sticking = np.any(sizes[kept] > inside[kept], axis=1)
    starts, stops, rows = starts[kept], stops[kept], rows[kept]
    drawn = drawn_dimensions(chunks, kept) if positions is None and len(kept) else list(range(len(shape)))[:2]
    down, across = [None, None, *drawn][-2:]
    others = [dimension for dimension in range(len(shape)) if dimension not in drawn]
    cuts = [np.unique(np.concatenate((starts[:, d], stops[:, d], [0, shape[d]]))) for d in others]
    slices = prod(len(edges) - 1 for edges in cuts)
    panels = []
    most = rectangles // min(slices, PANELS)
    for slab in _slabs(others, cuts, (*gaps, *doubled)):
        here = np.ones(len(rows), bool)
        for dimension, start, stop in slab:
            here &= (starts[:, dimension] <= start) & (stops[:, dimension] >= stop)
        side = _Side(across, down, slab, shape)
        columns = _Columns(starts[here], stops[here], rows[here], owned[rows[here]], sticking[here])
        panels.append(side.panel(columns, (gaps, doubled), most))
    return Scene(shape, across, down, tuple(panels), slices, empty, faulty, owned)


def _slabs(others: list[int], cuts: list[Table], wrong: Iterable[Box]) -> Iterator[tuple[tuple[int, int, int], ...]]:
    """Choose slices, in order: the first one of each box that is wrong, then those that come first."""
    chosen = {
        tuple(
            min(max(int(np.searchsorted(edges, offsets[d], "right")) - 1, 0), len(edges) - 2)
            for d, edges in zip(others, cuts, strict=True)
        )
        for offsets, _ in wrong
    }
    picked = dict.fromkeys(sorted(chosen)[:PANELS])
    for place in product(*(range(len(edges) - 1) for edges in cuts)):
        if len(picked) == PANELS:
            break
        picked.setdefault(place)
    for place in sorted(picked):
        yield tuple((d, int(edges[n]), int(edges[n + 1])) for d, edges, n in zip(others, cuts, place, strict=True))


class _Columns(NamedTuple):
    """The chunks of a slice."""

    starts: Table
    stops: Table
    rows: Table
    owners: Table
    sticking: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Side:
    """The two drawn dimensions of one slice."""

    across: int | None
    down: int | None
    slab: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]

    def panel(self, chunks: _Columns, wrong: tuple[Sequence[Box], Sequence[Box]], most: int) -> Panel:
        (left, right), (top, bottom) = (self._between(chunks, d) for d in (self.across, self.down))
        table = np.stack((left, top, right, bottom, chunks.rows), axis=1)
        marks = [
            [Area(*row) for row in table[chunks.sticking].tolist()],
            *([area for n, box in enumerate(boxes) if (area := self._area(box, n))] for boxes in wrong),
        ]
        unmarked = sum(max(len(areas) - MARKS, 0) for areas in marks)
        outside, gaps, doubled = (tuple(areas[:MARKS]) for areas in marks)
        if len(table) <= most:
            areas = tuple(Area(*row) for row in table.tolist())
            return Panel(self.slab, areas, None, outside, gaps, doubled, unmarked)
        wide, high = (1 if d is None else self.shape[d] for d in (self.across, self.down))
        longest = max(wide, high)
        cells = (max(round(CELLS * high / longest), min(high, 6)), max(round(CELLS * wide / longest), min(wide, 6)))
        covered = coverage_of_cells([(high, top, bottom), (wide, left, right)], cells)
        # A middle just before a huge end may be rounded to it.
        middles = tuple(
            np.minimum(((starts / 2 + stops / 2) / dim * many).astype(np.int64), many - 1)
            for starts, stops, dim, many in ((top, bottom, high, cells[0]), (left, right, wide, cells[1]))
        )
        alone = (chunks.owners == chunks.owners[0]).all()
        seen = np.full(cells, chunks.owners[0] if alone else SEVERAL, np.int64)
        seen[middles] = chunks.owners
        others = seen[middles] != chunks.owners
        seen[middles[0][others], middles[1][others]] = SEVERAL
        return Panel(self.slab, (), Cells(covered, seen), outside, gaps, doubled, unmarked)

    def _between(self, chunks: _Columns, dimension: int | None) -> tuple[Table, Table]:
        if dimension is None:
            return np.zeros(len(chunks.rows), np.int64), np.ones(len(chunks.rows), np.int64)
        return chunks.starts[:, dimension], chunks.stops[:, dimension]

    def _area(self, box: Box, number: int) -> Area | None:
        """Give the part of a box that is in this slice, if any is."""
        offsets, sizes = box
        if any(offsets[d] >= stop or offsets[d] + sizes[d] <= start for d, start, stop in self.slab):
            return None
        left, right = (
            (0, 1) if self.across is None else (offsets[self.across], offsets[self.across] + sizes[self.across])
        )
        top, bottom = (0, 1) if self.down is None else (offsets[self.down], offsets[self.down] + sizes[self.down])
        return Area(left, top, right, bottom, number)
