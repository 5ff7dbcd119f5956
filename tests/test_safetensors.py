"""Safetensors files: against the reference library, and each fault by its name."""

import json
import struct

import pytest
from attacks.safetensors import ATTACKS, file, tensor
from hypothesis import given, settings
from hypothesis import strategies as st
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.findings import Severity

safetensors = pytest.importorskip("safetensors", reason="the reference library is the oracle")

BITS = {"BOOL": 8, "U8": 8, "I16": 16, "F16": 16, "BF16": 16, "F32": 32, "I64": 64, "F64": 64, "C64": 64, "F4": 4}

TAKEN_BY_THE_LIBRARY = {"name_twice_same_range", "shape_of_1000_dimensions"}
"""Faulty all the same: the last of two definitions wins, and no framework has so many dimensions."""


def errors(path):
    report = check_checkpoint(path)
    return {finding.code for finding in report.findings if finding.severity is Severity.ERROR}


def accepted(content):
    try:
        safetensors.deserialize(content)
    except safetensors.SafetensorError:
        return False
    return True


@pytest.mark.parametrize("name", ATTACKS)
def test_each_way_to_be_wrong_has_its_code(name, tmp_path):
    content, codes = ATTACKS[name]
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    assert errors(path) == codes
    assert accepted(content) == (name in TAKEN_BY_THE_LIBRARY)


def test_there_is_an_attack_for_every_code_that_a_header_can_get():
    assert set().union(*(codes for _, codes in ATTACKS.values())) == {
        *("SP104", "SP106", "SP404", "SP407", "SP408", "SP409", "SP410", "SP411", "SP417", "SP418"),
        *("SP609", "SP610", "SP611", "SP612", "SP613"),
    }


@st.composite
def files(draw):
    """Draw a file that is mostly right: tensors one after another, now and then a number that is off."""
    header, end = {}, 0
    for number in range(draw(st.integers(0, 4))):
        dtype = draw(st.sampled_from(sorted(BITS)))
        shape = draw(st.lists(st.integers(0, 4), max_size=3))
        elements = 1
        for dim in shape:
            elements *= dim
        begin, end = end, end + elements * BITS[dtype] // 8
        header[f"t{number}"] = tensor(dtype, shape, begin, end)
    names = list(header)
    if names and draw(st.booleans()):
        entry = header[draw(st.sampled_from(names))]
        field = draw(st.sampled_from(["begin", "end", "dim"]))
        step = draw(st.sampled_from([-4, -1, 1, 4, 2**62, 2**63]))
        if field == "dim" and entry["shape"]:
            entry["shape"][0] += step
        elif field != "dim":
            entry["data_offsets"][field == "end"] += step
    return file(header, max(end + draw(st.sampled_from([0, 0, 0, -1, 1])), 0))


@settings(max_examples=300, deadline=None)
@given(files())
def test_what_the_reference_library_opens_is_whole_and_nothing_else(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("one") / "model.safetensors"
    path.write_bytes(content)
    # The library takes a dimension beyond 63 bits beside a zero, no framework does.
    header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    too_large = any(dim >= 2**63 for entry in header.values() for dim in entry["shape"])
    assert (check_checkpoint(path).verdict == "whole") == (accepted(content) and not too_large), content


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40), st.data())
def test_a_damaged_file_never_raises(tmp_path_factory, noise, data):
    content = bytearray(file({"a": tensor("F32", [2], 0, 8), "__metadata__": {"format": "pt"}}, 8))
    at = data.draw(st.integers(0, len(content)))
    content[at : at + len(noise)] = noise
    path = tmp_path_factory.mktemp("one") / "model.safetensors"
    path.write_bytes(content)
    report = check_checkpoint(path)
    assert report.verdict in {"whole", "broken", "not proved"}
    assert all(finding.sentence for finding in report.findings)
    assert str(report)


def test_tensors_are_those_of_the_reference_library(tmp_path):
    path = tmp_path / "model.safetensors"
    content = file(
        {"b": tensor("BF16", [2, 3], 4, 16), "a": tensor("I32", [], 0, 4), "e": tensor("F64", [0], 16, 16)}, 16
    )
    path.write_bytes(content)
    tensors = open_checkpoint(path).tensors
    theirs = dict(safetensors.deserialize(content))
    assert {fqn: list(t.global_shape) for fqn, t in tensors.items()} == {k: v["shape"] for k, v in theirs.items()}
    assert {fqn: t.dtype for fqn, t in tensors.items()} == {"a": "int32", "b": "bfloat16", "e": "float64"}
    storage = tensors["b"].storage
    start = 8 + struct.unpack("<Q", content[:8])[0]
    assert (storage.paths, storage.byte_offsets.tolist(), storage.byte_lengths.tolist()) == (
        ("model.safetensors",),
        [start + 4],
        [12],
    )


def test_a_shard_that_names_promise_is_missed_without_an_index(tmp_path):
    for number in (1, 3):
        (tmp_path / f"model-0000{number}-of-00003.safetensors").write_bytes(
            file({f"t{number}": tensor("F32", [2], 0, 8)}, 8)
        )
    report = check_checkpoint(tmp_path)
    assert [(finding.code, finding.file) for finding in report.findings] == [
        ("SP403", "model-00002-of-00003.safetensors")
    ]


def test_one_name_in_two_files_is_named_when_no_index_says_which_counts(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.safetensors").write_bytes(file({"w": tensor("F32", [2], 0, 8)}, 8))
    report = check_checkpoint(tmp_path)
    assert [(finding.code, finding.fqn, finding.file) for finding in report.findings] == [
        ("SP503", "w", "b.safetensors")
    ]


def test_a_tensor_may_be_listed_in_a_file_of_a_subdirectory(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "m.safetensors").write_bytes(file({"w": tensor("F32", [2], 0, 8)}, 8))
    index = {"metadata": {"total_size": 8}, "weight_map": {"w": "d/m.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    report = check_checkpoint(tmp_path)
    assert (report.verdict, report.tensors, list(report.formats)) == ("whole", 1, [""])


def told(directory, header, data):
    (directory / "model.safetensors").write_bytes(file(header, data))
    report = check_checkpoint(directory)
    return report.verdict, [(f.code, f.fqn, f.sentence) for f in report.findings if f.severity is Severity.ERROR]


def test_tensors_that_share_bytes_or_leave_some_out_are_named_with_how_many(tmp_path):
    a = tensor("F32", [2], 0, 8)
    shared = "{} of these bytes ({} of them) belong to a chunk 0 too"
    for begin, end, data, code, sentence in [
        (0, 8, 8, "SP411", shared.format("all", 8)),
        (4, 12, 12, "SP411", shared.format("some", 4)),
        (12, 20, 20, "SP417", "4 bytes in front of it belong to no tensor"),
    ]:
        header = {"a": a, "b": tensor("F32", [2], begin, end)}
        assert told(tmp_path, header, data) == ("broken", [(code, "b", sentence)])


def test_an_empty_tensor_between_two_others_is_no_fault_and_one_inside_another_is(tmp_path):
    a, b = tensor("F32", [2], 0, 8), tensor("F32", [2], 8, 16)
    for at in (0, 8, 16):
        assert told(tmp_path, {"a": a, "e": tensor("F32", [0], at, at), "b": b}, 16) == ("whole", [])
    verdict, ((code, fqn, _),) = told(tmp_path, {"a": a, "e": tensor("F32", [0], 4, 4), "b": b}, 16)
    assert (verdict, code, fqn) == ("broken", "SP411", "e")


def test_padding_that_is_not_spaces_is_counted_and_placed(tmp_path):
    header = json.dumps({"a": tensor("F32", [2], 0, 8)}).encode()
    sentence = f"padding must be spaces; 3 NUL bytes at byte {8 + len(header)}"
    assert told(tmp_path, header + bytes(3), 8) == ("broken", [("SP611", None, sentence)])


def test_ends_beyond_64_bits_are_told_with_their_numbers(tmp_path):
    most = 2**63 - 1
    header = {"a": tensor("U8", [most], 0, most), "b": tensor("U8", [most], most, 2 * most)}
    verdict, found = told(tmp_path, header, 4)
    assert (verdict, [(code, fqn) for code, fqn, _ in found]) == ("broken", [("SP410", "a"), ("SP410", "b")])
    assert all(sentence.endswith(f"+ length {most} is beyond 63 bits") for _, _, sentence in found)
