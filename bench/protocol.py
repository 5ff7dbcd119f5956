"""The protocol layer: bounds, validation, look-ups."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from jobs import XOR, Job

sys.path.append(str(Path(__file__).parents[1] / "tests"))

SIDE = 4


class Grid:
    """Shards of a 2-D grid in row-major order, one below the other in the local tensor."""

    def __init__(self, count: int) -> None:
        across = max(int(count**0.5), 1)
        self.global_shape = (SIDE * -(-count // across), SIDE * across)
        self.global_offsets = tuple((SIDE * (i // across), SIDE * (i % across)) for i in range(count))
        self.local_offsets = tuple((SIDE * i, 0) for i in range(count))
        self.local_sizes = tuple((SIDE, SIDE) for _ in range(count))
        self.local_shape = (SIDE * count, SIDE)
        self.count = count

    def hang_on(self, tensor):
        tensor.global_shape = self.global_shape
        tensor.global_offsets = self.global_offsets
        tensor.local_offsets = self.local_offsets
        tensor.local_sizes = self.local_sizes
        return tensor

    def arrays(self):
        import numpy as np

        return tuple(np.array(rows) for rows in (self.global_offsets, self.local_offsets, self.local_sizes))

    def array_tensor(self):
        import numpy as np

        class Tensor(np.ndarray):
            pass

        return np.zeros(self.local_shape, np.int8).view(Tensor)


GRID = Grid(100_000)


def blocked_numpy(grid, block=4096):
    """The best NumPy we know: in blocks that stay in the cache, each bound by one comparison."""
    import numpy as np

    offsets, places, sizes = grid.arrays()
    shape, local = np.array(grid.global_shape), np.array(grid.local_shape)

    def check():
        for start in range(0, len(offsets), block):
            o, p, s = offsets[start : start + block], places[start : start + block], sizes[start : start + block]
            if min(o.min(), p.min(), s.min()) < 0 or (o > shape - s).any() or (p > local - s).any():
                return False
        return True

    assert check()
    return check


def layout_of(grid):
    from shardproof import ShardLayout

    offsets, places, sizes = grid.arrays()
    return ShardLayout(grid.global_shape, offsets, places, sizes, grid.local_shape)


def ready_layout(grid):
    layout = layout_of(grid)
    assert not layout.findings()
    return layout.findings


def fresh_layout(grid):
    from shardproof import ShardLayout

    offsets, places, sizes = grid.arrays()
    return lambda: ShardLayout(grid.global_shape, offsets, places, sizes, grid.local_shape).findings()


def first_validation(grid):
    """A tensor of its own for every call, so that nothing is remembered."""
    from shardproof import validate_checkpointable_tensor_metadata

    base = grid.array_tensor()
    return lambda: validate_checkpointable_tensor_metadata(grid.hang_on(base.view()))


def later_validation(grid):
    from shardproof import validate_checkpointable_tensor_metadata

    tensor = grid.hang_on(grid.array_tensor())
    validate_checkpointable_tensor_metadata(tensor)
    return lambda: validate_checkpointable_tensor_metadata(tensor)


def fromiter_and_check(grid):
    """What NumPy users write: flatten the tuples into arrays, then compare."""
    from itertools import chain

    import numpy as np

    shape, local = np.array(grid.global_shape), np.array(grid.local_shape)

    def check():
        o, p, s = (
            np.fromiter(chain.from_iterable(rows), np.int64, 2 * grid.count).reshape(-1, 2)
            for rows in (grid.global_offsets, grid.local_offsets, grid.local_sizes)
        )
        return min(o.min(), p.min(), s.min()) >= 0 and not (o > shape - s).any() and not (p > local - s).any()

    assert check()
    return check


def oracle_validation(grid):
    import oracle

    arguments = grid.local_shape, grid.global_shape, grid.global_offsets, grid.local_offsets, grid.local_sizes
    assert oracle.is_valid(*arguments)
    return lambda: oracle.is_valid(*arguments)


def foreign_tensor(grid, framework):
    if framework == "torch":
        import torch

        tensor = torch.zeros(grid.local_shape, dtype=torch.uint8)
    else:
        import tensorplay

        tensor = tensorplay.zeros(grid.local_shape)
    return grid.hang_on(tensor)


def foreign_protocol(framework):
    if framework == "torch":
        from torch.distributed.checkpoint import metadata, protocol
    else:
        from tensorplay.distributed.checkpoint import metadata, protocol
    return protocol, metadata.MetadataIndex


def foreign_validation(grid, framework):
    tensor = foreign_tensor(grid, framework)
    validate = foreign_protocol(framework)[0]._validate_checkpointable_tensor_metadata
    return lambda: validate(tensor)


def every_shard(grid):
    from shardproof import MetadataIndex, get_checkpointable_tensor_shard

    tensor = grid.hang_on(grid.array_tensor())
    indices = [MetadataIndex("w", offset, hint) for hint, offset in enumerate(grid.global_offsets)]

    def resolve():
        for index in indices:
            get_checkpointable_tensor_shard(tensor, index)

    return resolve


SAMPLE = 20


def foreign_every_shard(grid, framework):
    """The framework's own look-up, with right hints, of 20 shards spread evenly: all of them would take minutes."""
    tensor = foreign_tensor(grid, framework)
    protocol, index_of = foreign_protocol(framework)
    chosen = range(0, grid.count, grid.count // SAMPLE)
    indices = [index_of("w", grid.global_offsets[hint], hint) for hint in chosen]

    def resolve():
        for index in indices:
            protocol._get_checkpointable_tensor_shard(tensor, index)

    resolve.scale = grid.count / len(indices)
    return resolve


def oracle_every_shard(grid):
    """Validate and scan at every look-up, as the protocol reads, for 20 shards spread evenly."""
    import oracle

    valid = oracle_validation(grid)
    chosen = range(0, grid.count, grid.count // SAMPLE)

    def resolve():
        for hint in chosen:
            valid()
            oracle.resolve(grid.global_offsets, grid.local_sizes, grid.global_offsets[hint], hint)

    resolve.scale = grid.count / len(chosen)
    return resolve


def prepared_index(grid):
    from shardproof._core import OffsetIndex

    offsets, _, sizes = grid.arrays()
    order = shuffled(grid)
    offsets, sizes = offsets[order].copy(), sizes[order].copy()
    return lambda: OffsetIndex(offsets, sizes)


def shuffled(grid):
    order = list(range(grid.count))
    random.Random(7).shuffle(order)
    return order


def dict_index(grid):
    keys = [grid.global_offsets[i] for i in shuffled(grid)]
    return lambda: dict(zip(keys, range(len(keys)), strict=True))


def many(grid, *, in_order):
    import numpy as np

    layout = layout_of(grid)
    queries = np.array(grid.global_offsets)
    if not in_order:
        queries = queries[shuffled(grid)].copy()
    layout.resolve_many(queries)
    return lambda: layout.resolve_many(queries)


def dict_loop(grid):
    table = dict(zip(grid.global_offsets, range(grid.count), strict=True))
    queries = [grid.global_offsets[i] for i in shuffled(grid)]
    return lambda: [table[query] for query in queries]


def searchsorted(grid):
    """One key a row, computed beforehand: NumPy searches no rows."""
    import numpy as np

    keys = np.array(grid.global_offsets) @ np.array([grid.global_shape[1], 1])
    return lambda: np.searchsorted(keys, keys)


def one_by_one(grid):
    layout = layout_of(grid)
    queries = list(grid.global_offsets)
    layout.check()

    def resolve():
        find = layout.resolve
        for query in queries:
            find(query)

    return resolve


def dict_one_by_one(grid):
    table = dict(zip(grid.global_offsets, range(grid.count), strict=True))
    queries = list(grid.global_offsets)

    def resolve():
        for query in queries:
            table[query]

    return resolve


HUNDRED = Grid(100)
TEN_THOUSAND = Grid(10_000)

MILLION = 1_000_000


def elsewhere():
    """Stand for what another program does."""
    raise NotImplementedError


JOBS = [
    Job(
        "form and bounds of int64 arrays",
        "`layout.findings()`",
        GRID.count,
        lambda: ready_layout(GRID),
        {"NumPy in blocks": lambda: blocked_numpy(GRID), XOR: elsewhere},
        {"NumPy in blocks": 4, XOR: 0.4},
    ),
    Job(
        "the same, 1e6 shards",
        "`layout.findings()`",
        MILLION,
        lambda: ready_layout(Grid(MILLION)),
        {XOR: elsewhere},
        {XOR: 0.75},
    ),
    Job(
        "the same, 100 shards, ready layout",
        "`layout.findings()`",
        100,
        lambda: ready_layout(HUNDRED),
        {"NumPy in blocks": lambda: blocked_numpy(HUNDRED)},
        {"NumPy in blocks": 10},
    ),
    Job(
        "the same, 100 shards, with construction",
        "`ShardLayout(...).findings()`",
        100,
        lambda: fresh_layout(HUNDRED),
        {"NumPy in blocks": lambda: blocked_numpy(HUNDRED)},
        {"NumPy in blocks": 3},
    ),
    Job(
        "validate tuples of tuples, first call",
        "`validate_checkpointable_tensor_metadata(tensor)`",
        GRID.count,
        lambda: first_validation(GRID),
        {
            "plain Python": lambda: oracle_validation(GRID),
            "np.fromiter and check": lambda: fromiter_and_check(GRID),
            "tensorplay": lambda: foreign_validation(GRID, "tensorplay"),
            "torch": lambda: foreign_validation(GRID, "torch"),
        },
        {"np.fromiter and check": 5, "tensorplay": 25, "torch": 40},
    ),
    Job(
        "validate, later calls",
        "`validate_checkpointable_tensor_metadata(tensor)`",
        1,
        lambda: later_validation(GRID),
        most_us=3,
    ),
    Job(
        "resolve every shard of 1e4",
        "`get_checkpointable_tensor_shard(tensor, index)`",
        TEN_THOUSAND.count,
        lambda: every_shard(TEN_THOUSAND),
        {
            "plain Python": lambda: oracle_every_shard(TEN_THOUSAND),
            "tensorplay": lambda: foreign_every_shard(TEN_THOUSAND, "tensorplay"),
            "torch": lambda: foreign_every_shard(TEN_THOUSAND, "torch"),
        },
        {"tensorplay": 1500},
    ),
    Job(
        "resolve every shard of 1e6",
        "`get_checkpointable_tensor_shard(tensor, index)`",
        MILLION,
        lambda: every_shard(Grid(MILLION)),
        {"1e3 shards": lambda: every_shard(Grid(1000))},
        growth=("1e3 shards", 1000, 1.1),
    ),
    Job(
        "prepare an index, shuffled",
        "`OffsetIndex(offsets, sizes)`",
        GRID.count,
        lambda: prepared_index(GRID),
        {"dict(zip(...))": lambda: dict_index(GRID)},
        {"dict(zip(...))": 4},
    ),
    Job(
        "resolve many, random order",
        "`layout.resolve_many(offsets)`",
        GRID.count,
        lambda: many(GRID, in_order=False),
        {"dict loop": lambda: dict_loop(GRID)},
        {"dict loop": 9},
    ),
    Job(
        "resolve many, in order",
        "`layout.resolve_many(offsets)`",
        GRID.count,
        lambda: many(GRID, in_order=True),
        {"np.searchsorted": lambda: searchsorted(GRID)},
        {"np.searchsorted": 1},
    ),
    Job(
        "resolve one",
        "`layout.resolve(offset)`",
        TEN_THOUSAND.count,
        lambda: one_by_one(TEN_THOUSAND),
        {"a dict hit": lambda: dict_one_by_one(TEN_THOUSAND)},
        {"a dict hit": 0.5},
    ),
]
