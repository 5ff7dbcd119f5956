"""What `shardproof show` lists, and for whom."""

import csv
import io
import json

import pytest
import samples
from attacks.safetensors import file, tensor
from shardproof.checkpoint import open_checkpoint
from shardproof.cli import run

UNEVEN = samples.OWN / "torch_dcp_hf" / "w2_sharded_t214"
GRID = samples.OWN / "zarr3" / "group_tree"
ORBAX = samples.OWN / "orbax" / "standard_default"
EVIL = "\x1b]0;pwned\x07\n\u202e"


@pytest.fixture
def show(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        status = run(["show", *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_every_tensor_has_a_line_and_the_totals_follow(show):
    status, out, err = show(UNEVEN)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{UNEVEN}: DCP safetensors, 2 files, 770 bytes"
    assert lines[2:7] == [
        "fqn  shape   dtype     cut               bytes  files",
        "w    [7, 3]  float32   2 along dim 0  84 bytes      2",
        "c    [3, 5]  bfloat16  2 along dim 1  30 bytes      2",
        "rep  [2, 2]  float32   1 chunk        16 bytes      1",
        "",
    ]
    assert lines[7] == "3 tensors in 5 chunks, 130 bytes"
    assert [line.split(":")[:2] for line in lines[8:]] == [
        ["not judged", " payloads"],
        ["not judged", " global shapes"],
    ]


def test_entries_that_are_not_tensors_are_counted_and_named(show):
    megatron = samples.OWN / "megatron" / "torch_dist_w2"
    assert "2 entries that are not tensors" in show(megatron)[1].splitlines()
    assert json.loads(show(megatron, "--format", "json")[1])["other_entries"] == ["obj/shard_0_2", "obj/shard_1_2"]


def test_one_tensor_is_drawn_and_its_chunks_say_where_they_are(show):
    status, out, _ = show(GRID, "enc/w")
    assert status == 0
    lines = out.splitlines()
    assert lines[:2] == ["enc/w: float32 [5, 4], 80 bytes", "  2 x 2 grid; 151 bytes stored in 4 files"]
    assert lines[3] == "dim 0 down, dim 1 across"
    assert sum("┼" in line for line in lines) == 1
    assert lines[-4:] == [
        "    0  (0, 0)   (3, 3)  enc/w/c/0/0           0     45",
        "    1  (0, 3)   (3, 1)  enc/w/c/0/1           0     39",
        "    2  (3, 0)   (2, 3)  enc/w/c/1/0           0     40",
        "    3  (3, 3)   (2, 1)  enc/w/c/1/1           0     27",
    ]
    assert "┌" not in show(GRID, "step")[1]


def test_a_tensor_that_two_parts_have_is_shown_of_both(show):
    both = samples.OWN / "torch_dcp_hf" / "w4_uneven_consolidated_t214"
    fqn = next(iter(next(iter(open_checkpoint(both).parts.values())).tensors))
    titles = [line for line in show(both, fqn)[1].splitlines() if f"{fqn}: " in line]
    assert len(titles) == 2
    assert titles[0] != titles[1]
    rows = list(csv.DictReader(io.StringIO(show(both, fqn, "--format", "csv")[1])))
    assert {row["part"] for row in rows} == set(open_checkpoint(both).parts)


def test_patterns_choose_and_sorting_puts_the_largest_first(show):
    def names(*arguments):
        return [row["fqn"] for row in csv.DictReader(io.StringIO(show(ORBAX, *arguments, "--format", "csv")[1]))]

    assert names("params.*") == ["params.dense.bias", "params.dense.kernel", "params.emb", "params.rep"]
    assert names("params.*", "--sort", "bytes")[:2] == ["params.emb", "params.dense.kernel"]
    assert names("--sort", "chunks")[:2] == ["params.dense.kernel", "params.emb"]
    assert len(names()) == 10
    *_, total, not_judged = show(ORBAX, "params.*")[1].splitlines()
    assert total == "4 tensors of 10 in 19 chunks, 532 bytes"
    assert not_judged.startswith("not judged: payloads: ")


def test_json_says_the_same_of_every_sample_that_can_be_read(show):
    shown = chunks = 0
    for sample in samples.samples(samples.OWN):
        status, out, err = show(sample.directory, "--format", "json")
        if status == 2:
            assert err.startswith("shardproof: ")
            assert err.count("\n") == 1
            continue
        document = json.loads(out)
        assert document["version"] == 1
        tensors = [t for part in open_checkpoint(sample.directory).parts.values() for t in part.tensors.values()]
        assert [(row["fqn"], row["shape"], row["chunks"]) for row in document["tensors"]] == [
            (one.fqn, list(one.global_shape), one.chunk_count) for one in tensors
        ]
        for fqn in {one.fqn for one in tensors}:
            status, out, err = show(sample.directory, fqn, "--format", "json")
            assert (status, err) == (0, "")
            rows = json.loads(out)["tensors"]
            assert {row["fqn"] for row in rows} == {fqn}
            for row in rows:
                assert len(row["chunk_list"]) == row["chunks"]
                assert sum(chunk["byte_length"] or 0 for chunk in row["chunk_list"]) == row["stored_bytes"]
                chunks += row["chunks"]
            assert show(sample.directory, fqn)[0] == 0
        shown += 1
    assert shown > 50
    assert chunks > 500


def test_tables_are_capped_and_other_formats_are_not(show, tmp_path):
    header = {f"t{number:03}": tensor("U8", [1], number, number + 1) for number in range(150)}
    (tmp_path / "model.safetensors").write_bytes(file(header, 150))
    _, out, _ = show(tmp_path)
    assert "t099" in out
    assert "t100" not in out
    assert "and 50 more tensors; --limit 0 shows all" in out.splitlines()
    assert "150 tensors in 150 chunks, 150 bytes" in out.splitlines()
    assert "t149" in show(tmp_path, "--limit", "0")[1]
    assert len(show(tmp_path, "--format", "csv")[1].splitlines()) == 151
    _, out, _ = show(ORBAX, "params.emb", "--limit", "3")
    assert out.splitlines()[-1] == "and 5 more chunks; --limit 0 shows all"
    assert len(show(ORBAX, "params.emb", "--limit", "3", "--format", "csv")[1].splitlines()) == 9


def test_lines_fit_the_terminal_by_leaving_out_the_middle_of_names(show, tmp_path, monkeypatch):
    name = "model.layers.31.mlp.down_proj.weight_with_a_name_that_goes_on_and_on.to_the_very_end.bias"
    (tmp_path / "model.safetensors").write_bytes(file({name: tensor("F32", [2], 0, 8)}, 8))
    for width in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        table = show(tmp_path)[1].split("\n\n")[1].splitlines()
        assert max(map(len, table)) <= width
        assert table[1].startswith("model.la")
    monkeypatch.delenv("COLUMNS")
    assert name in show(tmp_path)[1]


def test_names_from_files_cannot_drive_the_terminal(show, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(
        file({EVIL: tensor("F32", [1], 0, 4), "a": tensor("F32", [1], 4, 8)}, 8)
    )
    for arguments in ([], [EVIL], ["--format", "csv"], ["nothing"], [EVIL + "x"]):
        _, out, err = show(tmp_path, *arguments)
        assert out + err
        assert not {"\x1b", "\x07", "\u202e"} & set(out + err)
    assert json.loads(show(tmp_path, "--format", "json")[1])["tensors"][0]["fqn"] == EVIL


def test_a_size_beyond_any_unit_is_a_power_of_two(show, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(file({"w": tensor("F32", [2**62] * 20, 0, 4)}, 4))
    assert "1 tensor in 1 chunk, 2^1242 bytes" in show(tmp_path)[1].splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([UNEVEN / "nothing"], f": nothing is there; look in {UNEVEN.resolve()}\n"),
        ([samples.HERE / "attacks"], "`shardproof formats` lists what can be read\n"),
        ([samples.OWN / "torch_dcp" / "meta_zero_bytes"], "`shardproof check` says more\n"),
        ([ORBAX, "params.em"], "no tensor is named or matches 'params.em'; did you mean params.emb?\n"),
        ([ORBAX, "***q***"], "leave the name out to list all\n"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence_with_the_next_step(show, arguments, message):
    status, out, err = show(*arguments)
    assert (status, out) == (2, "")
    assert err.endswith(message)
    assert err.count("\n") == 1
