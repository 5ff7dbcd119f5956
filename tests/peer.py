"""Answers questions about layouts with a framework's own protocol, a JSON line each; run by the framework's Python."""

import importlib
import json
import sys
from types import SimpleNamespace

framework = sys.argv[1]
tp = importlib.import_module(framework)
protocol = importlib.import_module(f"{framework}.distributed.checkpoint.protocol")
metadata = importlib.import_module(f"{framework}.distributed.checkpoint.metadata")


def tupled(rows):
    return tuple(map(tuple, rows))


def answer(question):
    shape = question["local_shape"]
    count = 1
    for dim in shape:
        count *= dim
    tensor = tp.arange(count).reshape(shape) if count else tp.zeros(shape)
    tensor.global_shape = tuple(question["global_shape"])
    tensor.global_offsets = tupled(question["global_offsets"])
    tensor.local_offsets = tupled(question["local_offsets"])
    tensor.local_sizes = tupled(question["local_sizes"])
    try:
        protocol._validate_checkpointable_tensor_metadata(tensor)
    except ValueError:
        return {"valid": False}
    found = []
    for offset, hint in question["queries"]:
        index = metadata.MetadataIndex("w", offset if offset is None else tuple(offset), hint)
        try:
            found.append(listed(protocol._get_checkpointable_tensor_shard(tensor, index)))
        except ValueError:
            found.append(None)
    chunks = protocol._get_checkpointable_tensor_chunks(tensor)
    boxes = [[list(chunk.offsets), list(chunk.sizes)] for chunk in chunks]
    return {"valid": True, "found": found, "chunks": boxes}


def listed(tensor):
    """Give shape and elements, which tell which shard it is."""
    return [
        list(tensor.shape),
        [int(value) for value in tensor.reshape((-1,)).tolist()] if 0 not in tensor.shape else [],
    ]


def through_shardproof(question):
    """Let shardproof slice the framework's own tensor, write through the view, and take the framework's own index."""
    import shardproof

    tensor = tp.arange(24).reshape((8, 3))
    shardproof.attach(
        tensor, **{name: question[name] for name in ("global_shape", "global_offsets", "local_offsets", "local_sizes")}
    )
    assert shardproof.is_checkpointable_tensor(tensor)
    index = metadata.MetadataIndex("w", tuple(question["offset"]), 0)
    view = shardproof.get_checkpointable_tensor_shard(tensor, index)
    before = listed(view)
    view[0, 0] = 99
    chunks = [[list(chunk.offsets), list(chunk.sizes)] for chunk in shardproof.get_checkpointable_tensor_chunks(tensor)]
    foreign = metadata.ChunkStorageMetadata(tuple(question["offset"]), (1, 1))
    mine = shardproof.ChunkStorageMetadata(tuple(foreign.offsets), tuple(foreign.sizes))
    scalar = tp.arange(1).reshape(())
    shardproof.attach(scalar, global_shape=(), global_offsets=((),), local_offsets=((),), local_sizes=((),))
    same = (
        shardproof.get_checkpointable_tensor_shard(scalar, SimpleNamespace(fqn="w", offset=None, index=None)) is scalar
    )
    return {"before": before, "after": listed(tensor), "chunks": chunks, "mine": list(mine.offsets), "same": same}


for line in sys.stdin:
    question = json.loads(line)
    reply = through_shardproof(question) if "offset" in question else answer(question)
    print(json.dumps(reply), flush=True)
