"""What a caller expects of a checkpoint, against what it has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from shardproof.checkpoint.discover import discover
from shardproof.checkpoint.files import open_files
from shardproof.checkpoint.model import Checkpoint, Tensor
from shardproof.errors import InvalidType
from shardproof.findings import KINDS, Finding

if TYPE_CHECKING:
    from shardproof.checkpoint.reader import PartReading
    from shardproof.layout import ChunkLayout

__all__ = ["Expected", "compare"]

Shape: TypeAlias = "Sequence[int] | ChunkLayout | Tensor | None"
Wanted: TypeAlias = tuple[tuple[int, ...] | None, str | None]
Expected: TypeAlias = "str | os.PathLike[str] | Checkpoint | Mapping[str, Shape] | Iterable[str]"

_HINTED = 1_000
"""Names up to which the nearest one is looked for: comparing all with all is quadratic."""


def compare(parts: Sequence[PartReading], expect: Expected) -> list[Finding]:
    """Name the tensors that are missing, unexpected, of another shape or of another type."""
    present: dict[str, tuple[tuple[int, ...], str] | None] = {}
    for part in parts:
        for number, fqn in enumerate(part.columns.fqns()):
            shape, dtype, _, _ = part.columns.tensor(number)
            present.setdefault(fqn, (shape, dtype))
        for fqn, _ in part.columns.blobs():
            present.setdefault(fqn, None)
    wanted = _wanted(expect)
    missing = [fqn for fqn in wanted if fqn not in present]
    extra = [fqn for fqn in present if fqn not in wanted]
    findings = [_finding("SP510", fqn, _nearest(fqn, extra)) for fqn in missing]
    findings += [_finding("SP511", fqn, _nearest(fqn, missing)) for fqn in extra]
    for fqn, (wanted_shape, wanted_dtype) in wanted.items():
        have = present.get(fqn)
        if have is None:
            continue
        shape, dtype = have
        if wanted_shape is not None and wanted_shape != shape:
            findings.append(_finding("SP512", fqn, {"shape": str(list(shape)), "expected": str(list(wanted_shape))}))
        if wanted_dtype is not None and wanted_dtype != dtype:
            findings.append(_finding("SP513", fqn, {"dtype": dtype, "expected": wanted_dtype}))
    return findings


def _wanted(expect: Expected) -> dict[str, Wanted]:
    if isinstance(expect, str | os.PathLike):
        return _wanted_of_path(os.fspath(expect))
    if isinstance(expect, Checkpoint):
        return dict(wanted for part in expect.parts.values() for wanted in _of_part(part.reading))
    if isinstance(expect, Mapping):
        return {fqn: _shape(fqn, shape) for fqn, shape in expect.items()}
    return dict.fromkeys(expect, (None, None))


def _wanted_of_path(path: str) -> dict[str, Wanted]:
    """Read a list of names, one a line, or a checkpoint."""
    if os.path.isfile(path) and path.endswith(".txt"):  # noqa: PTH113 -- may be a URL
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return {line.rstrip("\n"): (None, None) for line in file if line.strip()}
    wanted: dict[str, Wanted] = {}
    for _, part in discover(open_files(path)).parts:
        wanted.update(dict(_of_part(part)))
    return wanted


def _of_part(part: PartReading) -> Iterator[tuple[str, Wanted]]:
    for number, fqn in enumerate(part.columns.fqns()):
        shape, dtype, _, _ = part.columns.tensor(number)
        yield fqn, (shape, dtype)
    for fqn, _ in part.columns.blobs():
        yield fqn, (None, None)


def _shape(fqn: str, shape: Shape) -> Wanted:
    if shape is None:
        return None, None
    if isinstance(shape, Tensor):
        return shape.global_shape, shape.dtype
    if isinstance(shape, Sequence):
        return tuple(shape), None
    if hasattr(shape, "global_shape"):
        return tuple(shape.global_shape), None
    raise InvalidType(f"expect[{fqn!r}] is a {type(shape).__name__}: a shape, a layout, a tensor or None is needed")


def _nearest(fqn: str, names: list[str]) -> dict[str, int | str]:
    near = get_close_matches(fqn, names, n=1) if len(names) <= _HINTED else []
    return {"hint": f"; the nearest name is {near[0]}" if near else ""}


def _finding(code: str, fqn: str, values: dict[str, int | str]) -> Finding:
    return Finding(code=code, severity=KINDS[code].severity, fqn=fqn, values=values)
