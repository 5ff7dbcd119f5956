"""Faults as people reported them to other projects, each as a tiny checkpoint with the verdict that it should get.

A number stands for one report. Those that another test answers are listed with it.
"""

import contextlib
import io
import json
import re
import shutil
from pathlib import Path

import pytest
import samples
import shardproof as sp
from attacks.safetensors import file, tensor
from shardproof import check_checkpoint
from shardproof.cli import run
from shardproof.findings import Severity
from shardproof.report.json import as_dict
from written import metadata

HERE = Path(__file__).parent
DCP = samples.OWN / "torch_dcp"


def put(directory, files):
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return directory


def saved(directory, tensors, records, *, data=64, **other):
    """Write a DCP directory of one data file, in which only the geometry matters."""
    return put(directory, {".metadata": metadata(tensors, records, **other), "__0_0.distcp": bytes(data)})


def record(name, offset, start, length=8):
    return name, offset, "__0_0.distcp", start, length


def diff(here):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = run(["diff", str(here / "saved"), str(here / "wanted")])
    return status, out.getvalue()


HALVES = [((0,), (2,)), ((2,), (2,))]


def codes(report):
    return [finding.code for finding in report.findings if finding.severity < Severity.NOTE]


def two_chunks_share_one_payload(here):
    saved(here, {"w": ((4,), HALVES)}, [record("w", (0,), 0), record("w", (2,), 0)], data=8)
    (finding,) = check_checkpoint(here).findings
    assert (finding.code, finding.fqn) == ("SP411", "w")


def metadata_of_every_process_are_one_checkpoint(here):
    """Each alone is half of it; a process that wrote the same again is no error in this layout."""
    whole = shutil.copytree(DCP / "w2_no_collectives_t214", here / "whole")
    assert check_checkpoint(whole).verdict == "whole"
    names = sorted(path.name for path in whole.glob("*.metadata"))
    assert len(names) == 2
    (whole / names[1]).unlink()
    assert "SP301" in codes(check_checkpoint(whole))


def a_file_that_is_a_byte_short_is_named_with_the_chunk_that_it_hits(here):
    chunks = [((0,), (2,)), ((2,), (2,))]
    records = [record("w", (0,), 0), record("w", (2,), 8)]
    report = check_checkpoint(saved(here, {"w": ((4,), chunks)}, records, data=15))
    (finding,) = report.findings
    assert (finding.code, finding.fqn, finding.positions.first) == ("SP408", "w", (1,))
    assert "15" in finding.sentence


def data_without_metadata_are_incomplete_and_not_broken(here):
    report = check_checkpoint(put(here, {"__0_0.distcp": bytes(8), "__1_0.distcp": bytes(8)}))
    assert (report.verdict, codes(report)) == ("not proved", ["SP701"])
    assert "2" in report.findings[0].sentence


def chunks_and_records_are_held_against_each_other(here):
    records = [record("w", (0,), 0), record("w", (3,), 8)]
    report = check_checkpoint(saved(here, {"w": ((4,), HALVES)}, records, data=16))
    assert {(f.code, f.positions.first) for f in report.findings} == {("SP401", (1,)), ("SP402", ())}


def a_chunk_that_zarr_may_leave_out_is_a_note_and_one_that_it_may_not_is_a_gap(here):
    array = {
        "zarr_format": 2,
        "shape": [4, 4],
        "chunks": [2, 2],
        "dtype": "<f4",
        "compressor": None,
        "filters": None,
        "order": "C",
    }
    files = {f"{name}/{key}": bytes(16) for name in ("may", "must") for key in ("0.0", "0.1", "1.1")}
    files |= {"may/.zarray": {**array, "fill_value": 0}, "must/.zarray": {**array, "fill_value": None}}
    report = check_checkpoint(put(here, {".zgroup": {"zarr_format": 2}, **files}))
    found = {f.fqn: (f.code, f.severity.name, f.box) for f in report.findings if f.fqn}
    assert found["must"] == ("SP301", "ERROR", ((2, 0), (2, 2)))
    assert found["may"][1:] == ("NOTE", ((2, 0), (2, 2)))


def chunks_of_fewer_dimensions_than_the_shape_are_named(here):
    array = {"zarr_format": 2, "shape": [6, 4], "chunks": [2], "dtype": "<f4", "fill_value": 0}
    report = check_checkpoint(put(here, {".zarray": {**array, "compressor": None, "filters": None, "order": "C"}}))
    assert codes(report) == ["SP616"]


def a_stale_file_beside_the_right_one_is_listed(here):
    files = {
        "s1.safetensors": file({"a": tensor("U8", [1], 0, 1)}, 1),
        "old.safetensors": file({"a": tensor("U8", [1], 0, 1), "z": tensor("U8", [1], 1, 2)}, 2),
        "model.safetensors.index.json": {"weight_map": {"a": "s1.safetensors"}},
    }
    assert [(f.code, f.fqn, f.file) for f in check_checkpoint(put(here, files)).findings] == [
        ("SP405", None, "old.safetensors"),
        ("SP503", "a", "old.safetensors"),
    ]


def metadata_of_older_writers_are_read_and_the_first_cause_is_told(here):
    tensors, records = {"w": ((4,), HALVES)}, [record("w", (0,), 0), record("w", (2,), 8)]
    for without in [("storage_meta",), ("storage_meta", "version"), ("planner_data", "storage_meta", "version")]:
        report = check_checkpoint(saved(here, tensors, records, data=16, without=without))
        assert (report.verdict, codes(report)) == ("whole", [])
    for other in [{"storage_data": None}, {"without": ("storage_data",)}]:
        report = check_checkpoint(saved(here, tensors, records, data=16, **other))
        assert report.verdict != "whole"
        assert codes(report)
    content = metadata(tensors, records)
    report = check_checkpoint(put(here, {".metadata": content[: len(content) // 2]}))
    assert [(f.code, f.file, f.sentence.startswith("byte ")) for f in report.findings[:1]] == [
        ("SP602", ".metadata", True)
    ]


def sixty_one_overlaps_are_counted_and_the_first_few_are_shown(here):
    chunks = [((start,), (2,)) for start in range(62)] + [((63,), (1,))]
    records = [record("w", offsets, 8 * number) for number, (offsets, _) in enumerate(chunks)]
    report = check_checkpoint(saved(here, {"w": ((64,), chunks)}, records, data=8 * len(chunks)))
    assert report.findings.counts["SP303"] == 61
    text, full = str(report), as_dict(report)
    assert text.count("SP303") < 61
    assert sum(finding["code"] == "SP303" for finding in full["findings"]) == 61


def a_tensor_of_which_no_process_wrote_a_piece_is_named_with_all_of_it(here):
    (finding,) = check_checkpoint(saved(here, {"w": ((4,), [])}, [], data=0)).findings[:1]
    assert (finding.code, finding.fqn, finding.box) == ("SP301", "w", ((0,), (4,)))


def cells_of_a_grid_are_named_as_boxes_with_their_chunks(here):  # noqa: ARG001 -- like the others
    cells = [(0, 0), (2, 0), (2, 0), (2, 2), (4, 0), (4, 2)]
    report = sp.prove(sp.ChunkLayout((6, 4), cells, [(2, 2)] * len(cells)))
    found = {(f.code, f.box, f.positions.first) for f in report.findings}
    assert found == {("SP301", ((0, 2), (2, 2)), ()), ("SP304", ((2, 0), (2, 2)), (1, 2))}


def the_pieces_of_an_object_that_are_missing_are_listed(here):
    blobs = [f"x/shard_{number}_8" for number in (0, 1, 3, 4, 6)]
    saved(here, {}, [record(blob, None, 8 * n) for n, blob in enumerate(blobs)], data=40, blobs=blobs)
    put(here, {"metadata.json": {"sharded_backend": "torch_dist", "sharded_backend_version": 1}, "common.pt": b"x"})
    (finding,) = [f for f in check_checkpoint(here).findings if f.fqn == "x"]
    assert "3 of 8" in finding.sentence
    assert finding.sentence.endswith(": 2, 5, 7")


def flat_ranges_are_complete_and_a_start_below_zero_is_refused(here):  # noqa: ARG001
    parts = [sp.flat_range_to_chunks((4, 6), *ends) for ends in ((0, 7), (7, 24))]
    chunks = [chunk for part in parts for chunk in part]
    assert sp.prove(sp.ChunkLayout((4, 6), [c.offsets for c in chunks], [c.sizes for c in chunks])).ok
    with pytest.raises(sp.InvalidInput, match="-1"):
        sp.flat_range_to_chunks((4, 6), -1, 7)


def sizes_that_differ_by_padding_show_the_same_number_everywhere(here):
    def model(width, height):
        shapes = {name: [4, width] for name in "abc"} | {"d": [height, 68]}
        header, end = {}, 0
        for name, (rows, columns) in shapes.items():
            header[name] = tensor("U8", [rows, columns], end, end + rows * columns)
            end += rows * columns
        return file(header, end)

    put(here, {"saved/model.safetensors": model(68, 4), "wanted/model.safetensors": model(72, 8)})
    status, text = diff(here)
    assert status == 1
    assert text.count("+4 on dim 1") == 3
    assert text.count("+4 on dim 0") == 1


def a_narrower_dtype_is_said_to_be_narrower(here):
    put(here, {"saved/model.safetensors": file({"a": tensor("F32", [2], 0, 8)}, 8)})
    put(here, {"wanted/model.safetensors": file({"a": tensor("BF16", [2], 0, 4)}, 4)})
    status, text = diff(here)
    assert status == 1
    assert "narrower" in text


CASES = {
    10: two_chunks_share_one_payload,
    20: metadata_of_every_process_are_one_checkpoint,
    45: flat_ranges_are_complete_and_a_start_below_zero_is_refused,
    46: a_tensor_of_which_no_process_wrote_a_piece_is_named_with_all_of_it,
    47: cells_of_a_grid_are_named_as_boxes_with_their_chunks,
    48: the_pieces_of_an_object_that_are_missing_are_listed,
    59: sizes_that_differ_by_padding_show_the_same_number_everywhere,
    61: a_narrower_dtype_is_said_to_be_narrower,
    64: a_file_that_is_a_byte_short_is_named_with_the_chunk_that_it_hits,
    65: data_without_metadata_are_incomplete_and_not_broken,
    66: chunks_and_records_are_held_against_each_other,
    74: a_chunk_that_zarr_may_leave_out_is_a_note_and_one_that_it_may_not_is_a_gap,
    75: chunks_of_fewer_dimensions_than_the_shape_are_named,
    78: a_stale_file_beside_the_right_one_is_listed,
    94: metadata_of_older_writers_are_read_and_the_first_cause_is_told,
    95: sixty_one_overlaps_are_counted_and_the_first_few_are_shown,
}

ELSEWHERE = {
    4: "test_check.py::test_a_size_that_a_whole_copy_declares_shows_what_is_missing_at_the_end",
    18: "test_residue.py::test_processes_agree_in_any_order_without_gathering",
    21: "test_check.py::test_bare_files_of_processes_have_nothing_to_prove",
    26: "test_plan.py::test_replicas_spread_over_all_files_make_every_process_open_all",
    63: "test_check.py::test_expected_names_are_compared_both_ways_with_the_nearest_name",
    67: "test_attacks.py::test_each_way_for_dcp_to_be_wrong_has_its_code",
    68: "test_check.py::test_expected_names_are_compared_both_ways_with_the_nearest_name",
    70: "test_cli.py::test_a_check_imports_neither_numpy_nor_a_framework",
    71: "test_orbax.py::test_databases_that_were_never_merged_are_told",
    72: "test_orbax.py::test_a_marker_that_is_gone_is_a_warning_wherever_it_was",
    73: "test_orbax.py::test_layers_that_are_wanted_and_absent_are_named",
    76: "../rust/core/src/checkpoint/zarr/reader/tests.rs::a_chunk_that_two_processes_wrote_is_told_with_both_numbers",
    77: "test_check.py::test_an_index_and_its_files_are_held_against_each_other",
    80: "test_check.py::test_four_pieces_read_as_two_are_half_a_tensor",
    81: "test_check.py::test_an_export_that_kept_one_slice_is_compared_with_its_source",
    82: "test_attacks.py::test_a_record_without_a_checksum_is_said_not_to_be_verified",
    **dict.fromkeys(range(83, 91), "test_safetensors.py::test_each_way_to_be_wrong_has_its_code"),
    91: "test_attacks.py::test_what_a_pickle_would_call_is_named_and_not_called",
    93: "test_check.py::test_expected_names_are_compared_both_ways_with_the_nearest_name",
}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.__name__)
def test_what_people_run_into(case, tmp_path):
    case(tmp_path)


def test_every_report_is_answered_here_or_elsewhere():
    assert len(CASES) + len(ELSEWHERE) == 16 + 26
    assert not CASES.keys() & ELSEWHERE.keys()
    for place in ELSEWHERE.values():
        module, name = place.split("::")
        assert re.search(rf"^(def|fn) {name}\(", (HERE / module).read_text(), re.MULTILINE), place
