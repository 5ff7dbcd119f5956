"""Hostile and faulty zarr directories, one for each way to be wrong, with the codes that name it."""

from __future__ import annotations

import copy
import json
from typing import Any

Files = dict[str, bytes]

ARRAY: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 4],
    "data_type": "float32",
    "fill_value": 0.0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
    "chunk_key_encoding": {"name": "default"},
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}
OLD: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [4, 4],
    "chunks": [2, 2],
    "dtype": "<f4",
    "compressor": None,
    "filters": None,
    "fill_value": 0,
    "order": "C",
}
ABSENT = object()
CHUNK = bytes(16)


def crc32c(content: bytes) -> int:
    """Compute the checksum of shard indexes and databases bit by bit, as slowly as one can."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def checked(content: bytes) -> bytes:
    return content + crc32c(content).to_bytes(4, "little")


def edited(metadata: dict[str, Any], changes: dict[str, Any]) -> bytes:
    """Change fields, named by their path with dots, and leave out those that are to be absent."""
    metadata = copy.deepcopy(metadata)
    for path, value in changes.items():
        *parents, name = path.split(".")
        within = metadata
        for parent in parents:
            within = within[parent]
        if value is ABSENT:
            del within[name]
        else:
            within[name] = value
    return json.dumps(metadata).encode()


def chunks(name: str = "c/{}/{}", content: bytes = CHUNK) -> Files:
    return {name.format(row, column): content for row in range(2) for column in range(2)}


def v3(changes: dict[str, Any] | None = None, more: Files | None = None) -> Files:
    return {"zarr.json": edited(ARRAY, changes or {}), **chunks(), **(more or {})}


def v2(changes: dict[str, Any] | None = None, more: Files | None = None) -> Files:
    return {".zarray": edited(OLD, changes or {}), **chunks("{}.{}"), **(more or {})}


def sharding(**changes: Any) -> dict[str, Any]:
    configuration = {
        "chunk_shape": [1, 2],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        **changes,
    }
    return {"codecs": [{"name": "sharding_indexed", "configuration": configuration}]}


def shard(*slots: tuple[int, int], payload: bytes = CHUNK, damage: int = 0) -> bytes:
    """Build a shard: what it stores, and where its index says that each inner chunk is."""
    index = checked(b"".join(number.to_bytes(8, "little") for slot in slots for number in slot))
    return payload + index[:-1] + bytes([index[-1] ^ damage])


EMPTY = (2**64 - 1, 2**64 - 1)
WHOLE = shard((0, 8), (8, 8))


def sharded(one: bytes, **changes: Any) -> Files:
    """Build an array of shards, of which one is as given."""
    files = {"zarr.json": edited(ARRAY, sharding(**changes)), **chunks(content=WHOLE)}
    return {**files, "c/0/1": one}


def codecs(*names: str) -> dict[str, Any]:
    return {"codecs": [{"name": name} for name in names]}


ZSTD = bytes.fromhex("28b52ffd2010810000") + bytes(16)
"""A frame that states 16 bytes and stores them as they are."""
BLOSC = bytes([2, 1, 2, 4]) + b"".join(number.to_bytes(4, "little") for number in (16, 16, 32)) + CHUNK

SOUND: dict[str, Files] = {
    "version_3": v3(),
    "version_2": v2(),
    "sharded": sharded(WHOLE),
    "zstd": {**v3(codecs("bytes", "zstd")), **chunks(content=ZSTD)},
    "blosc": {**v3(codecs("bytes", "blosc")), **chunks(content=BLOSC)},
    "crc32c": {**v3(codecs("bytes", "crc32c")), **chunks(content=checked(CHUNK))},
}
"""What the attacks are made from: nothing is wrong with it."""

FIELDS = ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs"]

ATTACKS: dict[str, tuple[Files, set[str]]] = {
    **{f"no_{field}": (v3({field: ABSENT}), {"SP616"}) for field in FIELDS},
    **{f"no_{field}_2": (v2({field: ABSENT}), {"SP616"}) for field in ("zarr_format", "shape", "chunks", "dtype")},
    "empty_metadata": (v3(more={"zarr.json": b""}), {"SP616"}),
    "not_json": (v3(more={"zarr.json": b"{'zarr_format': 3}"}), {"SP616"}),
    "not_an_object": (v3(more={"zarr.json": b"[]"}), {"SP616"}),
    "not_utf8": (v3(more={"zarr.json": b'{"\xff": 1}'}), {"SP616"}),
    "field_twice": (v3(more={"zarr.json": edited(ARRAY, {}).replace(b'"fill_value"', b'"shape"')}), {"SP616"}),
    "nested_100000_deep": (v3(more={"zarr.json": b'{"attributes":' + b"[" * 100_000}), {"SP616"}),
    "node_type_unknown": (v3({"node_type": "file"}), {"SP616"}),
    "zarr_format_unknown": (v3({"zarr_format": 4}), {"SP617"}),
    "zarr_format_of_another_name": (v3({"zarr_format": 2}), {"SP617"}),
    "storage_transformers": (v3({"storage_transformers": [{"name": "x"}]}), {"SP617"}),
    "grid_unknown": (v3({"chunk_grid.name": "rectangular"}), {"SP617"}),
    "grid_without_configuration": (v3({"chunk_grid": "regular"}), {"SP616"}),
    "keys_unknown": (v3({"chunk_key_encoding": "spiral"}), {"SP617"}),
    "separator_unknown": (
        v3({"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}}),
        {"SP616"},
    ),
    "separator_unknown_2": (v2({"dimension_separator": "-"}), {"SP616"}),
    "shape_negative": (v3({"shape": [-4, 4]}), {"SP616"}),
    "shape_beyond_64_bits": (v3({"shape": [2**63, 4]}), {"SP616"}),
    "shape_of_floats": (v3({"shape": [4.0, 4]}), {"SP616"}),
    "shape_of_booleans": (v3({"shape": [True, 4]}), {"SP616"}),
    "shape_a_number": (v3({"shape": 4}), {"SP616"}),
    "shape_of_another_rank": (v3({"shape": [4]}), {"SP616"}),
    "shape_of_65_dimensions": (
        v3({"shape": [1] * 65, "chunk_grid.configuration.chunk_shape": [1] * 65}),
        {"SP616"},
    ),
    "chunk_of_no_size": (v3({"chunk_grid.configuration.chunk_shape": [2, 0]}), {"SP616"}),
    "chunk_beyond_64_bits": (v3({"chunk_grid.configuration.chunk_shape": [2, 2**64]}), {"SP616"}),
    "compressor_without_id": (v2({"compressor": {"level": 1}}), {"SP616"}),
    "filters_an_object": (v2({"filters": {}}), {"SP616"}),
    "codecs_none": (v3({"codecs": []}), {"SP616"}),
    "codec_without_name": (v3({"codecs": [{"configuration": {}}]}), {"SP616"}),
    "inner_chunks_of_another_rank": (sharded(WHOLE, chunk_shape=[2]), {"SP616"}),
    "inner_chunks_that_do_not_divide": (sharded(WHOLE, chunk_shape=[2, 3]), {"SP616"}),
    "inner_chunks_of_no_size": (sharded(WHOLE, chunk_shape=[0, 2]), {"SP616"}),
    "index_location_unknown": (sharded(WHOLE, index_location="middle"), {"SP616"}),
    "index_codecs_unknown": (sharded(WHOLE, index_codecs=[{"name": "bytes"}, {"name": "zstd"}]), {"SP617"}),
    "index_big_endian": (
        sharded(WHOLE, index_codecs=[{"name": "bytes", "configuration": {"endian": "big"}}]),
        {"SP617"},
    ),
    "shard_without_configuration": (v3(codecs("sharding_indexed")), {"SP616"}),
    "shard_shorter_than_its_index": (sharded(b"x" * 30), {"SP420"}),
    "shard_index_damaged": (sharded(shard((0, 8), (8, 8), damage=1)), {"SP420"}),
    "inner_beyond_file": (sharded(shard((0, 8), (8, 800))), {"SP408"}),
    "inner_beyond_64_bits": (sharded(shard((0, 8), (2**64 - 4, 8))), {"SP408"}),
    "inner_in_the_index": (sharded(shard((0, 8), (16, 8))), {"SP408"}),
    "inner_overlap": (sharded(shard((0, 8), (4, 8))), {"SP411"}),
    "inner_same_bytes": (sharded(shard((0, 8), (0, 8))), {"SP411"}),
    "inner_short": (sharded(shard((0, 8), (8, 7))), {"SP413"}),
    "inner_of_no_bytes": (sharded(shard((0, 8), (8, 0))), {"SP413"}),
    "chunk_short": (v3(more={"c/1/1": bytes(15)}), {"SP413"}),
    "chunk_long": (v3(more={"c/1/1": bytes(17)}), {"SP413"}),
    "chunk_of_no_bytes": (v3(more={"c/1/1": b""}), {"SP404"}),
    "chunk_outside_the_grid": (v3(more={"c/2/0": CHUNK}), {"SP201"}),
    "chunk_far_outside_the_grid": (v3(more={f"c/{2**63 - 1}/0": CHUNK}), {"SP105"}),
    "chunk_of_another_rank": (v3(more={"c/7": CHUNK}), {"SP102"}),
    "chunks_of_nothing": (
        {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}', "a/c/0/0": CHUNK, "a/c/0/1": CHUNK},
        {"SP707"},
    ),
    "zstd_without_a_frame": (
        {**v3(codecs("bytes", "zstd")), **chunks(content=ZSTD), "c/0/0": b"no frame at all"},
        {"SP415"},
    ),
    "zstd_of_another_size": (
        {**v3(codecs("bytes", "zstd")), **chunks(content=ZSTD), "c/0/0": ZSTD.replace(b" \x10", b" \x11", 1)},
        {"SP415"},
    ),
    "blosc_too_short": ({**v3(codecs("bytes", "blosc")), **chunks(content=BLOSC), "c/0/0": BLOSC[:10]}, {"SP415"}),
    "blosc_cut": ({**v3(codecs("bytes", "blosc")), **chunks(content=BLOSC), "c/0/0": BLOSC[:-1]}, {"SP415"}),
    "crc32c_wrong": (
        {**v3(codecs("bytes", "crc32c")), **chunks(content=checked(CHUNK)), "c/0/0": bytes(20)},
        {"SP419"},
    ),
}
"""Name of the attack: the files, and the codes of all errors and warnings that they deserve when looked at deeply."""
