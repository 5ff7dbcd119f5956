"""Checkpoints of one file a process, each with at most one chunk of a tensor, as DCP writes safetensors."""

import json
import math

from attacks.safetensors import file, tensor

BITS = {"F32": 32, "BF16": 16, "U8": 8, "F64": 64}


def save(directory, *ranks):
    """Write a file for each process, given its chunks: names, offsets, sizes, and a dtype unless it is F32."""
    directory.mkdir(exist_ok=True)
    for rank, chunks in enumerate(ranks, 1):
        header, note, end = {}, {}, 0
        for fqn, offsets, sizes, *dtype in chunks:
            kind = dtype[0] if dtype else "F32"
            length = math.prod(sizes) * BITS[kind] // 8
            header[fqn] = tensor(kind, list(sizes), end, end + length)
            note[fqn] = {"saved_offsets": list(offsets)}
            end += length
        header["__metadata__"] = {"format": "pt", "DCP_SHARDING_INFO": json.dumps(note)}
        name = f"shard-{rank:05}-model-00001-of-00001.safetensors"
        (directory / name).write_bytes(file(header, end))
    return directory
