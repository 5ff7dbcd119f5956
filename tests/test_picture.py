"""A cut drawn with characters, against a count of every element."""

import itertools

import numpy as np
import pytest
import shardproof as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from shardproof.report.picture import picture

MAX = 2**63 - 1


def layout(shape, *chunks):
    return sp.ChunkLayout(shape, [offsets for offsets, _ in chunks], [sizes for _, sizes in chunks])


def counted(shape, chunks):
    times = np.zeros(shape, int)
    for offsets, sizes in chunks:
        times[tuple(slice(o, o + s) for o, s in zip(offsets, sizes, strict=True))] += 1
    return times


@st.composite
def boxes(draw):
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, 6)))
    chunk = st.tuples(*(st.tuples(st.integers(0, dim - 1), st.integers(1, dim)) for dim in shape))
    drawn = draw(st.lists(chunk, min_size=1, max_size=5))
    chunks = [
        (tuple(o for o, _ in c), tuple(min(s, dim - o) for (o, s), dim in zip(c, shape, strict=True))) for c in drawn
    ]
    return shape, chunks


@settings(max_examples=300, deadline=None)
@given(boxes())
def test_every_uncovered_and_every_doubly_covered_element_is_in_the_drawing(drawn):
    shape, chunks = drawn
    times = counted(shape, chunks)
    caption, *lines = picture(layout(shape, *chunks), ascii_only=True)
    assert caption == "dim 0 down, dim 1 across"
    text = "\n".join(lines)
    assert ("not covered" in text) == bool((times == 0).any())
    assert ("covered more than once" in text) == bool((times > 1).any())
    rows = [line for line in lines if "|" in line and not line.strip().startswith(".")]
    height, width = len(rows), max(map(len, rows))
    assert height >= len({offsets[0] for offsets, _ in chunks})
    assert width <= 80
    assert set("".join(rows)) <= set(" .#|-+0123456789")
    assert ("." in "".join(rows)) == bool((times == 0).any())
    assert ("#" in "".join(rows)) == bool((times > 1).any())


def test_a_grid_has_a_cell_for_each_chunk_with_its_number():
    chunks = [((4 * i, 3 * j), (4, 3)) for i, j in itertools.product(range(2), range(3))]
    lines = picture(layout((8, 9), *chunks), names=[10, 11, 12, 13, 14, 15], width=42)
    assert [line.split("│")[1:-1] for line in lines if "10" in line or "15" in line] == [
        [f"{number:>6}{'':5}" for number in row] for row in ((10, 11, 12), (13, 14, 15))
    ]
    assert lines[1] == "0 ┌───────────┬───────────┬───────────┐"
    assert lines[-1].split() == ["0", "3", "6", "9"]


@pytest.mark.parametrize(
    ("chunks", "first"),
    [
        (layout((), ((), ())), "one element"),
        (layout((8,), ((2,), (2,))), "dim 0 across"),
        (layout((2, 3, 5), ((0, 1, 0), (2, 2, 3)), ((0, 1, 3), (2, 2, 2))), "dim 1 down, dim 2 across, dim 0 at 0"),
        (layout((MAX,), ((0,), (1,)), ((MAX - 1,), (1,))), "dim 0 across"),
    ],
)
def test_any_rank_is_drawn(chunks, first):
    lines = picture(chunks)
    assert lines[0] == first
    assert all(len(line) <= 80 for line in lines)
    assert ("· not covered" in lines) == (chunks.rank in {1, 3})


@pytest.mark.parametrize(
    "chunks", [layout((8,)), layout((0, 3), ((0, 0), (0, 3))), layout((8,), ((6,), (4,))), layout((8,), ((8,), (0,)))]
)
def test_what_cannot_be_drawn_has_no_drawing(chunks):
    assert picture(chunks) == []


def test_a_million_chunks_are_shaded_and_a_hole_is_seen():
    side = np.arange(0, 4000, 4)
    offsets = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    whole = sp.ChunkLayout((4000, 4000), offsets, np.full_like(offsets, 4))
    assert picture(whole) == ["too many chunks to outline; everything is covered once"]
    kept = np.random.default_rng(1).permutation(np.delete(offsets, 500_500, axis=0))
    lines = picture(sp.ChunkLayout((4000, 4000), kept, np.full_like(kept, 4)), ascii_only=True)
    assert sum(line.count("-") for line in lines[1:-1]) == 1
    assert lines[-1].endswith("elements: = covered  - partly")
    twice = np.concatenate((offsets, offsets[:1]))
    lines = picture(sp.ChunkLayout((4000, 4000), twice, np.full_like(twice, 4)), ascii_only=True)
    assert lines[1].startswith("#=")
