"""What each process of a job reads to load a checkpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from shardproof.checkpoint.expectation import compare
from shardproof.checkpoint.job import LikeJob
from shardproof.errors import InvalidInput, LayoutError, LimitExceeded
from shardproof.findings import Finding, Findings, Positions
from shardproof.reshard import plan_reads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shardproof.checkpoint.job import Job, Wanted
    from shardproof.checkpoint.model import Checkpoint, Part, Tensor
    from shardproof.layout import ChunkLayout

    Column: TypeAlias = NDArray[np.int64]

__all__ = ["LoadPlan", "ProcessCost", "plan_load"]

_KEPT: Final = 100
"""Findings of one tensor that are kept; all are counted."""
_MAX_READS: Final = 1 << 25
"""Reads of one tensor: their columns need some 3 GB."""
_MAX_OPENED: Final = 1 << 30
"""Processes times files: a byte for each says whether a process opens a file."""
_REMEMBERED: Final = 1_024
"""Plans that are kept because layers are alike, each of up to 65,536 reads."""


class ProcessCost(NamedTuple):
    """What one process reads.

    Attributes
    ----------
    process
        Its name.
    bytes
        Bytes of the elements that it reads.
    reads
        Regions of saved chunks that it reads.
    runs
        Contiguous runs of bytes in the saved chunks that these are, stored row-major.
    shortest_run, longest_run
        Bytes of the shortest and of the longest run; 0 when nothing is read.
    files
        Files that it opens.
    record_bytes
        Bytes of the stored records that it touches, each counted once: what a reader fetches that takes whole records.
    tensors
        Tensors of which it reads something.
    """

    process: str
    bytes: int
    reads: int
    runs: int
    shortest_run: int
    longest_run: int
    files: int
    record_bytes: int
    tensors: int

    @property
    def amplification(self) -> float | None:
        """Bytes of the touched records for each byte that is wanted; None when nothing is read."""
        return self.record_bytes / self.bytes if self.bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What each process of a job reads to load a checkpoint.

    Attributes
    ----------
    processes
        What each reads.
    findings
        What cannot be filled, or is not as the job wants it.
    tensors
        Tensors that are read.
    replicated
        How many tensors have too few dimensions for a placement, by placement.
    unknown_size
        Tensors of which the width of an element is not known: their bytes are not counted.
    """

    processes: Sequence[ProcessCost]
    findings: Findings
    tensors: int
    replicated: Counter[str]
    unknown_size: int

    @property
    def worst(self) -> ProcessCost | None:
        """The process that fetches most; of several, the one with most runs, then most files. None without any."""
        return max(
            self.processes, key=lambda cost: (cost.record_bytes, cost.runs, cost.files, cost.bytes), default=None
        )

    @property
    def complete(self) -> bool:
        """Whether everything that is wanted can be filled, from one source."""
        return not any(finding in _UNFILLED for finding in self.findings.counts)


_UNFILLED: Final = frozenset(
    {"SP102", "SP103", "SP104", "SP105", "SP106", "SP201", "SP302", "SP311", "SP312", "SP510", "SP512"}
)
"""Findings for which something that is wanted cannot be filled, or not from one source."""


class _Costs(NamedTuple):
    """What the groups of a tensor read: counts of elements, and which saved chunks each touches."""

    elements: list[int]
    reads: list[int]
    runs: list[int]
    shortest: list[int]
    longest: list[int]
    touching: Column
    touched: Column
    findings: Findings


class _Sums:
    """Sums over all tensors that are grouped alike."""

    def __init__(self, members: Column, files: int) -> None:
        self.members = members
        groups = int(members.max()) + 1 if len(members) else 0
        if len(members) * files > _MAX_OPENED:
            raise LimitExceeded(f"{len(members)} processes and {files} files are too many to plan for")
        # Python integers: sums of what files say may be beyond 64 bits.
        self.sums = {name: np.zeros(groups, object) for name in ("bytes", "reads", "runs", "record_bytes", "tensors")}
        self.shortest = np.full(groups, None, object)
        self.longest = np.zeros(groups, object)
        self.opened = np.zeros((groups, files), bool)

    def add(self, tensor: Tensor, numbers: Column, wanted: Wanted, costs: _Costs) -> None:
        """Add one tensor; `numbers` are its chunks' files among all."""
        bits = tensor.bits or 0
        at = wanted.groups
        self.sums["bytes"][at] += _bytes(costs.elements, bits)
        self.sums["reads"][at] += np.array(costs.reads, object)
        self.sums["runs"][at] += np.array(costs.runs, object)
        self.sums["tensors"][at] += np.array([int(reads > 0) for reads in costs.reads], object)
        self.longest[at] = np.maximum(self.longest[at], _bytes(costs.longest, bits))
        for group, shortest, reads in zip(at.tolist(), _bytes(costs.shortest, bits), costs.reads, strict=True):
            if reads:
                known = self.shortest[group]
                self.shortest[group] = shortest if known is None else min(known, shortest)
        lengths = tensor.records[2].astype(object)
        np.add.at(self.sums["record_bytes"], at[costs.touching], lengths[costs.touched])
        files = numbers[costs.touched]
        stored = files >= 0
        self.opened[at[costs.touching[stored]], files[stored]] = True


def plan_load(checkpoint: Checkpoint, job: Job) -> LoadPlan:
    """Plan what each process of a job reads.

    Parameters
    ----------
    checkpoint
        What is loaded.
    job
        The processes and what they want: a `MeshJob` or a `LikeJob`.

    Returns
    -------
    LoadPlan
        Costs of each process, and what cannot be filled.

    Raises
    ------
    InvalidInput
        If two parts of the checkpoint have a tensor of the same name: which one is loaded is not known.
    LimitExceeded
        If a tensor needs more reads than can be planned, or there are too many processes and files.
    """
    tensors = _tensors(checkpoint)
    first_file, files = {}, 0
    for part in checkpoint.parts.values():
        first_file[part.name], files = files, files + len(part.paths)
    sums: dict[str, _Sums] = {}
    remembered: dict[tuple[object, ...], _Costs] = {}
    findings: list[Finding] = []
    counts: Counter[str] = Counter()
    replicated: Counter[str] = Counter()
    unknown = planned = 0
    if isinstance(job, LikeJob):
        found = compare([part.reading for part in checkpoint.parts.values()], job.checkpoint)
        findings += found
        counts.update(finding.code for finding in found)
    for part, tensor in tensors:
        wanted = job.wanted(part, tensor)
        if wanted is None or wanted.chunks.global_shape != tensor.global_shape:
            continue
        replicated.update(wanted.replicated)
        costs = _costs(tensor, wanted, remembered)
        planned += 1
        unknown += tensor.bits is None
        name = part.name if len(checkpoint.parts) > 1 else None
        wanting = _wanting(job, wanted)
        findings += [_about(finding, name, tensor.fqn, wanting) for finding in costs.findings[:_KEPT]]
        counts.update(costs.findings.counts)
        key, members = wanted.members
        if key not in sums:
            sums[key] = _Sums(members, files)
        numbers = tensor.records[0]
        sums[key].add(tensor, np.where(numbers < 0, -1, numbers + first_file[part.name]), wanted, costs)
    return LoadPlan(
        processes=[_total(process, number, list(sums.values())) for number, process in enumerate(job.processes)],
        findings=Findings(findings, counts),
        tensors=planned,
        replicated=replicated,
        unknown_size=unknown,
    )


def _tensors(checkpoint: Checkpoint) -> list[tuple[Part, Tensor]]:
    seen: dict[str, str] = {}
    tensors = []
    for part in checkpoint.parts.values():
        for fqn, tensor in part.tensors.items():
            if seen.setdefault(fqn, part.name) != part.name:
                raise InvalidInput(
                    f"{checkpoint.location}: the parts {seen[fqn]!r} and {part.name!r} both have {fqn!r}; "
                    "choose the part that is loaded (on the command line with --part)"
                )
            tensors.append((part, tensor))
    return tensors


def _costs(tensor: Tensor, wanted: Wanted, remembered: dict[tuple[object, ...], _Costs]) -> _Costs:
    """Plan the reads of a tensor, or remember those of one that is cut alike."""
    saved = tensor.chunks
    key = (
        tensor.global_shape,
        *(table.tobytes() for layout in (saved, wanted.chunks) for table in (layout.offsets, layout.sizes)),
        wanted.groups.tobytes(),
        tuple(wanted.counts),
    )
    if key in remembered:
        return remembered[key]
    costs = _planned(tensor.fqn, saved, wanted)
    if len(remembered) < _REMEMBERED and len(costs.touched) <= 1 << 16 and len(saved) <= 1 << 16:
        remembered[key] = costs
    return costs


def _planned(fqn: str, saved: ChunkLayout, wanted: Wanted) -> _Costs:
    groups = len(wanted.counts)
    try:
        plan = plan_reads(saved, wanted.chunks, max_reads=_MAX_READS)
    except LayoutError as error:
        nothing = [0] * groups
        none = np.zeros(0, np.int64)
        return _Costs(nothing, nothing, nothing, nothing, nothing, none, none, error.findings)
    except LimitExceeded as error:
        raise LimitExceeded(f"{fqn}: {error}") from error
    each = plan.costs(1, wanted.counts)
    of_chunk = np.repeat(np.arange(groups), wanted.counts)
    pairs = np.unique(of_chunk[plan.wanted_positions] * max(len(saved), 1) + plan.saved_positions)
    return _Costs(
        [cost.bytes for cost in each],
        [cost.reads for cost in each],
        [cost.runs for cost in each],
        [cost.shortest_run for cost in each],
        [cost.longest_run for cost in each],
        pairs // max(len(saved), 1),
        pairs % max(len(saved), 1),
        plan.findings,
    )


def _bytes(elements: list[int], bits: int) -> NDArray[np.object_]:
    return np.array([-(-number * bits // 8) for number in elements], object)


def _wanting(job: Job, wanted: Wanted) -> Callable[[int], str]:
    """Find the first process that wants a chunk, by the chunk's position."""
    ends = np.cumsum(wanted.counts)

    def process(position: int) -> str:
        group = wanted.groups[np.searchsorted(ends, position, side="right")]
        return job.processes[int(np.argmax(wanted.members[1] == group))]

    return process


def _about(finding: Finding, part: str | None, fqn: str, wanting: Callable[[int], str]) -> Finding:
    """Say which tensor a finding is about, and of elements that are wanted by which process rather than which chunk."""
    positions, values = finding.positions, dict(finding.values)
    if finding.code == "SP311":
        values["process"] = wanting(positions.first[0])
        positions = Positions()
    elif finding.code == "SP312":
        values["process"] = wanting(int(values["wanted"]))
    return Finding(
        code=finding.code,
        severity=finding.severity,
        part=part,
        fqn=fqn,
        positions=positions,
        dimension=finding.dimension,
        box=finding.box,
        values=values,
    )


def _total(process: str, number: int, sums: list[_Sums]) -> ProcessCost:
    """Add up what a process reads of tensors of all kinds of grouping."""
    of = [(one, int(one.members[number])) for one in sums]
    added = {
        name: sum(one.sums[name][group] for one, group in of)
        for name in ("bytes", "reads", "runs", "record_bytes", "tensors")
    }
    shortest = [one.shortest[group] for one, group in of if one.shortest[group] is not None]
    opened = np.zeros(0, bool)
    for one, group in of:
        opened = one.opened[group] | opened if len(opened) else one.opened[group]
    return ProcessCost(
        process=process,
        shortest_run=min(shortest, default=0),
        longest_run=max((one.longest[group] for one, group in of), default=0),
        files=int(np.count_nonzero(opened)),
        **added,
    )
