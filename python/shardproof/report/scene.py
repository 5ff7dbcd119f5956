"""What a picture of a tensor shows: panels of rectangles in element coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, pairwise, product
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from shardproof.report.picture import coverage_of_cells, drawn_dimensions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from shardproof.layout import ChunkLayout

    Table: TypeAlias = NDArray[np.int64]
    Box: TypeAlias = tuple[Sequence[int], Sequence[int]]
    """Offsets and sizes."""

__all__ = ["Area", "Cells", "Panel", "Scene", "scene_of"]

PANELS: Final = 12
"""Slices that are drawn; more are counted."""
RECTANGLES: Final = 3_000
"""Chunks of a panel up to which each is drawn."""
CELLS: Final = 72
"""Cells along the longer side where chunks are too many."""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle in elements: where it starts and ends across and down, and the chunk that it is of."""

    left: int
    top: int
    right: int
    bottom: int
    chunk: int = -1


@dataclass(frozen=True, slots=True)
class Cells:
    """How chunks too many to draw cover a panel.

    Attributes
    ----------
    covered
        How often the elements of a cell are covered, on average; a row of cells a row.
    owners
        Owner of the last chunk with its middle in the cell, -1 without any.
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
        Rectangles of the chunks, as columns: left, top, right, bottom, and the row of each in the layout.
    cells
        In their place where they are too many.
    gaps, doubled
        What no chunk covers, and what several do.
    """

    slab: tuple[tuple[int, int, int], ...]
    chunks: tuple[Area, ...]
    cells: Cells | None
    gaps: tuple[Area, ...]
    doubled: tuple[Area, ...]


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
        The first slices.
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
    def height(self) -> int:
        """Elements down."""
        return 1 if self.down is None else self.global_shape[self.down]


def scene_of(
    chunks: ChunkLayout, owners: Sequence[int] | None = None, *, gaps: Iterable[Box] = (), doubled: Iterable[Box] = ()
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
    drawable = all(0 < dim < 2**62 for dim in shape)
    sane = np.all((offsets >= 0) & (sizes >= 0) & (offsets < 2**62) & (sizes < 2**62), axis=1)
    empty = int((sane & (sizes == 0).any(axis=1)).sum())
    whole = np.array(shape if drawable else [0] * len(shape), np.int64)
    starts = np.minimum(offsets, whole)
    stops = np.minimum(np.where(sane[:, None], offsets, 0) + np.where(sane[:, None], sizes, 0), whole)
    kept = np.flatnonzero(sane & (stops > starts).all(axis=1))
    faulty = len(chunks) - empty - len(kept)
    if not drawable:
        return Scene(shape, None, None, (), 0, empty, faulty, owned)
    starts, stops, rows = starts[kept], stops[kept], rows[kept]
    drawn = drawn_dimensions(chunks, kept) if positions is None and len(kept) else list(range(len(shape)))[:2]
    down, across = [None, None, *drawn][-2:]
    others = [dimension for dimension in range(len(shape)) if dimension not in drawn]
    cuts = [np.unique(np.concatenate((starts[:, d], stops[:, d], [0, shape[d]]))).tolist() for d in others]
    slices = prod(len(edges) - 1 for edges in cuts)
    panels = []
    for slab in islice(_slabs(others, cuts), PANELS):
        here = np.ones(len(rows), bool)
        for dimension, start, stop in slab:
            here &= (starts[:, dimension] <= start) & (stops[:, dimension] >= stop)
        side = _Side(across, down, slab, shape)
        panels.append(side.panel(starts[here], stops[here], rows[here], owned[rows[here]], (gaps, doubled)))
    return Scene(shape, across, down, tuple(panels), slices, empty, faulty, owned)


def _slabs(others: list[int], cuts: list[list[int]]) -> Iterator[tuple[tuple[int, int, int], ...]]:
    ends = [list(pairwise(edges)) for edges in cuts]
    for slab in product(*ends):
        yield tuple((dimension, start, stop) for dimension, (start, stop) in zip(others, slab, strict=True))


@dataclass(frozen=True, slots=True)
class _Side:
    """The two drawn dimensions of one slice."""

    across: int | None
    down: int | None
    slab: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]

    def panel(
        self, starts: Table, stops: Table, rows: Table, owners: Table, wrong: tuple[Iterable[Box], Iterable[Box]]
    ) -> Panel:
        found = [tuple(filter(None, (self._area(box) for box in boxes))) for boxes in wrong]
        (left, right), (top, bottom) = (self._column(starts, stops, d) for d in (self.across, self.down))
        if len(rows) <= RECTANGLES:
            columns = (column.tolist() for column in (left, top, right, bottom, rows))
            return Panel(self.slab, tuple(map(Area, *columns)), None, *found)
        wide, high = (1 if d is None else self.shape[d] for d in (self.across, self.down))
        longest = max(wide, high)
        cells = (max(round(CELLS * high / longest), min(high, 6)), max(round(CELLS * wide / longest), min(wide, 6)))
        covered = coverage_of_cells([(high, top, bottom), (wide, left, right)], cells)
        seen = np.full(cells, -1, np.int64)
        middle_down = ((top + bottom) / 2 / high * cells[0]).astype(np.int64)
        middle_across = ((left + right) / 2 / wide * cells[1]).astype(np.int64)
        seen[middle_down, middle_across] = owners
        return Panel(self.slab, (), Cells(covered, seen), *found)

    def _column(self, starts: Table, stops: Table, dimension: int | None) -> tuple[Table, Table]:
        if dimension is None:
            return np.zeros(len(starts), np.int64), np.ones(len(starts), np.int64)
        return starts[:, dimension], stops[:, dimension]

    def _area(self, box: Box) -> Area | None:
        """Give the part of a box that is in this slice, if any is."""
        offsets, sizes = box
        if any(offsets[d] >= stop or offsets[d] + sizes[d] <= start for d, start, stop in self.slab):
            return None
        left, right = (
            (0, 1) if self.across is None else (offsets[self.across], offsets[self.across] + sizes[self.across])
        )
        top, bottom = (0, 1) if self.down is None else (offsets[self.down], offsets[self.down] + sizes[self.down])
        return Area(left, top, right, bottom)
