"""Hostile directories, generated: each gets the codes that name what is wrong with it, and no other."""

import pytest
from attacks import ocdbt, zarr
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
