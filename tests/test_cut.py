"""What a cut is called, against a definition in plain Python."""

import itertools
import math

import numpy as np
import pytest
import shardproof as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from shardproof.report.cut import cut_of

MAX = 2**63 - 1


def layout(shape, *chunks):
    return sp.ChunkLayout(shape, [offsets for offsets, _ in chunks], [sizes for _, sizes in chunks])


def tiles(shape, *edges):
    """Chunks between the edges of each dimension."""
    sides = [list(itertools.pairwise(places)) for places in edges]
    return layout(
        shape,
        *(
            (tuple(low for low, _ in cell), tuple(high - low for low, high in cell))
            for cell in itertools.product(*sides)
        ),
    )


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        (layout((), ((), ())), "1 chunk"),
        (layout((), ((), ()), ((), ())), "1 chunk, 2 copies"),
        (layout(()), "no chunks"),
        (layout((0, 3)), "no chunks"),
        (layout((0, 3), ((0, 0), (0, 3))), "1 empty"),
        (layout((8,), ((0,), (8,))), "1 chunk"),
        (layout((8,), ((0,), (4,))), "1 chunk, gaps"),
        (tiles((8, 6), [0, 2, 4, 6, 8], [0, 3, 6]), "4 x 2 grid"),
        (tiles((8, 6, 5), [0, 8], [0, 3, 6], [0, 2, 4, 5]), "1 x 2 x 3 grid"),
        (tiles((8, 6), [0, 8], [0, 2, 4, 6]), "3 along dim 1"),
        (tiles((10,), [0, 3, 6, 9, 10]), "4 along dim 0"),
        (tiles((10,), [0, 1, 8, 10]), "3 along dim 0, uneven"),
        (tiles((10,), [0, 4, 10]), "2 along dim 0, uneven"),
        (layout((12, 6), ((0, 0), (3, 6)), ((3, 0), (3, 6))), "2 along dim 0, gaps"),
        (layout((4, 4), ((0, 0), (2, 2)), ((0, 2), (2, 2)), ((2, 2), (2, 2))), "2 x 2 grid, gaps"),
        (layout((4, 4), *(((i, i), (1, 1)) for i in range(4))), "irregular"),
        (layout((8,), ((0,), (4,)), ((2,), (4,))), "irregular"),
        (layout((8,), ((0,), (4,)), ((0,), (4,)), ((4,), (4,))), "irregular"),
        (layout((8,), ((0,), (4,)), ((6,), (4,))), "irregular"),
        (layout((8,), ((-1,), (4,))), "irregular"),
        (layout((8,), ((0,), (2**64,))), "irregular"),
        (layout((2**64,), ((0,), (1,))), "irregular"),
        (layout((3, 4), *(((i, 0), (1, 4)) for i in range(3)), *([((3, 0), (0, 4))] * 5)), "3 along dim 0, 5 empty"),
        (layout((8,), ((0,), (8,)), ((MAX,), (0,))), "1 chunk, 1 empty"),
        (tiles((MAX,), [0, 2**62, MAX]), "2 along dim 0"),
        (layout((MAX,), ((0,), (1,)), ((MAX - 1,), (1,))), "2 along dim 0, gaps"),
    ],
)
def test_a_cut_has_its_words(chunks, words):
    assert cut_of(chunks) == words


@st.composite
def cuts(draw):
    """Some cells of a grid, in any order, each as often."""
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    edges = [sorted(draw(st.sets(st.integers(0, dim), min_size=2, max_size=5))) for dim in shape]
    cells = list(tiles(shape, *edges))
    kept = draw(st.lists(st.sampled_from(cells), unique_by=lambda cell: cell.offsets, min_size=1))
    copies = draw(st.integers(1, 3))
    return shape, draw(st.permutations(kept * copies)), copies


@settings(max_examples=300, deadline=None)
@given(cuts())
def test_a_grid_is_recognised_in_any_order_with_its_gaps_and_copies(drawn):
    shape, cells, copies = drawn
    words = cut_of(layout(shape, *((cell.offsets, cell.sizes) for cell in cells)))
    starts = [{cell.offsets[d] for cell in cells} for d in range(len(shape))]
    distinct = {cell.offsets for cell in cells}
    possible = math.prod(map(len, starts))
    if possible > 2 * len(cells):
        assert words == "irregular"
        return
    grown = [many for many in map(len, starts) if many > 1]
    sides = [len(side) for side in starts]
    names = {0: "1 chunk", 1: f"{max(sides)} along dim {sides.index(max(sides))}"}
    assert words.split(",")[0] == names.get(len(grown), f"{' x '.join(map(str, sides))} grid")
    covered = sum(math.prod(cell.sizes) for cell in cells) // copies
    assert ("gaps" in words) == (covered < math.prod(shape))
    assert (f"{copies} copies" in words) == (copies > 1)
    assert len(distinct) * copies == len(cells)


def test_a_million_chunks_in_any_order_are_a_grid():
    side = np.arange(0, 4000, 4)
    offsets = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    offsets = np.random.default_rng(5).permutation(offsets)
    assert cut_of(sp.ChunkLayout((4000, 4000), offsets, np.full_like(offsets, 4))) == "1,000 x 1,000 grid"
    offsets[7, 0] += 1
    assert cut_of(sp.ChunkLayout((4004, 4000), offsets, np.full_like(offsets, 4))) == "irregular"
