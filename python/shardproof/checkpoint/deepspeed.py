"""DeepSpeed's ZeRO checkpoints: a directory of tags, or one tag."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from shardproof import _core
from shardproof.checkpoint.reader import NotJudged, PartReading, Reader, Reading
from shardproof.findings import KINDS, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardproof.checkpoint.files import Files

__all__ = ["READER"]

_LATEST: Final = "latest"

_MOST_TAG: Final = 1 << 12
"""Bytes of a tag: it is the name of a directory."""

_FAILED: Final = frozenset({"SP404", "SP416", "SP419"})
"""Findings about a file that is not looked into again."""

_STATE: Final = NotJudged("optimizer state", "only that its bytes are there and have the length that the files state")
_SLICES: Final = NotJudged(
    "slices of the model", "the files do not say how the parameters of several model-parallel processes belong together"
)


class _DeepSpeed:
    """Reads the pickles of all processes as opcodes; nothing in them is looked up or called."""

    format = "DeepSpeed ZeRO"
    summary = "DeepSpeed ZeRO stages 1 to 3: the directory with latest, or the directory of one tag"

    def recognises(self, files: Files) -> bool:
        """Whether there are files of processes, here or in the directories of tags; or what is left without any."""
        alone = tuple(files) == (_LATEST,) and files.sizes[_LATEST] <= _MOST_TAG
        return _is_tag(files) or bool(_tags(files)) or alone

    def read(self, files: Files) -> Reading:
        """Read all tags, or the one that these files are."""
        if _is_tag(files):
            return Reading(parts=_parts(files, ""), claimed=frozenset())
        tags = _tags(files)
        parts = [part for tag in tags for part in _parts(files.below(tag), tag if len(tags) > 1 else "")]
        return Reading(parts=parts, findings=_judge_latest(files), claimed=frozenset(tags))

    def examine(self, part: PartReading, found: Sequence[Finding]) -> Iterator[Finding]:
        """Compare the content of every archive with its checksums."""
        failed = {finding.file for finding in found if finding.code in _FAILED}
        for path in _of_slice(part):
            if part.files.directory + path not in failed:
                read = partial(part.files.read, path)
                record = _core.examine_deepspeed(path, part.files.sizes[path], read)
                if record is not None:
                    yield Finding.from_core(record, part=part.name or None, directory=part.files.directory)


def _is_tag(files: Files) -> bool:
    return any(map(_core.is_deepspeed, files.top))


def _tags(files: Files) -> list[str]:
    """Names of the directories that hold files of processes."""
    found = {
        path.partition("/")[0] for path in files if path.count("/") == 1 and _core.is_deepspeed(path.split("/")[1])
    }
    return sorted(found)


def _parts(files: Files, name: str) -> list[PartReading]:
    """Read one tag: a part for each slice of the model."""
    readings = _core.read_deepspeed(
        [(path, files.sizes[path]) for path in files.top if _core.is_deepspeed(path)], files.read
    )
    return [
        PartReading(
            format=_DeepSpeed.format,
            columns=columns,
            files=files,
            name="/".join(filter(None, (name, f"mp_rank_{number:02}" if len(readings) > 1 else ""))),
            not_judged=(_STATE, _SLICES) if len(readings) > 1 else (_STATE,),
        )
        for number, columns in readings
    ]


def _of_slice(part: PartReading) -> list[str]:
    """Give the files that a part is about."""
    slice_of = part.name.rpartition("/")[2]
    marker = f"{slice_of}_" if slice_of.startswith("mp_rank_") else ""
    return [path for path in part.files.top if _core.is_deepspeed(path) and marker in path]


def _judge_latest(files: Files) -> list[Finding]:
    """Say what is wrong with the file that names the newest tag; without it, somebody names the tag by hand."""
    if _LATEST not in files:
        return []
    content = files.read(_LATEST, 0, _MOST_TAG)
    tag = content.decode("utf-8", "replace").strip()
    if not tag:
        code, reason = "SP601", f"{files.directory}{_LATEST} names no tag"
    elif tag not in _tags(files):
        code, reason = (
            "SP403",
            f"{files.directory}{_LATEST} names {tag!r}: no directory of that name holds a checkpoint",
        )
    else:
        return []
    return [Finding(code=code, severity=KINDS[code].severity, values={"reason": reason})]


READER: Final[Reader] = _DeepSpeed()
