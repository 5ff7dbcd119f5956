"""What is reported: findings, and the one table of their codes."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias, overload

__all__ = ["KINDS", "NO_FINDINGS", "CoreRecord", "Finding", "Findings", "Kind", "Positions", "Severity", "severity_of"]

CoreRecord: TypeAlias = tuple[
    int,
    str | None,
    int,
    tuple[int, ...],
    int | None,
    tuple[tuple[int, ...], tuple[int, ...]] | None,
    str | None,
    tuple[int, int] | None,
    dict[str, int | str],
]
"""What the core reports: number of the code, fqn, count of positions and the first of them, dimension, box, file,
byte range, values."""


@enum.unique
class Severity(enum.IntEnum):
    """How bad a finding is; the lowest number is the worst, so that sorting puts it first."""

    ERROR = 0
    WARNING = 1
    NOTE = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table of codes.

    Attributes
    ----------
    number
        The digits of the code.
    name
        Kebab-case name.
    severity
        Default severity; a reader may change it for its format.
    summary
        What it means, in one line.
    sentence
        The sentence of a finding; its fields are `Finding.values` and the finding's own attributes. A field such as
        ``{count|chunk is|chunks are}`` is the number with the words for one or for others.
    """

    number: int
    name: str
    severity: Severity
    summary: str
    sentence: str

    @property
    def code(self) -> str:
        """The stable code, such as ``SP301``."""
        return f"SP{self.number}"


# Append only: a published number never changes its meaning. The core has the same numbers and names; a test holds
# both equal.
_TABLE: Final = (
    Kind(
        101,
        "count-mismatch",
        Severity.ERROR,
        "lists of one layout differ in length",
        "{count} {field} for {expected} {expected_field}",
    ),
    Kind(
        102,
        "chunk-rank-mismatch",
        Severity.ERROR,
        "a chunk has another number of dimensions than the tensor",
        "{field} has {rank|number|numbers}, the tensor {expected}",
    ),
    Kind(103, "chunk-negative", Severity.ERROR, "a negative offset or size", "{field} is {number}"),
    Kind(104, "shape-negative", Severity.ERROR, "a negative dimension in a shape", "{field} is {number}"),
    Kind(
        105,
        "chunk-overflow",
        Severity.ERROR,
        "offset + size, or one of them, is beyond 64 bits",
        "{offset} + {size} = {end} does not fit 64 bits",
    ),
    Kind(
        106,
        "shape-overflow",
        Severity.ERROR,
        "a shape, or its size in bytes, is beyond 63 bits",
        "elements of shape {shape} with {bits} bits each are more than 63 bits of bytes",
    ),
    Kind(
        201,
        "chunk-out-of-bounds",
        Severity.ERROR,
        "a chunk ends outside the tensor",
        "{offset} + {size} = {end} > {dim}",
    ),
    Kind(
        202,
        "shard-outside-local",
        Severity.ERROR,
        "a shard ends outside the local tensor",
        "{offset} + {size} = {end} > {dim}",
    ),
    Kind(
        203,
        "empty-chunk-past-end",
        Severity.WARNING,
        "an empty chunk starts behind the end of the tensor",
        "{offset} > {dim}, the chunk is empty",
    ),
    Kind(
        301,
        "chunk-gap",
        Severity.ERROR,
        "elements that no chunk covers",
        "{elements|element is|elements are} not covered",
    ),
    Kind(
        302,
        "no-chunks",
        Severity.ERROR,
        "a tensor with elements and without chunks",
        "none of {elements|element|elements} is covered",
    ),
    Kind(
        303,
        "chunk-overlap",
        Severity.ERROR,
        "different chunks share elements",
        "{elements|element is|elements are} covered {times|time|times}",
    ),
    Kind(304, "chunk-duplicate", Severity.ERROR, "the same box more than once", "the box occurs {times|time|times}"),
    Kind(305, "replicas", Severity.NOTE, "the same box from several processes", "{times|replica|replicas}"),
    Kind(
        306,
        "under-replicated",
        Severity.ERROR,
        "elements covered less often than declared",
        "{elements|element is|elements are} covered {times|time|times} instead of {expected}",
    ),
    Kind(
        307,
        "local-overlap",
        Severity.ERROR,
        "two shards share elements of the local tensor",
        "{elements|element of the local tensor belongs|elements of the local tensor belong} to several shards",
    ),
    Kind(
        308,
        "local-padding",
        Severity.NOTE,
        "elements of the local tensor that belong to no shard",
        "{elements|element of the local tensor belongs|elements of the local tensor belong} to no shard",
    ),
    Kind(309, "empty-chunks", Severity.NOTE, "chunks without elements", "{count|empty chunk|empty chunks}"),
    Kind(
        310,
        "declared-multiple",
        Severity.NOTE,
        "the declared size is a whole multiple of what the chunks cover",
        "dimension {dimension} is declared {factor|time|times} as large as what the chunks cover",
    ),
    Kind(
        311,
        "source-gap",
        Severity.ERROR,
        "wanted elements that no saved chunk has",
        "{elements|wanted element has|wanted elements have} no source",
    ),
    Kind(
        312,
        "source-overlap",
        Severity.ERROR,
        "wanted elements that several saved chunks have",
        "{elements|wanted element has|wanted elements have} {times|source|sources}",
    ),
    Kind(
        401,
        "storage-missing",
        Severity.ERROR,
        "nothing records where the bytes of a chunk are",
        "no storage record says where the bytes are",
    ),
    Kind(
        402,
        "storage-orphan",
        Severity.WARNING,
        "a storage record that belongs to no chunk",
        "a storage record with {key} belongs to no chunk",
    ),
    Kind(
        403,
        "file-missing",
        Severity.ERROR,
        "a file that is needed is not there",
        "the file is not there, and {records|entry needs|entries need} it, {first} first",
    ),
    Kind(
        404,
        "file-empty",
        Severity.ERROR,
        "a file that cannot be empty is",
        "the file is empty where {needed|byte is|bytes are} stored",
    ),
    Kind(
        405,
        "file-unreferenced",
        Severity.WARNING,
        "a data file that nothing refers to",
        "nothing refers to this file of {size|byte|bytes}",
    ),
    Kind(
        406,
        "file-bytes-unreferenced",
        Severity.WARNING,
        "bytes of a data file that no record claims",
        "{byte_length|byte of the file belongs|bytes of the file belong} to no record",
    ),
    Kind(
        407,
        "file-trailing-bytes",
        Severity.ERROR,
        "bytes behind the last tensor of a file",
        "{byte_length|byte follows|bytes follow} the last tensor",
    ),
    Kind(
        408,
        "range-beyond-file",
        Severity.ERROR,
        "a byte range ends behind the end of its file",
        "the range ends at byte {end}, the file at {size}: {short|byte is|bytes are} missing",
    ),
    Kind(
        409,
        "range-negative",
        Severity.ERROR,
        "a negative byte offset or length",
        "byte offset {byte_offset}, length {byte_length}",
    ),
    Kind(
        410,
        "range-overflow",
        Severity.ERROR,
        "byte offset + length is beyond 63 bits",
        "byte offset {byte_offset} + length {byte_length} is beyond 63 bits",
    ),
    Kind(
        411,
        "range-overlap",
        Severity.ERROR,
        "two records claim the same bytes",
        "{relation} these bytes ({byte_length} of them) belong to {other} too",
    ),
    Kind(
        412,
        "range-too-small",
        Severity.ERROR,
        "a record is shorter than its chunk",
        "the record has {byte_length|byte|bytes}, the chunk alone takes {needed}",
    ),
    Kind(
        413,
        "range-size-mismatch",
        Severity.ERROR,
        "the bytes of a chunk are not as many as its elements take",
        "{byte_length|byte is|bytes are} stored, the elements take {needed}",
    ),
    Kind(
        414,
        "path-escape",
        Severity.ERROR,
        "a recorded path leaves the checkpoint",
        "the path leaves the checkpoint; it was not opened",
    ),
    Kind(415, "payload-mismatch", Severity.ERROR, "what is stored is not what the metadata says", "{reason}"),
    Kind(416, "archive-corrupt", Severity.ERROR, "a stored archive is damaged", "{reason}"),
    Kind(
        417,
        "header-hole",
        Severity.ERROR,
        "bytes between tensors that belong to none",
        "{byte_length|byte in front of it belongs|bytes in front of it belong} to no tensor",
    ),
    Kind(
        418,
        "header-size-mismatch",
        Severity.ERROR,
        "the data range is not as long as dtype and shape say",
        "data_offsets span {byte_length|byte|bytes}, dtype and shape take {needed}",
    ),
    Kind(419, "checksum-mismatch", Severity.ERROR, "a checksum does not match", "{reason}"),
    Kind(420, "shard-index-corrupt", Severity.ERROR, "the index of a zarr shard is damaged", "{reason}"),
    Kind(421, "manifest-corrupt", Severity.ERROR, "the manifest of an OCDBT database is damaged", "{reason}"),
    Kind(422, "node-corrupt", Severity.ERROR, "a node of an OCDBT database is damaged", "{reason}"),
    Kind(
        423,
        "chunk-missing-fill",
        Severity.NOTE,
        "absent chunks that read as the fill value",
        "{elements|element is|elements are} not stored and read as {fill}",
    ),
    Kind(424, "storage-chunk-shared", Severity.WARNING, "several writers share one storage chunk", "{reason}"),
    Kind(
        425,
        "checksum-absent",
        Severity.NOTE,
        "records without a checksum",
        "{records|record here has|records here have} no checksum: nothing says whether the elements are those written",
    ),
    Kind(
        501,
        "shape-mismatch",
        Severity.ERROR,
        "one tensor has two shapes",
        "the shape is {shape} here and {expected} elsewhere",
    ),
    Kind(
        502,
        "dtype-mismatch",
        Severity.ERROR,
        "pieces of one tensor differ in dtype",
        "the dtype is {dtype} here and {expected} elsewhere",
    ),
    Kind(
        503,
        "tensor-duplicate",
        Severity.WARNING,
        "one tensor name in two files",
        "{other} has a tensor of this name too",
    ),
    Kind(
        504,
        "index-missing-tensor",
        Severity.ERROR,
        "the index lists a tensor that its file does not hold",
        "the index maps the tensor to this file, which does not hold it",
    ),
    Kind(
        505,
        "index-extra-tensor",
        Severity.ERROR,
        "a file holds a tensor that the index does not map to it",
        "the file holds the tensor, the index does not map it there",
    ),
    Kind(
        506,
        "index-total-size",
        Severity.WARNING,
        "the index states another total than the tensors have",
        "the index states {stated|byte|bytes}, the tensors have {total}",
    ),
    Kind(
        507,
        "sharding-info-missing",
        Severity.ERROR,
        "the sharding note lacks a tensor of its file",
        "the file holds the tensor, its note does not say where the piece belongs",
    ),
    Kind(
        508,
        "sharding-info-extra",
        Severity.ERROR,
        "the sharding note names a tensor that its file lacks",
        "the note places a piece that the file does not hold",
    ),
    Kind(509, "array-unreferenced", Severity.WARNING, "an array that the metadata does not list", "{reason}"),
    Kind(
        510,
        "tensor-missing",
        Severity.ERROR,
        "an expected tensor is not there",
        "the tensor is expected and not there{hint}",
    ),
    Kind(
        511,
        "tensor-unexpected",
        Severity.WARNING,
        "a tensor that is not expected",
        "the tensor is there and not expected{hint}",
    ),
    Kind(
        512,
        "tensor-reshaped",
        Severity.ERROR,
        "a tensor has another shape than expected",
        "the shape is {shape}, {expected} is expected",
    ),
    Kind(
        513,
        "tensor-retyped",
        Severity.ERROR,
        "a tensor has another dtype than expected",
        "the dtype is {dtype}, {expected} is expected",
    ),
    Kind(601, "metadata-empty", Severity.ERROR, "the metadata file has no bytes", "{reason}"),
    Kind(602, "metadata-truncated", Severity.ERROR, "the metadata ends too early", "{reason}"),
    Kind(603, "metadata-malformed", Severity.ERROR, "the metadata is not what its format says", "{reason}"),
    Kind(604, "metadata-trailing-bytes", Severity.WARNING, "bytes after the end of the metadata", "{reason}"),
    Kind(605, "metadata-forbidden-global", Severity.ERROR, "the metadata would run code when unpickled", "{reason}"),
    Kind(606, "metadata-unknown-global", Severity.WARNING, "the metadata names an unknown class", "{reason}"),
    Kind(
        607,
        "metadata-forbidden-opcode",
        Severity.ERROR,
        "a pickle opcode that no writer of the format emits",
        "{reason}",
    ),
    Kind(608, "metadata-too-deep", Severity.ERROR, "the metadata nests too deeply", "{reason}"),
    Kind(609, "metadata-too-large", Severity.ERROR, "reading the metadata would take too much", "{reason}"),
    Kind(
        610,
        "header-too-large",
        Severity.ERROR,
        "the header is longer than its file or the limit",
        "the header claims {length|byte|bytes}, {limit} are possible",
    ),
    Kind(611, "header-malformed", Severity.ERROR, "a safetensors header is not what it should be", "{reason}"),
    Kind(
        612,
        "header-duplicate-key",
        Severity.ERROR,
        "a tensor name twice in one header",
        "the header has a second entry of this name",
    ),
    Kind(
        613,
        "header-unknown-dtype",
        Severity.ERROR,
        "a dtype that safetensors does not have",
        "the dtype is {dtype}, which safetensors does not have",
    ),
    Kind(614, "index-malformed", Severity.ERROR, "an index is not what it should be", "{reason}"),
    Kind(615, "index-duplicate-key", Severity.ERROR, "a tensor twice in one index", "the index maps the tensor twice"),
    Kind(
        616,
        "array-metadata-malformed",
        Severity.ERROR,
        "the metadata of a zarr array is not what it should be",
        "{reason}",
    ),
    Kind(617, "unsupported", Severity.WARNING, "something that no reader knows", "{reason}"),
    Kind(
        618,
        "size-inferred",
        Severity.NOTE,
        "global shapes that are nowhere stored",
        "the global shapes of {tensors|tensor|tensors} are nowhere stored and were inferred from their pieces",
    ),
    Kind(619, "file-unreadable", Severity.ERROR, "a file cannot be read", "{reason}"),
    Kind(701, "metadata-missing", Severity.ERROR, "there is no metadata", "{reason}"),
    Kind(702, "uncommitted-step", Severity.ERROR, "a save that was not finished", "{reason}"),
    Kind(703, "commit-marker-missing", Severity.WARNING, "the marker of a finished save is missing", "{reason}"),
    Kind(704, "item-missing", Severity.ERROR, "an item of a step is missing", "{reason}"),
    Kind(
        705,
        "rank-count-mismatch",
        Severity.ERROR,
        "there are more or fewer process files than the metadata says",
        "{reason}",
    ),
    Kind(706, "sharded-object-gap", Severity.ERROR, "pieces of a sharded object are missing", "{reason}"),
    Kind(707, "array-metadata-missing", Severity.ERROR, "an array has no metadata", "{reason}"),
    Kind(708, "merge-unfinished", Severity.ERROR, "the files of the processes were not merged", "{reason}"),
)

KINDS: Final[Mapping[str, Kind]] = MappingProxyType({kind.code: kind for kind in _TABLE})
"""Every kind of finding by code, in ascending order."""

_SEVERITY_IN: Final[Mapping[tuple[str, str], Severity]] = MappingProxyType(
    {
        # A chunk that is stored under a key outside the grid: no reader ever looks at it.
        ("zarr", "SP201"): Severity.WARNING,
        ("orbax", "SP201"): Severity.WARNING,
    }
)
"""Severities that differ from the table for one format."""


def severity_of(code: str, format_name: str = "") -> Severity:
    """Give the severity of a kind of finding, in a format that may take it differently."""
    return _SEVERITY_IN.get((format_name, code), KINDS[code].severity)


@dataclass(frozen=True, slots=True)
class Positions:
    """Which chunks a finding is about.

    Attributes
    ----------
    count
        How many.
    first
        The first 16 of them, ascending.
    """

    count: int = 0
    first: tuple[int, ...] = ()


class _Words(dict[str, "int | str | None"]):
    """The fields of a sentence."""

    def __missing__(self, field_name: str) -> str:
        name, *words = field_name.split("|")
        one, others = words
        return f"{self[name]} {one if self[name] == 1 else others}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong with, or noteworthy of, a layout or a checkpoint.

    Attributes
    ----------
    code, name, severity
        What kind of finding; `KINDS` has the table.
    part
        Part of the checkpoint, where it has several.
    fqn
        Name of the tensor.
    positions
        The chunks.
    dimension
        The dimension.
    box
        Offsets and sizes of the elements it is about.
    file
        File, relative to the checkpoint.
    byte_range
        First byte and number of bytes in the file.
    values
        The numbers and words that clash, by name.
    """

    code: str
    severity: Severity
    part: str | None = None
    fqn: str | None = None
    positions: Positions = Positions()
    dimension: int | None = None
    box: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    file: str | None = None
    byte_range: tuple[int, int] | None = None
    values: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kebab-case name."""
        return KINDS[self.code].name

    @property
    def sentence(self) -> str:
        """What is wrong, in one sentence with the numbers that clash."""
        if "reason" in self.values:
            return str(self.values["reason"])
        return KINDS[self.code].sentence.format_map(_Words({"dimension": self.dimension}, **self.values))

    @classmethod
    def from_core(
        cls, record: CoreRecord, *, part: str | None = None, directory: str = "", format_name: str = ""
    ) -> Finding:
        """Make a finding of what the core reports.

        Parameters
        ----------
        record
            The core's tuple.
        part
            Name of the part, where a checkpoint has several.
        directory
            Where the part's files lie in the checkpoint: empty, or a path that ends in ``/``.
        format_name
            The format, for which the finding may have a severity of its own.
        """
        number, fqn, count, first, dimension, box, file, byte_range, values = record
        code = f"SP{number}"
        return cls(
            code=code,
            severity=severity_of(code, format_name),
            part=part,
            fqn=fqn,
            positions=Positions(count, first),
            dimension=dimension,
            box=box,
            file=file if file is None else directory + file,
            byte_range=byte_range,
            values=values,
        )


class Findings(Sequence[Finding]):
    """Findings in order of severity, part, fqn, code, first position and dimension, with counts of all.

    Parameters
    ----------
    records
        The findings that are shown, in any order.
    counts
        How many there are of each code, where more are known than shown; by default those of `records`.
    """

    __slots__ = ("_records", "counts")

    def __init__(self, records: Iterable[Finding] = (), counts: Mapping[str, int] | None = None) -> None:
        self._records = tuple(sorted(records, key=_order))
        self.counts: Mapping[str, int] = dict(
            Counter(record.code for record in self._records) if counts is None else counts
        )

    @classmethod
    def together(cls, records: Iterable[Finding], *counted: tuple[Sequence[CoreRecord], Mapping[int, int]]) -> Findings:
        """Put findings made here and those of the core together.

        Parameters
        ----------
        records
            Findings, each of which counts once.
        counted
            What the core kept, and how many there are of each number.
        """
        records = list(records)
        if not records and not any(counts for _, counts in counted):
            return NO_FINDINGS
        totals = Counter(record.code for record in records)
        for kept, counts in counted:
            totals.update({f"SP{number}": count for number, count in counts.items()})
            records.extend(map(Finding.from_core, kept))
        return cls(records, totals)

    @property
    def worst(self) -> Severity | None:
        """The worst severity there is, None without findings."""
        return min((KINDS[code].severity for code, count in self.counts.items() if count), default=None)

    @property
    def total(self) -> int:
        """How many findings there are, shown or not."""
        return sum(self.counts.values())

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, position: int) -> Finding: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Finding]: ...
    def __getitem__(self, position: int | slice) -> Finding | Sequence[Finding]:
        return self._records[position]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Findings) and self._records == other._records and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.total} findings: {dict(self.counts)}>"


def _order(finding: Finding) -> tuple[object, ...]:
    first = finding.positions.first
    return (
        finding.severity,
        finding.part or "",
        finding.fqn or "",
        finding.code,
        first[0] if first else -1,
        -1 if finding.dimension is None else finding.dimension,
    )


NO_FINDINGS: Final = Findings()
"""What is said where nothing is wrong."""
