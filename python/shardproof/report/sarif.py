"""Reports as SARIF 2.1.0, which code hosts and editors show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from shardproof import _core
from shardproof.explanations import EXPLANATIONS
from shardproof.findings import KINDS, Finding, Severity
from shardproof.report.place import place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardproof.checkpoint.check import CheckReport

__all__ = ["render"]

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render(reports: Iterable[CheckReport]) -> str:
    """Write reports as one SARIF log, with a run for each."""
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [_run(report) for report in reports],
    }
    return json.dumps(log, indent=2)


def _run(report: CheckReport) -> dict[str, Any]:
    codes = sorted({finding.code for finding in report.findings})
    return {
        "tool": {"driver": {"name": "shardproof", "version": _core.__version__, "rules": list(map(_rule, codes))}},
        "properties": {"verdict": report.verdict, "notJudged": [entry.what for entry in report.not_judged]},
        "originalUriBaseIds": {"CHECKPOINT": {"description": {"text": report.location}}},
        "results": [_result(finding, codes.index(finding.code)) for finding in report.findings],
    }


def _rule(code: str) -> dict[str, Any]:
    kind = KINDS[code]
    return {
        "id": code,
        "name": kind.name,
        "shortDescription": {"text": kind.summary},
        "fullDescription": {"text": EXPLANATIONS[code].meaning},
        "help": {"text": EXPLANATIONS[code].remedy},
        "defaultConfiguration": {"level": _LEVELS[kind.severity]},
    }


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    where = place(finding)
    location: dict[str, Any] = {}
    if finding.file is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.file), "uriBaseId": "CHECKPOINT"}}
        if finding.byte_range is not None:
            first, length = finding.byte_range
            physical["region"] = {"byteOffset": first, "byteLength": length}
        location["physicalLocation"] = physical
    if finding.fqn is not None:
        name = "/".join(filter(None, (finding.part, finding.fqn)))
        location["logicalLocations"] = [{"name": finding.fqn, "fullyQualifiedName": name, "kind": "member"}]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.sentence} ({where})" if where else finding.sentence},
    }
    if location:
        result["locations"] = [location]
    return result
