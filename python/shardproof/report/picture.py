"""A cut, drawn with characters."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from shardproof.layout import ChunkLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Table: TypeAlias = NDArray[np.int64]
    End: TypeAlias = tuple[int, Table, Table]
    """Length of a dimension, and where the chunks begin and end in it."""

__all__ = ["coverage_of_cells", "drawn_dimensions", "picture"]

_WIDEST: Final = 72
_HIGHEST: Final = 24
_HIGH: Final = 12
"""Lines of a drawing that needs no more."""
_ROOM: Final = 2
"""Characters between two vertical lines, at least."""
_LABELLED: Final = 1_000
"""Chunks up to which each has its number."""
_NEAR: Final = 1e-6
"""Part of a character that is nothing: sums of a million chunks are that exact."""


class _Ink(NamedTuple):
    """Characters to draw with."""

    lines: str
    """By the directions that meet: 1 up, 2 down, 4 left, 8 right."""
    gap: str
    several: str
    once: str
    partly: str


_BOXES: Final = _Ink(" │││─┘┐┤─└┌├─┴┬┼", "·", "▒", "█", "░")
_ASCII: Final = _Ink(" |||-+++-+++-+++", ".", "#", "=", "-")


@dataclass(frozen=True, slots=True)
class _Side:
    """One drawn dimension: where the pieces of chunks begin and end, and on which characters these edges are."""

    dimension: int | None
    starts: Table
    stops: Table
    edges: Table
    places: Table

    @classmethod
    def of(cls, dimension: int | None, end: End, room: int, least: int) -> _Side | None:
        """Allot characters to the pieces, in proportion but each the least; None if there are too many."""
        dim, starts, stops = end
        edges = np.unique(np.concatenate((starts, stops, np.array([0, dim], np.int64))))
        pieces = len(edges) - 1
        spare = room - 1 - pieces * (least + 1)
        if spare < 0:
            return None
        shares = np.floor(np.diff(edges) / dim * spare).astype(np.int64) + least + 1
        return cls(dimension, starts, stops, edges, np.concatenate((np.zeros(1, np.int64), np.cumsum(shares))))

    def found(self) -> tuple[Table, Table]:
        """Find which edges each chunk begins and ends at."""
        return np.searchsorted(self.edges, self.starts), np.searchsorted(self.edges, self.stops)


def picture(
    chunks: ChunkLayout, names: Sequence[int] | None = None, *, width: int = 80, ascii_only: bool = False
) -> list[str]:
    r"""Draw the chunks of a tensor, with what no chunk covers and what several do.

    Two dimensions are drawn, those that are cut most; of the others the place where the first chunk is. Nothing is too
    small to be seen: a piece has some characters, whatever its length. Where there is no room for that, the drawing is
    shaded by how much is covered.

    Parameters
    ----------
    chunks
        The layout.
    names
        What the chunks are called; their positions unless given.
    width
        Characters of a line.
    ascii_only
        Whether to draw with ``|``, ``-`` and ``+``.

    Returns
    -------
    list of str
        Lines; none if a chunk is faulty or there is nothing to draw.

    Examples
    --------
    >>> chunks = ChunkLayout((2, 6), [(0, 0), (0, 4)], [(2, 2), (2, 2)])
    >>> print(*picture(chunks, width=30, ascii_only=True), sep="\n")
    dim 0 down, dim 1 across
    0 +-------+-------+-------+
      |   0   |.......|   1   |
      |       |.......|       |
    2 +-------+-------+-------+
      0       2       4       6
    . not covered
    """
    if chunks.findings().total or not all(chunks.global_shape):
        return []
    offsets, sizes = chunks.offsets, chunks.sizes
    kept = np.flatnonzero((sizes != 0).all(axis=1))
    if not len(kept):
        return []
    drawn = drawn_dimensions(chunks, kept)
    others = [dimension for dimension in range(chunks.rank) if dimension not in drawn]
    for dimension in others:
        starts, place = offsets[kept, dimension], offsets[kept[0], dimension]
        kept = kept[(starts <= place) & (place - starts < sizes[kept, dimension])]
    ink = _ASCII if ascii_only else _BOXES
    room = max(min(width - 2, _WIDEST) - max(len(str(dim)) for dim in (0, *chunks.global_shape)), 8)
    sides: list[int | None] = [None] * (2 - len(drawn))
    sides.extend(drawn)
    down, across = sides
    ends: list[End] = [(1, np.zeros(len(kept), np.int64), np.ones(len(kept), np.int64))] * 2
    for side, drawn_dim in enumerate(sides):
        if drawn_dim is not None:
            starts = offsets[kept, drawn_dim]
            ends[side] = (chunks.global_shape[drawn_dim], starts, starts + sizes[kept, drawn_dim])
    called = kept if names is None else np.asarray(names)[kept]
    lines = [_caption(down, across, [(dimension, int(offsets[kept[0], dimension])) for dimension in others])]
    columns = _Side.of(across, ends[1], room, _ROOM)
    high = 3 if down is None else min(max(round(room * ends[0][0] / ends[1][0] / 2), 3), _HIGH)
    rows = _Side.of(down, ends[0], high, 1) or _Side.of(down, ends[0], _HIGHEST, 1)
    if rows is None or columns is None:
        return _shaded(lines, ends, (1 if down is None else high, room), ink)
    return lines + _outlined(rows, columns, called.tolist(), ink)


def drawn_dimensions(chunks: ChunkLayout, kept: Table) -> list[int]:
    """Choose the dimensions to draw: the two that are cut most, the first ones where several are alike."""
    edges = []
    for dim, starts, lengths in zip(chunks.global_shape, chunks.offsets[kept].T, chunks.sizes[kept].T, strict=True):
        stops = starts + np.minimum(lengths, dim - starts)
        edges.append(len(np.unique(np.concatenate((starts, stops, [0, dim])))))
    return sorted(sorted(range(len(edges)), key=lambda dimension: -edges[dimension])[:2])


def _caption(down: int | None, across: int | None, others: list[tuple[int, int]]) -> str:
    pieces = [f"dim {d} {way}" for d, way in ((down, "down"), (across, "across")) if d is not None]
    pieces += [f"dim {dimension} at {place}" for dimension, place in others]
    return ", ".join(pieces) or "one element"


def _outlined(rows: _Side, columns: _Side, names: list[int], ink: _Ink) -> list[str]:
    """Draw the outline of each chunk."""
    (top, bottom), (left, right) = rows.found(), columns.found()
    height, width = len(rows.edges), len(columns.edges)
    times = _summed((height, width), [(top, left, 1), (bottom, left, -1), (top, right, -1), (bottom, right, 1)])
    times = times.cumsum(axis=0).cumsum(axis=1)
    # Lines between rows of one column, and between columns of one row; the tensor itself is outlined too.
    sides = [(y, x, number) for x in (left, right) for y, number in ((top, 1), (bottom, -1))]
    upright = _summed((height, width), sides).cumsum(axis=0) > 0
    sides = [(y, x, number) for y in (top, bottom) for x, number in ((left, 1), (right, -1))]
    level = _summed((height, width), sides).cumsum(axis=1) > 0
    upright[:-1, [0, -1]] = True
    level[[0, -1], :-1] = True
    paper = np.full((rows.places[-1] + 1, columns.places[-1] + 1), " ")
    meets = np.zeros(paper.shape, np.int64)
    for y in range(height):
        for x in range(width):
            at_y, at_x = rows.places[y], columns.places[x]
            to_y, to_x = (
                side.places[number + 1] if number + 1 < len(side.edges) else side.places[number]
                for side, number in ((rows, y), (columns, x))
            )
            if upright[y, x]:
                meets[at_y:to_y, at_x] |= 2
                meets[at_y + 1 : to_y + 1, at_x] |= 1
            if level[y, x]:
                meets[at_y, at_x:to_x] |= 8
                meets[at_y, at_x + 1 : to_x + 1] |= 4
            if to_y > at_y and to_x > at_x:
                fill = {0: ink.gap, 1: " "}.get(int(times[y, x]), ink.several)
                paper[at_y : to_y + 1, at_x : to_x + 1][paper[at_y : to_y + 1, at_x : to_x + 1] == " "] = fill
    paper = np.where(meets > 0, np.array(list(ink.lines))[meets], paper)
    if len(names) <= _LABELLED:
        at = (rows.places[top], rows.places[bottom], columns.places[left], columns.places[right])
        for name, *box in zip(names, *(places.tolist() for places in at), strict=True):
            _label(paper, str(name), (box[0], box[1], box[2], box[3]))
    return _with_edges(paper, rows, columns) + _legend(ink, times[:-1, :-1])


def _summed(shape: tuple[int, int], corners: list[tuple[Table, Table, int]]) -> Table:
    table = np.zeros(shape, np.int64)
    for y, x, number in corners:
        np.add.at(table, (y, x), number)
    return table


def _label(paper: NDArray[np.str_], text: str, box: tuple[int, int, int, int]) -> None:
    """Write a text in a box, in the middle or beside it, where there is room that nothing else has taken."""
    top, bottom, left, right = box
    row = (top + bottom) // 2
    for middle in ((left + right + 1) // 2, (left + 3 * right + 1) // 4, (3 * left + right + 1) // 4):
        start = middle - (len(text) - 1) // 2 - 1 + len(text) % 2
        cells = paper[row, start : start + len(text)]
        if left < start and start + len(text) <= right and (cells == " ").all():
            cells[:] = list(text)
            return


def _with_edges(paper: NDArray[np.str_], rows: _Side, columns: _Side) -> list[str]:
    """Write the offsets of the edges beside and below the drawing."""
    margin = 0 if rows.dimension is None else len(str(rows.edges[-1])) + 1
    beside = {} if rows.dimension is None else dict(zip(rows.places.tolist(), map(str, rows.edges), strict=True))
    lines = [
        f"{beside.get(y, ''):>{max(margin - 1, 0)}}{' ' * bool(margin)}{''.join(row)}" for y, row in enumerate(paper)
    ]
    if columns.dimension is None:
        return lines
    below = ""
    for place, edge in zip(columns.places.tolist(), columns.edges.tolist(), strict=True):
        if len(below) < place or not place:
            below = f"{below:<{place}}{edge}"
    return [*lines, f"{'':<{margin}}{below}"]


def _shaded(caption: list[str], ends: list[End], cells: tuple[int, int], ink: _Ink) -> list[str]:
    """Shade characters by how often what they stand for is covered, on average."""
    covered = coverage_of_cells(ends, cells)
    shades = np.select(
        [covered < _NEAR, covered < 1 - _NEAR, covered <= 1 + _NEAR], [ink.gap, ink.partly, ink.once], ink.several
    )
    lines = ["".join(row) for row in shades]
    each = " x ".join(f"{dim / many:,.3g}" for (dim, _, _), many in zip(ends, cells, strict=True))
    legend = ((ink.once, "covered"), (ink.partly, "partly"), (ink.gap, "not covered"), (ink.several, "more than once"))
    seen = set("".join(lines))
    if seen == {ink.once}:
        return ["too many chunks to outline; everything is covered once"]
    return [
        *caption,
        *lines,
        f"each character is {each} elements: " + "  ".join(f"{c} {what}" for c, what in legend if c in seen),
    ]


def coverage_of_cells(ends: Sequence[End], cells: tuple[int, int]) -> NDArray[np.float64]:
    """Cut two dimensions into cells, and find how often the elements of each are covered, on average."""
    covered = np.zeros((cells[0] + 2) * (cells[1] + 2))
    # Summed in both directions, a weight at a character covers all from there on. A corner inside a character covers a
    # part of it, and the rest from the next character on.
    corners = [
        [_parts(dim, places, many) for places in between] for (dim, *between), many in zip(ends, cells, strict=True)
    ]
    for begins_down, down in zip((True, False), corners[0], strict=True):
        for begins_across, across in zip((True, False), corners[1], strict=True):
            sign = 1 if begins_down == begins_across else -1
            for (y, height), (x, width) in product(down, across):
                covered += sign * np.bincount(y * (cells[1] + 2) + x, height * width, len(covered))
    return covered.reshape(cells[0] + 2, cells[1] + 2).cumsum(axis=0).cumsum(axis=1)[:-2, :-2]


def _parts(dim: int, places: Table, many: int) -> list[tuple[Table, NDArray[np.float64]]]:
    """Find the character of each place, and the next one, with the parts that what follows the place covers of them."""
    exact = places / dim * many
    character = np.floor(exact).astype(np.int64)
    rest = exact - character
    return [(character, 1 - rest), (character + 1, rest)]


def _legend(ink: _Ink, times: Table) -> list[str]:
    pieces = [f"{ink.gap} not covered"] * bool((times == 0).any()) + [f"{ink.several} covered more than once"] * bool(
        (times > 1).any()
    )
    return ["  ".join(pieces)] if pieces else []
