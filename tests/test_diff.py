"""How two checkpoints differ: names, shapes, dtypes, covered elements, cuts, processes."""

import itertools
import json

import numpy as np
import pytest
import samples
import shardproof as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sharded import save
from shardproof.checkpoint.difference import diff_checkpoints
from shardproof.cli import run

BOTH = samples.OWN / "torch_dcp_hf" / "w4_uneven_consolidated_t214"
SECTIONS = ("only_left", "only_right", "renamed", "reshaped", "retyped", "recovered", "recut", "moved", "not_compared")


@pytest.fixture
def diff(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        status = run(["diff", *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def changes(document):
    return {name: document[name] for name in SECTIONS if document[name]}


def test_every_sample_is_equal_to_itself(diff):
    compared = 0
    for sample in samples.samples(samples.OWN):
        status, out, _ = diff("--exact", sample.directory, sample.directory, "--format", "json")
        if out:
            document = json.loads(out)
            assert document["version"] == 1
            assert set(changes(document)) <= {"not_compared"}
            assert status == (2 if document["not_compared"] else 0)
            compared += status == 0
    assert compared > 40


def test_the_order_of_tensors_and_chunks_does_not_count(diff, tmp_path):
    one = save(tmp_path / "one", [("a", (0,), (2,)), ("b", (0,), (3,))], [("b", (3,), (1,)), ("a", (2,), (3,))])
    other = save(tmp_path / "other", [("b", (3,), (1,)), ("a", (2,), (3,))], [("a", (0,), (2,)), ("b", (0,), (3,))])
    status, out, _ = diff(one, other)
    assert status == 0
    assert out.splitlines()[0] == f"{one}, {other}: same elements, cut or stored in another way"
    assert "  b: 2 chunks, first (0)+(3): shard-00001-model-00001-of-00001.safetensors -> shard-00002" in out
    assert diff("--exact", one, other)[0] == 1


def test_fused_halves_in_the_wrong_order_tile_too_and_only_the_processes_show_it(diff, tmp_path):
    # Process r ought to hold rows r and 8 + r, a file for each; both saves are whole.
    for name, held in {"right": lambda r: (r, 8 + r), "wrong": lambda r: (2 * r, 2 * r + 1)}.items():
        save(tmp_path / name, *([("w", (row, 0), (1, 2))] for r in range(8) for row in held(r)))
        assert sp.check_checkpoint(tmp_path / name).verdict == "whole"
    status, out, _ = diff(tmp_path / "right", tmp_path / "wrong", "--format", "json")
    document = json.loads(out)
    assert (status, document["verdict"], list(changes(document))) == (0, "recut", ["moved"])
    (moved,) = document["moved"]
    assert (moved["fqn"], moved["chunks"]) == ("w", 14)
    assert diff("--exact", tmp_path / "right", tmp_path / "wrong")[0] == 1


def test_another_cut_of_the_same_elements_is_no_difference_unless_asked(diff, tmp_path):
    one = save(tmp_path / "one", *([("w", (2 * r, 0), (2, 6))] for r in range(4)))
    other = save(tmp_path / "other", *([("w", (0, 2 * r), (8, 2))] for r in range(3)))
    status, out, _ = diff(one, other)
    assert status == 0
    assert "same elements, another cut (1):\n  w: 4 along dim 0 -> 3 along dim 1\n" in out
    assert diff(one, other, "--exact")[0] == 1
    assert diff(one, one, "--exact")[0] == 0


def test_shapes_dtypes_and_cuts_are_told_apart(diff, tmp_path):
    one = save(
        tmp_path / "one",
        [("cut", (0, 0), (2, 4)), ("pad", (0, 0), (4, 68)), ("cast", (0,), (4,)), ("gap", (0,), (2,)), ("old", (), ())],
        [("cut", (2, 0), (2, 4)), ("gap", (6,), (2,))],
    )
    other = save(
        tmp_path / "other",
        [("cut", (0, 0), (4, 2)), ("pad", (0, 0), (4, 72)), ("cast", (0,), (4,), "BF16"), ("gap", (0,), (3,))],
        [("cut", (0, 2), (4, 2)), ("gap", (6,), (2,)), ("new", (1,), (1,))],
    )
    status, out, _ = diff(one, other)
    assert status == 1
    lines = out.splitlines()
    assert lines[0] == f"{one}, {other}: different"
    assert [line for line in lines if line.startswith("  ")] == [
        "  old: float32 []",
        "  new: float32 [2]",
        "  pad: [4, 68] -> [4, 72], +4 on dim 1",
        "  cast: float32 -> bfloat16, narrower",
        "  gap: only the second has (2)+(1)",
        "  cut: 2 along dim 0 -> 2 along dim 1",
    ]
    assert lines[-1] == "4 tensors in both; elements are not read, only what metadata say of them"
    document = json.loads(diff(one, other, "--format", "json")[1])
    assert set(changes(document)) == set(SECTIONS) - {"renamed", "moved", "not_compared"}
    assert document["recovered"][0]["only_right"] == [{"offsets": [2], "sizes": [1]}]


def test_renamed_tensors_are_suggested_by_shape_dtype_and_name(diff, tmp_path):
    one = save(
        tmp_path / "one",
        [(f"model.layers.{layer}.{name}", (0,), (4,)) for layer in range(3) for name in ("up.weight", "down.weight")],
        [("head.bias", (0,), (5,)), ("lm_head_weight", (0,), (9,)), ("gone.x", (0,), (7,))],
    )
    other = save(
        tmp_path / "other",
        [(f"module.net.layers.{n}.{name}", (0,), (4,)) for n in range(3) for name in ("up.weight", "down.weight")],
        [("head.bias", (0,), (5,), "BF16"), ("lm.head.weight", (0,), (9,)), ("come.x", (0,), (8,))],
    )
    status, out, _ = diff(one, other, "--format", "json")
    renamed = {pair["left"]["fqn"]: pair["right"]["fqn"] for pair in json.loads(out)["renamed"]}
    assert status == 1
    assert renamed == {
        **{
            f"model.layers.{n}.{name}": f"module.net.layers.{n}.{name}"
            for n in range(3)
            for name in ("up.weight", "down.weight")
        },
        "lm_head_weight": "lm.head.weight",
    }
    assert "  lm_head_weight: float32 [9]; perhaps lm.head.weight" in diff(one, other)[1].splitlines()


@st.composite
def covers(draw):
    """Chunks of one tensor of 6 elements in 1 to 3 files, that reach its end."""
    cuts = sorted(draw(st.sets(st.integers(0, 6), min_size=2, max_size=4)) | {6})
    pieces = [(a, b - a) for a, b in itertools.pairwise(cuts) if draw(st.booleans()) or b == 6]
    return draw(st.permutations(pieces))


@settings(max_examples=150, deadline=None)
@given(covers(), covers())
def test_the_verdict_is_that_of_the_elements(tmp_path_factory, left, right):
    top = tmp_path_factory.mktemp("diff")
    one, other = (
        sp.open_checkpoint(save(top / name, *([("w", (at,), (size,))] for at, size in chunks)))
        for name, chunks in (("left", left), ("right", right))
    )
    found = diff_checkpoints(one, other)
    covered = [{element for at, size in chunks for element in range(at, at + size)} for chunks in (left, right)]
    same_files = len(left) == len(right)
    if covered[0] != covered[1]:
        assert found.verdict == "different"
        (recovered,) = found.recovered
        for only, boxes in (
            (covered[0] - covered[1], recovered.only_left),
            (covered[1] - covered[0], recovered.only_right),
        ):
            assert {e for box in boxes for e in range(box.offsets[0], box.offsets[0] + box.sizes[0])} == only
    elif left == right or (sorted(left) == sorted(right) and not same_files):
        assert found.verdict == "equal"
    else:
        assert found.verdict == "recut"
        moved = sum(one != other for one, other in zip(left, right, strict=True)) if found.moved else 0
        assert sum(entry.chunks for entry in found.moved) == moved
        assert bool(found.recut) == (sorted(left) != sorted(right))


def test_what_is_faulty_is_not_compared_and_the_status_says_so(diff):
    faulty = samples.OWN / "torch_dcp" / "overflow_offset"
    status, out, _ = diff(faulty, faulty)
    assert status == 2
    assert "  w7: 9223372036854775807 + 1 = 9223372036854775808 does not fit 64 bits" in out.splitlines()


def test_of_several_names_with_one_end_the_most_similar_is_suggested(diff, tmp_path):
    one = save(tmp_path / "one", [("enc.x", (0,), (4,))])
    other = save(tmp_path / "other", [("zzzzzzzz.x", (0,), (4,)), ("enc2.x", (0,), (4,))])
    renamed = json.loads(diff(one, other, "--format", "json")[1])["renamed"]
    assert [pair["right"]["fqn"] for pair in renamed] == ["enc2.x"]


def test_processes_of_other_names_are_not_compared(diff, tmp_path):
    one = save(tmp_path / "one", [("w", (0,), (2,))], [("w", (2,), (2,))])
    other = save(tmp_path / "other", [], [("w", (2,), (2,))], [("w", (0,), (2,))])
    assert diff("--exact", one, other)[0] == 0


def test_long_sections_are_capped(diff, tmp_path):
    one = save(tmp_path / "one", [(f"t{number:02}", (0,), (1,)) for number in range(30)])
    other = save(tmp_path / "other", [(f"t{number:02}", (0,), (1,), "BF16") for number in range(30)])
    _, out, _ = diff(one, other)
    assert "another dtype (30):" in out.splitlines()
    assert "  and 10 more; --limit 0 shows all" in out.splitlines()
    assert diff(one, other, "--limit", "0")[1].count("narrower") == 30
    assert len(json.loads(diff(one, other, "--format", "json")[1])["retyped"]) == 30


def test_parts_that_do_not_correspond_are_refused_with_the_next_step(diff):
    status, out, err = diff(BOTH, samples.OWN / "torch_dcp_hf" / "w2_sharded_t214")
    assert (status, out) == (2, "")
    assert err.endswith("choose one of each (on the command line with --part)\n")
    status, out, _ = diff("--part", "sharded", BOTH, samples.OWN / "torch_dcp_hf" / "w2_sharded_t214")
    assert status == 1
    assert "1 tensor in both" in out


def test_names_from_files_cannot_drive_the_terminal(diff, tmp_path):
    evil = "\x1b]0;pwned\x07\n\u202e"
    one = save(tmp_path / "one", [(evil, (0,), (1,)), (f"{evil}2", (0,), (1,))])
    other = save(tmp_path / "other", [(evil, (0,), (2,)), (f"{evil}3", (0,), (1,))])
    _, out, _ = diff(one, other)
    assert out.count("\\x1b]0;pwned") == 5
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_many_chunks_are_compared_at_once(tmp_path):
    one = sp.open_checkpoint(save(tmp_path / "one", *([("w", (at,), (1,))] for at in range(300))))
    other = sp.open_checkpoint(save(tmp_path / "other", *([("w", (299 - at,), (1,))] for at in range(300))))
    (moved,) = diff_checkpoints(one, other).moved
    assert moved.chunks == 300
    assert np.prod(moved.sizes) == 1
