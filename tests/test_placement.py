"""Which boxes a process of a mesh holds, against rows that are dealt out one by one."""

import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest
from shardproof.errors import InvalidInput
from shardproof.placement import Replicate, Shard, StridedShard, held_chunks, parse_mesh, parse_placements


def cut(rows, processes):
    """Cut a list as torch.chunk does, with empty pieces at the end."""
    size = -(-len(rows) // processes)
    return [rows[place * size : (place + 1) * size] for place in range(processes)]


def dealt(length, mesh_shape, placements, coordinate):
    """Deal out the rows of one dimension, one placement after the other."""
    rows = list(range(length))
    for processes, placement, place in zip(mesh_shape, placements, coordinate, strict=True):
        match placement:
            case Shard():
                rows = cut(rows, processes)[place]
            case StridedShard(_, factor):
                rows = [row for piece in cut(rows, factor) for row in cut(piece, processes)[place]]
    return rows


def rows_of(chunks):
    return [row for chunk in chunks for row in range(chunk.offsets[0], chunk.offsets[0] + chunk.sizes[0])]


def coordinates(mesh_shape):
    return itertools.product(*map(range, mesh_shape))


ONE_DIMENSION = [Replicate(), Shard(0), StridedShard(0, 1), StridedShard(0, 2), StridedShard(0, 3)]


def test_every_small_split_of_one_dimension_holds_the_rows_that_are_dealt_out():
    tried = 0
    for length, mesh_shape in itertools.product(range(14), itertools.product([1, 2, 3, 4], [1, 2, 3])):
        for placements in itertools.product(ONE_DIMENSION, repeat=2):
            for coordinate in coordinates(mesh_shape):
                chunks = held_chunks((length,), mesh_shape, placements, coordinate)
                assert rows_of(chunks) == dealt(length, mesh_shape, placements, coordinate)
                tried += 1
    assert tried == 14 * 25 * (1 + 2 + 3 + 4) * (1 + 2 + 3)


def test_boxes_are_the_product_of_the_runs_of_each_dimension():
    placements = [StridedShard(0, 2), Shard(1), Shard(0)]
    mesh_shape, shape = (2, 3, 2), (7, 8)
    seen = []
    for coordinate in coordinates(mesh_shape):
        rows = dealt(7, *zip(*[(2, placements[0], coordinate[0]), (2, placements[2], coordinate[2])], strict=True))
        columns = cut(list(range(8)), 3)[coordinate[1]]
        elements = [
            (row, column)
            for chunk in held_chunks(shape, mesh_shape, placements, coordinate)
            for row in range(chunk.offsets[0], chunk.offsets[0] + chunk.sizes[0])
            for column in range(chunk.offsets[1], chunk.offsets[1] + chunk.sizes[1])
        ]
        assert sorted(elements) == list(itertools.product(rows, columns))
        seen += elements
    assert sorted(seen) == list(itertools.product(range(7), range(8)))


def test_a_process_that_holds_nothing_gets_one_empty_chunk_inside_the_tensor():
    chunks = [held_chunks((2, 6), (4,), [Shard(0)], (place,)) for place in range(4)]
    assert [(chunk.offsets, chunk.sizes) for (chunk,) in chunks] == [
        ((0, 0), (1, 6)),
        ((1, 0), (1, 6)),
        ((2, 0), (0, 6)),
        ((2, 0), (0, 6)),
    ]


def test_a_scalar_is_held_whole():
    (chunk,) = held_chunks((), (2, 2), [Replicate(), Replicate()], (1, 0))
    assert (chunk.offsets, chunk.sizes) == ((), ())


def test_a_dimension_of_64_bits_is_cut_exactly():
    (chunk,) = held_chunks((2**63 - 1,), (2,), [Shard(0)], (1,))
    assert (chunk.offsets, chunk.sizes) == ((2**62,), (2**62 - 1,))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (((4,), (2,), [Shard(1)], (0,)), "placement S1 of mesh dimension 0: the tensor has 1 dimensions"),
        (((4,), (2, 2), [Shard(0)], (0, 0)), "a mesh of 2 dimensions needs as many placements"),
        (((4,), (2,), [Shard(0)], (2,)), r"coordinate 2 of mesh dimension 0 is not in 0\.\.2"),
    ],
)
def test_what_does_not_fit_the_mesh_is_refused(arguments, says):
    with pytest.raises(InvalidInput, match=says):
        held_chunks(*arguments)


def test_words_are_read_and_written_alike():
    text = "R,S0,SS12/34"
    assert ",".join(map(str, parse_placements(text))) == text
    assert parse_mesh("16x2x1") == (16, 2, 1)


def words(placement):
    match placement:
        case Replicate():
            return ["R"]
        case Shard(dim):
            return ["S", dim]
        case StridedShard(dim, factor):
            return ["SS", dim, factor]


def test_a_box_is_that_of_dtensor_and_of_several_runs_it_names_the_first_row_and_their_number():
    python = os.environ.get("SHARDPROOF_TORCH_PYTHON")
    if not python:
        pytest.skip("SHARDPROOF_TORCH_PYTHON names no interpreter that has torch")
    kinds = [Replicate(), Shard(0), Shard(1), StridedShard(0, 2), StridedShard(0, 3)]
    cases = [
        ((rows, 5), mesh_shape, placements, coordinate)
        for rows in range(14)
        for mesh_shape in [(1,), (2,), (3,), (4,), (2, 2), (3, 2), (2, 3), (4, 2)]
        for placements in itertools.product(kinds, repeat=len(mesh_shape))
        for coordinate in coordinates(mesh_shape)
    ]
    questions = [[shape, mesh, list(map(words, placements)), place] for shape, mesh, placements, place in cases]
    peer = Path(__file__).with_name("placement_peer.py")
    done = subprocess.run([python, peer], input=json.dumps(questions), capture_output=True, text=True, check=True)
    single = several = 0
    for case, (offsets, sizes, printed) in zip(cases, json.loads(done.stdout), strict=True):
        assert parse_placements(printed) == case[2]
        first, *others = held_chunks(*case)
        if not all(first.sizes):
            assert not all(sizes), case
            continue
        assert list(first.offsets) == offsets, case
        assert sum(chunk.sizes[0] for chunk in (first, *others)) == sizes[0], case
        assert first.sizes[1] == sizes[1], case
        single += not others
        several += bool(others)
    assert single > 3_000
    assert several > 2_000


def test_what_torch_prints_of_placements_is_read():
    short = "S(0), R, _S(1, 4)"
    long = "Shard(dim=0), Replicate(), _StridedShard(dim=1, sf=4)"
    assert parse_placements(short) == parse_placements(long) == (Shard(0), Replicate(), StridedShard(1, 4))


@pytest.mark.parametrize(
    "word",
    [
        "S(0",
        "Shard(0",
        "_S(0)",
        "_S(0, 0)",
        "S(0, 2)",
        "P(sum)",
        "",
        "S",
        "S-1",
        "P",
        "SS0",
        "SS0/0",
        "S0/2",
        "R1",
        "s0",
    ],
)
def test_a_word_that_is_no_placement_is_named_with_its_position(word):
    with pytest.raises(InvalidInput, match="placement 1"):
        parse_placements(f"R,{word}")


@pytest.mark.parametrize("text", ["", "x", "0", "2x0", "2x", "-1x2", "2,2", "²"])
def test_a_text_that_is_no_mesh_is_refused(text):
    with pytest.raises(InvalidInput, match="is not a mesh"):
        parse_mesh(text)
