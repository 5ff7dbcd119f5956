"""What a directory holds, without judging it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardproof.checkpoint.discover import Discovery, discover
from shardproof.checkpoint.files import Files, open_files
from shardproof.checkpoint.model import Checkpoint, Part
from shardproof.errors import LimitExceeded, MalformedFile, ShardproofError, UnsupportedFormat
from shardproof.findings import Finding, Findings, Severity

if TYPE_CHECKING:
    import os

__all__ = ["open_checkpoint"]

_TOO_MUCH = frozenset({"SP608", "SP609", "SP610"})
_UNKNOWN = frozenset({"SP617", "SP701"})


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read what a checkpoint says about its tensors, executing nothing.

    Its format is recognised by what is there. Nothing is judged: faulty geometry and missing files are for
    `check_checkpoint` to report.

    Parameters
    ----------
    path
        A directory, a metadata file or a single safetensors file; or a URL that fsspec can reach.

    Returns
    -------
    Checkpoint
        Its parts, their tensors, and the files.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    MalformedFile
        If no part of it can be read because a file is not what its format says.
    LimitExceeded
        If reading it would need more than a stated limit allows.
    UnsupportedFormat
        If no reader knows the format.
    """
    files = open_files(path)
    found = discover(files)
    refused = [finding for finding in _reading_findings(found) if finding.severity is Severity.ERROR]
    if not any(len(part.columns) or part.columns.blobs() for _, part in found.parts):
        for finding in refused or found.findings:
            raise _refusal(files, finding)
    return make_checkpoint(files, found)


def make_checkpoint(files: Files, found: Discovery) -> Checkpoint:
    """Put a checkpoint together from what was found."""
    parts = {part.name: Part(part.name, part) for _, part in found.parts}
    return Checkpoint(files.location, parts, files, Findings(found.findings), tuple(found.not_judged))


def _reading_findings(found: Discovery) -> list[Finding]:
    own = [
        Finding.from_core(record, directory=part.files.directory)
        for _, part in found.parts
        for record in part.columns.findings()
    ]
    return own + found.findings


def _refusal(files: Files, finding: Finding) -> ShardproofError:
    kind: type[ShardproofError] = MalformedFile
    if finding.code in _TOO_MUCH:
        kind = LimitExceeded
    elif finding.code in _UNKNOWN:
        kind = UnsupportedFormat
    directory, _, name = files.location.rstrip("/").rpartition("/")
    # A checkpoint may be named by one of its files.
    base = directory if finding.file is not None and name in files else files.location.rstrip("/")
    where = "/".join(filter(None, (base, finding.file)))
    return kind(f"{where}: {finding.sentence}")
