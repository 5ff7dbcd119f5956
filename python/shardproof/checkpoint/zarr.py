"""zarr, versions 2 and 3: an array, or groups of arrays, in files or in an OCDBT database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shardproof.checkpoint.arrays import examine_arrays, read_arrays, unverified
from shardproof.checkpoint.reader import PartReading, Reader, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardproof.checkpoint.files import Files
    from shardproof.findings import Finding

__all__ = ["READER"]

_METADATA: Final = frozenset({"zarr.json", ".zarray", ".zgroup", "manifest.ocdbt"})


class _Zarr:
    """Reader of arrays that nothing but zarr describes."""

    format = "zarr"
    summary = "zarr versions 2 and 3, sharded or not, in files or in an OCDBT database"

    def recognises(self, files: Files) -> bool:
        """Whether there is an array or group here, or arrays one level below."""
        return any(
            path.count("/") <= 1 and path.rpartition("/")[2] in _METADATA and (path in _METADATA or "ocdbt" not in path)
            for path in files
        )

    def read(self, files: Files) -> Reading:
        """Read the metadata of all arrays, and the indexes of all shards."""
        columns, _ = read_arrays(files, orbax=False)
        part = PartReading(format=self.format, columns=columns, files=files, not_judged=unverified(columns))
        return Reading(parts=[part], claimed=frozenset(files.directories))

    def examine(self, part: PartReading, found: Sequence[Finding]) -> Iterator[Finding]:
        """Look at the first bytes of chunks, and at all of those that end in a checksum."""
        return examine_arrays(part, found, orbax=False)


READER: Final[Reader] = _Zarr()
