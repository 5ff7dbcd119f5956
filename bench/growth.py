"""How the time of a proof grows from a thousand chunks to ten million, whatever the layout and its order."""

from __future__ import annotations

import itertools

from jobs import Job

FEW, MANY = 1000, 10_000_000


def grid(count, rank):
    """A grid of `count` cells, a power of ten, as nearly cubic as the rank allows."""
    import numpy as np

    sides = [1] * rank
    for factor in (5, 2):
        for _ in range(len(str(count)) - 1):
            sides[sides.index(min(sides))] *= factor
    offsets = np.stack(np.unravel_index(np.arange(count), sides), axis=1) * 6
    return tuple(side * 6 for side in sides), offsets, np.full_like(offsets, 6)


def rows(count):
    import numpy as np

    starts = np.arange(count)
    offsets = np.stack([starts, np.zeros_like(starts)], axis=1)
    return (count, 4096), offsets, np.tile([1, 4096], (count, 1))


def columns(count):
    shape, offsets, sizes = rows(count)
    return shape[::-1], offsets[:, ::-1].copy(), sizes[:, ::-1].copy()


def guillotine(count):
    """Split boxes in two, each at a place of its own, the dimensions in turn, until there are `count`."""
    import numpy as np

    random = np.random.default_rng(0)
    shape = (2**30, 2**30)
    starts, stops = np.zeros((1, 2), np.int64), np.full((1, 2), 2**30)
    for d in itertools.cycle(range(2)):
        if len(starts) == count:
            break
        some = slice(count - len(starts))
        lengths = stops[some, d] - starts[some, d]
        lower, upper = stops.copy(), starts[some].copy()
        lower[some, d] = upper[:, d] = starts[some, d] + (lengths * random.uniform(0.25, 0.75, len(lengths))).astype(
            int
        )
        starts, stops = np.concatenate([starts, upper]), np.concatenate([lower, stops[some]])
    return shape, starts, stops - starts


def nested(count):
    """The top row of a square, the left column of what is left, and so on inwards."""
    import numpy as np

    side = count // 2 + 1
    ring = np.arange(side - 1)
    top = np.stack([ring, ring], axis=1), np.stack([np.ones_like(ring), side - ring], axis=1)
    left = np.stack([ring + 1, ring], axis=1), np.stack([side - ring - 1, np.ones_like(ring)], axis=1)
    last = np.full((1, 2), side - 1), np.ones((1, 2), np.int64)
    return (side, side), *(np.concatenate(parts) for parts in zip(top, left, last, strict=True))


def equal(count):
    import numpy as np

    return (64, 64), np.zeros((count, 2), np.int64), np.full((count, 2), 64)


def empty(count):
    import numpy as np

    return (64, 0), np.zeros((count, 2), np.int64), np.tile([64, 0], (count, 1))


def proof(make, count, *arguments, shuffled, **asked):
    import numpy as np
    from shardproof import ChunkLayout, prove

    shape, offsets, sizes = make(count, *arguments)
    order = np.random.default_rng(1).permutation(len(offsets)) if shuffled else slice(None)
    layout = ChunkLayout(shape, np.ascontiguousarray(offsets[order]), np.ascontiguousarray(sizes[order]))
    assert prove(layout, **asked).ok
    return lambda: prove(layout, **asked)


def job(name, make, *arguments, shuffled, times=None):
    def of(count):
        # As often as there are chunks, where each of them is the whole tensor.
        asked = {} if times is None else {"replicas": count}
        return lambda: proof(make, count, *arguments, shuffled=shuffled, **asked)

    return Job(
        f"{name}, {'shuffled' if shuffled else 'in order'}",
        "`prove(chunks)`",
        MANY,
        of(MANY),
        {f"{FEW:,} chunks": of(FEW)},
        growth=(f"{FEW:,} chunks", FEW, 1.05),
    )


JOBS = [
    *(
        job(name, make, shuffled=shuffled)
        for name, make in [("rows", rows), ("columns", columns), ("guillotine", guillotine), ("nested", nested)]
        for shuffled in (False, True)
    ),
    *(job(f"grid of rank {rank}", grid, rank, shuffled=shuffled) for rank in range(1, 9) for shuffled in (False, True)),
    job("all equal", equal, shuffled=False, times=True),
    job("all empty", empty, shuffled=False),
]
