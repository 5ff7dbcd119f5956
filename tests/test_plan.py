"""What each process reads to load a checkpoint, against one plan for each process and tensor."""

import itertools
import json
import math

import numpy as np
import pytest
import samples
import shardproof as sp
from attacks.safetensors import file, tensor
from hypothesis import given, settings
from hypothesis import strategies as st
from sharded import save
from shardproof.checkpoint.job import LikeJob, MeshJob
from shardproof.checkpoint.load import plan_load
from shardproof.cli import run
from shardproof.placement import Replicate, Shard, StridedShard, held_chunks, parse_placements

GAP = samples.OWN / "torch_dcp" / "volume_ok_gap_and_overlap"
UNEVEN = samples.OWN / "torch_dcp_hf" / "w2_sharded_t214"


@pytest.fixture
def plan(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        status = run(["plan", *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def rows(shape, many):
    """Cut a shape into rows as a list of boxes."""
    size = -(-shape[0] // many)
    starts = [min(size * place, shape[0]) for place in range(many)]
    return [((at, *[0] * (len(shape) - 1)), (min(size, shape[0] - at), *shape[1:])) for at in starts]


def by_hand(checkpoint, mesh_shape, placements, coordinate):
    """Plan for one process, tensor by tensor."""
    total = dict.fromkeys(("bytes", "reads", "runs", "record_bytes", "tensors"), 0)
    shortest, longest, files = [], 0, set()
    for part in checkpoint.parts.values():
        for one in part.tensors.values():
            fitting = [
                Replicate() if not isinstance(p, Replicate) and p.dim >= len(one.global_shape) else p
                for p in placements
            ]
            held = held_chunks(one.global_shape, mesh_shape, fitting, coordinate)
            wanted = sp.ChunkLayout(one.global_shape, [c.offsets for c in held], [c.sizes for c in held])
            reads = sp.plan_reads(one.chunks, wanted)
            cost = reads.cost(one.bits // 8)
            touched = set(reads.saved_positions.tolist())
            total["bytes"] += cost.bytes
            total["reads"] += cost.reads
            total["runs"] += cost.runs
            total["tensors"] += cost.reads > 0
            total["record_bytes"] += sum(one.storage.byte_lengths[list(touched)].tolist())
            shortest += [cost.shortest_run] * (cost.reads > 0)
            longest = max(longest, cost.longest_run)
            files |= {(part.name, one.storage.paths[position]) for position in touched} - {(part.name, None)}
    return {**total, "shortest_run": min(shortest, default=0), "longest_run": longest, "files": len(files)}


WORDS = [Replicate(), Shard(0), Shard(1), Shard(2), StridedShard(0, 2), StridedShard(1, 3)]


def test_the_cost_of_every_process_is_the_sum_of_its_own_plans_for_every_sample():
    planned = processes = 0
    for sample in samples.samples(samples.OWN):
        try:
            checkpoint = sp.open_checkpoint(sample.directory)
            plan_load(checkpoint, MeshJob((1,), [Replicate()]))
        except sp.ShardproofError:
            continue
        if any(one.chunks.findings().counts for part in checkpoint.parts.values() for one in part.tensors.values()):
            continue
        if any(one.bits is None or one.bits % 8 for part in checkpoint.parts.values() for one in part.tensors.values()):
            continue
        for mesh_shape, placements in (((3,), [Shard(0)]), ((2, 3), [Shard(1), StridedShard(0, 2)])):
            costs = plan_load(checkpoint, MeshJob(mesh_shape, placements)).processes
            coordinates = list(itertools.product(*map(range, mesh_shape)))
            assert len(costs) == len(coordinates)
            for cost, coordinate in zip(costs, coordinates, strict=True):
                own = cost._asdict()
                own.pop("process")
                assert own == by_hand(checkpoint, mesh_shape, placements, coordinate), sample.name
                processes += 1
        planned += 1
    assert planned > 40
    assert processes == 9 * planned


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_mesh_and_any_placements_cost_what_their_processes_cost(tmp_path_factory, data):
    shapes = data.draw(st.lists(st.lists(st.integers(1, 7), min_size=0, max_size=3).map(tuple), min_size=1, max_size=3))
    many = data.draw(st.integers(1, 3))
    ranks = [[] for _ in range(many)]
    for number, shape in enumerate(shapes):
        for rank, (offsets, sizes) in enumerate(rows(shape, many) if shape else [((), ())]):
            if math.prod(sizes):
                ranks[rank].append((f"t{number}", offsets, sizes))
    checkpoint = sp.open_checkpoint(save(tmp_path_factory.mktemp("plan"), *ranks))
    mesh_shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple))
    placements = [data.draw(st.sampled_from(WORDS)) for _ in mesh_shape]
    planned = plan_load(checkpoint, MeshJob(mesh_shape, placements))
    assert planned.complete
    for cost, coordinate in zip(planned.processes, itertools.product(*map(range, mesh_shape)), strict=True):
        own = cost._asdict()
        assert own.pop("process").endswith(f"({', '.join(map(str, coordinate))})")
        assert own == by_hand(checkpoint, mesh_shape, placements, coordinate)


def test_rows_wanted_as_columns_are_short_runs_from_every_file(plan, tmp_path):
    save(tmp_path, *([("w", (8 * rank, 0), (8, 64))] for rank in range(8)))
    status, out, _ = plan(tmp_path, "--mesh", "8", "--placements", "S1", "--format", "json")
    document = json.loads(out)
    assert (status, document["version"], document["complete"]) == (0, 1, True)
    assert len(document["processes"]) == 8
    for cost in document["processes"]:
        assert (cost["reads"], cost["runs"], cost["shortest_run"], cost["longest_run"]) == (8, 64, 32, 32)
        assert (cost["files"], cost["bytes"], cost["record_bytes"], cost["amplification"]) == (8, 2048, 16384, 8.0)
    assert (
        "worst: process 0 (0) fetches 16.4 kB from 8 files in 64 runs of 32 bytes to 32 bytes"
        in plan(tmp_path, "--mesh", "8", "--placements", "S1")[1]
    )


def test_replicas_spread_over_all_files_make_every_process_open_all(plan, tmp_path):
    save(tmp_path, *([(f"s{rank}", (), ())] for rank in range(8)))
    document = json.loads(plan(tmp_path, "--mesh", "8", "--placements", "R", "--format", "json")[1])
    assert [(cost["files"], cost["bytes"]) for cost in document["processes"]] == [(8, 32)] * 8


def test_a_process_that_holds_nothing_reads_nothing_and_is_named(plan, tmp_path):
    save(tmp_path, *([("w", (3 * rank,), (min(3, 20 - 3 * rank),))] for rank in range(7)))
    status, out, _ = plan(tmp_path, "--mesh", "8", "--placements", "S0")
    assert status == 0
    assert "1 of 8 processes read nothing: 7 (7)" in out.splitlines()
    assert out.splitlines()[-1] == "everything that is wanted is there"


def test_what_has_no_source_is_named_with_box_and_process(plan):
    status, out, _ = plan(GAP, "--mesh", "3", "--placements", "S0", "--format", "json")
    document = json.loads(out)
    assert (status, document["complete"]) == (1, False)
    gaps = [found for found in document["findings"] if found["code"] == "SP311"]
    assert [(found["fqn"], found["box"], found["values"]["process"]) for found in gaps] == [
        ("w", {"offsets": [row, 7], "sizes": [1, 2]}, f"{row} ({row})") for row in range(3)
    ]
    assert document["counts"] == {"SP311": 3, "SP312": 3}
    text = plan(GAP, "--mesh", "3", "--placements", "S0")[1]
    assert "          (1, 7)+(1, 2), wanted by process 1 (1)" in text.splitlines()


def test_a_faulty_layout_is_not_planned_and_the_rest_is(plan):
    status, out, _ = plan(samples.OWN / "torch_dcp" / "overflow_offset", "--mesh", "2", "--placements", "S0")
    assert status == 1
    assert "error   SP105 chunk-overflow: w7: 9223372036854775807 + 1" in out
    assert "all: 4 tensors, " in out


def test_what_no_machine_can_count_is_a_finding(plan, tmp_path):
    header = {"w": tensor("F32", [2**62] * 20, 0, 4), "v": tensor("F32", [0, 2**62, 2**62], 4, 4)}
    (tmp_path / "model.safetensors").write_bytes(file(header, 4))
    status, out, err = plan(tmp_path, "--mesh", "2", "--placements", "S0", "--format", "json")
    assert (status, err) == (1, "")
    assert [(found["code"], found["fqn"]) for found in json.loads(out)["findings"]] == [("SP106", "w")]
    for command in (["show", tmp_path], ["show", tmp_path, "w"], ["diff", tmp_path, tmp_path]):
        assert run(list(map(str, command))) == 0


def test_a_tensor_of_too_few_dimensions_is_replicated_and_counted(plan, tmp_path):
    save(tmp_path, [("w", (0, 0), (4, 6)), ("b", (0,), (6,)), ("s", (), ())])
    document = json.loads(plan(tmp_path, "--mesh", "2x2", "--placements", "S0,S1", "--format", "json")[1])
    assert document["replicated"] == {"S0 of mesh dimension 0": 1, "S1 of mesh dimension 1": 2}
    assert [cost["bytes"] for cost in document["processes"]] == [4 * (6 + 3 + 1)] * 4
    assert (
        "2 tensors with too few dimensions for S1 of mesh dimension 1: replicated there"
        in plan(tmp_path, "--mesh", "2x2", "--placements", "S0,S1")[1]
    )


def test_strided_runs_are_those_the_process_holds_not_the_one_that_dtensor_names(tmp_path):
    checkpoint = sp.open_checkpoint(save(tmp_path, [("w", (0,), (8,))]))
    first = plan_load(checkpoint, MeshJob((2, 2), parse_placements("S0,SS0/2"))).processes[0]
    # The first half is rows 0..4; of its two pieces 0..2 and 2..4 the process holds the first row each.
    assert (first.bytes, first.reads, first.runs) == (8, 2, 2)


def test_processes_like_those_of_another_checkpoint_want_their_own_chunks(plan, tmp_path):
    saved = save(tmp_path / "saved", *([("w", (offset,), (size,))] for offset, size in ((0, 1), (1, 7), (8, 2))))
    wanted = save(tmp_path / "wanted", *([("w", (5 * rank,), (5,))] for rank in range(2)))
    document = json.loads(plan(saved, "--like", wanted, "--format", "json")[1])
    assert [cost["reads"] for cost in document["processes"]] == [2, 2]
    assert [cost["bytes"] for cost in document["processes"]] == [20, 20]
    assert [cost["files"] for cost in document["processes"]] == [2, 2]
    same = json.loads(plan(saved, "--like", saved, "--format", "json")[1])
    assert [(cost["reads"], cost["amplification"]) for cost in same["processes"]] == [(1, 1.0)] * 3


def test_files_of_several_parts_are_told_apart(tmp_path):
    for name in ("a", "b"):
        save(tmp_path / name, [(name, (0,), (2,))], [(name, (2,), (2,))])
    checkpoint = sp.open_checkpoint(tmp_path)
    assert len(checkpoint.parts) == 2
    assert [cost.files for cost in plan_load(checkpoint, MeshJob((2,), [Shard(0)])).processes] == [2, 2]
    assert [cost.files for cost in plan_load(checkpoint, MeshJob((2,), [Replicate()])).processes] == [4, 4]


def test_files_of_one_process_are_one_process():
    checkpoint = sp.open_checkpoint(samples.OWN / "megatron" / "torch_dist_w2")
    job = LikeJob(checkpoint)
    assert job.processes == ["0", "1"]
    costs = plan_load(checkpoint, job).processes
    assert sum(cost.tensors for cost in costs) > 4
    assert sum(cost.bytes for cost in costs) == sum(
        int(np.prod(one.sizes, axis=1).sum()) * bits // 8
        for one, bits in ((tensor.chunks, tensor.bits) for tensor in checkpoint.tensors.values())
    )


def test_all_missing_unused_reshaped_and_retyped_tensors_are_named(plan, tmp_path):
    saved = save(tmp_path / "saved", [(f"dl.rank_{rank}", (0,), (2,)) for rank in range(4)])
    fewer = save(tmp_path / "fewer", [(f"dl.rank_{rank}", (0,), (2,)) for rank in range(2)])
    more = save(tmp_path / "more", [(f"dl.rank_{rank}", (0,), (2,)) for rank in range(8)])
    status, out, _ = plan(saved, "--like", fewer, "--format", "json")
    assert (status, json.loads(out)["counts"]) == (0, {"SP511": 2})
    status, out, _ = plan(saved, "--like", more, "--format", "json")
    assert (status, json.loads(out)["counts"]) == (1, {"SP510": 4})
    padded = [(f"e{number}", (0, 0), (4, 68)) for number in range(3)]
    narrow = save(tmp_path / "narrow", [*padded, ("x", (0, 0), (4, 68)), ("y", (0,), (1,))])
    wide = save(
        tmp_path / "wide", [*((f, o, (4, 72)) for f, o, _ in padded), ("x", (0, 0), (8, 68)), ("y", (0,), (1,), "BF16")]
    )
    status, out, _ = plan(narrow, "--like", wide)
    assert status == 1
    assert out.count("SP512 tensor-reshaped: ") == 4
    assert "e2: the shape is [4, 68], [4, 72] is expected" in out
    assert "SP513 tensor-retyped: y: the dtype is float32, bfloat16 is expected" in out


def test_long_tables_are_capped_in_text_only(plan):
    _, out, _ = plan(UNEVEN, "--mesh", "150", "--placements", "S0")
    assert "and 50 more processes; --limit 0 shows all" in out.splitlines()
    assert "\n149 (149)" in plan(UNEVEN, "--mesh", "150", "--placements", "S0", "--limit", "0")[1]
    assert (
        len(json.loads(plan(UNEVEN, "--mesh", "150", "--placements", "S0", "--format", "json")[1])["processes"]) == 150
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--mesh with --placements, or --like"),
        (["--mesh", "2"], "--mesh with --placements, or --like"),
        (["--placements", "S0"], "--mesh with --placements, or --like"),
        (["--mesh", "2", "--placements", "S0", "--like", UNEVEN], "--mesh with --placements, or --like"),
        (["--mesh", "2x2", "--placements", "S0"], "write one for each, R where nothing is split"),
        (["--mesh", "2", "--placements", "P"], "placement 0: 'P' is none of R, S<dim>, SS<dim>/<split factor>"),
        (["--mesh", "0", "--placements", "S0"], "write its sizes with x between them, such as 4x2"),
        (["--mesh", "99999x99999", "--placements", "S0,S1"], "more than 65536 are not planned"),
        (["--mesh", "1", "--placements", "SS0/99999999"], "more than 65536 are not planned"),
        (["--like", UNEVEN / "nothing"], "nothing is there"),
    ],
)
def test_a_job_that_is_none_is_one_sentence_with_the_next_step(plan, arguments, message):
    status, out, err = plan(UNEVEN, *arguments)
    assert (status, out) == (2, "")
    assert message in err.splitlines()[-1]


def test_two_parts_with_one_tensor_are_not_planned_together(plan):
    both = samples.OWN / "torch_dcp_hf" / "w4_uneven_consolidated_t214"
    status, _, err = plan(both, "--mesh", "2", "--placements", "S0")
    assert status == 2
    assert "choose the part that is loaded (on the command line with --part)" in err
    for part in ("sharded", "consolidated"):
        status, out, _ = plan(both, "--part", part, "--mesh", "2", "--placements", "S0", "--format", "json")
        assert status == 0
        assert json.loads(out)["tensors"] == 3
    assert "there are consolidated, sharded" in plan(both, "--part", "x", "--mesh", "2", "--placements", "S0")[2]
