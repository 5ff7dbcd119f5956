"""Read plans, against the planner of torch."""

from __future__ import annotations

import itertools
import random

from jobs import Job

SAMPLE = 16
"""Wanted chunks that torch plans where planning all would take minutes; it looks at each by itself."""


class Reshard:
    """Saved and wanted chunks of one tensor, each a grid."""

    def __init__(self, shape, saved, wanted, *, shuffled=False, sampled=False):
        self.shape, self.sampled = shape, sampled
        self.saved, self.wanted = grid(shape, saved), grid(shape, wanted)
        if shuffled:
            dice = random.Random(0)
            dice.shuffle(self.saved)
            dice.shuffle(self.wanted)


def grid(shape, tile):
    return [
        (offsets, tuple(min(side, dim - at) for side, dim, at in zip(tile, shape, offsets, strict=True)))
        for offsets in itertools.product(*(range(0, dim, side) for dim, side in zip(shape, tile, strict=True)))
    ]


def ours(job):
    import numpy as np
    from shardproof import ChunkLayout, plan_reads

    saved, wanted = (
        ChunkLayout(job.shape, np.array([offsets for offsets, _ in chunks]), np.array([sizes for _, sizes in chunks]))
        for chunks in (job.saved, job.wanted)
    )
    return lambda: plan_reads(saved, wanted)


def torch(job):
    import torch
    from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, TensorProperties, TensorStorageMetadata
    from torch.distributed.checkpoint.planner_helpers import create_read_items_for_chunk_list

    saved, wanted = (
        [ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes)) for offsets, sizes in chunks]
        for chunks in (job.saved, job.wanted)
    )
    if job.sampled:
        wanted = wanted[:: len(wanted) // SAMPLE]
    tensor = TensorStorageMetadata(TensorProperties(dtype=torch.float32), torch.Size(job.shape), saved)

    def plan():
        return create_read_items_for_chunk_list("weight", tensor, wanted)

    plan.scale = len(job.wanted) / len(wanted)
    return plan


def job(name, reads, must, *chunks, **how):
    return Job(
        name,
        "`plan_reads(saved, wanted)`",
        reads,
        lambda: ours(Reshard(*chunks, **how)),
        {"torch": lambda: torch(Reshard(*chunks, **how))},
        {"torch": must},
    )


MISALIGNED = ((3160, 3160), (10, 10), (13, 13))

JOBS = [
    job("1-D", 140_000, 80, (600_000,), (6,), (10,)),
    job("misaligned grids, in order", 286_225, 1500, *MISALIGNED, sampled=True),
    job("misaligned grids, shuffled", 286_225, 600, *MISALIGNED, shuffled=True, sampled=True),
    job("316 rows against 316 columns", 99_856, 80, (316, 316), (1, 316), (316, 1)),
    job("alike in one dimension", 10_000, 10_000, (20_000, 10_000), (20_000, 1), (20_000, 1), sampled=True),
]
