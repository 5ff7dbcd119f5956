"""Whether every element of every tensor is there exactly once, where the metadata says."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from shardproof.checkpoint.discover import Discovery, FoundPart, discover
from shardproof.checkpoint.files import open_files
from shardproof.checkpoint.model import Checkpoint
from shardproof.checkpoint.reader import NotJudged
from shardproof.errors import LimitExceeded
from shardproof.findings import KINDS, Finding, Findings, Severity, severity_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shardproof.checkpoint.expectation import Expected

__all__ = ["CheckReport", "Verdict", "check_checkpoint"]

Verdict = Literal["whole", "broken", "not proved"]

_UNANSWERED: Final = frozenset(
    {
        *("SP601", "SP602", "SP603", "SP605", "SP607", "SP608", "SP609", "SP614", "SP616", "SP617", "SP619"),
        *("SP701", "SP702", "SP707", "SP708"),
    }
)
"""Findings that say that something could not be judged, rather than that it is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What a check found.

    Attributes
    ----------
    location
        What was checked.
    verdict
        ``"whole"``: every element of every tensor is there exactly once. ``"broken"``: something is wrong for
        certain. ``"not proved"``: something could not be read or judged, and nothing else is known to be wrong.
    findings
        What is wrong or noteworthy, the worst first; counts of all, records up to a limit.
    severities
        Severity of each code that was found, the worst where formats differ.
    not_judged
        What was not looked at, and why; also when the verdict is whole.
    formats
        Names of the formats, by part.
    tensors, chunks
        How many there are, in all parts.
    files
        How many files there are.
    total_bytes
        Bytes of all files.
    deep
        Whether stored records were looked into.
    """

    location: str
    verdict: Verdict
    findings: Findings
    severities: Mapping[str, Severity]
    not_judged: tuple[NotJudged, ...]
    formats: dict[str, str]
    tensors: int
    chunks: int
    files: int
    total_bytes: int
    deep: bool

    @property
    def ok(self) -> bool:
        """Whether the verdict is whole."""
        return self.verdict == "whole"

    def __str__(self) -> str:
        from shardproof.report.text import render  # noqa: PLC0415 -- a report can show itself

        return render(self)

    def _repr_html_(self) -> str:
        from shardproof.report.notebook import report_as_html  # noqa: PLC0415 -- as above

        return report_as_html(self)

    def without(self, codes: Collection[str]) -> CheckReport:
        """Leave findings out and decide again; that they were left out is then among what was not judged."""
        left_out = {code: many for code, many in self.findings.counts.items() if code in codes}
        if not left_out:
            return self
        kept = {code: many for code, many in self.findings.counts.items() if code not in codes}
        records = [finding for finding in self.findings if finding.code not in codes]
        severities = {code: severity for code, severity in self.severities.items() if code not in codes}
        ignored = (NotJudged(code, f"{many} ignored as asked") for code, many in sorted(left_out.items()))
        return replace(
            self,
            verdict=_verdict(severities, anything=bool(self.formats)),
            findings=Findings(records, kept),
            severities=severities,
            not_judged=(*self.not_judged, *ignored),
        )


class _Collected:
    """Findings of all parts with exact counts."""

    def __init__(self) -> None:
        self.records: list[Finding] = []
        self.counts: Counter[str] = Counter()
        self.severities: dict[str, Severity] = {}

    def add(self, findings: list[Finding]) -> None:
        self.records.extend(findings)
        self.count(Counter(finding.code for finding in findings), "")

    def count(self, counts: Mapping[str, int], format_name: str) -> None:
        self.counts.update(counts)
        for code in counts:
            severity = severity_of(code, format_name)
            self.severities[code] = min(severity, self.severities.get(code, severity))


def check_checkpoint(
    checkpoint: str | os.PathLike[str] | Checkpoint,
    *,
    deep: bool = False,
    expect: Expected | None = None,
    max_findings: int = 100,
) -> CheckReport:
    """Prove that a checkpoint is whole, or say what is wrong with it, executing nothing.

    Judged are form, bounds, coverage, storage and agreement between files. What files contain never raises.

    Parameters
    ----------
    checkpoint
        A path or URL, or an open checkpoint.
    deep
        Look into the stored records too: archives, payload shapes, checksums.
    expect
        What ought to be there: names, a mapping from names to shapes, another checkpoint, or the path of one.
    max_findings
        Keep at most so many findings; all are counted.

    Returns
    -------
    CheckReport
        Verdict, findings, and what was not judged.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    InvalidInput
        If a URL is given and fsspec is not installed.
    """
    files = checkpoint.files if isinstance(checkpoint, Checkpoint) else open_files(checkpoint)
    found = discover(files)
    collected = _Collected()
    collected.add(found.findings)
    for part in found.parts:
        _judge(part, found, collected, max_findings, deep=deep)
    if expect is not None:
        from shardproof.checkpoint.expectation import compare  # noqa: PLC0415 -- few ask for it

        collected.add(compare([part for _, part in found.parts], expect))
    not_judged = [*found.not_judged, *(entry for _, part in found.parts for entry in part.not_judged)]
    if not deep and any(part.columns.chunk_count() for _, part in found.parts):
        not_judged.append(NotJudged("payloads", "only their places and lengths were judged; a deep check reads them"))
    findings = Findings(Findings(collected.records)[:max_findings], collected.counts)
    return CheckReport(
        location=files.location,
        verdict=_verdict(collected.severities, anything=bool(found.parts)),
        findings=findings,
        severities=collected.severities,
        not_judged=tuple({entry.what: entry for entry in reversed(not_judged)}.values())[::-1],
        formats={part.name: part.format for _, part in found.parts},
        tensors=sum(len(part.columns) for _, part in found.parts),
        chunks=sum(part.columns.chunk_count() for _, part in found.parts),
        files=len(files),
        total_bytes=sum(files.sizes.values()),
        deep=deep,
    )


def _judge(found_part: FoundPart, found: Discovery, collected: _Collected, most: int, *, deep: bool) -> None:
    """Judge one part: what the core can say of its columns, then what its records hold."""
    reader, part = found_part
    name = part.name if len(found.parts) > 1 else None
    keys = os.urandom(16 * part.columns.rank())
    records, counts = part.columns.judge(list(part.files.sizes.items()), keys, most)
    directory = part.files.directory
    findings = [
        Finding.from_core(record, part=name, directory=directory, format_name=part.format) for record in records
    ]
    collected.records.extend(findings)
    collected.count({f"SP{number}": count for number, count in counts.items()}, part.format)
    if not deep:
        return
    try:
        collected.add(list(reader.examine(part, findings)))
    except (OSError, LimitExceeded) as error:
        kind = KINDS["SP619"]
        reason = f"records cannot be read: {error}"
        collected.add([Finding(code=kind.code, severity=kind.severity, part=name, values={"reason": reason})])


def _verdict(severities: Mapping[str, Severity], *, anything: bool) -> Verdict:
    """Decide: broken if something is wrong for certain, whole if nothing is and everything was judged."""
    serious = {code for code, severity in severities.items() if severity is not Severity.NOTE}
    errors = {code for code in serious if severities[code] is Severity.ERROR}
    if errors - _UNANSWERED:
        return "broken"
    return "whole" if anything and not errors and not serious & _UNANSWERED else "not proved"
