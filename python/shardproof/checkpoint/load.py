"""What each process of a job reads to load a checkpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from shardproof.checkpoint.expectation import compare
from shardproof.checkpoint.job import LikeJob
from shardproof.errors import InvalidInput, LayoutError, LimitExceeded
from shardproof.findings import KINDS, Finding, Findings, Positions
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

_ALIKE: Final = 256
"""Plans whose costs are counted before they are added up."""
_SUMMED: Final = ("bytes", "reads", "runs", "record_bytes", "tensors")


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


class _Numbers(NamedTuple):
    """What each group reads of a tensor: elements, reads, runs, elements of the shortest and of the longest run."""

    elements: list[int]
    reads: list[int]
    runs: list[int]
    shortest: list[int]
    longest: list[int]


class _Costs(NamedTuple):
    """What the groups that read something of a tensor read, and which saved chunks each touches."""

    groups: Column
    numbers: _Numbers
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
        self.sums = {name: np.zeros(groups, object) for name in _SUMMED}
        self.shortest = np.full(groups, None, object)
        self.longest = np.zeros(groups, object)
        self.opened = np.zeros((groups, files), bool)
        self._alike: dict[tuple[int, int], tuple[Column, _Numbers, int]] = {}

    def add(self, tensor: Tensor, numbers: Column, costs: _Costs) -> None:
        """Add one tensor; `numbers` are its chunks' files among all."""
        bits = tensor.bits or 0
        touching = costs.groups[costs.touching]
        np.add.at(self.sums["record_bytes"], touching, tensor.records[2].astype(object)[costs.touched])
        files = numbers[costs.touched]
        stored = files >= 0
        self.opened[touching[stored], files[stored]] = True
        # Layers are alike: what they cost is counted first, and added up once.
        key = id(costs.numbers), bits
        times = self._alike[key][2] if key in self._alike else 0
        self._alike[key] = costs.groups, costs.numbers, times + 1
        if len(self._alike) > _ALIKE:
            self.finish()

    def finish(self) -> None:
        """Add up what was counted."""
        for (_, bits), (at, numbers, times) in self._alike.items():
            self.sums["bytes"][at] += _bytes(numbers.elements, bits) * times
            self.sums["reads"][at] += np.array(numbers.reads, object) * times
            self.sums["runs"][at] += np.array(numbers.runs, object) * times
            self.sums["tensors"][at] += times
            self.longest[at] = np.maximum(self.longest[at], _bytes(numbers.longest, bits))
            for group, shortest in zip(at.tolist(), _bytes(numbers.shortest, bits), strict=True):
                known = self.shortest[group]
                self.shortest[group] = shortest if known is None else min(known, shortest)
        self._alike.clear()


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
        sums[key].add(tensor, np.where(numbers < 0, -1, numbers + first_file[part.name]), costs)
    for one in sums.values():
        one.finish()
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
    bits = tensor.bits or 8
    if prod(tensor.global_shape) * bits >= 1 << 66:
        values: dict[str, int | str] = {"shape": str(list(tensor.global_shape)), "bits": bits}
        found = Finding(code="SP106", severity=KINDS["SP106"].severity, values=values)
        return _nothing(Findings([found]))
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
    try:
        plan = plan_reads(saved, wanted.chunks, max_reads=_MAX_READS)
    except LayoutError as error:
        return _nothing(error.findings)
    except LimitExceeded as error:
        raise LimitExceeded(f"{fqn}: {error}") from error
    each = plan.costs(1, wanted.counts)
    reading = np.array([cost.reads > 0 for cost in each], bool)
    each = [cost for cost in each if cost.reads]
    # Groups and saved chunks that meet, each pair once; groups are numbered among those that read.
    of_chunk = np.repeat(np.cumsum(reading) - 1, wanted.counts)
    pairs = np.unique(of_chunk[plan.wanted_positions] * max(len(saved), 1) + plan.saved_positions)
    numbers = _Numbers(
        [cost.bytes for cost in each],
        [cost.reads for cost in each],
        [cost.runs for cost in each],
        [cost.shortest_run for cost in each],
        [cost.longest_run for cost in each],
    )
    touching, touched = np.divmod(pairs, max(len(saved), 1))
    return _Costs(wanted.groups[reading], numbers, touching, touched, plan.findings)


def _nothing(findings: Findings) -> _Costs:
    """Read nothing of a tensor whose layout is faulty."""
    none = np.zeros(0, np.int64)
    return _Costs(none, _Numbers([], [], [], [], []), none, none, findings)


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
    added: dict[str, Any] = dict.fromkeys(_SUMMED, 0)
    shortest: list[Any] = []
    longest: list[Any] = [0]
    opened = np.zeros(sums[0].opened.shape[1] if sums else 0, bool)
    for one in sums:
        group = int(one.members[number])
        for name, column in one.sums.items():
            added[name] += column[group]
        shortest += [one.shortest[group]] * (one.shortest[group] is not None)
        longest.append(one.longest[group])
        opened |= one.opened[group]
    return ProcessCost(
        process=process,
        shortest_run=min(shortest, default=0),
        longest_run=max(longest),
        files=int(np.count_nonzero(opened)),
        **added,
    )
