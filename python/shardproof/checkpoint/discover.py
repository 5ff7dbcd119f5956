"""Which formats a directory holds, and where: a checkpoint, a step with several, or nothing that can be proved."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from shardproof.checkpoint.reader import NotJudged, PartReading, Reader, readers
from shardproof.errors import LimitExceeded
from shardproof.findings import KINDS, Finding

if TYPE_CHECKING:
    from shardproof.checkpoint.files import Files

__all__ = ["Discovery", "FoundPart", "discover"]

_DEPTH: Final = 4
"""Levels of directories in which checkpoints are looked for: root, step, item, and one more."""

_BARE: Final = (".bin", ".ckpt", ".gguf", ".h5", ".msgpack", ".npy", ".npz", ".pkl", ".pt", ".pth")
"""Ends of names of files that hold tensors and say nothing about how they were cut."""


class FoundPart(NamedTuple):
    """A part and the reader that read it."""

    reader: Reader
    part: PartReading


class Discovery(NamedTuple):
    """What a directory holds."""

    parts: list[FoundPart]
    findings: list[Finding]
    not_judged: list[NotJudged]


def discover(files: Files) -> Discovery:
    """Find and read every part of a checkpoint; what cannot be read is a finding."""
    found = Discovery([], [], [])
    if not _discover(files, "", found, _DEPTH):
        _nothing_to_prove(files, found)
    return found


def _discover(files: Files, name: str, found: Discovery, depth: int) -> bool:
    """Add what `files` hold to what was found, under `name`; whether any format was recognised."""
    reader = next((reader for reader in readers() if reader.recognises(files)), None)
    claimed: set[str] = set()
    if reader is not None:
        claimed.update(_read(reader, files, name, found))
    recognised = reader is not None
    if depth > 1:
        for directory, below in files.split().items():
            if directory not in claimed:
                recognised |= _discover(below, f"{name}/{directory}".lstrip("/"), found, depth - 1)
    return recognised


def _read(reader: Reader, files: Files, name: str, found: Discovery) -> set[str]:
    """Read one directory; the names of the sub-directories that nothing else need look at."""
    try:
        reading = reader.read(files)
    except (OSError, LimitExceeded) as error:
        code = "SP619" if isinstance(error, OSError) else "SP609"
        found.findings.append(
            Finding(
                code=code,
                severity=KINDS[code].severity,
                part=name or None,
                file=files.directory or None,
                values={"reason": f"{reader.format} metadata cannot be read: {error}"},
            )
        )
        return set(files.directories)
    claimed = set(reading.claimed)
    for part in reading.parts:
        path = "/".join(filter(None, (name, part.name)))
        found.parts.append(FoundPart(reader, replace(part, name=path)))
        inside = part.files.directory.removeprefix(files.directory)
        claimed.update(f"{inside}{file}".partition("/")[0] for file in part.columns.files() if "/" in f"{inside}{file}")
    found.findings.extend(reading.findings)
    found.not_judged.extend(reading.not_judged)
    return claimed


def _nothing_to_prove(files: Files, found: Discovery) -> None:
    """Say what was looked at when no format was recognised."""
    bare = sorted(path for path in files if path.endswith(_BARE))
    if bare:
        code, what = "SP701", f"no shard metadata, nothing to prove: {_some(bare)}"
    elif files:
        code, what = "SP617", f"no reader knows this format: {_some(sorted(files))}"
    else:
        code, what = "SP701", "the directory is empty"
    found.findings.append(Finding(code=code, severity=KINDS[code].severity, values={"reason": what}))
    found.not_judged.append(NotJudged("everything", what))


def _some(paths: list[str]) -> str:
    shown = ", ".join(islice(paths, 3))
    return f"{len(paths)} file{'s' if len(paths) > 1 else ''} ({shown}{', ...' if len(paths) > 3 else ''})"
