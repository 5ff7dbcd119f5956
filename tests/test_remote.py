"""Checkpoints behind a URL: the report of a local one, and no byte read that it does not need."""

import posixpath
from collections import Counter

import pytest
import samples
from attacks.safetensors import file, tensor
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.errors import ShardproofError

fsspec = pytest.importorskip("fsspec", reason="fsspec, which URLs are read through, is not installed")

OWN = samples.samples(samples.OWN)
METADATA = {".metadata", "metadata.json", "zarr.json", ".zarray", ".zgroup", "_METADATA", "_CHECKPOINT_METADATA"}


@pytest.fixture
def remote(monkeypatch):
    """A directory in memory, and the ranges that are read of its files, by path."""
    memory = fsspec.filesystem("memory")
    ranges = {}
    cat_file = memory.cat_file

    def recorded(path, start=None, end=None, **options):
        content = cat_file(path, start=start, end=end, **options)
        name = posixpath.relpath(path, "/remote")
        ranges.setdefault(name, []).append((start, start + len(content)))
        return content

    def put(files):
        for path, content in files.items():
            memory.pipe(f"/remote/{path}", content)
        return ranges

    monkeypatch.setattr(type(memory), "cat_file", staticmethod(recorded))
    yield put
    if memory.exists("/remote"):
        memory.rm("/remote", recursive=True)


def contents(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def told(path, *, deep):
    report = check_checkpoint(path, deep=deep, max_findings=1000)
    findings = sorted(map(repr, report.findings))
    return report.verdict, findings, report.not_judged, report.tensors, report.chunks, report.files, report.total_bytes


@pytest.mark.parametrize("deep", [False, True], ids=["shallow", "deep"])
@pytest.mark.parametrize("sample", OWN, ids=lambda sample: sample.name)
def test_a_remote_sample_gets_the_report_of_the_local_one(sample, deep, remote):
    files = contents(sample.directory)
    ranges = remote(files)
    assert told("memory://remote", deep=deep) == told(sample.directory, deep=deep)
    for path, spans in ranges.items():
        assert all(0 <= start <= stop <= len(files[path]) for start, stop in spans), path
    if sample.row["format"] in {"torch_dcp", "megatron", "tensorplay_dcp"} and not deep:
        assert {posixpath.basename(path).removeprefix("__0").removeprefix("__1") for path in ranges} <= METADATA


@pytest.mark.parametrize(
    "sample", [sample for sample in OWN if sample.row["kind"] == "healthy"], ids=lambda sample: sample.name
)
def test_a_shallow_look_reads_no_byte_twice(sample, remote):
    ranges = remote(contents(sample.directory))
    assert check_checkpoint("memory://remote").verdict == "whole"
    assert ranges
    for path, spans in ranges.items():
        counts = Counter(byte for start, stop in spans for byte in range(start, stop))
        assert not counts or max(counts.values()) == 1, path


def test_of_large_files_only_headers_are_read(remote):
    tensors = {f"t{number}": tensor("F32", [1 << 16], number << 18, (number + 1) << 18) for number in range(40)}
    large = file(tensors, 40 << 18)
    ranges = remote({"model.safetensors": large})
    report = check_checkpoint("memory://remote", deep=True)
    assert (report.verdict, report.tensors, report.total_bytes) == ("whole", 40, len(large))
    assert ranges == {"model.safetensors": [(0, 1 << 16)]}
    assert len(large) > 100 << 16


def test_a_header_longer_than_the_first_look_is_read_to_its_end_and_no_further(remote):
    names = {f"{number:05}{'x' * 100}": tensor("U8", [1], number, number + 1) for number in range(1000)}
    content = file(names, 1000)
    ranges = remote({"model.safetensors": content})
    assert check_checkpoint("memory://remote/model.safetensors").verdict == "whole"
    assert ranges == {"model.safetensors": [(0, 1 << 16), (1 << 16, len(content) - 1000)]}


def test_of_archives_a_deep_look_reads_each_byte_once_at_most(remote):
    (sample,) = (sample for sample in OWN if sample.name == "torch_dcp/w2_dtensor_replicate_t214")
    files = contents(sample.directory)
    ranges = remote(files)
    assert check_checkpoint("memory://remote", deep=True).verdict == "whole"
    read = {path: sum(stop - start for start, stop in spans) for path, spans in ranges.items()}
    assert set(read) == set(files)
    assert all(total <= len(files[path]) for path, total in read.items()), read


def test_what_a_url_cannot_give_is_reported_or_raised_as_a_local_file_is(remote, tmp_path):
    for location in ("memory://remote", tmp_path / "nothing"):
        with pytest.raises(FileNotFoundError, match="nothing is there"):
            check_checkpoint(location)
    remote({".metadata": b"\x80\x05."})
    (tmp_path / ".metadata").write_bytes(b"\x80\x05.")
    for location in ("memory://remote", tmp_path):
        assert set(check_checkpoint(location).findings.counts) == {"SP603"}
        with pytest.raises(ShardproofError, match="byte"):
            open_checkpoint(location)
