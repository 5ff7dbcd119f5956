"""Safetensors: single files, sets with an index, and DCP checkpoints in safetensors files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shardproof import _core
from shardproof.checkpoint.reader import NotJudged, PartReading, Reader, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shardproof.checkpoint.files import Files
    from shardproof.findings import Finding

__all__ = ["READER"]

_SUFFIX: Final = ".safetensors"
_INDEX: Final = ".safetensors.index.json"
_PIECES: Final = re.compile(r"shard-\d+-")
_SHARDED: Final = "sharded"

_FIRST_BYTES: Final = 1 << 16
"""Bytes that the first look at a file takes: most headers end within them."""

_UNVERIFIED: Final = NotJudged("payloads", "safetensors files have no checksums: their elements may be anything")
_INFERRED: Final = NotJudged(
    "global shapes", "pieces do not say them: they were inferred, and what is missing at the end of a tensor is unseen"
)


class _SafetensorsReader:
    """Reads headers alone; the data is never touched."""

    format = "safetensors"
    summary = "safetensors files, alone or with *.index.json, and DCP checkpoints written as safetensors"

    def recognises(self, files: Files) -> bool:
        """Whether there are safetensors files, or an index of some."""
        return any(name.endswith((_SUFFIX, _INDEX)) for name in files.top)

    def read(self, files: Files) -> Reading:
        """Read the headers of all files and put the tensors together.

        With pieces and whole copies of the same tensors, in one directory or with the pieces in ``sharded``, both are
        parts, and the copies say how large the tensors are.
        """
        below = files.below(_SHARDED) if _SHARDED in files.directories else None
        sharded = below if below is not None and self.recognises(below) else None
        indexes = [name for name in files.top if name.endswith(_INDEX)]
        parts = [self._indexed(files, index, name if len(indexes) > 1 else "") for index in indexes for name in [index]]
        if not indexes:
            parts = self._unindexed(files)
        if sharded is not None:
            whole = next((part.columns for part in parts if part.format == self.format), None)
            parts = [_renamed(part, "consolidated") for part in parts]
            parts.append(_part(sharded, _headers(sharded, sharded.top), None, whole, _SHARDED))
        return Reading(parts=parts, claimed=frozenset({_SHARDED} if sharded is not None else ()))

    def examine(self, part: PartReading, found: Sequence[Finding]) -> Iterable[Finding]:
        """Find nothing: the elements of a safetensors file are stored as they are, without a checksum."""
        del part, found
        return ()

    def _indexed(self, files: Files, path: str, name: str) -> PartReading:
        index = _core.SafetensorsIndex(path, files.read(path))
        named = [file for file in index.files() if file in files]
        beside = [file for file in files.top if file.endswith(_SUFFIX)]
        return _part(files, _headers(files, dict.fromkeys(named + beside)), index, None, name)

    def _unindexed(self, files: Files) -> list[PartReading]:
        headers = _headers(files, files.top)
        pieces = {path: header for path, header in headers.items() if header.holds_pieces or _PIECES.match(path)}
        copies = {path: header for path, header in headers.items() if path not in pieces}
        if not pieces or not copies:
            return [_part(files, headers, None, None, "")]
        whole = _part(files, copies, None, None, "consolidated")
        return [whole, _part(files, pieces, None, whole.columns, _SHARDED)]


def _headers(files: Files, paths: Iterable[str]) -> dict[str, _core.SafetensorsHeader]:
    """Read the header of each safetensors file among `paths`."""
    return {path: _header(files, path) for path in paths if path.endswith(_SUFFIX)}


def _header(files: Files, path: str) -> _core.SafetensorsHeader:
    size = files.sizes[path]
    start = files.read(path, 0, min(size, _FIRST_BYTES))
    extent = _core.SafetensorsHeader.extent(start, size)
    if extent is not None and extent > len(start):
        start += files.read(path, len(start), extent - len(start))
    return _core.SafetensorsHeader(path, start, size)


def _part(
    files: Files,
    headers: dict[str, _core.SafetensorsHeader],
    index: _core.SafetensorsIndex | None,
    whole: _core.Part | None,
    name: str,
) -> PartReading:
    columns = _core.assemble_safetensors(list(headers.values()), index, whole, list(files.sizes.items()))
    pieces = any(header.holds_pieces for header in headers.values())
    inferred = any(number == 618 for number, *_ in columns.findings())
    return PartReading(
        format="DCP safetensors" if pieces else "safetensors",
        columns=columns,
        files=files,
        name=name,
        not_judged=(_UNVERIFIED, _INFERRED) if inferred else (_UNVERIFIED,),
    )


def _renamed(part: PartReading, name: str) -> PartReading:
    return PartReading(
        format=part.format,
        columns=part.columns,
        files=part.files,
        name="/".join(filter(None, (name, part.name))),
        not_judged=part.not_judged,
    )


READER: Final[Reader] = _SafetensorsReader()
