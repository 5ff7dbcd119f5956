"""torch's distributed checkpoints, and what Megatron and TensorPlay make of them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from shardproof import _core
from shardproof.checkpoint.reader import NotJudged, PartReading, Reader, Reading
from shardproof.findings import KINDS, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardproof.checkpoint.files import Files

__all__ = ["READER"]

_METADATA: Final = ".metadata"
_OF_PROCESS: Final = re.compile(r"__(\d{1,9})\.metadata")
_DATA: Final = re.compile(r"__\d+_\d+\.distcp")
_UNFINISHED: Final = re.compile(r"\.metadata\.tmp|\.\.metadata\..+\.tmp")
_MEGATRON: Final = "metadata.json"
_MEGATRON_COMMON: Final = "common.pt"
_BACKEND: Final = "torch_dist"

_FORMATS: Final = {"torch": "torch DCP", "tensorplay": "TensorPlay DCP", "version only": "TensorPlay DCP"}

_NO_RANGES: Final = NotJudged("byte ranges", "records of a mega store name files, not bytes in them")
_NO_CHUNKS: Final = "the metadata says nothing but a version: what the files hold cannot be proved"


class _Dcp:
    """Reads metadata as a list of opcodes; nothing in it is looked up or called."""

    format = "torch DCP"
    summary = "torch.distributed.checkpoint, with or without one metadata file, Megatron torch_dist, TensorPlay DCP"

    def recognises(self, files: Files) -> bool:
        """Whether there is metadata of DCP, or what is there without it."""
        return any(
            name == _METADATA or any(of.fullmatch(name) for of in (_OF_PROCESS, _DATA, _UNFINISHED))
            for name in files.top
        )

    def read(self, files: Files) -> Reading:
        """Read the metadata file, or those of all processes."""
        backend, findings = _backend(files)
        if backend is not None and backend != _BACKEND:
            reason = f"the sharded backend is {backend!r}, which no reader knows"
            return Reading(
                findings=[_finding(files, "SP617", _MEGATRON, reason)], not_judged=[NotJudged("everything", reason)]
            )
        names = _metadata(files)
        if not names:
            return _without_metadata(files)
        megatron = backend is not None or _MEGATRON_COMMON in files
        content = [(name, files.read(name)) for name in names]
        columns, (flavour, has_plans, has_mega_store, foreign) = _core.read_dcp(content, megatron)
        if flavour == "version only":
            unsupported = _finding(files, "SP617", _METADATA, _NO_CHUNKS)
            return Reading(findings=[unsupported], not_judged=[NotJudged("everything", _NO_CHUNKS)])
        megatron = megatron or has_plans
        if megatron and _MEGATRON not in files:
            reason = "Megatron writes it last, and it is not there: the save may not have finished"
            findings.append(_finding(files, "SP701", _MEGATRON, reason))
        part = PartReading(
            format="Megatron torch_dist" if megatron else _FORMATS[flavour],
            columns=columns,
            files=files,
            not_judged=(
                *(NotJudged(f"attribute {name}", "the format does not have it") for name in foreign),
                *((_NO_RANGES,) if has_mega_store else ()),
            ),
        )
        return Reading(parts=[part], findings=findings)

    def examine(self, part: PartReading, found: Sequence[Finding]) -> Iterator[Finding]:
        """Look into the archives that the records are: what they hold, and whether their checksums are right."""
        failed = [
            (finding.fqn, position)
            for finding in found
            if finding.fqn is not None and finding.code.startswith("SP4")
            for position in finding.positions.first
        ]
        for number, path in enumerate(part.columns.files()):
            if path in part.files:
                read = partial(part.files.read, path)
                for record in _core.examine_archives(part.columns, number, part.files.sizes[path], failed, read):
                    yield Finding.from_core(record, part=part.name or None, directory=part.files.directory)


def _backend(files: Files) -> tuple[str | None, list[Finding]]:
    """Give the backend that Megatron's file names, if there is such a file."""
    if _MEGATRON not in files:
        return None, []
    try:
        return _core.megatron_backend(files.read(_MEGATRON)), []
    except ValueError as error:
        return None, [_finding(files, "SP603", _MEGATRON, str(error))]


def _metadata(files: Files) -> list[str]:
    """Names of the metadata files: the common one, or one of each process in the order of processes."""
    if _METADATA in files:
        return [_METADATA]
    of_processes = ((_OF_PROCESS.fullmatch(name), name) for name in files.top)
    return [name for _, name in sorted((int(match[1]), name) for match, name in of_processes if match)]


def _without_metadata(files: Files) -> Reading:
    """Say what is there instead of metadata."""
    unfinished = next((name for name in files.top if _UNFINISHED.fullmatch(name)), None)
    data = sum(bool(_DATA.fullmatch(name)) for name in files.top)
    reason = f"there is no metadata, and {data} data files"
    if unfinished is not None:
        reason += f"; {unfinished} is there: the writer ended before it was renamed"
    return Reading(findings=[_finding(files, "SP701", _METADATA, reason)], not_judged=[NotJudged("everything", reason)])


def _finding(files: Files, code: str, name: str, reason: str) -> Finding:
    return Finding(code=code, severity=KINDS[code].severity, file=files.directory + name, values={"reason": reason})


READER: Final[Reader] = _Dcp()
