"""What a residue proves, and what it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shardproof import ChunkLayout, InvalidInput, Residue

SEED = b"shared by all processes"


def rows(shape, *spans):
    rest = shape[1:]
    offsets = [(start, *([0] * len(rest))) for start, _ in spans]
    return ChunkLayout(shape, offsets, [(stop - start, *rest) for start, stop in spans])


@given(st.randoms(), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_processes_agree_in_any_order_without_gathering(random, processes):
    tensors = {f"layer.{n}.weight": ((16 + n, 3), "bfloat16") for n in range(6)}
    parts = [Residue(seed=SEED) for _ in range(processes)]
    for fqn, (shape, dtype) in tensors.items():
        cuts = sorted(random.randint(0, shape[0]) for _ in range(4))
        for start, stop in zip([0, *cuts], [*cuts, shape[0]], strict=True):
            process = random.randrange(processes)
            parts[process] = parts[process].add(fqn, rows(shape, (start, stop)), dtype=dtype)
    random.shuffle(parts)
    summed = np.sum([part.to_int64() for part in parts], axis=0)
    total = Residue.from_int64(summed, seed=SEED)
    added = sum(parts[1:], start=parts[0])
    assert total == added
    assert total.is_uniform
    assert total.matches({fqn: (*tensor, 1) for fqn, tensor in tensors.items()})


def test_what_processes_exchange_is_as_long_for_one_chunk_as_for_many_tensors_of_many():
    lengths = set()
    for tensors, chunks in [(1, 1), (1, 512), (300, 7)]:
        residue = Residue(seed=SEED)
        for number in range(tensors):
            residue = residue.add(f"w{number}", rows((chunks, 3), *((row, row + 1) for row in range(chunks))))
        lengths.add(residue.to_int64().nbytes)
    assert lengths == {Residue(seed=SEED).to_int64().nbytes} == {88}


def test_a_lost_chunk_is_not_uniform():
    residue = Residue(seed=SEED).add("w", rows((8, 2), (0, 3), (4, 8)))
    assert not residue.is_uniform


def test_a_tensor_saved_twice_over_is_uniform_and_does_not_match():
    residue = Residue(seed=SEED).add("w", rows((8,), (0, 4), (4, 8))).add("w", rows((8,), (0, 8)))
    assert residue.is_uniform
    assert not residue.matches({"w": ((8,), "", 1)})
    assert residue.matches({"w": ((8,), "", 2)})


def test_one_name_with_two_dtypes_is_uniform_and_does_not_match():
    residue = Residue(seed=SEED).add("w", rows((8,), (0, 8)), dtype="float32")
    residue = residue.add("w", rows((8,), (0, 8)), dtype="float16")
    assert residue.is_uniform
    assert not residue.matches({"w": ((8,), "float32", 1)})
    assert not residue.matches({"w": ((8,), "float32", 2)})


def test_halves_of_different_dtypes_shapes_or_names_do_not_complete_each_other():
    first = Residue(seed=SEED).add("w", rows((8,), (0, 4)), dtype="float32")
    assert (first + Residue(seed=SEED).add("w", rows((8,), (4, 8)), dtype="float32")).is_uniform
    assert not (first + Residue(seed=SEED).add("w", rows((8,), (4, 8)), dtype="float16")).is_uniform
    assert not (first + Residue(seed=SEED).add("v", rows((8,), (4, 8)), dtype="float32")).is_uniform
    assert not (first + Residue(seed=SEED).add("w", rows((9,), (4, 9)), dtype="float32")).is_uniform


def test_what_is_announced_and_absent_is_uniform_and_does_not_match():
    residue = Residue(seed=SEED).add("w", rows((8,)))
    assert residue.is_uniform
    assert not residue.matches({"w": ((8,), "", 1)})
    assert residue.matches({})


def test_a_tensor_without_elements_adds_nothing():
    residue = Residue(seed=SEED).add("w", rows((0, 3))).add("v", rows((0, 3), (0, 0)))
    assert residue == Residue(seed=SEED)
    assert residue.matches({"w": ((0, 3), "", 1)})


def test_a_negative_box_that_would_cancel_another_is_a_fault():
    residue = Residue(seed=SEED).add("w", ChunkLayout((8,), [(0,), (2,), (6,)], [(8,), (4,), (-4,)]))
    assert residue.faults == 1
    assert not residue.is_uniform
    sticking = Residue(seed=SEED).add("w", ChunkLayout((8,), [(0,), (7,)], [(7,), (3,)]))
    assert sticking.faults == 1
    assert not sticking.is_uniform
    assert Residue(seed=SEED).add("w", ChunkLayout((2**64,), [], [])).faults == 1


def test_counts_of_replicas_are_told_apart_from_shapes_beyond_any_field():
    shape = (2**61 - 1, 2 * (2**61 - 1), 2**63 - 1)
    residue = Residue(seed=SEED).add("w", rows(shape, (0, 5), (5, shape[0])))
    assert residue.matches({"w": (shape, "", 1)})
    assert not residue.matches({"w": (shape, "", 2)})


def test_a_scalar_is_one_element():
    scalar = ChunkLayout((), [()], [()])
    assert Residue(seed=SEED).add("s", scalar).matches({"s": ((), "", 1)})


def test_whoever_knows_the_seed_can_predict_a_residue_and_nobody_else():
    chunks = rows((8,), (0, 4))
    assert Residue(seed=3).add("w", chunks) == Residue(seed=3).add("w", chunks)
    fresh = [Residue().add("w", chunks) for _ in range(2)]
    assert fresh[0].seed != fresh[1].seed
    assert fresh[0].to_int64().tolist() != fresh[1].to_int64().tolist()


def test_residues_of_different_seeds_do_not_mix():
    with pytest.raises(InvalidInput, match="different seeds"):
        Residue(seed=1) + Residue(seed=2)
    summed = Residue(seed=1).to_int64() + Residue(seed=2).to_int64()
    with pytest.raises(InvalidInput, match="2 processes"):
        Residue.from_int64(summed, seed=1)
    with pytest.raises(InvalidInput, match="different seeds"):
        Residue(seed=1) + Residue(seed=b"1")


@pytest.mark.parametrize("summed", [[0] * 11, [0] * 10, [-1] + [0] * 10])
def test_numbers_that_no_residue_wrote_are_refused(summed):
    with pytest.raises(InvalidInput):
        Residue.from_int64(summed, seed=1)


def test_the_sum_over_very_many_processes_stays_in_64_bits():
    one = Residue(seed=SEED).add("w", rows((8,), (0, 3))).to_int64()
    assert (one.astype(object) * (2**31 - 1)).max() < 2**63


@pytest.mark.parametrize("entry", [((-1,), "", 1), ((2**64,), "", 1), ((8,), "", -1)])
def test_expecting_the_impossible_is_refused(entry):
    with pytest.raises(InvalidInput):
        Residue(seed=SEED).matches({"w": entry})
