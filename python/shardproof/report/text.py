"""A report that a person can act on."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from shardproof.findings import KINDS, Finding, Severity
from shardproof.report.place import count, place, printable, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardproof.checkpoint.check import CheckReport

__all__ = ["headline", "render"]

_COLORS: Final = {
    "whole": "\x1b[1;32m",
    "broken": "\x1b[1;31m",
    "not proved": "\x1b[1;33m",
    Severity.ERROR: "\x1b[31m",
    Severity.WARNING: "\x1b[33m",
    Severity.NOTE: "\x1b[36m",
}
_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_PLAIN: Final = "\x1b[0m"


def headline(report: CheckReport, *, color: bool = False) -> str:
    """Say the verdict, how much it is about, and what was not judged, in one line."""
    counted = [
        count(number, str(severity))
        for severity in Severity
        if (number := sum(many for code, many in report.findings.counts.items() if report.severities[code] is severity))
    ]
    verdict = _paint(report.verdict, _COLORS[report.verdict], color=color)
    line = f"{printable(report.location)}: {verdict}"
    if counted:
        line += f", {', '.join(counted)}"
    if report.not_judged:
        line += f"; not judged: {', '.join(entry.what for entry in report.not_judged)}"
    return line


def render(report: CheckReport, *, color: bool = False, limit: int = 20, reasons: bool = False) -> str:
    """Write a report: the headline, the findings by tensor with the worst first, and totals.

    Parameters
    ----------
    color
        Whether to colour it for a terminal.
    limit
        Findings that are shown; the rest is counted.
    reasons
        Whether to say why something was not judged.
    """
    lines = [headline(report, color=color), _DIM_LINE.format(_facts(report)) if color else f"  {_facts(report)}"]
    if reasons:
        lines += [f"  not judged: {entry.what}: {entry.why}" for entry in report.not_judged]
    shown = report.findings[:limit]
    for (part, fqn), findings in _by_tensor(list(shown)):
        lines.append("")
        title = ": ".join(printable(name) for name in (part, fqn) if name is not None)
        lines.append(_paint(title or "checkpoint", _BOLD, color=color))
        for finding in findings:
            severity = _paint(f"{finding.severity!s:<7}", _COLORS[finding.severity], color=color)
            lines.append(f"  {severity} {finding.code} {finding.name}: {printable(finding.sentence)}")
            if where := place(finding):
                lines.append(f"          {where}")
    hidden = report.findings.total - len(shown)
    if hidden > 0:
        lines += ["", f"and {hidden:,} more; in all {_totals(report)}"]
    return "\n".join(lines)


_DIM_LINE: Final = f"  {_DIM}{{}}{_PLAIN}"


def _facts(report: CheckReport) -> str:
    formats = " + ".join(dict.fromkeys(report.formats.values())) or "no known format"
    tensors = f"{count(report.tensors, 'tensor')} in {count(report.chunks, 'chunk')}"
    return f"{formats}: {tensors}, {count(report.files, 'file')}, {size(report.total_bytes)}"


def _totals(report: CheckReport) -> str:
    order = sorted(report.findings.counts.items(), key=lambda item: (report.severities[item[0]], item[0]))
    return ", ".join(f"{number:,} {KINDS[code].name}" for code, number in order)


def _by_tensor(findings: list[Finding]) -> Iterator[tuple[tuple[str | None, str | None], list[Finding]]]:
    """Bring the findings of one tensor together, the tensor with the worst first."""

    def key(finding: Finding) -> tuple[str | None, str | None]:
        return finding.part, finding.fqn

    rank = {group: number for number, group in reversed(list(enumerate(map(key, findings))))}
    findings.sort(key=lambda finding: rank[key(finding)])
    for group, members in groupby(findings, key=key):
        yield group, list(members)


def _paint(text: str, code: str, *, color: bool) -> str:
    return f"{code}{text}{_PLAIN}" if color else text
