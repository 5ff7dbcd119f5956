"""Reading and checking checkpoints, against torch and the reference library of safetensors.

The checkpoints are written by torch, in a process of its own, so nothing is compared where there is none.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from jobs import Job

WRITER = """
import pickle, sys, torch
from pathlib import Path
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import *
tensors, rows, out = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
state, storage, ends = {}, {}, [0] * 8
for number in range(tensors):
    fqn, chunks = f"model.layers.{number}.mlp.weight", []
    for row in range(rows):
        offsets, file = torch.Size((4 * row, 0)), row % 8
        chunks.append(ChunkStorageMetadata(offsets, torch.Size((4, 16))))
        storage[MetadataIndex(fqn, offsets, row)] = _StorageInfo(f"__{file}_0.distcp", ends[file], 1500)
        ends[file] += 1500
    properties = TensorProperties(dtype=torch.float32)
    state[fqn] = TensorStorageMetadata(properties, torch.Size((4 * rows, 16)), chunks)
with open(out / ".metadata", "wb") as file:
    pickle.dump(Metadata(state, storage_data=storage), file)
for number, end in enumerate(ends):
    with open(out / f"__{number}_0.distcp", "wb") as file:
        file.truncate(end)
"""

COLD = """
import sys
from torch.distributed.checkpoint import FileSystemReader
FileSystemReader(sys.argv[1]).read_metadata()
"""


@cache
def written(tensors, rows):
    """A checkpoint of so many tensors, each cut into rows; made once, for all processes."""
    home = Path(tempfile.gettempdir()) / f"shardproof-bench-{os.getuid()}"
    directory = home / f"{tensors}-{rows}"
    if not directory.exists():
        directory.mkdir(parents=True)
        python = os.environ["SHARDPROOF_TORCH_PYTHON"]
        subprocess.run([python, "-c", WRITER, str(tensors), str(rows), str(directory)], check=True)
    return str(directory)


def columns(path):
    from shardproof import open_checkpoint

    def read():
        for tensor in open_checkpoint(path).tensors.values():
            assert len(tensor.boxes[0]) == len(tensor.records[0])

    return read


def unpickle(path):
    import pickle

    import torch.distributed.checkpoint  # noqa: F401 -- what the pickle names

    def read():
        with (Path(path) / ".metadata").open("rb") as file:
            return pickle.load(file)

    return read


def checked(path):
    command = [sys.executable, "-m", "shardproof", "check", "-q", path]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def loaded(path):
    return lambda: subprocess.run([sys.executable, "-c", COLD, path], check=True)


def header(tensors):
    """A safetensors file of empty tensors: nothing but a header."""
    path = Path(tempfile.gettempdir()) / f"shardproof-bench-{os.getuid()}-{tensors}.safetensors"
    entry = {"dtype": "F32", "shape": [1, 1], "data_offsets": None}
    names = {
        f"model.layers.{number}.mlp.weight": {**entry, "data_offsets": [4 * number, 4 * number + 4]}
        for number in range(tensors)
    }
    text = json.dumps(names).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4 * tensors))
    return str(path)


def opened(path):
    from shardproof import open_checkpoint

    return lambda: open_checkpoint(path)


def safe_open(path):
    from safetensors import safe_open

    def read():
        with safe_open(path, "np") as file:
            return file.keys()

    return read


JOBS = [
    Job(
        "`.metadata` of 100,000 chunks to columns",
        "`open_checkpoint(dir)`, all columns",
        100_000,
        lambda: columns(written(100, 1000)),
        {"torch": lambda: unpickle(written(100, 1000))},
        {"torch": 3},
    ),
    Job(
        "small directory, cold",
        "`shardproof check dir`",
        1,
        lambda: checked(written(4, 4)),
        {"torch": lambda: loaded(written(4, 4))},
        {"torch": 10},
    ),
    Job(
        "1e6 chunks in 1,000 tensors, cold, storage included",
        "`shardproof check dir`",
        1,
        lambda: checked(written(1000, 1000)),
        {"torch": lambda: loaded(written(1000, 1000))},
        {"torch": 8},
    ),
    Job(
        "safetensors header of 100,000 tensors",
        "`open_checkpoint(file)`",
        100_000,
        lambda: opened(header(100_000)),
        {"safe_open": lambda: safe_open(header(100_000))},
        {"safe_open": 3},
    ),
]
