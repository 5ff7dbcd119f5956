"""Layouts against the oracle: a whole small universe, and random large ones."""

import copy
import itertools
import pickle

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shardproof import ChunkLayout, InvalidType, LayoutError, LimitExceeded, LookupFailed, MetadataIndex, ShardLayout

EDGES = [-(2**64), -(2**63) - 1, -(2**63), -1, 0, 1, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64]


def codes(findings):
    return sorted(
        (
            (
                int(finding.code[2:]),
                finding.positions.first[0] if finding.positions.first else None,
                finding.dimension,
            )
            for finding in findings
        ),
        key=lambda fault: tuple(-1 if part is None else part for part in fault),
    )


def agrees(global_shape, global_offsets, local_offsets, local_sizes, local_shape):
    arguments = (global_shape, global_offsets, local_offsets, local_sizes, local_shape)
    expected = oracle.faults(*arguments)
    layout = ShardLayout(*arguments)
    findings = layout.findings()
    assert codes(findings) == expected, arguments
    assert findings.total == len(expected)
    if expected:
        with pytest.raises(LayoutError) as caught:
            layout.check()
        assert caught.value.findings == findings
    else:
        layout.check()
    return bool(expected)


def test_every_small_layout_of_one_dimension_is_judged_as_by_the_oracle():
    numbers = [-1, 0, 1, 2]
    rows = [(number,) for number in numbers]
    seen = faulty = 0
    for shape, local, count in itertools.product([0, 1, 2], [0, 2], [0, 1]):
        for columns in itertools.product(rows, repeat=3 * count):
            faulty += agrees((shape,), columns[:count], columns[count : 2 * count], columns[2 * count :], (local,))
            seen += 1
    for columns in itertools.product([(0,), (1,), (2,)], repeat=6):
        faulty += agrees((2,), columns[:2], columns[2:4], columns[4:], (2,))
        seen += 1
    assert (seen, 0 < faulty < seen) == (6 * (1 + 64) + 729, True)


def test_numbers_at_and_beyond_the_ends_of_64_bits_are_judged_exactly():
    seen = 0
    for dim, start, size in itertools.product(EDGES, repeat=3):
        agrees((dim,), [(start,)], [(0,)], [(size,)], (2**63 - 1,))
        agrees((2**63 - 1,), [(0,)], [(start,)], [(size,)], (dim,))
        seen += 1
    assert seen == len(EDGES) ** 3


@st.composite
def layouts(draw):
    rank = draw(st.integers(0, 5))
    number = st.integers(0, 9) | st.sampled_from(EDGES) if draw(st.booleans()) else st.integers(0, 9)
    ragged = draw(st.booleans())

    def rows(count):
        width = st.integers(max(rank - 1, 0), rank + 1) if ragged else st.just(rank)
        row = width.flatmap(lambda size: st.tuples(*[number] * size))
        return draw(st.lists(row, min_size=count, max_size=count + draw(st.integers(0, int(ragged)))))

    count = draw(st.integers(0, 12))
    shape = draw(st.tuples(*[st.integers(0, 30) | number] * rank))
    local_rank = draw(st.integers(0, 5)) if ragged else rank
    local = draw(st.tuples(*[st.integers(0, 30) | number] * local_rank))
    return shape, rows(count), rows(count), rows(count), local


@given(layouts())
def test_random_layouts_are_judged_as_by_the_oracle(layout):
    agrees(*layout)


@given(st.integers(0, 4), st.data())
def test_look_ups_follow_the_rule(rank, data):
    coordinate = st.integers(0, 2)
    offset = st.tuples(*[coordinate] * rank)
    offsets = data.draw(st.lists(offset, max_size=20))
    sizes = [data.draw(st.tuples(*[st.integers(0, 1)] * rank)) for _ in offsets]
    layout = ShardLayout((9,) * rank, offsets, [(0,) * rank] * len(offsets), sizes, (1,) * rank)
    for wanted, hint in itertools.product(
        [None, *itertools.product(range(3), repeat=rank)], [None, -1, 0, 1, len(offsets), 2**70]
    ):
        expected = oracle.resolve(offsets, sizes, wanted, hint)
        index = MetadataIndex("w", wanted, hint)
        if expected is None:
            with pytest.raises(LookupFailed):
                layout.resolve(index)
        else:
            assert layout.resolve(index) == expected
            assert wanted is None or hint is not None or layout.resolve(wanted) == expected
    queries = list(itertools.product(range(3), repeat=rank))
    expected = [oracle.resolve(offsets, sizes, query) for query in queries]
    answers = layout.resolve_many(queries)
    assert answers.dtype == np.int64
    assert answers.tolist() == [-1 if position is None else position for position in expected]


GRID = [(row, column) for row in range(0, 40, 4) for column in range(0, 30, 3)]


def grid(convert=lambda rows: rows):
    sizes = [(4, 3)] * len(GRID)
    places = [(4 * position, 0) for position in range(len(GRID))]
    return ShardLayout((40, 30), convert(GRID), convert(places), convert(sizes), (400, 3))


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "u2", "u4", "u8"])
def test_arrays_of_every_integer_type_and_order_are_the_same_layout(dtype):
    def wide(rows):
        return np.array(rows).clip(max=127) if dtype == "i1" else np.array(rows)

    for layout_of in (
        lambda rows: wide(rows).astype(dtype),
        lambda rows: np.asfortranarray(wide(rows).astype(dtype)),
        lambda rows: np.repeat(np.repeat(wide(rows).astype(dtype), 2, axis=0), 2, axis=1)[::2, ::2],
        lambda rows: wide(rows)[::-1].astype(dtype)[::-1],
    ):
        assert grid(layout_of) == grid(wide)
        assert not grid(layout_of).findings()


def test_an_int64_array_is_taken_without_a_copy_and_stays_writeable():
    offsets, sizes = np.array([[0], [4]]), np.array([[4], [4]])
    chunks = ChunkLayout((8,), offsets, sizes)
    assert np.shares_memory(chunks.offsets, offsets)
    assert not chunks.offsets.flags.writeable
    assert offsets.flags.writeable
    layout = ShardLayout((8,), offsets, offsets, sizes, (8,))
    assert np.shares_memory(layout.chunks.sizes, sizes)


def test_sorted_offsets_keep_no_table_and_others_at_most_16_bytes_a_shard():
    layout = grid()
    layout.check()
    assert layout._index.memory_bytes() == 0
    shuffled = ShardLayout((40, 30), GRID[::-1], [(0, 0)] * 100, [(4, 3)] * 100, (400, 3))
    shuffled.check()
    assert 0 < shuffled._index.memory_bytes() <= 16 * 100


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (None, "local_sizes is of type NoneType"),
        (3, "local_sizes is of type int"),
        ([(4, 3), 7], "local_sizes, shard 1: int is no sequence"),
        ([(4, 3), (4, True)], r"local_sizes, shard 1, dimension 1: True \(of type bool\) is no integer"),
        ([(4, 3), (4.0, 3)], r"local_sizes, shard 1, dimension 0: 4\.0 \(of type float\)"),
        ([(4, 3), (float("nan"), 3)], "shard 1, dimension 0: nan"),
        ([(4, 3), (None, 3)], "shard 1, dimension 0: None"),
        ([(4, 3), ("4", 3)], "shard 1, dimension 0: '4'"),
        ([(4, 3), "43"], "shard 1, dimension 0: '4'"),
        ([(4, 3), (np.True_, 3)], "shard 1, dimension 0"),
        (np.array([[4.0, 3.0]]), r"local_sizes is an array of shape \(1, 2\) and dtype float64"),
        (np.array([[True, True]]), "dtype bool"),
        (np.array([4, 3]), r"array of shape \(2,\) and dtype int64"),
        (np.array([[4, "x"]], object), "shard 0, dimension 1: 'x'"),
    ],
)
def test_what_is_no_integer_is_named_with_field_shard_and_dimension(bad, says):
    # A fault elsewhere (the offset is out of bounds) does not come first.
    with pytest.raises(InvalidType, match=says):
        ShardLayout((8, 3), [(99, 0), (4, 0)], [(0, 0), (4, 0)], bad, (8, 3))


def test_integers_of_every_kind_are_taken():
    class Whole:
        def __index__(self):
            return 4

    class Exotic(int):
        pass

    for four in (4, Whole(), Exotic(4), np.int8(4), np.uint64(4), np.array(4)):
        layout = ShardLayout([8], [[four]], ((0,),), [np.array([four])], (four,))
        assert layout == ShardLayout((8,), [(4,)], [(0,)], [(4,)], (4,))
        assert layout.resolve([four]) == layout.resolve((four,)) == layout.resolve(MetadataIndex("w", (four,))) == 0


@pytest.mark.parametrize("hint", [1.0, "0", True, [0], np.True_])
def test_a_hint_that_is_no_integer_is_refused(hint):
    layout = ShardLayout((8,), [(0,)], [(0,)], [(8,)], (8,))
    for offset in (None, (0,)):
        with pytest.raises(InvalidType, match="index"):
            layout.resolve(MetadataIndex("w", offset, hint))


def test_an_offset_beyond_64_bits_or_of_another_rank_is_nowhere():
    layout = grid()
    for offset in [(2**63, 0), (0,), (0, 0, 0), (), (-(2**64), 0)]:
        with pytest.raises(LookupFailed, match="no shard starts at offset"):
            layout.resolve(offset)
    assert layout.resolve_many([(2**63, 0), (0, 0), (4, 0)]).tolist() == [-1, 0, 10]
    assert layout.resolve_many([(0,), (0, 0)]).tolist() == [-1, 0]
    assert layout.resolve_many(np.zeros((0, 2), np.int64)).tolist() == []


def test_slices_are_those_of_the_local_tensor():
    layout = grid()
    for position in range(len(layout)):
        assert layout.slices(position) == (slice(4 * position, 4 * position + 4), slice(0, 3))
    for position in (-1, len(layout)):
        with pytest.raises(IndexError, match=f"position {position}: there are 100 shards"):
            layout.slices(position)


def test_a_layout_of_chunks_warns_of_an_empty_chunk_past_the_end_and_one_of_shards_refuses_it():
    (finding,) = ChunkLayout((5, 2), [(6, 0)], [(0, 2)]).findings()
    assert (finding.code, str(finding.severity)) == ("SP203", "warning")
    (finding,) = ShardLayout((5, 2), [(6, 0)], [(0, 0)], [(0, 2)], (5, 2)).findings()
    assert (finding.code, finding.sentence) == ("SP201", "6 + 0 = 6 > 5")


def test_faults_are_all_counted_and_the_message_shows_the_first():
    layout = ShardLayout((8,), [(9,)] * 20_000, [(0,)] * 20_000, [(1,)] * 20_000, (8,))
    findings = layout.findings()
    assert (findings.total, findings.counts) == (20_000, {"SP201": 20_000})
    with pytest.raises(LayoutError, match="20000 faults in the layout of a local tensor of shape") as caught:
        layout.resolve((9,))
    assert "shard 0, dimension 0: 9 + 1 = 10 > 8" in str(caught.value)
    assert str(caught.value).endswith("and 19990 more")


def test_layouts_and_errors_survive_pickling_and_copying():
    faulty = ShardLayout((8,), [(9,), (0,)], [(0,)], [(1, 1), (2**70,)], (8,))
    for layout in (grid(), faulty, ChunkLayout((), [()], [()]), ChunkLayout((4,), [(0,)], [(2**64,)])):
        for twin in (pickle.loads(pickle.dumps(layout)), copy.deepcopy(layout)):
            assert twin == layout
            assert twin.findings() == layout.findings()
    with pytest.raises(LayoutError) as caught:
        faulty.check()
    twin = pickle.loads(pickle.dumps(caught.value))
    assert (str(twin), twin.findings) == (str(caught.value), faulty.findings())


def test_chunks_are_read_one_by_one_and_compared_by_value():
    chunks = grid().chunks
    assert [(chunk.offsets, chunk.sizes) for chunk in chunks] == [(offset, (4, 3)) for offset in GRID]
    assert chunks == ChunkLayout([40, 30], np.array(GRID), [[4, 3]] * 100)
    assert chunks != ChunkLayout((40, 31), GRID, [(4, 3)] * 100)
    with pytest.raises(LayoutError, match="SP105"):
        _ = ChunkLayout((4,), [(2**64,)], [(1,)]).offsets


def test_ints_of_every_length_are_read_exactly():
    edges = [2**bits + step for bits in (0, 8, 15, 29, 30, 31, 59, 60, 61, 62, 63) for step in (-2, -1, 0, 1)]
    numbers = sorted({sign * edge for edge in edges for sign in (-1, 1)} - {2**63, 2**63 + 1, -(2**63) - 1})
    assert {0, 1, -1, 2**30 - 1, 2**30, -(2**30), -(2**63), 2**63 - 1} <= set(numbers)
    rows = tuple((number, -1 - number) for number in numbers)
    chunks = ChunkLayout((1, 1), rows, rows)
    assert [tuple(row) for row in chunks.offsets.tolist()] == list(rows)
    places = [number for number in numbers if number >= 0]
    offsets = tuple((place,) for place in places)
    layout = ShardLayout((2**63 - 1,), offsets, ((0,),) * len(places), ((0,),) * len(places), (1,))
    assert [layout.resolve(offset) for offset in offsets] == list(range(len(places)))
    for nowhere in (2**63, -(2**63) - 1, 2**64, -1, 2**30 + 3):
        with pytest.raises(LookupFailed):
            layout.resolve((nowhere,))


def test_an_array_that_is_not_aligned_is_copied():
    raw = b"\0" + np.array(GRID, np.int64).tobytes()
    crooked = np.frombuffer(raw, np.int64, offset=1).reshape(-1, 2)
    assert not crooked.flags.aligned
    layout = ShardLayout((40, 30), crooked, [(0, 0)] * 100, [(4, 3)] * 100, (400, 3))
    assert [layout.resolve(offset) for offset in GRID] == list(range(100))


def test_more_answers_than_memory_holds_are_refused():
    layout = ShardLayout((), [()], [()], [()], ())
    assert layout.resolve_many(np.empty((3, 0), np.int64)).tolist() == [0, 0, 0]
    with pytest.raises(LimitExceeded):
        layout.resolve_many(np.empty((2**58, 0), np.int64))
