"""What a reader of a format is, and which there are.

A reader is thin: it recognises its format by names and content, reads the metadata it needs, hands the bytes to the
core, and says what the format cannot show. Coverage, storage and unreferenced files are judged for all formats alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shardproof import _core
    from shardproof.checkpoint.files import Files
    from shardproof.findings import Finding

__all__ = ["NotJudged", "PartReading", "Reader", "Reading", "readers"]


class NotJudged(NamedTuple):
    """Something that was not looked at, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartReading:
    """One part of a checkpoint as its reader found it.

    Attributes
    ----------
    format
        Name of the format, as `shardproof formats` lists it.
    columns
        Tensors, chunks and records, with what reading brought to light.
    files
        The files that the part is about; names in `columns` are relative to their directory.
    name
        Name of the part where the reader knows several; empty for the only one.
    not_judged
        What this format cannot show of the part.
    """

    format: str
    columns: _core.Part
    files: Files
    name: str = ""
    not_judged: Sequence[NotJudged] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader made of a directory.

    Attributes
    ----------
    parts
        The parts; none if nothing could be read.
    findings
        What is not about one part.
    not_judged
        What could not be looked at, beyond what the parts say themselves.
    claimed
        Names of sub-directories that this reader answers for; nothing else looks for a checkpoint in them.
    """

    parts: Sequence[PartReading] = ()
    findings: Sequence[Finding] = ()
    not_judged: Sequence[NotJudged] = ()
    claimed: frozenset[str] = field(default=frozenset())


class Reader(Protocol):
    """A format that can be read.

    `read` and `examine` may raise `OSError` and `LimitExceeded`; what files contain makes findings, never exceptions.
    """

    @property
    def format(self) -> str:
        """Name of the format, or of the family if its content decides which of several it is."""
        ...

    @property
    def summary(self) -> str:
        """What `shardproof formats` says about it, in one line."""
        ...

    def recognises(self, files: Files) -> bool:
        """Whether these files are of this format, whole or not; names decide wherever they can."""
        ...

    def read(self, files: Files) -> Reading:
        """Read the metadata."""
        ...

    def examine(self, part: PartReading, found: Sequence[Finding]) -> Iterable[Finding]:
        """Look into the stored records, executing nothing; what `found` says already is not said again."""
        ...


_MODULES: Final[tuple[str, ...]] = ("dcp", "deepspeed", "orbax", "safetensors", "zarr")
"""Modules with a `READER`, the more telling formats first: the first one that recognises a directory reads it."""


def readers() -> Iterator[Reader]:
    """Give every reader, importing each only when it is its turn."""
    for module in _MODULES:
        reader: Reader = import_module(f"{__package__}.{module}").READER
        yield reader
