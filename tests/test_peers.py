"""The same layouts through torch's and TensorPlay's own protocol, each in a process of its own."""

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shardproof
from shardproof import LookupFailed, MetadataIndex, Sharded, ShardLayout, get_checkpointable_tensor_shard

PEER = Path(__file__).with_name("peer.py")
FRAMEWORKS = ["tensorplay", "torch"]


@pytest.fixture(scope="module", params=FRAMEWORKS)
def peer(request):
    """Ask a framework: lines in, lines out."""
    name = f"SHARDPROOF_{request.param.upper()}_PYTHON"
    python = os.environ.get(name)
    if not python:
        pytest.skip(f"{name} names no interpreter that has {request.param}")
    path = os.pathsep.join([str(Path(shardproof.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [python, str(PEER), request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )

    def ask(question):
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, f"{request.param} ended: {process.wait()}"
        return json.loads(line)

    yield ask
    process.stdin.close()
    process.wait()
    process.stdout.close()


def ours(question):
    array = np.arange(np.prod(question["local_shape"], dtype=int)).reshape(question["local_shape"])
    fields = [
        question[name] for name in ("global_shape", "global_offsets", "local_offsets", "local_sizes", "local_shape")
    ]
    layout = ShardLayout(*fields)
    if layout.findings():
        return {"valid": False}
    found = []
    for offset, hint in question["queries"]:
        try:
            view = get_checkpointable_tensor_shard(Sharded(array, layout), MetadataIndex("w", offset, hint))
            found.append([list(view.shape), view.reshape(-1).tolist()])
        except LookupFailed:
            found.append(None)
    return {
        "valid": True,
        "found": found,
        "chunks": [[list(chunk.offsets), list(chunk.sizes)] for chunk in layout.chunks],
    }


def question(local_shape, global_shape, global_offsets, local_offsets, local_sizes):
    """Ask about a layout, and for every offset of a small universe with every hint that a reference can take."""
    queries = [
        (offset, hint)
        for offset in [None, *itertools.product(range(3), repeat=len(global_shape))]
        for hint in (None, *range(len(global_offsets) + 1))
    ]
    return {
        "local_shape": local_shape,
        "global_shape": global_shape,
        "global_offsets": global_offsets,
        "local_offsets": local_offsets,
        "local_sizes": local_sizes,
        "queries": queries,
    }


def has_rivals(asked):
    """Whether an empty and a full shard share an offset: there the references take the first, on purpose we do not."""
    full = {tuple(o) for o, s in zip(asked["global_offsets"], asked["local_sizes"], strict=False) if 0 not in s}
    empty = {tuple(o) for o, s in zip(asked["global_offsets"], asked["local_sizes"], strict=False) if 0 in s}
    return bool(full & empty)


def random_questions(count):
    generator = random.Random(20_251)
    for _ in range(count):
        rank, shards = generator.randrange(4), generator.randrange(4)

        def row(low=0, rank=rank):
            return [generator.randrange(low, 3) for _ in range(rank)]

        low = generator.choice([0, 0, -1])
        yield question(
            [generator.randrange(5) for _ in range(rank)],
            [generator.randrange(5) for _ in range(rank)],
            [row(low) for _ in range(shards)],
            [row() for _ in range(shards)],
            [row(low) for _ in range(generator.choice([shards] * 9 + [shards + 1]))],
        )
    for ranks in itertools.product(range(3), repeat=4):
        yield question(*([2] * ranks[0], [2] * ranks[1], [[0] * ranks[2]], [[0] * ranks[3]], [[1] * ranks[2]]))
        yield question([2] * ranks[0], [2] * ranks[1], [], [], [])


def test_what_the_reference_accepts_refuses_and_finds_is_accepted_refused_and_found(peer):
    seen = {True: 0, False: 0}
    rivals = 0
    for asked in random_questions(1500):
        theirs, mine = peer(asked), ours(asked)
        assert theirs["valid"] == mine["valid"], asked
        seen[mine["valid"]] += 1
        if has_rivals(asked):
            rivals += 1
            continue
        assert theirs == mine, asked
    assert min(seen.values()) > 200, seen
    assert rivals > 20


def test_a_shard_of_the_frameworks_own_tensor_is_a_view(peer):
    reply = peer(
        {
            "global_shape": [20, 3],
            "global_offsets": [[0, 0], [12, 0]],
            "local_offsets": [[0, 0], [5, 0]],
            "local_sizes": [[4, 3], [3, 3]],
            "offset": [12, 0],
        }
    )
    assert reply["before"] == [[3, 3], list(range(15, 24))]
    assert reply["after"][1] == [*range(15), 99, *range(16, 24)]
    assert reply["chunks"] == [[[0, 0], [4, 3]], [[12, 0], [3, 3]]]
    assert (reply["mine"], reply["same"]) == ([12, 0], True)


def test_ci_compares_with_tensorplay():
    if os.environ.get("CI"):
        assert os.environ.get("SHARDPROOF_TENSORPLAY_PYTHON"), "the test command installs TensorPlay and names it"
    assert sys.version_info >= (3, 11)
