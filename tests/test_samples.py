"""Every sample gets the verdict it deserves, each fault where it is, and nothing that is not there."""

from collections import Counter
from pathlib import Path

import pytest
import samples
from shardproof.checkpoint import check_checkpoint, open_checkpoint
from shardproof.findings import Severity

ALL = samples.samples(samples.collection())
PWNED = Path("/tmp/shardproof_pwned")


def test_the_samples_are_all_here():
    own = samples.samples(samples.OWN)
    assert len(own) >= 50
    assert Counter(sample.row["kind"] for sample in own).keys() == {"healthy", "broken"}
    assert {sample.row["format"] for sample in own} == {sample.row["format"] for sample in ALL}
    names = {sample.name for sample in ALL}
    assert all(sample.name in names for sample in own)


@pytest.mark.parametrize("deep", [False, True], ids=["shallow", "deep"])
@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.name)
def test_a_sample_gets_what_it_deserves(sample, deep):
    report = check_checkpoint(sample.directory, deep=deep, max_findings=1000)
    assert not PWNED.exists()
    wanted = sample.expected(deep=deep)
    for want in wanted:
        if not want.get("secondary") and "none" not in want.get("accept", []):
            assert any(samples.answers(finding, want) for finding in report.findings), (want, list(report.findings))
    worst = Severity.WARNING if sample.row["kind"] == "healthy" else Severity.ERROR
    for finding in report.findings:
        if finding.severity <= worst:
            assert any(samples.answers(finding, want) for want in sample.row["expected_findings"]), finding
        assert finding.sentence
    errors = [want for want in wanted if want["level"] == "error"]
    if sample.row["kind"] == "healthy":
        assert report.verdict == "whole"
    elif errors:
        assert report.verdict != "whole"


@pytest.mark.parametrize(
    "sample", [sample for sample in ALL if sample.row["kind"] == "healthy"], ids=lambda sample: sample.name
)
def test_a_healthy_sample_has_the_tensors_that_its_framework_saw(sample):
    checkpoint = open_checkpoint(sample.directory)
    truth = {name: part["tensors"] for name, part in sample.row.get("parts", {"": sample.row}).items()}
    seen = 0
    for name, tensors in truth.items():
        part = checkpoint.parts[name]
        assert set(part.tensors) == set(tensors)
        for fqn, want in tensors.items():
            tensor = part.tensors[fqn]
            seen += 1
            if tensor.dtype == "float4_e2m1fn":  # torch counts the bytes, each of two elements
                continue
            assert list(tensor.global_shape) == want["shape"]
            if not sample.says_boxes():
                continue
            offsets, sizes = tensor.boxes
            boxes = sorted(zip(offsets.tolist(), sizes.tolist(), strict=True))
            assert boxes == sorted((chunk[0], chunk[1]) for chunk in want["chunks"] if chunk[2] is not None)
    assert seen == sum(map(len, truth.values()))
