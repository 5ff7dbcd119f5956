"""Plans, differences and flat ranges, against NumPy arrays."""

import itertools
import pickle

import numpy as np
import pytest
import shardproof as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from shardproof import _core

MAX = 2**63 - 1


def layout(shape, *chunks):
    return sp.ChunkLayout(shape, [offsets for offsets, _ in chunks], [sizes for _, sizes in chunks])


def cut(draw, start, size, pieces):
    """Cut a box in two along some dimension, and the parts again."""
    sides = [d for d, n in enumerate(size) if n > 1]
    if pieces < 2 or not sides:
        return [(tuple(start), tuple(size))]
    d = draw(st.sampled_from(sides))
    at = draw(st.integers(1, size[d] - 1))
    low, high, middle = list(size), list(size), list(start)
    low[d], high[d], middle[d] = at, size[d] - at, start[d] + at
    return cut(draw, start, low, pieces // 2) + cut(draw, middle, high, pieces - pieces // 2)


def grid(shape, tile):
    return [
        (offsets, tuple(min(t, dim - at) for t, dim, at in zip(tile, shape, offsets, strict=True)))
        for offsets in itertools.product(*(range(0, dim, t) for dim, t in zip(shape, tile, strict=True)))
    ]


@st.composite
def tilings(draw, shape):
    """Chunks that cover a tensor once, in any order, with empty ones among them."""
    if draw(st.booleans()):
        chunks = grid(shape, [draw(st.integers(1, max(dim, 1))) for dim in shape])
    elif 0 in shape:
        chunks = []
    else:
        chunks = cut(draw, [0] * len(shape), list(shape), draw(st.integers(1, 12)))
    if shape and draw(st.booleans()):
        at = tuple(draw(st.integers(0, dim)) for dim in shape)
        chunks.append(
            (at, tuple(0 if d == 0 else dim - start for d, (dim, start) in enumerate(zip(shape, at, strict=True))))
        )
    return draw(st.permutations(chunks))


@st.composite
def boxes(draw, shape):
    """Any chunks inside a tensor."""
    chunks = []
    for _ in range(draw(st.integers(0, 8))):
        offsets = tuple(draw(st.integers(0, dim)) for dim in shape)
        chunks.append((offsets, tuple(draw(st.integers(0, dim - at)) for dim, at in zip(shape, offsets, strict=True))))
    return chunks


shapes = st.lists(st.integers(0, 7), max_size=5).map(tuple)


def slices(offsets, sizes):
    return tuple(slice(at, at + n) for at, n in zip(offsets, sizes, strict=True))


def execute(plan, tensor):
    """Fill the wanted chunks from the saved ones, and nothing else."""
    saved = [tensor[slices(c.offsets, c.sizes)].copy() for c in plan.saved]
    wanted = [np.full(c.sizes, -1, tensor.dtype) for c in plan.wanted]
    for read in plan:
        wanted[read.wanted_position][read.wanted_slices] = saved[read.saved_position][read.saved_slices]
    return wanted


class TestPlanReads:
    @settings(max_examples=400, deadline=None)
    @given(st.data())
    def test_executing_a_plan_reproduces_the_wanted_chunks_bit_for_bit(self, data):
        shape = data.draw(shapes)
        saved, wanted = layout(shape, *data.draw(tilings(shape))), layout(shape, *data.draw(boxes(shape)))
        tensor = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        plan = sp.plan_reads(saved, wanted)
        for chunk, filled in zip(wanted, execute(plan, tensor), strict=True):
            np.testing.assert_array_equal(filled, tensor[slices(chunk.offsets, chunk.sizes)])
        assert plan.findings.total == 0
        assert plan.complete
        order = list(zip(plan.wanted_positions.tolist(), plan.saved_positions.tolist(), strict=True))
        assert order == sorted(set(order))
        assert (plan.lengths > 0).all()

    @settings(max_examples=400, deadline=None)
    @given(st.data())
    def test_what_is_not_read_once_is_named_to_the_element(self, data):
        shape = data.draw(shapes)
        saved, wanted = layout(shape, *data.draw(boxes(shape))), layout(shape, *data.draw(boxes(shape)))
        plan = sp.plan_reads(saved, wanted)
        read = [np.zeros(shape, int) for _ in range(len(wanted))]
        for one in plan:
            chunk = wanted[one.wanted_position]
            at = tuple(a + b for a, b in zip(chunk.offsets, one.wanted_offsets, strict=True))
            read[one.wanted_position][slices(at, one.lengths)] += 1
        for position, chunk in enumerate(wanted):
            inside = np.zeros(shape, bool)
            inside[slices(chunk.offsets, chunk.sizes)] = True
            read[position][~inside] = 1
        for finding in plan.findings:
            where = slices(*finding.box)
            if finding.code == "SP311":
                position, times = finding.positions.first[0], 0
            else:
                position, times = finding.values["wanted"], finding.values["times"]
            assert (read[position][where] == times).all()
            assert read[position][where].size == finding.values["elements"] > 0
            assert str(finding.values["elements"]) in finding.sentence
            read[position][where] = 1
        assert all((times == 1).all() for times in read)

    def test_reads_of_a_layout_by_itself_are_its_overlaps(self):
        chunks = layout((8,), ((0,), (4,)), ((2,), (4,)), ((6,), (0,)), ((6,), (2,)))
        plan = sp.plan_reads(chunks, chunks)
        pairs = set(zip(plan.saved_positions.tolist(), plan.wanted_positions.tolist(), strict=True))
        assert pairs == {(0, 0), (1, 1), (3, 3), (0, 1), (1, 0)}

    def test_the_order_of_the_saved_chunks_changes_only_their_positions(self):
        rng = np.random.default_rng(0)
        saved, wanted = grid((60, 45), (4, 7)), grid((60, 45), (9, 5))
        order = rng.permutation(len(saved))
        moved = sp.plan_reads(layout((60, 45), *(saved[at] for at in order)), layout((60, 45), *wanted))
        plain = sp.plan_reads(layout((60, 45), *saved), layout((60, 45), *wanted))
        rows = [
            [plan.wanted_positions, plan.saved_offsets, plan.wanted_offsets, plan.lengths] for plan in (plain, moved)
        ]
        tables = [np.column_stack(row) for row in rows]
        tables[0] = np.column_stack([tables[0], plain.saved_positions])
        tables[1] = np.column_stack([tables[1], order[moved.saved_positions]])
        assert len(plain) > len(saved)
        np.testing.assert_array_equal(*(table[np.lexsort(table.T)] for table in tables))

    def test_columns_are_int64_and_read_only(self):
        plan = sp.plan_reads(layout((4, 6), ((0, 0), (4, 6))), layout((4, 6), ((1, 2), (2, 3))))
        for name in ("saved_positions", "wanted_positions", "saved_offsets", "wanted_offsets", "lengths"):
            column = getattr(plan, name)
            assert column.dtype == np.int64
            assert column.shape == ((1,) if "positions" in name else (1, 2))
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 1
        assert plan[0] == plan[-1] == (0, 0, (1, 2), (0, 0), (2, 3))
        assert plan[:] == [plan[0]]
        assert repr(plan) == "<ReadPlan: 1 reads from 1 chunks into 1>"
        with pytest.raises(IndexError):
            plan[1]

    def test_more_reads_than_allowed_are_refused_with_their_number(self):
        rows, columns = layout((256, 256), *grid((256, 256), (1, 256))), layout((256, 256), *grid((256, 256), (256, 1)))
        with pytest.raises(sp.LimitExceeded, match=r"65536 reads, more than max_reads=10000"):
            sp.plan_reads(rows, columns, max_reads=10_000)
        assert len(sp.plan_reads(rows, columns, max_reads=65_536)) == 65_536
        with pytest.raises(sp.InvalidInput, match="-1"):
            sp.plan_reads(rows, columns, max_reads=-1)

    def test_a_plan_that_no_memory_holds_is_refused_and_not_begun(self):
        # More reads than there are addresses.
        n = 4_500_000
        starts = np.column_stack([np.arange(n), np.zeros(n, np.int64)])
        sizes = np.column_stack([np.ones(n, np.int64), np.full(n, n)])
        rows, columns = sp.ChunkLayout((n, n), starts, sizes), sp.ChunkLayout((n, n), starts[:, ::-1], sizes[:, ::-1])
        with pytest.raises(sp.LimitExceeded):
            sp.plan_reads(rows, columns)
        with pytest.raises(sp.LimitExceeded, match=str(n * n)):
            sp.plan_reads(rows, columns, max_reads=10**9)

    def test_a_negative_limit_or_another_shape_or_a_faulty_layout_is_refused(self):
        eight = layout((8,), ((0,), (8,)))
        with pytest.raises(sp.InvalidInput, match=r"\(8,\).*\(12,\)"):
            sp.plan_reads(eight, layout((12,), ((6,), (6,))))
        for faulty in (layout((8,), ((6,), (4,))), layout((8,), ((-1,), (4,))), layout((8,), ((0, 0), (4, 4)))):
            for saved, wanted in ((eight, faulty), (faulty, eight)):
                with pytest.raises(sp.LayoutError) as raised:
                    sp.plan_reads(saved, wanted)
                assert raised.value.findings.total == 1 + (faulty.findings().total > 1)

    def test_offsets_near_the_end_of_64_bits_are_exact(self):
        saved = layout((MAX, MAX), ((0, MAX - 5), (MAX, 5)), ((0, 0), (MAX, MAX - 5)))
        plan = sp.plan_reads(saved, layout((MAX, MAX), ((MAX - 3, MAX - 7), (3, 7))))
        assert list(plan) == [
            (0, 0, (MAX - 3, 0), (0, 2), (3, 5)),
            (1, 0, (MAX - 3, MAX - 7), (0, 0), (3, 2)),
        ]
        assert plan.findings.total == 0
        assert sp.plan_reads(saved, saved).cost(8).bytes == MAX * MAX * 8

    @pytest.mark.parametrize("shape", [(), (1,)])
    def test_a_scalar_is_one_element(self, shape):
        one, none = (shape and (0,), shape), ()
        assert list(sp.plan_reads(layout(shape, one), layout(shape, one))) == [(0, 0, one[0], one[0], shape)]
        assert sp.plan_reads(layout(shape, *none), layout(shape, one)).findings.counts == {"SP311": 1}
        assert sp.plan_reads(layout(shape, one, one), layout(shape, one)).findings.counts == {"SP312": 1}

    def test_empty_chunks_behind_the_end_are_no_obstacle(self):
        saved = layout((5, 2), ((0, 0), (2, 2)), ((2, 0), (2, 2)), ((4, 0), (1, 2)), ((6, 0), (0, 2)))
        assert saved.findings().counts == {"SP203": 1}
        plan = sp.plan_reads(saved, saved)
        assert plan.saved_positions.tolist() == plan.wanted_positions.tolist() == [0, 1, 2]


class TestCost:
    def test_counts_are_those_of_numpy_strides(self):
        shape = (6, 5, 4)
        saved, wanted = layout(shape, *grid(shape, (3, 5, 2))), layout(shape, *grid(shape, (2, 3, 4)))
        plan = sp.plan_reads(saved, wanted)
        runs = []
        for read in plan:
            numbers = np.arange(np.prod(saved[read.saved_position].sizes)).reshape(saved[read.saved_position].sizes)
            flat = numbers[read.saved_slices].ravel()
            runs.extend(len(run) for run in np.split(flat, np.flatnonzero(np.diff(flat) != 1) + 1))
        cost = plan.cost(2)
        assert (cost.reads, cost.bytes, cost.runs) == (len(plan), 240, len(runs))
        assert (cost.shortest_run, cost.longest_run) == (2 * min(runs), 2 * max(runs))
        assert cost.sources.tolist() == [int((plan.wanted_positions == at).sum()) for at in range(len(wanted))]

    def test_an_empty_plan_costs_nothing(self):
        cost = sp.plan_reads(layout((4,), ((0,), (4,))), layout((4,), ((2,), (0,)), ((1,), (0,)))).cost(8)
        assert (cost.reads, cost.bytes, cost.runs, cost.shortest_run, cost.longest_run) == (0, 0, 0, 0, 0)
        assert cost.sources.tolist() == [0, 0]

    @pytest.mark.parametrize("itemsize", [0, -4])
    def test_an_element_has_bytes(self, itemsize):
        plan = sp.plan_reads(layout((4,), ((0,), (4,))), layout((4,), ((0,), (4,))))
        with pytest.raises(sp.InvalidInput, match=str(itemsize)):
            plan.cost(itemsize)


class TestDiffLayouts:
    @settings(max_examples=300, deadline=None)
    @given(st.data())
    def test_boxes_are_the_elements_of_one_side_only(self, data):
        shape = data.draw(shapes)
        kinds = boxes(shape) | tilings(shape)
        left, right = (layout(shape, *data.draw(kinds)) for _ in range(2))
        painted = []
        for side in (left, right):
            covered = np.zeros(shape, bool)
            for chunk in side:
                covered[slices(chunk.offsets, chunk.sizes)] = True
            painted.append(covered)
        diff = sp.diff_layouts(left, right)
        assert diff.complete
        sides = ((diff.only_left, painted[0] & ~painted[1]), (diff.only_right, painted[1] & ~painted[0]))
        for only, expected in sides:
            covered = np.zeros(shape, bool)
            for chunk in only:
                covered[slices(chunk.offsets, chunk.sizes)] = True
            np.testing.assert_array_equal(covered, expected)
        assert (diff.verdict == "different") == (len(diff.only_left) + len(diff.only_right) > 0)

        def as_set(side):
            return sorted((chunk.offsets, chunk.sizes) for chunk in side if 0 not in chunk.sizes)

        assert (diff.verdict == "equal") == (as_set(left) == as_set(right))
        assert sp.diff_layouts(right, left).verdict == diff.verdict

    def test_two_shapes_cannot_be_compared(self):
        with pytest.raises(sp.InvalidInput, match="left tensor"):
            sp.diff_layouts(layout((4,)), layout((5,)))


class TestFlatRanges:
    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.integers(0, 6), max_size=4).map(tuple), st.data())
    def test_chunks_are_the_range_in_order(self, shape, data):
        total = int(np.prod(shape, dtype=int))
        start, stop = sorted(data.draw(st.tuples(st.integers(0, total), st.integers(0, total))))
        chunks = sp.flat_range_to_chunks(shape, start, stop)
        numbers = np.arange(total).reshape(shape)
        pieces = [numbers[slices(chunk.offsets, chunk.sizes)].ravel() for chunk in chunks]
        assert np.concatenate([[], *pieces]).tolist() == list(range(start, stop))
        assert sp.chunks_to_flat_range(chunks) == ((start, stop) if start < stop else (0, 0))

    @pytest.mark.parametrize("bounds", [(-1, 3), (5, 4), (0, 13), (0, 2**130)])
    def test_what_is_not_a_range_of_the_tensor_is_refused(self, bounds):
        with pytest.raises(sp.InvalidInput, match=f"{bounds[0]}..{bounds[1]}"):
            sp.flat_range_to_chunks((3, 4), *bounds)
        with pytest.raises(sp.InvalidInput):
            sp.flat_range_to_chunks((2**70,), 0, 1)
        with pytest.raises(sp.InvalidType):
            sp.flat_range_to_chunks((3, 4), 0.5, 1)

    def test_chunks_that_are_not_one_stretch_are_refused_by_position(self):
        with pytest.raises(sp.InvalidInput, match="chunk 1 is not contiguous"):
            sp.chunks_to_flat_range(layout((4, 6), ((0, 0), (1, 6)), ((1, 0), (2, 5))))
        with pytest.raises(sp.InvalidInput, match=r"chunk 0 starts at element 7.*not at 6"):
            sp.chunks_to_flat_range(layout((4, 6), ((1, 1), (1, 5)), ((0, 0), (1, 6))))


def _reads(plan):
    return [(one.saved_position, one.wanted_position, one.lengths) for one in plan]


def _verdict(chunks):
    return {finding.code: finding.box for finding in sp.plan_reads(chunks, whole(chunks)).findings}


def whole(chunks):
    return layout(chunks.global_shape, ((0,) * chunks.rank, chunks.global_shape))


def shape_of_saved_and_wanted_differ():
    with pytest.raises(sp.InvalidInput, match=r"8.*12"):
        sp.plan_reads(layout((8,), ((0,), (8,))), layout((12,), ((6,), (6,))))


def a_zero_length_read_is_never_emitted():
    assert len(sp.plan_reads(layout((5, 2), ((0, 0), (5, 2))), layout((5, 2), ((2, 0), (0, 2))))) == 0


def uneven_splits_are_planned():
    plan = sp.plan_reads(
        layout((10,), ((0,), (1,)), ((1,), (7,)), ((8,), (2,))), layout((10,), ((0,), (5,)), ((5,), (5,)))
    )
    assert _reads(plan) == [(0, 0, (1,)), (1, 0, (4,)), (1, 1, (3,)), (2, 1, (2,))]


def the_same_columns_on_both_sides_need_one_read_each():
    columns = layout((4096, 4096), *grid((4096, 4096), (4096, 1)))
    assert len(sp.plan_reads(columns, columns)) == 4096


def a_budget_refuses_with_the_count():
    sides = [layout((256, 256), *grid((256, 256), tile)) for tile in ((1, 256), (256, 1))]
    with pytest.raises(sp.LimitExceeded, match="65536"):
        sp.plan_reads(*sides, max_reads=10_000)


def a_wrong_axis_shows_in_the_cost():
    sides = [layout((64, 64), *grid((64, 64), tile)) for tile in ((8, 64), (64, 8))]
    cost = sp.plan_reads(*sides).cost(1)
    assert (cost.reads, cost.longest_run, cost.sources.tolist()) == (64, 8, [8] * 8)


def a_process_that_wants_nothing_gets_an_empty_plan():
    saved = layout((6,), ((0,), (2,)), ((2,), (2,)), ((4,), (2,)))
    for wanted in (layout((6,)), layout((6,), ((6,), (0,)))):
        plan = sp.plan_reads(saved, wanted)
        assert (len(plan), plan.findings.total) == (0, 0)


def a_key_without_a_local_part_is_no_fault():
    assert sp.plan_reads(layout((1, 8), ((0, 0), (1, 8))), layout((1, 8))).findings.total == 0


def empty_tensors_and_pieces_need_nothing():
    for chunks in (layout((0, 3)), layout((0, 3), ((0, 0), (0, 3)))):
        assert sp.plan_reads(chunks, whole(chunks)).findings.total == 0
    assert len(sp.plan_reads(layout((5,), ((0,), (5,))), layout((5,), ((5,), (0,))))) == 0


def a_hole_in_what_was_saved_shows_in_the_plan():
    assert _verdict(layout((8,), ((0,), (3,)), ((5,), (3,)))) == {"SP311": ((3,), (2,))}


def volume_does_not_hide_a_gap_behind_an_overlap():
    assert _verdict(layout((8,), ((0,), (4,)), ((2,), (4,)))) == {"SP311": ((6,), (2,)), "SP312": ((2,), (2,))}


def strided_splits_have_several_chunks():
    assert _verdict(layout((5,), ((0,), (2,)), ((3,), (2,)), ((2,), (1,)))) == {}
    assert _verdict(layout((5,), ((0,), (4,)), ((2,), (1,)))) == {"SP311": ((4,), (1,)), "SP312": ((2,), (1,))}


def fused_halves_land_in_order_and_a_wrong_order_differs():
    right = [((r + 8 * half, 0), (1, 2)) for r in range(8) for half in range(2)]
    plan = sp.plan_reads(layout((16, 2), *right), whole(layout((16, 2))))
    rows = {one.wanted_offsets[0]: right[one.saved_position][0][0] for one in plan}
    assert rows == {row: row for row in range(16)}
    held = [layout((16, 2), *(((row, 0), (1, 2)) for row in rows)) for rows in ((0, 8), (0, 1))]
    assert sp.diff_layouts(*held).verdict == "different"


def flat_ranges_become_the_fewest_boxes():
    cuts = [[tuple(chunk) for chunk in _pairs(sp.flat_range_to_chunks((3, 4), *ends))] for ends in ((0, 10), (10, 12))]
    assert cuts == [[((0, 0), (2, 4)), ((2, 0), (1, 2))], [((2, 2), (1, 2))]]


def a_range_in_the_middle_is_not_widened():
    cut = list(_pairs(sp.flat_range_to_chunks((4, 6), 4, 15)))
    assert cut == [((0, 4), (1, 2)), ((1, 0), (1, 6)), ((2, 0), (1, 3))]


def _pairs(chunks):
    return ((chunk.offsets, chunk.sizes) for chunk in chunks)


def a_smaller_tensor_is_not_filled_in_silence():
    with pytest.raises(sp.InvalidInput, match=r"6.*4"):
        sp.plan_reads(layout((6,), ((0,), (6,))), layout((4,), ((0,), (4,))))


def another_order_of_chunks_is_no_difference():
    rows = [((0, 0), (2, 4)), ((2, 0), (2, 4))]
    assert sp.diff_layouts(layout((4, 4), *rows), layout((4, 4), *rows[::-1])).verdict == "equal"


def test_overlapping_saved_chunks_are_reported_with_their_positions():
    plan = sp.plan_reads(layout((4,), ((0,), (3,)), ((1,), (3,)), ((0,), (4,))), layout((4,), ((1,), (2,))))
    (finding,) = plan.findings
    assert (finding.code, finding.positions.first, finding.box) == ("SP312", (0, 1, 2), ((1,), (2,)))
    assert len(plan) == 3


CASES = {
    8: shape_of_saved_and_wanted_differ,
    9: a_zero_length_read_is_never_emitted,
    12: uneven_splits_are_planned,
    16: the_same_columns_on_both_sides_need_one_read_each,
    24: a_budget_refuses_with_the_count,
    25: a_wrong_axis_shows_in_the_cost,
    30: a_process_that_wants_nothing_gets_an_empty_plan,
    31: a_key_without_a_local_part_is_no_fault,
    33: empty_tensors_and_pieces_need_nothing,
    38: a_hole_in_what_was_saved_shows_in_the_plan,
    39: volume_does_not_hide_a_gap_behind_an_overlap,
    41: strided_splits_have_several_chunks,
    42: fused_halves_land_in_order_and_a_wrong_order_differs,
    43: flat_ranges_become_the_fewest_boxes,
    44: a_range_in_the_middle_is_not_widened,
    60: a_smaller_tensor_is_not_filled_in_silence,
    62: another_order_of_chunks_is_no_difference,
}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.__name__)
def test_what_people_run_into(case):
    case()


def test_all_those_cases_are_tried():
    assert len(CASES) == 17


def test_the_core_refuses_columns_that_are_not_of_one_plan():
    sizes, positions = np.ones((2, 1), np.int64), np.array([0, 2])
    with pytest.raises(sp.InvalidInput, match="saved chunk 2 of 2"):
        _core.plan_cost(sizes, positions, sizes)


def test_a_plan_survives_pickling():
    plan = sp.plan_reads(layout((4,), ((0,), (4,))), layout((4,), ((1,), (2,))))
    again = pickle.loads(pickle.dumps(plan))
    assert list(again) == list(plan)
    assert again.cost(4).bytes == 8
