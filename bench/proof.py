"""Proofs of coverage and the naming of faults, against torch's validation and NumPy."""

from __future__ import annotations

import itertools
import random

from jobs import Job
from plans import grid


class Saved:
    """The chunks of one tensor, in order or not, with faults or without."""

    def __init__(self, shape, tile, *, shuffled=False, fault=None):
        self.shape, self.chunks = shape, grid(shape, tile)
        dice = random.Random(0)
        if fault is not None:
            fault(self.chunks, dice)
        if shuffled:
            dice.shuffle(self.chunks)

    def arrays(self):
        import numpy as np

        return tuple(np.array(column, np.int64) for column in zip(*self.chunks, strict=True))


def missing(chunks, dice):
    del chunks[dice.randrange(len(chunks))]


def doubled(chunks, dice):
    chunks.append(dice.choice(chunks))


def shifted(chunks, dice):
    at = dice.randrange(len(chunks) // 2, len(chunks))
    (first, *rest), sizes = chunks[at]
    chunks[at] = ((first - 1, *rest), sizes)


def a_thousand(chunks, dice):
    for at in sorted(dice.sample(range(len(chunks)), 1000), reverse=True):
        if at % 2:
            del chunks[at]
        else:
            chunks.append(chunks[at])


def ours(saved, **asked):
    from shardproof import ChunkLayout, prove

    layout = ChunkLayout(saved.shape, *saved.arrays())
    return lambda: prove(layout, **asked)


def torch(saved):
    import torch
    from torch.distributed.checkpoint.default_planner import _validate_global_plan
    from torch.distributed.checkpoint.metadata import (
        ChunkStorageMetadata,
        Metadata,
        TensorProperties,
        TensorStorageMetadata,
    )

    chunks = [ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes)) for offsets, sizes in saved.chunks]
    tensor = TensorStorageMetadata(TensorProperties(dtype=torch.float32), torch.Size(saved.shape), chunks)
    metadata = Metadata({"weight": tensor})

    def validate():
        assert not _validate_global_plan([], metadata)

    return validate


def numpy(saved):
    """Bounds, and the corners of all chunks and of the tensor: those of either sign have to be the same, sorted."""
    import numpy as np

    starts, sizes = saved.arrays()
    shape = np.array(saved.shape)
    strides = np.cumprod([1, *(shape[:0:-1] + 1)])[::-1]

    def prove():
        stops = starts + sizes
        assert starts.min() >= 0
        assert sizes.min() >= 0
        assert (stops <= shape).all()
        signs = ([], [])
        for corner in itertools.product((0, 1), repeat=len(shape)):
            ends = [((starts, stops)[at][:, d] * strides[d]) for d, at in enumerate(corner)]
            signs[sum(corner) % 2].append(sum(ends[1:], ends[0]))
            whole = sum(int(shape[d] * strides[d]) for d, at in enumerate(corner) if at)
            signs[1 - sum(corner) % 2].append(np.array([whole]))
        even, odd = (np.sort(np.concatenate(sign)) for sign in signs)
        return np.array_equal(even, odd)

    assert prove()
    return prove


def residue(tensors, rows):
    import numpy as np
    from shardproof import ChunkLayout, Residue

    # A prime step visits every row once, and never two neighbours in turn.
    starts = (np.arange(rows) * 7919 % rows)[:, None]
    layout = ChunkLayout((rows,), starts, np.ones_like(starts))

    def prove():
        total = Residue(seed=1)
        for tensor in range(tensors):
            total = total.add(f"layers.{tensor}.weight", layout, dtype="float32")
        assert total.is_uniform

    return prove


SHAPES = {
    "1-D rows": ((600_000,), (6,)),
    "2-D grid": ((3160, 3160), (10, 10)),
    "10,000 rows of (n, wide)": ((10_000, 16_384), (1, 16_384)),
}
TORCH = dict(zip(SHAPES, (100, 2500, 40_000), strict=True))
EXACT = dict(zip(SHAPES, (100, 1500, 20_000), strict=True))
NUMPY = dict(zip(SHAPES, (5, 10, 10), strict=True))


def proof(name, *, exact=False):
    shape, tile = SHAPES[name]
    count = len(grid(shape, tile))
    call = f"`prove(chunks{', exact=True' * exact})`"
    asked = {"exact": True} if exact else {}
    must = (EXACT if exact else TORCH)[name]
    yield Job(
        f"{name}, in order",
        call,
        count,
        lambda: ours(Saved(shape, tile), **asked),
        {"torch": lambda: torch(Saved(shape, tile))},
        {"torch": must},
    )
    yield Job(
        f"{name}, shuffled",
        call,
        count,
        lambda: ours(Saved(shape, tile, shuffled=True), **asked),
        {"numpy": lambda: numpy(Saved(shape, tile, shuffled=True))},
        {"numpy": 3 if exact else NUMPY[name]},
    )


MILLION = ((10_000, 10_000), (10, 10))


def naming(name, fault, most, *, shuffled):
    saved = {"shuffled": shuffled, "fault": fault}
    return Job(
        f"{name} among a million, {'shuffled' if shuffled else 'in order'}",
        "`prove(chunks)` of a faulty layout",
        1_000_000,
        lambda: ours(Saved(*MILLION, **saved)),
        {"proof of a whole one": lambda: ours(Saved(*MILLION, shuffled=shuffled))},
        {"proof of a whole one": 1 / most},
    )


JOBS = [
    *(job for name in SHAPES for job in proof(name)),
    *(job for name in SHAPES for job in proof(name, exact=True)),
    *(
        naming(f"{fault.__name__} chunk", fault, 5, shuffled=shuffled)
        for fault in (missing, doubled, shifted)
        for shuffled in (False, True)
    ),
    naming("1,000 faults", a_thousand, 15, shuffled=False),
    naming("1,000 faults", a_thousand, 15, shuffled=True),
    Job(
        "1,000 tensors of 1,000 chunks",
        "`residue.add(fqn, chunks)`",
        1_000_000,
        lambda: residue(1000, 1000),
        {"one tensor of 1e6": lambda: residue(1, 1_000_000)},
        {"one tensor of 1e6": 1 / 1.3},
    ),
]
