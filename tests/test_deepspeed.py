"""DeepSpeed's checkpoints: fragments become boxes, files of all processes are there, and each fault has its name."""

import hashlib
import itertools
import math
import shutil

import numpy as np
import pytest
import samples
from attacks.deepspeed import PARAMETERS, Checkpoint, Global, Tensor, cut, fragment, model, share, write
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.findings import Severity

HEALTHY = [
    sample
    for sample in samples.samples(samples.collection())
    if sample.row["format"] == "deepspeed" and sample.row["kind"] == "healthy"
]
OPTIMIZER = "global_step1/zero_pp_rank_{}_mp_rank_00_optim_states.pt"
MODEL = "global_step1/mp_rank_00_model_states.pt"


def faults(directory, *, deep=True, severity=Severity.WARNING):
    """Code, file and tensor of each finding that is worth a warning, with the verdict in front."""
    report = check_checkpoint(directory, deep=deep)
    found = sorted({(item.code, item.file, item.fqn) for item in report.findings if item.severity <= severity}, key=str)
    return report.verdict, found


def flattened(tensor):
    """Number in the flattened tensor of each stored element, in the order in which chunks and bytes have them."""
    numbers = np.arange(math.prod(tensor.global_shape)).reshape(tensor.global_shape)
    for offsets, sizes in zip(*(column.tolist() for column in tensor.boxes), strict=True):
        inside = tuple(slice(offset, offset + size) for offset, size in zip(offsets, sizes, strict=True))
        yield numbers[inside].ravel().tolist()


def elements(directory, tensor):
    """The elements of a tensor, read from the bytes that its chunks are said to have."""
    found = np.full(math.prod(tensor.global_shape), np.nan, np.float32)
    storage = tensor.storage
    for numbers, path, first, length in zip(
        flattened(tensor), storage.paths, storage.byte_offsets, storage.byte_lengths, strict=True
    ):
        found[numbers] = np.frombuffer((directory / path).read_bytes()[first : first + length], np.float32)
    return found


@pytest.mark.parametrize("sample", HEALTHY, ids=lambda sample: sample.name)
def test_the_bytes_of_the_chunks_are_the_elements_that_deepspeed_loads(sample):
    tensors = open_checkpoint(sample.directory).tensors
    (tag,) = (path for path in sample.directory.iterdir() if path.is_dir())
    for fqn, digest in sample.row["content_sha256_16"].items():
        content = elements(tag, tensors[fqn]).tobytes()
        assert hashlib.sha256(content).hexdigest()[:16] == digest
    assert len(tensors) == len(sample.row["content_sha256_16"]) > 0


@pytest.mark.parametrize("world", [1, 2, 3, 5, 60])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_every_element_is_in_one_chunk_however_many_processes_there_are(tmp_path, stage, world):
    tag = Checkpoint.of(stage, world).write(tmp_path)
    assert faults(tmp_path) == ("whole", [])
    tensors = open_checkpoint(tmp_path).tensors
    shapes = {name: shape for group in PARAMETERS for name, shape in group.items()}
    assert {name: tensor.global_shape for name, tensor in tensors.items()} == shapes
    for name, tensor in tensors.items():
        assert list(itertools.chain(*flattened(tensor))) == list(range(math.prod(shapes[name])))
        assert not np.isnan(elements(tag, tensor)).any()
    assert faults(tag) == ("whole", [])


def test_shares_of_one_process_hold_each_parameter_in_the_order_of_the_parameters(tmp_path):
    tag = Checkpoint.of(3, 2, [{"a": (3,), "b": (0, 4)}, {"c": (2, 2)}]).write(tmp_path)
    tensors = open_checkpoint(tmp_path).tensors
    count = np.frombuffer(bytes(index % 251 for index in range(16)), np.float32)
    assert elements(tag, tensors["a"]).tolist() == [count[0], count[1], count[0]]
    assert elements(tag, tensors["c"]).tolist() == [count[0], count[1], count[0], count[1]]
    assert tensors["b"].chunk_count == 0
    assert faults(tmp_path) == ("whole", [])


def test_frozen_parameters_are_whole_in_one_file_or_in_equal_shares_in_all(tmp_path):
    for stage, piece in [(2, 9), (3, 5)]:
        checkpoint = Checkpoint.of(stage, 2)
        for state in checkpoint.models:
            state["frozen_param_shapes"] = {"f": Global("torch.Size", ((3, 3),))}
            state["frozen_param_fragments"] = {"f": Tensor(piece)}
        tag = checkpoint.write(tmp_path / f"stage{stage}")
        assert faults(tag) == ("whole", [])
        assert not np.isnan(elements(tag, open_checkpoint(tag).tensors["f"])).any()
        checkpoint.models[-1]["frozen_param_fragments"] = {"f": Tensor(piece - 2)}
        checkpoint.write(tmp_path / f"stage{stage}")
        assert faults(tag) == ("broken", [("SP301", None, "f")])
        checkpoint.models[-1]["frozen_param_fragments"] = {"f": Tensor(piece + 1)}
        checkpoint.write(tmp_path / f"stage{stage}")
        verdict, found = faults(tag)
        assert (verdict, [(code, fqn) for code, _, fqn in found]) == ("broken", [("SP415", "f")])


def changed(**changes):
    """Change entries of the optimizer's state of process 1 of 2."""
    return lambda checkpoint: checkpoint.optimizers[1].update(changes)


def refragmented(**fragments):
    """Change fragments in group 0 of process 1 of 2: of its 20 elements 15 are of a, 5 of b."""

    def change(checkpoint):
        first = {"a": fragment(0, 15), "b": fragment(15, 5), **fragments}
        checkpoint.optimizers[1]["param_slice_mappings"][0] = {name: at for name, at in first.items() if at}

    return change


def remodelled(**changes):
    return lambda checkpoint: checkpoint.models[0].update(changes)


ONE, ZERO = OPTIMIZER.format(1), OPTIMIZER.format(0)

REFUSALS = {
    "fragment_short": (refragmented(a=fragment(0, 14)), {("SP301", None, "a")}),
    "fragment_long": (refragmented(b=fragment(15, 6)), {("SP201", ONE, "b")}),
    "fragment_absent": (refragmented(b=None), {("SP301", None, "b")}),
    "fragment_moved": (refragmented(b=fragment(14, 5)), {("SP411", ONE, "b")}),
    "fragment_beyond": (refragmented(b=fragment(16, 5)), {("SP415", ONE, None)}),
    "fragment_negative": (refragmented(b=fragment(-1, 5)), {("SP603", ONE, None)}),
    "fragment_of_64_bits": (refragmented(b=fragment(2**63 - 1, 5)), {("SP415", ONE, None)}),
    "fragment_beyond_64_bits": (refragmented(b=fragment(2**64, 5)), {("SP603", ONE, None)}),
    "fragment_of_another": (refragmented(x=fragment(0, 0)), {("SP505", ONE, "x")}),
    "fragment_no_address": (refragmented(b=5), {("SP603", ONE, None)}),
    "partition_long": (
        changed(single_partition_of_fp32_groups=[Tensor(21), Tensor(8)], group_paddings=[0, 0]),
        {("SP415", ONE, None)},
    ),
    "partition_short": (changed(single_partition_of_fp32_groups=[Tensor(19), Tensor(8)]), {("SP415", ONE, None)}),
    "partition_no_tensor": (changed(single_partition_of_fp32_groups=[5, Tensor(8)]), {("SP603", ONE, None)}),
    "partition_outside_storage": (
        changed(single_partition_of_fp32_groups=[Tensor(20, offset=-1), Tensor(8)]),
        {("SP603", ONE, None)},
    ),
    "partition_of_other_dtype": (
        changed(single_partition_of_fp32_groups=[Tensor(20, held=10, storage="HalfStorage"), Tensor(8)]),
        {("SP502", None, "a")},
    ),
    "padding_wrong": (changed(group_paddings=[1, 0]), {("SP415", ONE, None)}),
    "padding_negative": (changed(group_paddings=[-1, 0]), {("SP603", ONE, None)}),
    "storage_short": (
        changed(single_partition_of_fp32_groups=[Tensor(20, held=19), Tensor(8)]),
        {("SP415", ONE, None)},
    ),
    "storage_long": (
        changed(single_partition_of_fp32_groups=[Tensor(20, held=21), Tensor(8)]),
        {("SP415", ONE, None)},
    ),
    "moment_short": (changed(base_optimizer_state={"exp_avg": Tensor(20, held=4)}), {("SP415", ONE, None)}),
    "groups_fewer": (
        changed(**{name: value[:1] for name, value in cut(2, 1).items() if isinstance(value, list)}),
        {("SP603", ONE, None)},
    ),
    "maps_fewer": (changed(param_slice_mappings=[{}]), {("SP603", ONE, None)}),
    "maps_absent": (changed(param_slice_mappings=None), {("SP617", ONE, None)}),
    "stage_unknown": (changed(zero_stage=7), {("SP617", ONE, None)}),
    "stage_3_without_shares": (changed(zero_stage=3), {("SP617", ONE, None)}),
    "optimizer_of_larger_world": (changed(**cut(4, 1)), {("SP705", ONE, None)}),
    "optimizer_runs_code": (changed(loss_scaler=Global("posix.system", ("true",))), {("SP605", ONE, None)}),
    "optimizer_of_unknown_class": (changed(loss_scaler=Global("my.Scaler", state={})), {("SP606", ONE, None)}),
    "optimizer_absent": (lambda checkpoint: checkpoint.optimizers.pop(), {("SP403", ONE, None)}),
    "world_larger": (remodelled(dp_world_size=3), {("SP705", MODEL, None)}),
    "world_zero": (lambda checkpoint: _world(checkpoint, 0), {("SP603", MODEL, None)}),
    "world_of_64_bits": (lambda checkpoint: _world(checkpoint, 2**63 - 1), {("SP603", MODEL, None)}),
    "world_of_32_bits": (lambda checkpoint: _world(checkpoint, 2**32 - 1), {("SP705", None, None)}),
    "slices_more": (
        remodelled(mp_world_size=2),
        {("SP403", MODEL.replace("mp_rank_00", "mp_rank_01"), None)},
    ),
    "slices_of_64_bits": (remodelled(mp_world_size=2**63 - 1), {("SP705", None, None)}),
    "shape_grown": (
        lambda checkpoint: checkpoint.models[0].update(model(2, [{"a": (5, 8), "b": (5,)}, PARAMETERS[1]])),
        {("SP301", None, "a")},
    ),
    "shape_shrunk": (
        lambda checkpoint: checkpoint.models[0].update(model(2, [{"a": (5, 6), "b": (5,)}, PARAMETERS[1]])),
        {("SP201", ONE, "a")},
    ),
    "shape_negative": (
        lambda checkpoint: checkpoint.models[0].update(model(2, [{"a": (-5, 7), "b": (5,)}, PARAMETERS[1]])),
        {("SP104", None, "a")},
    ),
    "shape_absurd": (
        lambda checkpoint: checkpoint.models[0].update(model(2, [{"a": (2**62,) * 3, "b": (5,)}, PARAMETERS[1]])),
        {("SP106", None, "a"), ("SP301", None, "a")},
    ),
    "shape_of_65_dimensions": (
        lambda checkpoint: checkpoint.models[0].update(model(2, [{"a": (1,) * 65, "b": (5,)}, PARAMETERS[1]])),
        {("SP609", None, "a"), ("SP201", ONE, "a")},
    ),
    "parameter_absent": (
        lambda checkpoint: checkpoint.models[0].update(model(2, [{"a": (5, 7)}, PARAMETERS[1]])),
        {("SP505", ONE, "b")},
    ),
    "parameter_twice": (
        lambda checkpoint: checkpoint.models[0].update(
            frozen_param_shapes={"a": (1,)}, frozen_param_fragments={"a": Tensor(1)}
        ),
        {("SP603", None, "a")},
    ),
    "shapes_absent": (remodelled(param_shapes=None), {("SP617", MODEL, None)}),
    "shapes_no_list": (remodelled(param_shapes=5), {("SP603", MODEL, None)}),
    "model_is_a_bomb": (
        remodelled(param_shapes=b"](}q\x00(X\x00\x04\x00\x00" + b"n" * 1024 + b")u" + b"h\x00" * 10_000 + b"e"),
        {("SP609", MODEL, None)},
    ),
    "latest_of_another_tag": (
        lambda checkpoint: setattr(checkpoint, "latest", "global_step2"),
        {("SP403", None, None)},
    ),
    "latest_outside": (lambda checkpoint: setattr(checkpoint, "latest", "../x"), {("SP403", None, None)}),
    "latest_empty": (lambda checkpoint: setattr(checkpoint, "latest", "\n"), {("SP601", None, None)}),
}


def _world(checkpoint, world):
    checkpoint.models[0]["dp_world_size"] = world
    for state in checkpoint.optimizers:
        state["partition_count"] = [world, world]


@pytest.mark.parametrize("name", REFUSALS)
def test_each_fault_of_stages_1_and_2_has_its_name_and_place(tmp_path, name):
    change, expected = REFUSALS[name]
    checkpoint = Checkpoint.of(2, 2)
    change(checkpoint)
    checkpoint.write(tmp_path)
    verdict, found = faults(tmp_path, severity=Severity.WARNING)
    assert set(found) == expected
    assert (verdict == "whole") == (name == "optimizer_of_unknown_class")


SHARE = "global_step1/zero_pp_rank_1_mp_rank_00_model_states.pt"

REFUSALS_OF_SHARES = {
    "share_short": (changed(fp32_flat_groups=[Tensor(20), Tensor(9)]), {("SP415", ONE, None)}),
    "share_long": (changed(fp32_flat_groups=[Tensor(22), Tensor(9)]), {("SP415", ONE, None)}),
    "share_no_tensor": (changed(fp32_flat_groups=[None]), {("SP603", ONE, None)}),
    "optimizer_absent": (lambda checkpoint: checkpoint.optimizers.pop(), {("SP403", ONE, None)}),
    "shape_of_one_process": (
        lambda checkpoint: checkpoint.models[1].update(model(2, [{"a": (7, 5), "b": (5,)}, PARAMETERS[1]])),
        {("SP501", SHARE, "a")},
    ),
    "parameter_of_one_process": (
        lambda checkpoint: checkpoint.models[1].update(model(2, [{"a": (5, 7)}, PARAMETERS[1]])),
        {("SP603", SHARE, None)},
    ),
    "world_of_one_process": (lambda checkpoint: checkpoint.models[1].update(dp_world_size=4), {("SP705", SHARE, None)}),
}


@pytest.mark.parametrize("name", REFUSALS_OF_SHARES)
def test_each_fault_of_stage_3_has_its_name_and_place(tmp_path, name):
    change, expected = REFUSALS_OF_SHARES[name]
    checkpoint = Checkpoint.of(3, 2)
    change(checkpoint)
    checkpoint.write(tmp_path)
    verdict, found = faults(tmp_path)
    assert set(found) == expected
    assert verdict != "whole"


@pytest.mark.parametrize("stage", [2, 3])
def test_a_file_of_any_process_that_is_gone_is_missing_and_nothing_else_is_wrong(tmp_path, stage):
    tag = Checkpoint.of(stage, 3).write(tmp_path / "whole")
    names = sorted(path.name for path in tag.iterdir())
    assert len(names) == (6 if stage == 3 else 4)
    for name in names:
        shutil.copytree(tmp_path / "whole", tmp_path / name)
        (tmp_path / name / "global_step1" / name).unlink()
        assert faults(tmp_path / name) == ("broken", [("SP403", f"global_step1/{name}", None)])


@pytest.mark.parametrize("stage", [2, 3])
@pytest.mark.parametrize("left", [0, 1, 100, -1])
def test_a_file_that_ends_early_is_damaged_and_nothing_else_is_wrong(tmp_path, stage, left):
    tag = Checkpoint.of(stage, 2).write(tmp_path)
    for path in sorted(tag.iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[:left])
        code = "SP404" if left == 0 else "SP416"
        assert faults(tmp_path) == ("broken", [(code, f"global_step1/{path.name}", None)])
        path.write_bytes(content)


def test_a_byte_that_changed_is_found_by_a_deep_check(tmp_path):
    tag = Checkpoint.of(2, 2).write(tmp_path)
    path = tag / "zero_pp_rank_1_mp_rank_00_optim_states.pt"
    content = bytearray(path.read_bytes())
    at = content.index(bytes(range(16)))
    content[at] ^= 1
    path.write_bytes(content)
    assert faults(tmp_path, deep=False) == ("whole", [])
    assert faults(tmp_path) == ("broken", [("SP419", ONE, None)])


def test_files_of_a_larger_world_that_were_left_behind_are_a_warning(tmp_path):
    for stage in (2, 3):
        directory = tmp_path / str(stage)
        Checkpoint.of(stage, 4).write(directory)
        Checkpoint.of(stage, 2).write(directory)
        stale = {("SP405", OPTIMIZER.format(process), None) for process in (2, 3)}
        if stage == 3:
            stale |= {("SP405", path.replace("optim", "model"), None) for _, path, _ in stale}
        verdict, found = faults(directory)
        assert (verdict, set(found)) == ("whole", stale)


def test_files_of_another_precision_that_were_left_behind_are_a_warning(tmp_path):
    tag = Checkpoint.of(2, 2).write(tmp_path)
    write(tag / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", {"optimizer_state_dict": cut(2, 0)})
    stale = "global_step1/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"
    assert faults(tmp_path) == ("whole", [("SP405", stale, None)])


def test_a_group_that_fewer_processes_share_is_not_judged(tmp_path):
    checkpoint = Checkpoint.of(2, 2)
    for state in checkpoint.optimizers:
        state["partition_count"] = [2, 1]
    checkpoint.write(tmp_path)
    assert list(open_checkpoint(tmp_path).tensors) == ["a", "b"]
    assert faults(tmp_path) == ("not proved", [("SP617", None, None)])


def test_padding_between_parameters_is_as_large_as_the_file_says(tmp_path):
    for padding, verdict in [(1, "whole"), (0, "broken")]:
        checkpoint = Checkpoint.of(1, 1, [{"a": (4,), "b": (4,)}])
        checkpoint.optimizers[0] |= {
            "single_partition_of_fp32_groups": [Tensor(9)],
            "param_slice_mappings": [{"a": fragment(0, 4), "b": fragment(5, 4)}],
            "param_alignment_paddings": [[0, padding]],
        }
        checkpoint.write(tmp_path)
        assert faults(tmp_path)[0] == verdict


def test_slices_of_the_model_are_parts(tmp_path):
    for number in range(2):
        checkpoint = Checkpoint.of(2, 2)
        checkpoint.slice = number
        checkpoint.models[0]["mp_world_size"] = 2
        tag = checkpoint.write(tmp_path)
    checkpoint = open_checkpoint(tmp_path)
    assert list(checkpoint.parts) == ["mp_rank_00", "mp_rank_01"]
    assert {len(part.tensors) for part in checkpoint.parts.values()} == {4}
    assert faults(tmp_path) == ("whole", [])
    (tag / "zero_pp_rank_1_mp_rank_01_optim_states.pt").write_bytes(b"PK")
    assert faults(tmp_path) == ("broken", [("SP416", ONE.replace("mp_rank_00", "mp_rank_01"), None)])


def test_the_tags_of_a_run_are_all_read(tmp_path):
    for step in (1, 20):
        checkpoint = Checkpoint.of(3, 2)
        checkpoint.tag = checkpoint.latest = f"global_step{step}"
        checkpoint.write(tmp_path)
    assert list(open_checkpoint(tmp_path).parts) == ["global_step1", "global_step20"]
    assert faults(tmp_path) == ("whole", [])


def test_a_name_of_a_tag_without_tags_is_not_proved(tmp_path):
    (tmp_path / "latest").write_text("global_step1")
    verdict, found = faults(tmp_path)
    assert (verdict, found) == ("broken", [("SP403", None, None)])


def test_without_a_model_file_or_statement_the_numbers_of_the_files_count(tmp_path):
    checkpoint = Checkpoint.of(2, 3)
    for state in checkpoint.optimizers:
        state["partition_count"] = None
    checkpoint.models.clear()
    tag = checkpoint.write(tmp_path)
    (tag / "zero_pp_rank_1_mp_rank_00_optim_states.pt").unlink()
    assert faults(tmp_path) == ("broken", [("SP403", MODEL, None), ("SP403", ONE, None)])


def test_shares_may_be_stored_in_other_groups_than_the_parameters(tmp_path):
    checkpoint = Checkpoint.of(3, 2)
    for state in checkpoint.optimizers:
        state["fp32_flat_groups"] = [Tensor(7), Tensor(0), Tensor(23)]
    assert sum(group.elements for group in share(2)["fp32_flat_groups"]) == 30
    tag = checkpoint.write(tmp_path)
    assert faults(tmp_path) == ("whole", [])
    assert not np.isnan(elements(tag, open_checkpoint(tmp_path).tensors["a"])).any()
