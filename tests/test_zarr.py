"""Arrays that zarr-python writes, read without it."""

import itertools
import random

import pytest
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.findings import Severity

np = pytest.importorskip("numpy")
zarr = pytest.importorskip("zarr", reason="zarr-python, the oracle for zarr, is not installed")

SHAPES = [
    # shape, chunks, shards
    ((), (), None),
    ((7,), (3,), None),
    ((7, 10), (3, 4), None),
    ((0, 4), (1, 4), None),
    ((9, 8), (2, 2), (4, 4)),
    ((5, 4, 3), (1, 2, 3), (2, 2, 3)),
]
COMPRESSORS = {
    "raw": None,
    "zstd": zarr.codecs.ZstdCodec(level=1, checksum=True),
    "blosc": zarr.codecs.BloscCodec(),
    "gzip": zarr.codecs.GzipCodec(),
}


def create(directory, shape, chunks, shards, **settings):
    options = {"shape": shape, "chunks": chunks, "dtype": "float32", "fill_value": 0.0, **settings}
    if shards is not None:
        options["shards"] = shards
    return zarr.create_array(str(directory), **options)


def faults(report):
    return [finding for finding in report.findings if finding.severity < Severity.NOTE]


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize(("shape", "chunks", "shards"), SHAPES)
def test_a_full_array_is_whole_and_every_file_of_it_is_a_chunk(tmp_path, shape, chunks, shards, compressor):
    array = create(tmp_path, shape, chunks, shards, compressors=COMPRESSORS[compressor])
    array[...] = np.random.default_rng(0).random(shape, dtype=np.float32) + 1
    report = check_checkpoint(tmp_path, deep=True)
    assert report.verdict == "whole"
    assert not report.findings.counts
    (tensor,) = open_checkpoint(tmp_path).tensors.values()
    assert (tensor.global_shape, tensor.dtype) == (shape, "float32")
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(tensor.storage.paths) == files - {"zarr.json"}
    covered = np.zeros(shape, dtype=int)
    for offsets, sizes in zip(*(column.tolist() for column in tensor.boxes), strict=True):
        covered[tuple(slice(at, at + size) for at, size in zip(offsets, sizes, strict=True))] += 1
    assert (covered == 1).all()


@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("name", ["bool", "int8", "uint16", ">i4", "float16", "<f8", "complex64"])
def test_version_2_is_read_whatever_its_type_and_separator(tmp_path, name, separator):
    encoding = {"name": "v2", "separator": separator}
    array = zarr.create_array(
        str(tmp_path),
        shape=(5, 7),
        chunks=(2, 3),
        dtype=name,
        zarr_format=2,
        chunk_key_encoding=encoding,
        compressors=None,
    )
    array[...] = np.ones((5, 7), dtype=name)
    assert check_checkpoint(tmp_path, deep=True).verdict == "whole"
    (tensor,) = open_checkpoint(tmp_path).tensors.values()
    assert (tensor.dtype, tensor.chunk_count) == (np.dtype(name).name, 9)


@pytest.mark.parametrize("shards", [None, (4, 4)])
def test_chunks_that_were_never_written_are_notes_about_exactly_their_elements(tmp_path, shards):
    chance = random.Random(0)
    tried = 0
    for attempt in range(20):
        directory = tmp_path / str(attempt)
        array = create(directory, (8, 8), (2, 2), shards)
        written = chance.sample(list(itertools.product(range(4), range(4))), chance.randrange(16))
        for row, column in written:
            array[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = 1
        report = check_checkpoint(directory)
        assert report.verdict == "whole"
        absent = sum(finding.values["elements"] for finding in report.findings if finding.code == "SP423")
        assert absent == 64 - 4 * len(written)
        assert not faults(report)
        tried += 1
    assert tried == 20


def test_no_damage_of_a_shard_index_or_of_metadata_goes_unseen_or_raises(tmp_path):
    array = create(tmp_path, (9, 8), (2, 2), (4, 4), compressors=COMPRESSORS["zstd"])
    array[...] = 1.5
    chance = random.Random(2)
    tried = 0
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        sound = path.read_bytes()
        for _ in range(25):
            damaged = bytearray(sound)
            index = path.name != "zarr.json"
            at = chance.randrange(len(sound) - 68, len(sound)) if index else chance.randrange(len(sound))
            damaged[at] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            report = check_checkpoint(tmp_path, deep=True)
            if index:
                assert report.findings.counts == {"SP420": 1}
            for finding in report.findings:
                assert finding.sentence
            tried += 1
        path.write_bytes(sound)
    assert tried >= 150
    assert not check_checkpoint(tmp_path, deep=True).findings.counts


def test_a_truncated_or_foreign_chunk_is_seen_by_its_first_bytes(tmp_path):
    array = create(tmp_path, (4, 4), (2, 2), None, compressors=COMPRESSORS["zstd"])
    array[...] = 1.5
    other = create(tmp_path / "other", (3, 3), (3, 3), None, compressors=COMPRESSORS["zstd"])
    other[...] = 1.5
    (tmp_path / "c/0/1").write_bytes((tmp_path / "other/c/0/0").read_bytes())
    (tmp_path / "c/1/0").write_bytes(b"no frame")
    assert not faults(check_checkpoint(tmp_path))
    findings = check_checkpoint(tmp_path, deep=True).findings
    assert [(finding.code, finding.positions.first) for finding in findings] == [("SP415", (1,)), ("SP415", (2,))]


def test_groups_of_any_depth_name_their_arrays_by_path(tmp_path):
    root = zarr.open_group(str(tmp_path), mode="w")
    for name in ("w", "enc/w", "enc/deep/b"):
        root.create_array(name, shape=(4,), chunks=(2,), dtype="int64")[...] = 1
    assert set(open_checkpoint(tmp_path).tensors) == {"w", "enc/w", "enc/deep/b"}
    assert check_checkpoint(tmp_path).verdict == "whole"
