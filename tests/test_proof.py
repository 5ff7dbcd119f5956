"""Proofs of coverage, against paint."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shardproof import ChunkLayout, InvalidInput, InvalidType, LimitExceeded, prove

P61 = 2**61 - 1


def layout(shape, chunks):
    return ChunkLayout(shape, [offsets for offsets, _ in chunks], [sizes for _, sizes in chunks])


def paint(shape, chunks):
    painted = np.zeros(shape, np.int64)
    for offsets, sizes in chunks:
        painted[tuple(slice(start, start + size) for start, size in zip(offsets, sizes, strict=True))] += 1
    return painted


@st.composite
def tilings(draw):
    """A shape and chunks that may cover it once, more often, or not."""
    shape = draw(st.lists(st.integers(0, 5), max_size=5).filter(lambda shape: prod(shape) <= 400))
    pieces = [((0,) * len(shape), tuple(shape))]
    for _ in range(draw(st.integers(0, 12)) if shape else 0):
        offsets, sizes = pieces.pop(draw(st.integers(0, len(pieces) - 1)))
        dimension = draw(st.integers(0, len(shape) - 1))
        cut = draw(st.integers(0, sizes[dimension]))
        for start, size in ((0, cut), (cut, sizes[dimension] - cut)):
            pieces.append(
                (
                    tuple(o + start * (d == dimension) for d, o in enumerate(offsets)),
                    tuple(size if d == dimension else s for d, s in enumerate(sizes)),
                )
            )
    pieces = draw(st.permutations(pieces * draw(st.integers(1, 2))))
    for _ in range(draw(st.integers(0, 2))):
        if pieces and draw(st.booleans()):
            pieces.pop(draw(st.integers(0, len(pieces) - 1)))
        elif pieces:
            pieces.append(draw(st.sampled_from(pieces)))
    return tuple(shape), pieces


@given(tilings(), st.sampled_from([1, 2, None]), st.booleans())
@settings(max_examples=600, deadline=None)
def test_every_verdict_is_that_of_paint(tiling, replicas, exact):
    shape, chunks = tiling
    painted = paint(shape, chunks)
    report = prove(layout(shape, chunks), replicas=replicas, exact=exact)
    counts = set(painted.ravel().tolist())
    expected = not counts or (len(counts) == 1 and (min(counts) >= 1 if replicas is None else counts == {replicas}))
    assert report.ok is expected
    if report.ok and counts and replicas is None:
        assert report.multiplicity == counts.pop()
    if replicas and not report.ok:
        assert report.complete
        assert report.uncovered == (painted < replicas).sum()
        assert report.overcovered == (painted > replicas).sum()
        assert report.findings.counts


@given(tilings(), st.randoms())
@settings(max_examples=100, deadline=None)
def test_order_and_cuts_do_not_matter(tiling, random):
    shape, chunks = tiling
    before = prove(layout(shape, chunks))
    shuffled = random.sample(chunks, len(chunks))
    split = []
    for offsets, sizes in shuffled:
        if sizes and sizes[0] > 1:
            split += [(offsets, (1, *sizes[1:])), ((offsets[0] + 1, *offsets[1:]), (sizes[0] - 1, *sizes[1:]))]
        else:
            split.append((offsets, sizes))
    after = prove(layout(shape, split))
    assert (after.ok, after.uncovered, after.overcovered) == (before.ok, before.uncovered, before.overcovered)


@pytest.mark.parametrize("rank", range(10))
def test_a_grid_in_order_is_proved_without_probability(rank):
    cells = list(itertools.product(range(2), repeat=rank))
    report = prove(layout((6,) * rank, [(tuple(3 * c for c in cell), (3,) * rank) for cell in cells]))
    assert (report.ok, report.method, report.error_bound, report.multiplicity) == (True, "coalesced", 0.0, 1)


@pytest.mark.parametrize("dim", [P61 - 1, P61, P61 + 1, 2 * P61, 4 * P61, 2**63 - 1])
def test_dimensions_around_the_modulus_are_no_special_case(dim):
    random = np.random.default_rng(5)
    cuts = np.sort(random.choice(2**53, 500, replace=False).astype(np.int64)) * (dim // 2**53)
    starts = np.concatenate([[0], cuts[1:]])
    order = random.permutation(len(starts))
    sizes = np.diff(np.append(starts, dim))
    whole = prove(ChunkLayout((dim,), starts[order, None], sizes[order, None]))
    assert whole.ok
    assert whole.method == "residue"
    assert 0 < whole.error_bound < 1e-20
    starts[250] -= 1
    moved = prove(ChunkLayout((dim,), starts[order, None], sizes[order, None]))
    assert not moved.ok
    assert (moved.uncovered, moved.overcovered) == (1, 1)


def test_totals_beyond_128_bits_are_exact():
    dim = 2**63 - 1
    report = prove(layout((dim,) * 3, [((0, 0, 0), (dim, dim, 1))]))
    assert report.uncovered == dim * dim * (dim - 1)
    assert prove(layout((dim,) * 3, [])).uncovered == dim**3


def test_a_scalar_is_covered_by_every_chunk():
    assert not prove(layout((), [])).ok
    assert prove(layout((), [((), ())])).ok
    twice = prove(layout((), [((), ()), ((), ())]))
    assert [finding.name for finding in twice.findings] == ["chunk-duplicate"]
    assert prove(layout((), [((), ())] * 3), replicas=None).multiplicity == 3


@pytest.mark.parametrize("chunks", [[], [((0, 0), (0, 3))]])
def test_a_tensor_without_elements_is_whole(chunks):
    report = prove(layout((0, 3), chunks))
    assert report.ok
    assert report.method == "empty"


def test_empty_chunks_beyond_the_end_are_a_warning():
    tiles = [((0, 0), (2, 2)), ((2, 0), (2, 2)), ((4, 0), (1, 2)), ((6, 0), (0, 2))]
    report = prove(layout((5, 2), tiles))
    assert report.ok
    assert [(finding.code, str(finding.severity)) for finding in report.findings] == [("SP203", "warning")]


def test_rows_of_wrong_rank_and_numbers_beyond_64_bits_are_dropped_and_named():
    report = prove(ChunkLayout((8,), [(0,), (4, 4), (2**64,)], [(8,), (4,), (4,)]))
    assert not report.ok
    assert report.findings.counts == {"SP102": 1, "SP105": 1}
    assert not prove(ChunkLayout((2**64,), [(0,)], [(8,)])).ok


def test_a_negative_box_does_not_cancel_another():
    report = prove(layout((8,), [((0,), (8,)), ((2,), (4,)), ((6,), (-4,))]))
    assert not report.ok
    assert set(report.findings.counts) == {"SP103", "SP303"}


def test_more_findings_than_are_kept_are_counted():
    report = prove(layout((1000,), [((2 * cell,), (1,)) for cell in range(500)]), max_findings=3)
    assert report.findings.counts["SP301"] == 500
    assert len(report.findings) <= 4
    assert report.uncovered == 500


def test_a_seed_reproduces_and_fresh_keys_are_fresh():
    starts = np.random.default_rng(1).permutation(1000)[:, None]
    chunks = ChunkLayout((1000,), starts, np.ones_like(starts))
    assert prove(chunks, seed=1) == prove(chunks, seed=1)
    assert prove(chunks).ok


def test_exact_above_rank_six_names_the_rank():
    cells = list(itertools.product(range(3), repeat=7))
    np.random.default_rng(2).shuffle(cells)
    chunks = layout((3,) * 7, [(tuple(map(int, cell)), (1,) * 7) for cell in cells])
    with pytest.raises(LimitExceeded, match="rank 7"):
        prove(chunks, exact=True)
    assert prove(chunks).ok


@pytest.mark.parametrize("wrong", [{"replicas": -1}, {"replicas": 2**64}, {"max_findings": -1}])
def test_impossible_arguments_are_refused(wrong):
    with pytest.raises(InvalidInput):
        prove(layout((1,), []), **wrong)


def test_a_seed_is_an_integer_or_bytes():
    with pytest.raises(InvalidType):
        prove(layout((1,), []), seed="word")
