"""Orbax: items of arrays, by themselves or as parts of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shardproof import _core
from shardproof.checkpoint.arrays import examine_arrays, read_arrays, unverified
from shardproof.checkpoint.reader import NotJudged, PartReading, Reader, Reading
from shardproof.findings import KINDS, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardproof.checkpoint.files import Files

__all__ = ["READER"]

_STEP: Final = "_CHECKPOINT_METADATA"
_MARKER: Final = "commit_success.txt"
_ITEM_FILES: Final = frozenset({"_METADATA", "_sharding"})
_UNFINISHED: Final = ".orbax-checkpoint-tmp"
_ARRAY_HANDLERS: Final = ("PyTreeCheckpointHandler", "StandardCheckpointHandler", "ArrayCheckpointHandler")


class _Orbax:
    """Reader of what Orbax writes."""

    format = "orbax"
    summary = "Orbax over zarr versions 2 and 3, in files or in an OCDBT database; steps with several items"

    def recognises(self, files: Files) -> bool:
        """Whether this is a step or an item, completed or not."""
        return _STEP in files or _is_item(files) or _UNFINISHED in _name(files)

    def read(self, files: Files) -> Reading:
        """Read an item, or all items of a step."""
        if _UNFINISHED in _name(files):
            unfinished = _finding("SP702", files.directory.rstrip("/"), "it was being written, and never completed")
            claimed = frozenset(files.directories)
            return Reading(findings=[unfinished], not_judged=[NotJudged(_name(files), "unfinished")], claimed=claimed)
        if _STEP not in files:
            return self._item(files)
        try:
            items, committed = _core.orbax_step(files.read(_STEP))
        except ValueError as error:
            items, committed = [], True
            faults = [_finding("SP603", files.directory + _STEP, str(error))]
        else:
            faults = []
        if not committed:
            reason = "the time of its completion was left open"
            faults.append(_finding("SP702", files.directory + _STEP, reason))
        reading = self._item(files) if not items and _is_item(files) else self._step(files, dict(items))
        return Reading(
            parts=reading.parts,
            findings=[*faults, *reading.findings],
            not_judged=reading.not_judged,
            claimed=reading.claimed,
        )

    def examine(self, part: PartReading, found: Sequence[Finding]) -> Iterator[Finding]:
        """Look at the first bytes of chunks, and at older versions of a database."""
        return examine_arrays(part, found, orbax=True)

    def _item(self, files: Files, name: str = "") -> Reading:
        columns, _ = read_arrays(files, orbax=True)
        not_judged = unverified(columns)
        part = PartReading(format=self.format, columns=columns, files=files, name=name, not_judged=not_judged)
        return Reading(parts=[part], claimed=frozenset(files.directories))

    def _step(self, files: Files, items: dict[str, str]) -> Reading:
        parts: list[PartReading] = []
        findings: list[Finding] = []
        not_judged: list[NotJudged] = []
        if _MARKER not in files:
            findings.append(_finding("SP703", files.directory + _MARKER, "it is written last, and is not there"))
        directories = files.split()
        for name in sorted({*items, *directories}):
            if name not in directories:
                findings.append(_finding("SP704", files.directory + name, f"{_STEP} lists the item {name!r}"))
            elif _UNFINISHED in name:
                reason = "it was being written, and never completed"
                findings.append(_finding("SP702", files.directory + name, reason))
            elif _is_item(directories[name]) or items.get(name, "").strip('"').endswith(_ARRAY_HANDLERS):
                parts.extend(self._item(directories[name], name).parts)
            else:
                not_judged.append(NotJudged(f"item {name}", "it holds no arrays"))
        return Reading(parts=parts, findings=findings, not_judged=not_judged, claimed=frozenset(directories))


def _name(files: Files) -> str:
    """Give the name of the directory itself."""
    return (files.directory or files.location).rstrip("/").rpartition("/")[2]


def _is_item(files: Files) -> bool:
    """Whether arrays are listed here, or were written in several processes, merged or not."""
    return any(
        path in _ITEM_FILES or (path.startswith(("ocdbt.process_", "array_metadatas/process_")) and "/" in path)
        for path in files
    )


def _finding(code: str, file: str, reason: str) -> Finding:
    return Finding(code=code, severity=KINDS[code].severity, file=file or None, values={"reason": reason})


READER: Final[Reader] = _Orbax()
