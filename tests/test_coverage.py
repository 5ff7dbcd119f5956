"""What a proof and a layout's own check name, against paint, and against what people run into."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import shardproof as sp
from hypothesis import given, settings
from hypothesis import strategies as st


def layout(shape, *chunks):
    return sp.ChunkLayout(shape, [offsets for offsets, _ in chunks], [sizes for _, sizes in chunks])


def verdict(shape, *chunks, **asked):
    """What `prove` says, as the box of each error and warning by code."""
    report = sp.prove(layout(shape, *chunks), **asked)
    return {finding.code: finding.box for finding in report.findings if finding.severity is not sp.Severity.NOTE}


def notes(shape, *chunks):
    return [
        (finding.code, finding.sentence)
        for finding in sp.prove(layout(shape, *chunks)).findings
        if finding.severity is sp.Severity.NOTE
    ]


def paint(shape, boxes):
    """How often each element is covered."""
    painted = np.zeros(shape, np.int64)
    for offsets, sizes in boxes:
        painted[tuple(slice(start, start + size) for start, size in zip(offsets, sizes, strict=True))] += 1
    return painted


def boxes_in(shape, most):
    """Lists of boxes inside of a shape, small and empty ones among them."""
    side = [
        st.integers(0, dim).flatmap(lambda start, dim=dim: st.tuples(st.just(start), st.integers(0, dim - start)))
        for dim in shape
    ]
    return st.lists(
        st.tuples(*side).map(lambda sides: (tuple(s for s, _ in sides), tuple(n for _, n in sides))), max_size=most
    )


SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@given(st.data(), SHAPES, st.integers(0, 3))
@settings(max_examples=500, deadline=None)
def test_repainted_findings_are_exactly_what_is_wrong(data, shape, replicas):
    chunks = data.draw(boxes_in(shape, 6))
    painted = paint(shape, chunks)
    report = sp.prove(layout(shape, *chunks), replicas=replicas)
    # What several chunks of one box cover too often is told by the duplicate, not once more as an overlap.
    told = np.zeros(shape, bool)
    for finding in report.findings:
        if finding.code in {"SP301", "SP303", "SP306"}:
            place = tuple(slice(start, start + size) for start, size in zip(*finding.box, strict=True))
            assert (painted[place] == finding.values["times"]).all()
            assert len(finding.positions.first) == min(finding.positions.count, 16)
            assert finding.positions.count == finding.values["times"]
            for position in finding.positions.first:
                assert (paint(shape, [chunks[position]])[place] == 1).all()
            assert not told[place].any()
            told[place] = True
    named_too_few = {"SP301", "SP306"} & set(report.findings.counts)
    if "SP302" in report.findings.counts:
        assert not painted.any()
    elif named_too_few:
        assert (told | (painted >= replicas)).all()
    duplicated = {finding.box for finding in report.findings if finding.code == "SP304"}
    assert duplicated == {box for box in chunks if chunks.count(box) > replicas and 0 not in box[1]} or report.ok
    for box in duplicated:
        told |= paint(shape, [box]) > 0
    assert (told | (painted <= replicas)).all()
    assert report.ok or (report.uncovered, report.overcovered) == (
        (painted < replicas).sum(),
        (painted > replicas).sum(),
    )


@given(st.data(), SHAPES, st.integers(0, 5))
@settings(max_examples=500, deadline=None)
def test_shards_of_one_tensor_are_judged_among_themselves_like_paint(data, shape, extra):
    chunks = data.draw(boxes_in(shape, 4))
    local_shape = tuple(dim + extra for dim in shape)
    places = [
        tuple(data.draw(st.integers(0, dim - size)) for dim, size in zip(local_shape, sizes, strict=True))
        for _, sizes in chunks
    ]
    held = sp.ShardLayout(shape, [o for o, _ in chunks], places, [s for _, s in chunks], local_shape)
    found = held.check_local()
    whole, local = paint(shape, chunks), paint(local_shape, [(o, s) for o, (_, s) in zip(places, chunks, strict=True)])
    assert bool({"SP303", "SP304"} & set(found.counts)) == bool((whole > 1).any())
    told = np.zeros(local_shape, np.int64)
    for finding in found:
        if finding.code == "SP307":
            told += paint(local_shape, [finding.box]) * finding.positions.count
    assert (told == np.where(local > 1, local, 0)).all()
    unused = [finding.values["elements"] for finding in found if finding.code == "SP308"]
    assert unused == [n for n in [int((local == 0).sum())] if n]
    assert set(found.counts) <= {"SP303", "SP304", "SP307", "SP308"}


def test_a_layout_with_faults_is_judged_by_what_is_sound():
    held = sp.ShardLayout((8,), [(0,), (4, 4), (2,), (6,)], [(0,), (4,), (3,), (6,)], [(4,), (4,), (4,), (4,)], (8,))
    found = held.check_local()
    boxes = {(finding.code, finding.box, finding.positions.first) for finding in found}
    assert boxes == {
        ("SP102", None, (1,)),
        ("SP201", None, (3,)),
        ("SP202", None, (3,)),
        ("SP303", ((2,), (2,)), (0, 2)),
        ("SP307", ((3,), (1,)), (0, 2)),
        ("SP307", ((6,), (1,)), (2, 3)),
    }


def test_a_local_tensor_of_another_rank_is_not_compared():
    held = sp.ShardLayout((8, 8), [(0, 0)], [(0,)], [(8, 8)], (8,))
    assert set(held.check_local().counts) == {"SP102"}


def test_a_process_without_shards_has_only_padding():
    assert sp.ShardLayout((8,), [], [], [], (0,)).check_local().total == 0
    (note,) = sp.ShardLayout((8,), [], [], [], (2**63 - 1,)).check_local()
    assert (note.code, note.values["elements"]) == ("SP308", 2**63 - 1)
    assert sp.ShardLayout((), [()], [()], [()], ()).check_local().total == 0


def a_thousand_tensors_of_a_thousand_rows_are_whole():
    starts = np.arange(1024)[:, None] * [1, 0]
    assert all(sp.prove(sp.ChunkLayout((1024, 1), starts, np.ones_like(starts))).ok for _ in range(1024))


def one_expert_moved_by_one_is_an_overlap_and_a_gap():
    experts = [((expert, 0, 0), (1, 64, 32)) for expert in range(256)]
    assert verdict((256, 64, 32), *experts) == {}
    experts[200] = ((199, 0, 0), (1, 64, 32))
    assert verdict((256, 64, 32), *experts) == {
        "SP301": ((200, 0, 0), (1, 64, 32)),
        "SP304": ((199, 0, 0), (1, 64, 32)),
    }


def a_process_is_judged_by_its_own_cells():
    for experts in (128, 4096):
        cells = [(layer, expert, 0, 0) for layer in range(48) for expert in range(16)]
        places = [(number, 0, 0, 0) for number in range(len(cells))]
        held = sp.ShardLayout((48, experts, 1, 1), cells, places, [(1, 1, 1, 1)] * len(cells), (len(cells), 1, 1, 1))
        assert held.check_local().total == 0


def many_empty_chunks_are_one_note():
    rows = [((row, 0), (1, 4)) for row in range(3)] + [((3, 0), (0, 4))] * 5
    assert verdict((3, 4), *rows) == {}
    assert notes((3, 4), *rows) == [("SP309", "5 empty chunks")]


def an_empty_chunk_past_the_end_is_a_warning_of_its_own():
    tiles = [((0, 0), (2, 2)), ((2, 0), (2, 2)), ((4, 0), (1, 2)), ((6, 0), (0, 2))]
    assert verdict((5, 2), *tiles) == {"SP203": None}


def a_process_that_holds_nothing_is_counted():
    sizes = [3, 3, 3, 3, 3, 3, 2, 0]
    experts = [((sum(sizes[:number]),), (size,)) for number, size in enumerate(sizes)]
    assert verdict((20,), *experts) == {}
    assert notes((20,), *experts) == [("SP309", "1 empty chunk")]


def tensors_without_elements_are_whole_either_way():
    assert verdict((0, 3)) == verdict((0, 3), ((0, 0), (0, 3))) == {}


def the_missing_half_is_one_box():
    assert verdict((12, 6), ((0, 0), (3, 6)), ((3, 0), (3, 6))) == {"SP301": ((6, 0), (6, 6))}


def a_hole_saved_by_one_process_is_named():
    assert verdict((8,), ((0,), (3,)), ((5,), (3,))) == {"SP301": ((3,), (2,))}


def the_right_volume_hides_neither_overlap_nor_gap():
    assert verdict((8,), ((0,), (4,)), ((2,), (4,))) == {"SP301": ((6,), (2,)), "SP303": ((2,), (2,))}


def a_stride_is_several_chunks_and_not_one_run():
    assert verdict((5,), ((0,), (2,)), ((3,), (2,)), ((2,), (1,))) == {}
    assert verdict((5,), ((0,), (4,)), ((2,), (1,))) == {"SP301": ((4,), (1,)), "SP303": ((2,), (1,))}


def alignment_padding_is_a_number_and_not_a_shard():
    for local, padding in ((30, 3), (29, 2)):
        (note,) = sp.ShardLayout((57,), [(30,)], [(0,)], [(27,)], (local,)).check_local()
        assert (note.code, note.values["elements"]) == ("SP308", padding)
    (fault,) = sp.ShardLayout((57,), [(30,)], [(0,)], [(29,)], (29,)).check_local()
    assert (fault.code, fault.sentence) == ("SP201", "30 + 29 = 59 > 57")


def pieces_of_ceil_size_stick_out():
    report = sp.prove(layout((10,), *(((3 * process,), (3,)) for process in range(4))))
    assert [(finding.code, finding.sentence) for finding in report.findings] == [("SP201", "9 + 3 = 12 > 10")]


def a_size_that_is_twice_what_chunks_cover_is_hinted_at():
    rows = [((0, 0), (5, 2)), ((5, 0), (5, 2))]
    assert verdict((20, 2), *rows) == {"SP301": ((10, 0), (10, 2))}
    ((code, sentence),) = notes((20, 2), *rows)
    assert code == "SP310"
    assert "2" in sentence


CASES = {
    14: a_thousand_tensors_of_a_thousand_rows_are_whole,
    17: one_expert_moved_by_one_is_an_overlap_and_a_gap,
    19: a_process_is_judged_by_its_own_cells,
    28: many_empty_chunks_are_one_note,
    29: an_empty_chunk_past_the_end_is_a_warning_of_its_own,
    32: a_process_that_holds_nothing_is_counted,
    33: tensors_without_elements_are_whole_either_way,
    37: the_missing_half_is_one_box,
    38: a_hole_saved_by_one_process_is_named,
    39: the_right_volume_hides_neither_overlap_nor_gap,
    41: a_stride_is_several_chunks_and_not_one_run,
    52: alignment_padding_is_a_number_and_not_a_shard,
    56: pieces_of_ceil_size_stick_out,
    58: a_size_that_is_twice_what_chunks_cover_is_hinted_at,
}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.__name__)
def test_what_people_run_into(case):
    case()


def test_all_those_cases_are_tried():
    assert len(CASES) == 14


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_many_faults_in_a_shuffled_grid_are_each_named_once(rank):
    chance = random.Random(rank)
    side = {1: 4096, 2: 64, 3: 16, 4: 8}[rank]
    cells = [tuple(3 * c for c in cell) for cell in itertools.product(range(side), repeat=rank)]
    chance.shuffle(cells)
    # No two faults touch, so that each is a box of its own.
    apart = [cell for cell in cells if all(c // 3 % 2 == 1 for c in cell)]
    missing, doubled = set(apart[:100]), apart[100:200]
    kept = [cell for cell in cells if cell not in missing] + doubled
    report = sp.prove(layout((3 * side,) * rank, *((cell, (3,) * rank) for cell in kept)), max_findings=1000)
    boxes = {code: {f.box[0] for f in report.findings if f.code == code} for code in ("SP301", "SP304")}
    assert boxes == {"SP301": missing, "SP304": set(doubled)}
    assert report.complete
    assert report.uncovered == report.overcovered == 100 * 3**rank
    # The order of the chunks changes nothing but positions.
    chance.shuffle(kept)
    again = sp.prove(layout((3 * side,) * rank, *((cell, (3,) * rank) for cell in kept)), max_findings=1000)
    assert {(f.code, f.box) for f in again.findings} == {(f.code, f.box) for f in report.findings}
