"""What cut a tensor has: a grid, one chunk, or neither, in a few words."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shardproof.errors import LayoutError
from shardproof.report.place import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shardproof.layout import ChunkLayout

    Table: TypeAlias = NDArray[np.int64]

__all__ = ["cut_of"]

_IRREGULAR = "irregular"


def cut_of(chunks: ChunkLayout) -> str:
    """Say in a few words how a tensor is cut.

    Empty chunks are counted and are otherwise nothing. A cut is a grid if along every dimension the chunks start and
    end at the same places, and at least half of the cells are there. It is uneven if more than the last piece of a
    dimension has another size, and has gaps if cells are missing or the pieces do not reach from end to end.

    Parameters
    ----------
    chunks
        Any layout, also a faulty one: what lies outside its tensor is irregular.

    Returns
    -------
    str
        ``"1 chunk"``, ``"8 along dim 0"``, ``"4 x 2 grid"``, ``"irregular"`` or ``"no chunks"``; then, behind commas,
        whether it is uneven, whether it has gaps, how often each chunk is there, and how many are empty.

    Examples
    --------
    >>> from shardproof import ChunkLayout
    >>> cut_of(ChunkLayout((4, 6), [(0, 0), (0, 3), (2, 0), (2, 3)], [(2, 3)] * 4))
    '2 x 2 grid'
    >>> cut_of(ChunkLayout((5,), [(0,), (1,), (5,)], [(1,), (4,), (0,)]))
    '2 along dim 0, uneven, 1 empty'
    """
    try:
        offsets, sizes = chunks.offsets, chunks.sizes
    except LayoutError:
        return _IRREGULAR
    if len(offsets) != len(sizes) or not _inside(chunks.global_shape, offsets, sizes):
        return _IRREGULAR
    full = (sizes != 0).all(axis=1)
    empty = len(full) - int(np.count_nonzero(full))
    if empty:
        offsets, sizes = offsets[full], sizes[full]
    words = [_full(chunks.global_shape, offsets, sizes)] if len(offsets) or not empty else []
    return ", ".join([*words, f"{empty:,} empty"] if empty else words)


def _inside(shape: tuple[int, ...], offsets: Table, sizes: Table) -> bool:
    """Whether no number is negative and no chunk that holds something ends outside."""
    if not all(0 <= dim < 1 << 63 for dim in shape):
        return False
    if (offsets < 0).any() or (sizes < 0).any():
        return False
    outside = (offsets > np.array(shape, np.int64) - sizes).any(axis=1)
    return not (outside & (sizes != 0).all(axis=1)).any()


def _full(shape: tuple[int, ...], offsets: Table, sizes: Table) -> str:
    """Describe chunks of which none is empty and all lie inside."""
    if not len(offsets):
        return "no chunks"
    sides: list[tuple[Table, Table]] = []
    cells = np.zeros(len(offsets), np.int64)
    for starts, lengths in zip(offsets.T, sizes.T, strict=True):
        side = _side(starts, lengths)
        if side is None:
            return _IRREGULAR
        sides.append(side[:2])
        # More cells than twice the chunks are no grid; fewer have numbers that fit.
        if prod(len(places) for places, _ in sides) > 2 * len(offsets):
            return _IRREGULAR
        cells *= len(side[0])
        cells += side[2]
    pieces = tuple(len(places) for places, _ in sides)
    times = np.bincount(cells, minlength=prod(pieces))
    copies = int(times.max())
    missing = int(np.count_nonzero(times == 0))
    if len(offsets) != copies * (prod(pieces) - missing):
        return _IRREGULAR
    words = [_pieces(pieces)]
    if any((lengths[:-1] != lengths[0]).any() or lengths[-1] > lengths[0] for _, lengths in sides):
        words.append("uneven")
    if missing or not all(_reaches(dim, *side) for dim, side in zip(shape, sides, strict=True)):
        words.append("gaps")
    if copies > 1:
        words.append(f"{copies:,} copies")
    return ", ".join(words)


def _side(starts: Table, lengths: Table) -> tuple[Table, Table, Table] | None:
    """Find where the pieces of one dimension start, how long they are, and which each chunk has; None if they clash."""
    starts = np.ascontiguousarray(starts)
    if (starts == starts[0]).all():
        places, which = starts[:1], np.zeros(len(starts), np.int64)
    else:
        ordered = np.sort(starts)
        places = ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
        which = np.searchsorted(places, starts)
    found = np.empty(len(places), np.int64)
    found[which] = lengths
    if (found[which] != lengths).any() or (places[1:] - places[:-1] < found[:-1]).any():
        return None
    return places, found, which


def _reaches(dim: int, places: Table, lengths: Table) -> bool:
    """Whether pieces that do not overlap reach from one end of a dimension to the other."""
    return int(lengths.sum()) == dim and int(places[0]) == 0


def _pieces(pieces: tuple[int, ...]) -> str:
    cut = [dimension for dimension, many in enumerate(pieces) if many > 1]
    if not cut:
        return count(1, "chunk")
    if len(cut) == 1:
        return f"{pieces[cut[0]]:,} along dim {cut[0]}"
    return f"{' x '.join(f'{many:,}' for many in pieces)} grid"
