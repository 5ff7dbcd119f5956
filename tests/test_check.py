"""Directories as people meet them: what is missing, stale, misplaced or not a checkpoint at all."""

import json
import os
import sys
from pathlib import Path

import pytest
import samples
from attacks.safetensors import file, tensor
from shardproof import errors
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.checkpoint.files import open_files
from shardproof.cli import run

ONE = {"w": tensor("F32", [2], 0, 8)}


def found(report):
    return [(finding.code, finding.fqn, finding.file) for finding in report.findings]


def write(directory, files):
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return directory


def pieces(*placed):
    """Build a file of one-dimensional pieces of bytes, each a name, an offset and a size, with DCP's note."""
    header, end, note = {}, 0, {}
    for name, offset, size in placed:
        header[name] = tensor("U8", [size], end, end + size)
        note[name] = {"saved_offsets": [offset]}
        end += size
    header["__metadata__"] = {"format": "pt", "DCP_SHARDING_INFO": json.dumps(note)}
    return file(header, end)


def shards(directory, *ranks):
    names = (f"shard-{rank:05}-model-00001-of-00001.safetensors" for rank in range(1, len(ranks) + 1))
    return write(directory, {name: pieces(*placed) for name, placed in zip(names, ranks, strict=True)})


def test_a_size_that_is_nowhere_stored_is_inferred_and_said_to_be(tmp_path):
    report = check_checkpoint(shards(tmp_path, [("w", 0, 4)]))
    assert (report.verdict, found(report)) == ("whole", [("SP618", None, None)])
    assert "global shapes" in {entry.what for entry in report.not_judged}
    wanted = check_checkpoint(tmp_path, expect={"w": (8,)})
    assert found(wanted)[0] == ("SP512", "w", None)


def test_a_size_that_a_whole_copy_declares_shows_what_is_missing_at_the_end(tmp_path):
    shards(tmp_path / "sharded", [("w", 0, 4)])
    write(tmp_path, {"model-00001-of-00001.safetensors": file({"w": tensor("U8", [8], 0, 8)}, 8)})
    report = check_checkpoint(tmp_path)
    assert report.verdict == "broken"
    gap, hint = report.findings
    assert (gap.code, gap.part, gap.fqn, gap.box) == ("SP301", "sharded", "w", ((4,), (4,)))
    assert (hint.code, hint.values["factor"]) == ("SP310", 2)


def test_an_export_that_kept_one_slice_is_compared_with_its_source(tmp_path):
    shards(tmp_path / "sharded", [("w", 0, 4)], [("w", 4, 4)])
    write(tmp_path, {"model-00001-of-00001.safetensors": file({"w": tensor("U8", [4], 0, 4)}, 4)})
    assert found(check_checkpoint(tmp_path))[0] == ("SP501", "w", None)


def test_pieces_that_tile_are_whole_together_and_a_copy_is_a_duplicate(tmp_path):
    report = check_checkpoint(shards(tmp_path, [("w", 0, 4)], [("w", 4, 4)]))
    assert report.verdict == "whole"
    report = check_checkpoint(shards(tmp_path, [("w", 0, 4)], [("w", 4, 4)], [("w", 4, 4)]))
    assert [finding.code for finding in report.findings] == ["SP304", "SP618"]


def test_four_pieces_read_as_two_are_half_a_tensor(tmp_path):
    report = check_checkpoint(shards(tmp_path, [("w", 0, 2)], [("w", 2, 2)]), expect={"w": (8,)})
    assert (report.verdict, report.findings[0].code) == ("broken", "SP512")


def test_bare_files_of_processes_have_nothing_to_prove(tmp_path):
    report = check_checkpoint(write(tmp_path, {f"model_rank_{rank}.bin": b"x" for rank in range(4)}))
    assert (report.verdict, found(report)) == ("not proved", [("SP701", None, None)])
    assert report.findings[0].sentence == (
        "no shard metadata, nothing to prove: 4 files (model_rank_0.bin, model_rank_1.bin, model_rank_2.bin, ...)"
    )
    with pytest.raises(errors.UnsupportedFormat, match="nothing to prove"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("content", [{}, {"notes.txt": b"hello"}, {"a/b/c/d": b"x"}])
def test_what_is_no_checkpoint_is_never_whole(tmp_path, content):
    report = check_checkpoint(write(tmp_path, content))
    assert report.verdict == "not proved"
    assert report.not_judged[0].what == "everything"
    with pytest.raises(errors.UnsupportedFormat):
        open_checkpoint(tmp_path)


def test_what_is_not_there_is_an_error_of_the_call(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing is there"):
        check_checkpoint(tmp_path / "no")
    with pytest.raises(FileNotFoundError, match="nothing is there"):
        open_checkpoint(tmp_path / "no")


def test_a_directory_with_several_checkpoints_has_a_part_for_each(tmp_path):
    write(tmp_path, {"vae/model.safetensors": file(ONE, 8), "unet/model.safetensors": file(ONE, 4), "x.json": b"{}"})
    report = check_checkpoint(tmp_path)
    assert report.formats == {"unet": "safetensors", "vae": "safetensors"}
    assert [(f.code, f.part, f.fqn, f.file) for f in report.findings] == [
        ("SP408", "unet", "w", "unet/model.safetensors")
    ]
    checkpoint = open_checkpoint(tmp_path)
    assert set(checkpoint.parts) == {"unet", "vae"}
    with pytest.raises(errors.InvalidInput, match="2 parts"):
        _ = checkpoint.tensors


def test_an_index_and_its_files_are_held_against_each_other(tmp_path):
    index = {"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors", "c": "s3.safetensors"}}
    files = {f"s{n}.safetensors": file({name: tensor("U8", [1], 0, 1)}, 1) for n, name in ((1, "a"), (3, "c"))}
    report = check_checkpoint(write(tmp_path, {**files, "model.safetensors.index.json": index}))
    assert found(report) == [("SP403", "b", "s2.safetensors")]


def test_expected_names_are_compared_both_ways_with_the_nearest_name(tmp_path):
    header = {f"dl.rank_{n}": tensor("U8", [1], n, n + 1) for n in range(4)}
    write(tmp_path, {"model.safetensors": file(header, 4)})
    fewer = check_checkpoint(tmp_path, expect=[f"dl.rank_{n}" for n in range(2)])
    assert found(fewer) == [("SP511", "dl.rank_2", None), ("SP511", "dl.rank_3", None)]
    more = check_checkpoint(tmp_path, expect=[f"dl.rank_{n}" for n in range(8)])
    assert found(more) == [("SP510", f"dl.rank_{n}", None) for n in range(4, 8)]
    other = check_checkpoint(tmp_path, expect=open_checkpoint(tmp_path))
    assert other.verdict == "whole"
    assert not other.findings
    retyped = check_checkpoint(tmp_path, expect=samples.OWN / "hf_safetensors" / "llama_single_file")
    assert {finding.code for finding in retyped.findings} == {"SP510", "SP511"}


def test_a_name_that_is_missing_and_one_that_is_new_hint_at_each_other(tmp_path):
    write(tmp_path, {"model.safetensors": file({"optim.state.w": tensor("U8", [1], 0, 1)}, 1)})
    report = check_checkpoint(tmp_path, expect=["optim.state.w.step"])
    assert [(finding.code, finding.fqn, finding.sentence.partition("; ")[2]) for finding in report.findings] == [
        ("SP510", "optim.state.w.step", "the nearest name is optim.state.w"),
        ("SP511", "optim.state.w", "the nearest name is optim.state.w.step"),
    ]


def test_names_in_a_file_are_expected_by_the_command(tmp_path, capsys):
    checkpoint = write(tmp_path / "saved", {"model.safetensors": file({"a": tensor("U8", [1], 0, 1)}, 1)})
    keys = tmp_path / "keys.txt"
    for names, status, missing in (("a\n", 0, []), ("a\nb\n", 1, ["b"])):
        keys.write_text(names)
        assert run(["check", str(checkpoint), "--expect", str(keys), "--format", "json"]) == status
        (report,) = json.loads(capsys.readouterr().out)["reports"]
        assert [finding["fqn"] for finding in report["findings"]] == missing


def test_an_export_without_a_tensor_of_its_source_misses_it_and_shows_both_shapes(tmp_path):
    source = {"w": tensor("U8", [8, 2], 0, 16), "n": tensor("U8", [1], 16, 17)}
    write(tmp_path / "source", {"model.safetensors": file(source, 17)})
    write(tmp_path / "export", {"model.safetensors": file({"w": tensor("U8", [4, 2], 0, 8)}, 8)})
    report = check_checkpoint(tmp_path / "export", expect=tmp_path / "source")
    told = {finding.fqn: (finding.code, finding.sentence) for finding in report.findings}
    assert told.keys() == {"n", "w"}
    assert told["n"][0] == "SP510"
    assert told["w"][0] == "SP512"
    assert "[4, 2]" in told["w"][1]
    assert "[8, 2]" in told["w"][1]


def test_incomplete_and_broken_have_statuses_of_their_own(tmp_path, capsys):
    unfinished = write(tmp_path / "unfinished", {"__0_0.distcp": b"x", "__1_0.distcp": b"x"})
    broken = write(tmp_path / "broken", {"model.safetensors": file(ONE, 7)})
    assert (run(["check", str(unfinished)]), run(["check", str(broken)])) == (2, 1)
    assert "1 byte is missing" in capsys.readouterr().out


def test_findings_are_counted_in_full_and_listed_up_to_a_limit(tmp_path):
    header = {f"t{n}": tensor("F32", [9], 4 * n, 4 * n + 4) for n in range(64)}
    report = check_checkpoint(write(tmp_path, {"model.safetensors": file(header, 256)}), max_findings=3)
    assert (len(report.findings), report.findings.total, report.findings.counts) == (3, 64, {"SP418": 64})
    assert check_checkpoint(tmp_path, max_findings=0).verdict == "broken"


def test_a_single_file_is_checked_alone(tmp_path):
    write(tmp_path, {"a.safetensors": file(ONE, 8), "b.safetensors": file(ONE, 4)})
    assert check_checkpoint(tmp_path / "a.safetensors").verdict == "whole"
    assert check_checkpoint(tmp_path / "b.safetensors").verdict == "broken"


def test_links_to_files_are_followed_and_links_to_directories_are_not(tmp_path):
    blobs = write(tmp_path / "blobs", {"0a": file(ONE, 8)})
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    (snapshot / "model.safetensors").symlink_to(blobs / "0a")
    (snapshot / "gone").symlink_to(tmp_path / "nowhere")
    (snapshot / "all").symlink_to("/")
    (snapshot / "self").symlink_to(snapshot)
    report = check_checkpoint(snapshot)
    assert (report.verdict, report.files) == ("whole", 1)


@pytest.mark.skipif(sys.platform == "win32", reason="names are text there")
def test_names_that_are_not_utf8_do_no_harm(tmp_path):
    write(tmp_path, {"model.safetensors": file(ONE, 8)})
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.bin")).write_bytes(b"")
    report = check_checkpoint(tmp_path)
    assert (report.verdict, report.files) == ("whole", 2)


def test_pipes_and_other_things_that_are_no_files_are_not_opened(tmp_path):
    write(tmp_path, {"model.safetensors": file(ONE, 8)})
    os.mkfifo(tmp_path / "pipe.safetensors")
    assert check_checkpoint(tmp_path).verdict == "whole"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_finding(tmp_path):
    write(tmp_path, {"model.safetensors": file(ONE, 8)})
    (tmp_path / "model.safetensors").chmod(0)
    report = check_checkpoint(tmp_path)
    assert (report.verdict, report.findings[0].code) == ("not proved", "SP619")


def test_only_listed_files_can_be_read(tmp_path):
    files = open_files(write(tmp_path, {"d/a": b"abcdef"}))
    assert files.read("d/a", 2, 3) == b"cde"
    assert files.below("d").read("a", 4, 100) == b"ef"
    for path in ("../a", "/etc/hostname", "a", "d/../d/a"):
        with pytest.raises(KeyError):
            files.read(path)


def test_urls_are_read_through_fsspec_range_by_range():
    fsspec = pytest.importorskip("fsspec", reason="an extra")
    memory = fsspec.filesystem("memory")
    memory.pipe("/run/step/model.safetensors", file(ONE, 8))
    memory.pipe("/run/broken/model.safetensors", file(ONE, 4))
    try:
        assert check_checkpoint("memory://run/step").verdict == "whole"
        assert check_checkpoint("memory://run/step/model.safetensors").verdict == "whole"
        assert found(check_checkpoint("memory://run/broken")) == [("SP408", "w", "model.safetensors")]
        assert list(open_checkpoint("memory://run/step").tensors) == ["w"]
        with pytest.raises(FileNotFoundError):
            check_checkpoint("memory://run/nothing")
    finally:
        memory.rm("/run", recursive=True)


def test_an_open_checkpoint_can_be_checked_and_shows_itself(tmp_path):
    checkpoint = open_checkpoint(write(tmp_path, {"model.safetensors": file(ONE, 8)}))
    report = check_checkpoint(checkpoint)
    assert report.ok
    assert str(report).splitlines()[0] == f"{tmp_path}: whole; not judged: payloads"
    chunks = checkpoint.tensors["w"].chunks
    assert (chunks.global_shape, len(chunks)) == ((2,), 1)
    assert repr(checkpoint.tensors["w"]) == "<Tensor 'w' float32 [2] in 1 chunks>"


def test_a_stray_zarr_chunk_is_a_warning_and_the_array_is_whole():
    report = check_checkpoint(samples.OWN / "zarr3" / "chunk_key_outside_grid")
    assert (report.verdict, [str(finding.severity) for finding in report.findings]) == ("whole", ["warning"])
