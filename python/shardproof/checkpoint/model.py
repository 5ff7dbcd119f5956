"""A checkpoint as it was found: parts, tensors, chunks and where their bytes are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shardproof.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from shardproof import _core
    from shardproof.checkpoint.files import Files
    from shardproof.checkpoint.reader import NotJudged, PartReading
    from shardproof.findings import Findings
    from shardproof.layout import ChunkLayout

__all__ = ["Checkpoint", "Part", "Storage", "Tensor"]


@dataclass(frozen=True, slots=True)
class Storage:
    """Where the bytes of a tensor's chunks are, as columns with a row per chunk.

    Attributes
    ----------
    paths
        Recorded path of each chunk's file; None where no record exists.
    byte_offsets, byte_lengths
        First byte and number of bytes in the file.
    """

    paths: tuple[str | None, ...]
    byte_offsets: npt.NDArray[np.int64]
    byte_lengths: npt.NDArray[np.int64]


class Tensor:
    """One tensor of a checkpoint. Its columns are made when they are asked for."""

    __slots__ = ("_columns", "_number", "bits", "chunk_count", "dtype", "fqn", "global_shape")

    def __init__(self, columns: _core.Part, number: int, fqn: str) -> None:
        self._columns = columns
        self._number = number
        self.fqn = fqn
        """The fully qualified name."""
        self.global_shape: tuple[int, ...]
        self.global_shape, self.dtype, self.bits, self.chunk_count = columns.tensor(number)

    @property
    def chunks(self) -> ChunkLayout:
        """The chunks, in the order of the metadata."""
        from shardproof.layout import ChunkLayout  # noqa: PLC0415 -- it needs numpy, which a report does not

        return ChunkLayout(self.global_shape, *self.boxes)

    @property
    def boxes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Offsets and sizes of the chunks, a row each, in the order of the metadata."""
        offsets, sizes, _ = self._columns.chunks(self._number)
        rows = (self.chunk_count, len(self.global_shape))
        return offsets.reshape(rows), sizes.reshape(rows)

    @property
    def positions(self) -> npt.NDArray[np.uint32]:
        """Position of each chunk in the metadata's own list."""
        return self._columns.chunks(self._number)[2]

    @property
    def records(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Number of each chunk's file (-1 where no record exists), first byte and number of bytes.

        Files are numbered as `Part.paths` lists them.
        """
        return self._columns.records(self._number)

    @property
    def storage(self) -> Storage:
        """Where the bytes of the chunks are."""
        numbers, byte_offsets, byte_lengths = self.records
        paths = self._columns.files()
        named = tuple(None if number < 0 else paths[number] for number in numbers.tolist())
        return Storage(named, byte_offsets, byte_lengths)

    def __repr__(self) -> str:
        return f"<Tensor {self.fqn!r} {self.dtype} {list(self.global_shape)} in {self.chunk_count} chunks>"


class _Tensors(Mapping[str, Tensor]):
    """Tensors by name; of two tensors with one name the first."""

    __slots__ = ("_columns", "_numbers")

    def __init__(self, columns: _core.Part) -> None:
        self._columns = columns
        fqns = columns.fqns()
        self._numbers = dict(zip(reversed(fqns), range(len(fqns) - 1, -1, -1), strict=True))

    def __getitem__(self, fqn: str) -> Tensor:
        return Tensor(self._columns, self._numbers[fqn], fqn)

    def __iter__(self) -> Iterator[str]:
        return iter(reversed(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"<{len(self)} tensors>"


class Part:
    """One part of a checkpoint: most have one, a step with several items has several."""

    __slots__ = ("_reading", "_tensors", "name")

    def __init__(self, name: str, reading: PartReading) -> None:
        self.name = name
        self._reading = reading
        self._tensors: _Tensors | None = None

    @property
    def format(self) -> str:
        """Name of the format."""
        return self._reading.format

    @property
    def files(self) -> Files:
        """The files of this part."""
        return self._reading.files

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """The tensors by name, in the order of the metadata."""
        if self._tensors is None:
            self._tensors = _Tensors(self._reading.columns)
        return self._tensors

    @property
    def paths(self) -> tuple[str, ...]:
        """Recorded paths of the files that hold chunks, by number."""
        return tuple(self._reading.columns.files())

    @property
    def blobs(self) -> tuple[str, ...]:
        """Names of the entries that are not tensors."""
        return tuple(fqn for fqn, _ in self._reading.columns.blobs())

    @property
    def reading(self) -> PartReading:
        """What the reader of the format made of it."""
        return self._reading

    def __repr__(self) -> str:
        return f"<Part {self.name!r}: {self.format}, {len(self._reading.columns)} tensors>"


@dataclass(frozen=True, slots=True, repr=False)
class Checkpoint:
    """A checkpoint that was read.

    Attributes
    ----------
    location
        What the caller named.
    parts
        The parts by name; the only part of a checkpoint has the name ``""``.
    files
        Every file below the directory, with its size.
    findings
        What reading brought to light, apart from the parts' own findings.
    not_judged
        What could not be read, and why.
    """

    location: str
    parts: Mapping[str, Part]
    files: Files
    findings: Findings
    not_judged: tuple[NotJudged, ...]

    @property
    def format(self) -> str:
        """Name of the format; of several, joined by `` + ``."""
        return " + ".join(dict.fromkeys(part.format for part in self.parts.values()))

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """The tensors of the only part.

        Raises
        ------
        InvalidInput
            If there are several parts: their tensors are never put together.
        """
        if len(self.parts) != 1:
            names = ", ".join(self.parts) or "none"
            raise InvalidInput(f"{self.location} has {len(self.parts)} parts ({names}): take the tensors of one")
        return next(iter(self.parts.values())).tensors

    def _repr_html_(self) -> str:
        from shardproof.report.notebook import checkpoint_as_html  # noqa: PLC0415 -- reports come after checkpoints

        return checkpoint_as_html(self)

    def __repr__(self) -> str:
        return f"<Checkpoint {self.location}: {self.format}, {len(self.parts)} parts>"
