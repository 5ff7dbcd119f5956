"""What readers of zarr arrays share: the core says which bytes it needs, the files give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shardproof import _core
from shardproof.checkpoint.reader import NotJudged
from shardproof.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardproof.checkpoint.files import Files
    from shardproof.checkpoint.reader import PartReading
    from shardproof.findings import CoreRecord

__all__ = ["examine_arrays", "read_arrays", "unverified"]

_UNVERIFIED: Final = NotJudged(
    "payloads", "elements may be anything where no checksum follows them; where one does, a deep check compares it"
)


def read_arrays(files: Files, *, orbax: bool, deep: bool = False) -> tuple[_core.Part, list[CoreRecord]]:
    """Read the arrays of a directory; apart from them give what only a deep look finds."""
    reader = _core.ArrayReader(list(files.sizes.items()), orbax=orbax, deep=deep)
    while ranges := reader.ranges():
        reader.answer([_read(files, path, start, length) for path, start, length in ranges])
    return reader.finish()


def unverified(columns: _core.Part) -> tuple[NotJudged, ...]:
    """Say what no look at chunks can show, if there are chunks at all."""
    return (_UNVERIFIED,) if columns.chunk_count() else ()


def examine_arrays(part: PartReading, found: Sequence[Finding], *, orbax: bool) -> Iterator[Finding]:
    """Look at the first bytes of chunks; chunks that failed before are not looked at again."""
    failed = {
        (finding.fqn, position)
        for finding in found
        if finding.severity is Severity.ERROR
        for position in finding.positions.first
    }
    _, records = read_arrays(part.files, orbax=orbax, deep=True)
    for record in records:
        finding = Finding.from_core(record, part=part.name or None, directory=part.files.directory)
        if not any((finding.fqn, position) in failed for position in finding.positions.first):
            yield finding


def _read(files: Files, path: str, start: int, length: int) -> bytes | None:
    try:
        return files.read(path, start, length)
    except (KeyError, OSError):  # the core reports what it does not get
        return None
