"""Hostile directories, generated: each gets the codes that name what is wrong with it, and no other."""

import os

import pytest
from attacks import dcp, ocdbt, zarr
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.findings import Severity


def codes(directory, files):
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    report = check_checkpoint(directory, deep=True)
    assert str(report)
    if any(finding.severity is Severity.ERROR for finding in report.findings):
        assert report.verdict != "whole"
    return {finding.code for finding in report.findings if finding.severity < Severity.NOTE}


@pytest.mark.parametrize("name", zarr.SOUND)
def test_nothing_is_wrong_with_the_arrays_that_attacks_are_made_of(name, tmp_path):
    assert codes(tmp_path, zarr.SOUND[name]) == set()


@pytest.mark.parametrize("name", zarr.ATTACKS)
def test_each_way_for_arrays_to_be_wrong_has_its_code(name, tmp_path):
    files, wanted = zarr.ATTACKS[name]
    assert codes(tmp_path, files) == wanted


@pytest.mark.parametrize("name", ["version_3", "version_2", "sharded"])
def test_a_changed_element_without_a_checksum_is_said_to_be_unseen(name, tmp_path):
    files = zarr.SOUND[name]
    path = next(path for path, content in files.items() if content.startswith(zarr.CHUNK))
    assert codes(tmp_path, files | {path: b"\1" + files[path][1:]}) == set()
    assert "payloads" in {entry.what for entry in check_checkpoint(tmp_path, deep=True).not_judged}


def test_there_is_an_attack_for_every_code_that_arrays_can_get():
    assert len(zarr.ATTACKS) >= 60
    assert set().union(*(wanted for _, wanted in zarr.ATTACKS.values())) == {
        *("SP102", "SP105", "SP201", "SP408", "SP404", "SP411", "SP413", "SP415", "SP419", "SP420"),
        *("SP616", "SP617", "SP707"),
    }


@pytest.mark.parametrize("name", ocdbt.SOUND)
def test_nothing_is_wrong_with_the_databases_that_attacks_are_made_of(name, tmp_path):
    assert codes(tmp_path, ocdbt.SOUND[name]) == set()
    assert set(open_checkpoint(tmp_path).tensors) == {"a"}


@pytest.mark.parametrize("name", ocdbt.ATTACKS)
def test_each_way_for_databases_to_be_wrong_has_its_code(name, tmp_path):
    files, wanted = ocdbt.ATTACKS[name]
    assert codes(tmp_path, files) == wanted


def test_there_is_an_attack_for_every_code_that_databases_can_get():
    assert len(ocdbt.ATTACKS) >= 50
    assert set().union(*(wanted for _, wanted in ocdbt.ATTACKS.values())) == {
        *("SP403", "SP408", "SP414", "SP421", "SP422", "SP617"),
    }


@pytest.mark.parametrize("name", dcp.REFUSED | dcp.RECORDS)
def test_each_way_for_dcp_to_be_wrong_has_its_code(name, tmp_path):
    files, wanted = (dcp.REFUSED | dcp.RECORDS)[name]
    assert codes(tmp_path, files) == wanted


@pytest.mark.parametrize("name", dcp.CALLED | dcp.NAMED)
def test_what_a_pickle_would_call_is_named_and_not_called(name, tmp_path):
    opcodes, callee = (dcp.CALLED | dcp.NAMED)[name]
    assert codes(tmp_path, dcp.injected(opcodes)) == {"SP605" if name in dcp.CALLED else "SP606"}
    report = check_checkpoint(tmp_path, deep=True)
    assert callee in str(report)
    assert (report.verdict == "not proved") is (name in dcp.CALLED)
    assert not os.path.lexists(dcp.PLANTED)


def test_a_record_without_a_checksum_is_said_not_to_be_verified(tmp_path):
    assert codes(tmp_path, dcp.UNCHECKED) == set()
    (note,) = check_checkpoint(tmp_path, deep=True).findings
    assert (note.code, note.severity, note.file, note.values["records"]) == ("SP425", Severity.NOTE, dcp.FILE, 1)
    assert not check_checkpoint(tmp_path).findings


def test_there_is_an_attack_for_every_code_that_dcp_pickles_and_records_can_get(tmp_path):
    assert codes(tmp_path, dcp.HEALTHY) == set()
    assert len(dcp.REFUSED) >= 40
    assert len(dcp.CALLED) >= 10
    assert len(dcp.RECORDS) >= 20
    assert set().union(*(wanted for _, wanted in dcp.REFUSED.values())) == {
        *("SP601", "SP602", "SP603", "SP604", "SP607", "SP608"),
    }
    assert set().union(*(wanted for _, wanted in dcp.RECORDS.values())) == {"SP415", "SP416", "SP419"}
