"""Databases that tensorstore writes, read without it."""

import json
import random

import pytest
from shardproof.checkpoint import check_checkpoint, open_checkpoint

ts = pytest.importorskip("tensorstore", reason="tensorstore, the oracle for OCDBT, is not installed")

ZARRAY = {
    "zarr_format": 2,
    "shape": [40, 50],
    "chunks": [1, 1],
    "dtype": "<f4",
    "compressor": {"id": "zstd", "level": 1},
    "fill_value": 0,
    "filters": None,
    "order": "C",
    "dimension_separator": ".",
}


def database(directory, **config):
    return ts.KvStore.open({"driver": "ocdbt", "base": f"file://{directory}/", "config": config}).result()


def dump(directory):
    return ts.ocdbt.dump(ts.KvStore.open(f"file://{directory}/").result()).result()


def write(store, values):
    with ts.Transaction(atomic=False) as transaction:
        for key, value in values.items():
            store.with_transaction(transaction).write(key, value).result()


def arrays(names, seed=0):
    """Metadata of arrays and one value of a random length for each of their chunks."""
    lengths = random.Random(seed)
    values = {}
    for name in names:
        values[f"{name}/.zarray"] = json.dumps(ZARRAY).encode()
        for row in range(40):
            for column in range(50):
                values[f"{name}/{row}.{column}"] = lengths.randbytes(lengths.randrange(1, 60))
    return values


def stored(directory):
    """Every chunk that is read from a database: its key, and its bytes where they are out of line."""
    seen = {}
    for name, tensor in open_checkpoint(directory).tensors.items():
        storage = tensor.storage
        places = zip(storage.paths, storage.byte_offsets.tolist(), storage.byte_lengths.tolist(), strict=True)
        for (row, column), place in zip(tensor.boxes[0].tolist(), places, strict=True):
            seen[f"{name}/{row}.{column}"] = place
    return seen


def agrees(directory, store):
    keys = {key.decode() for key in store.list().result()}
    seen = stored(directory)
    assert set(seen) == {key for key in keys if not key.endswith(".zarray")}
    compared = 0
    for key, (path, start, length) in seen.items():
        value = store.read(key).result().value
        assert length == len(value)
        if length > 16:
            assert (directory / path).read_bytes()[start : start + length] == value
            compared += 1
    return compared


@pytest.mark.parametrize("compression", [None, {"id": "zstd"}], ids=["plain", "zstd"])
@pytest.mark.parametrize(("node_bytes", "least_height"), [(300, 4), (2_000, 2), (8_000_000, 0)])
def test_trees_of_any_height_are_read_as_tensorstore_reads_them(tmp_path, node_bytes, least_height, compression):
    store = database(tmp_path, max_decoded_node_bytes=node_bytes, max_inline_value_bytes=16, compression=compression)
    write(store, arrays(["a", "a.b"]))
    height = dump(tmp_path)["versions"][-1]["root_height"]
    assert height >= least_height
    assert agrees(tmp_path, store) > 2_000
    assert check_checkpoint(tmp_path).verdict == "whole"


def test_only_the_newest_version_counts(tmp_path):
    store = database(tmp_path, version_tree_arity_log2=1, max_inline_value_bytes=16)
    write(store, arrays(["a"]))
    for row in range(40):
        store.write(f"a/{row}.0", b"x" * 20).result()
    store.delete_range(ts.KvStore.KeyRange("a/3", "a/4")).result()
    assert len(dump(tmp_path)["version_tree_nodes"]) >= 2
    assert agrees(tmp_path, store) > 1_000
    assert check_checkpoint(tmp_path, deep=True).findings.counts.get("SP422") is None


def test_older_versions_are_looked_at_only_in_depth(tmp_path):
    store = database(tmp_path, version_tree_arity_log2=1)
    for number in range(20):
        store.write(f"key {number}", b"value").result()
    _, path, start, length = dump(tmp_path)["version_tree_nodes"][0]["location"].replace("::", ":").split(":")
    file = tmp_path / path
    content = bytearray(file.read_bytes())
    content[int(start) + int(length) // 2] ^= 1
    file.write_bytes(content)
    assert not check_checkpoint(tmp_path).findings.counts
    findings = check_checkpoint(tmp_path, deep=True).findings
    assert [(finding.code, finding.file) for finding in findings] == [("SP422", path)]


def test_numbered_manifests_are_followed_to_the_newest(tmp_path):
    store = database(tmp_path, manifest_kind="numbered", max_inline_value_bytes=16)
    write(store, arrays(["a"]))
    store.delete_range(ts.KvStore.KeyRange("a/1", "a/2")).result()
    assert agrees(tmp_path, store) > 500


def test_a_database_without_keys_is_read(tmp_path):
    store = database(tmp_path)
    store.write("a", b"1").result()
    store.delete_range(ts.KvStore.KeyRange()).result()
    report = check_checkpoint(tmp_path, deep=True)
    assert not report.findings.counts


def test_no_damage_goes_unseen_or_raises(tmp_path):
    store = database(tmp_path, max_decoded_node_bytes=500, max_inline_value_bytes=1_000)
    write(store, arrays(["a"]))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    chance = random.Random(1)
    tried = 0
    for _ in range(60):
        path = chance.choice(files)
        sound = path.read_bytes()
        damaged = bytearray(sound)
        if chance.random() < 0.5:
            damaged[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        else:
            del damaged[chance.randrange(len(sound)) :]
        path.write_bytes(damaged)
        report = check_checkpoint(tmp_path, deep=True)
        # Every byte of these files belongs to a manifest or a node, and some nodes to older versions of the tree.
        if path.name == "manifest.ocdbt":
            assert report.findings.counts.keys() & {"SP421", "SP617"}
        if report.findings.counts.get("SP422"):
            assert report.verdict != "whole"
        path.write_bytes(sound)
        tried += 1
    assert tried == 60
    assert check_checkpoint(tmp_path).verdict == "whole"
