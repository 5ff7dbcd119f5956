"""What each process of a job reads, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shardproof.report.json import finding_as_dict
from shardproof.report.place import count, place, printable, size
from shardproof.report.table import as_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardproof.checkpoint.load import LoadPlan, ProcessCost
    from shardproof.findings import Finding

__all__ = ["VERSION", "as_json", "as_text"]

VERSION: Final = 1
"""Version of the JSON; a member may be added without a new one."""

_HEADS: Final = ("process", "bytes", "reads", "runs", "bytes a run", "files", "fetched", "times")
_FINDINGS: Final = 20


def as_text(plan: LoadPlan, title: str, *, limit: int | None = None, width: int | None = None) -> str:
    """Write a plan: a table of the processes, the worst one, and what cannot be filled."""
    lines = [title]
    rows = [_cells(cost) for cost in plan.processes[:limit]]
    if rows:
        lines += ["", *as_table(_HEADS, rows, width=width, right=_HEADS[1:], flexible=("process",))]
    hidden = len(plan.processes) - len(rows)
    if hidden:
        lines.append(f"and {count(hidden, 'more process')}; --limit 0 shows all")
    lines += ["", *_summary(plan)]
    lines += _unfilled(plan)
    return "\n".join(lines)


def as_json(plan: LoadPlan, location: str, job: dict[str, Any]) -> str:
    """Write a plan as one JSON document."""
    worst = plan.worst
    return json.dumps(
        {
            "version": VERSION,
            "location": location,
            "job": job,
            "complete": plan.complete,
            "tensors": plan.tensors,
            "tensors_of_unknown_size": plan.unknown_size,
            "replicated": dict(plan.replicated),
            "processes": [_as_dict(cost) for cost in plan.processes],
            "worst": None if worst is None else worst.process,
            "counts": dict(sorted(plan.findings.counts.items())),
            "findings": [finding_as_dict(finding) for finding in plan.findings],
        },
        indent=2,
    )


def _as_dict(cost: ProcessCost) -> dict[str, Any]:
    return {**cost._asdict(), "amplification": cost.amplification}


def _cells(cost: ProcessCost) -> Sequence[str]:
    return [
        cost.process,
        size(cost.bytes),
        f"{cost.reads:,}",
        f"{cost.runs:,}",
        size(cost.bytes // cost.runs) if cost.runs else "-",
        f"{cost.files:,}",
        size(cost.record_bytes),
        _times(cost),
    ]


def _times(cost: ProcessCost) -> str:
    return "-" if cost.amplification is None else f"{cost.amplification:.3g}"


def _summary(plan: LoadPlan) -> list[str]:
    worst = plan.worst
    if worst is None:
        return ["no process: the other checkpoint has no records"]
    fetched = sum(cost.record_bytes for cost in plan.processes)
    wanted = sum(cost.bytes for cost in plan.processes)
    far = f"{size(worst.record_bytes)} from {count(worst.files, 'file')}"
    near = f"{count(worst.runs, 'run')} of {size(worst.shortest_run)} to {size(worst.longest_run)}"
    lines = [f"worst: process {printable(worst.process)} fetches {far} in {near}"] if worst.reads else []
    lines.append(f"all: {count(plan.tensors, 'tensor')}, {size(wanted)} wanted, {size(fetched)} fetched")
    idle = [cost.process for cost in plan.processes if not cost.reads]
    if idle:
        named = ", ".join(map(printable, idle[:4])) + (", ..." if len(idle) > 4 else "")
        lines.append(f"{len(idle):,} of {len(plan.processes):,} processes read nothing: {named}")
    lines += [
        f"{count(many, 'tensor')} with too few dimensions for {placement}: replicated there"
        for placement, many in plan.replicated.items()
    ]
    if plan.unknown_size:
        lines.append(f"{count(plan.unknown_size, 'tensor')} of unknown dtype: bytes not counted")
    return lines


def _unfilled(plan: LoadPlan) -> list[str]:
    if not plan.findings.total:
        return ["everything that is wanted is there"]
    shown = plan.findings[:_FINDINGS]
    lines = ["", "not as wanted:" if plan.complete else "cannot be filled as wanted:"]
    for finding in shown:
        lines.append(f"  {finding.severity!s:<7} {finding.code} {finding.name}: {_about(finding)}")
        where = place(finding)
        process = finding.values.get("process")
        wanting = "" if process is None else f"wanted by process {printable(str(process))}"
        detail = ", ".join(filter(None, (where, wanting)))
        if detail:
            lines.append(f"          {detail}")
    if plan.findings.total > len(shown):
        lines.append(f"and {plan.findings.total - len(shown):,} more; --format json has {len(plan.findings):,}")
    return lines


def _about(finding: Finding) -> str:
    names = [printable(name) for name in (finding.part, finding.fqn) if name is not None]
    return ": ".join([*names, printable(finding.sentence)])
