"""The three figures that the project promises, with nothing installed but numpy and pytest-benchmark."""

import protocol
import pytest

GRID = protocol.Grid(100_000)
SMALL = protocol.Grid(2_000)


@pytest.mark.benchmark(group="validate 1e5 shards, tuples")
@pytest.mark.parametrize(
    "peer",
    [protocol.first_validation, protocol.fromiter_and_check, protocol.oracle_validation],
    ids=lambda peer: peer.__name__,
)
def test_validate_tuples(benchmark, peer):
    benchmark(peer(GRID))


@pytest.mark.benchmark(group="validate 1e5 shards, arrays")
@pytest.mark.parametrize("peer", [protocol.ready_layout, protocol.blocked_numpy], ids=lambda peer: peer.__name__)
def test_validate_arrays(benchmark, peer):
    benchmark(peer(GRID))


@pytest.mark.benchmark(group="resolve 20 of 2,000 shards")
@pytest.mark.parametrize("peer", [protocol.every_shard, protocol.oracle_every_shard], ids=lambda peer: peer.__name__)
def test_resolve_every_shard(benchmark, peer):
    benchmark(peer(SMALL))


@pytest.mark.benchmark(group="resolve 1e5 offsets at once, random order")
@pytest.mark.parametrize(
    "peer",
    [lambda: protocol.many(GRID, in_order=False), lambda: protocol.dict_loop(GRID)],
    ids=["resolve_many", "dict_loop"],
)
def test_resolve_many(benchmark, peer):
    benchmark(peer())
