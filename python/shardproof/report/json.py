"""Reports for programs; `report.schema.json` beside this file says what they look like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shardproof.findings import KINDS, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardproof.checkpoint.check import CheckReport

__all__ = ["VERSION", "as_dict", "finding_as_dict", "render"]

VERSION: Final = 1
"""Version of the schema; a member may be added without a new one."""


def render(reports: Iterable[CheckReport]) -> str:
    """Write reports as one JSON document."""
    return json.dumps({"version": VERSION, "reports": [as_dict(report) for report in reports]}, indent=2)


def as_dict(report: CheckReport) -> dict[str, Any]:
    """Make of a report what JSON can hold."""
    return {
        "location": report.location,
        "verdict": report.verdict,
        "formats": report.formats,
        "tensors": report.tensors,
        "chunks": report.chunks,
        "files": report.files,
        "total_bytes": report.total_bytes,
        "deep": report.deep,
        "not_judged": [entry._asdict() for entry in report.not_judged],
        "counts": dict(sorted(report.findings.counts.items())),
        "findings": [finding_as_dict(finding) for finding in report.findings],
    }


def finding_as_dict(finding: Finding) -> dict[str, Any]:
    """Make of a finding what JSON can hold."""
    box = finding.box
    span = finding.byte_range
    return {
        "code": finding.code,
        "name": KINDS[finding.code].name,
        "severity": str(finding.severity),
        "sentence": finding.sentence,
        "part": finding.part,
        "fqn": finding.fqn,
        "positions": {"count": finding.positions.count, "first": list(finding.positions.first)},
        "dimension": finding.dimension,
        "box": None if box is None else {"offsets": list(box[0]), "sizes": list(box[1])},
        "file": finding.file,
        "byte_range": None if span is None else {"byte_offset": span[0], "byte_length": span[1]},
        "values": dict(finding.values),
    }
