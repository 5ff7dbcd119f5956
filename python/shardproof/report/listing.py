"""What a checkpoint holds: its tensors, or the chunks of one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shardproof.report.cut import cut_of
from shardproof.report.picture import picture
from shardproof.report.place import count, printable, size
from shardproof.report.table import as_csv, as_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shardproof.checkpoint.model import Checkpoint, Part, Tensor

__all__ = [
    "VERSION",
    "Listed",
    "bytes_of",
    "chunks_as_csv",
    "chunks_as_json",
    "chunks_as_text",
    "tensors_as_csv",
    "tensors_as_json",
    "tensors_as_text",
]

VERSION: Final = 1
"""Version of the JSON; a member may be added without a new one."""

_HEADS: Final = ("part", "fqn", "shape", "dtype", "chunks", "cut", "bytes", "stored_bytes", "files")
_CHUNK_HEADS: Final = ("chunk", "offsets", "sizes", "file", "byte_offset", "byte_length")


_WHOLE: Final = "1 chunk"
"""The cut that needs no drawing."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tensor and the part that it is in."""

    part: Part
    tensor: Tensor


def bytes_of(tensor: Tensor) -> int | None:
    """Count the bytes of all elements, in whole bytes; None if the width of an element or the shape is not known."""
    if tensor.bits is None or any(dim < 0 for dim in tensor.global_shape):
        return None
    return -(-prod(tensor.global_shape) * tensor.bits // 8)


def tensors_as_text(
    checkpoint: Checkpoint, listed: Sequence[Listed], *, limit: int | None = None, width: int | None = None
) -> str:
    """Write tensors as a table, with totals, and what was not judged."""
    shown = listed[:limit]
    rows = []
    for one in shown:
        row = _row(one)
        total = "?" if row["bytes"] is None else size(row["bytes"])
        rows.append([_name(one), str(row["shape"]), row["dtype"], row["cut"], total, f"{row['files']:,}"])
    heads = ("fqn", "shape", "dtype", "cut", "bytes", "files")
    lines = [_summary(checkpoint)]
    if rows:
        lines += ["", *as_table(heads, rows, width=width, right=("bytes", "files"), flexible=("fqn", "shape", "cut"))]
    if len(listed) > len(shown):
        lines += [f"and {count(len(listed) - len(shown), 'more tensor')}; --limit 0 shows all"]
    everything = sum(len(part.tensors) for part in checkpoint.parts.values())
    others = sum(len(part.blobs) for part in checkpoint.parts.values())
    lines += ["", _totals(listed, everything)]
    if others and len(listed) == everything:
        lines.append(f"{others:,} entries that are not tensors" if others > 1 else "1 entry that is not a tensor")
    lines += [f"not judged: {what}: {printable(why)}" for what, why in _not_judged(checkpoint)]
    return "\n".join(lines)


def tensors_as_json(checkpoint: Checkpoint, listed: Sequence[Listed]) -> str:
    """Write tensors as one JSON document."""
    return json.dumps({**_head(checkpoint), "tensors": [_row(one) for one in listed]}, indent=2)


def tensors_as_csv(listed: Sequence[Listed]) -> str:
    """Write tensors as CSV."""
    rows = (_row(one) for one in listed)
    return as_csv(_HEADS, ([_cell(row[head]) for head in _HEADS] for row in rows))


def chunks_as_text(one: Listed, *, limit: int | None = None, width: int | None = None, ascii_only: bool = False) -> str:
    """Write the chunks of a tensor as a table, below a drawing and what is known of the whole."""
    row = _row(one)
    total = "? bytes" if row["bytes"] is None else size(row["bytes"])
    lines = [
        f"{_name(one)}: {row['dtype']} {row['shape']}, {total}",
        f"  {row['cut']}; {size(row['stored_bytes'])} stored in {count(row['files'], 'file')}",
    ]
    drawn: list[str] = []
    if row["cut"] != _WHOLE:
        drawn = picture(one.tensor.chunks, one.tensor.positions.tolist(), width=width or 80, ascii_only=ascii_only)
    if drawn:
        lines += ["", *drawn]
    rows = [[str(cell) for cell in _chunk_cells(chunk)] for chunk in _chunks(one, limit)]
    if rows:
        heads = [{"byte_offset": "first byte", "byte_length": "bytes"}.get(head, head) for head in _CHUNK_HEADS]
        lines += ["", *as_table(heads, rows, width=width, right=("chunk", "first byte", "bytes"), flexible=("file",))]
    hidden = row["chunks"] - len(rows)
    if hidden:
        lines += [f"and {count(hidden, 'more chunk')}; --limit 0 shows all"]
    return "\n".join(lines)


def chunks_as_json(checkpoint: Checkpoint, listed: Sequence[Listed]) -> str:
    """Write tensors and their chunks as one JSON document."""
    tensors = [{**_row(one), "chunk_list": list(_chunks(one))} for one in listed]
    return json.dumps({**_head(checkpoint), "tensors": tensors}, indent=2)


def chunks_as_csv(listed: Sequence[Listed]) -> str:
    """Write the chunks of tensors as CSV."""
    heads = ("part", "fqn", *_CHUNK_HEADS)
    rows = ((one.part.name, one.tensor.fqn, chunk) for one in listed for chunk in _chunks(one))
    return as_csv(heads, ([part, fqn, *(_cell(chunk[head]) for head in _CHUNK_HEADS)] for part, fqn, chunk in rows))


def _name(one: Listed) -> str:
    """Name a tensor, with its part where parts have names, as a report of `check` does."""
    fqn = printable(one.tensor.fqn)
    return f"{printable(one.part.name)}: {fqn}" if one.part.name else fqn


def _row(one: Listed) -> dict[str, Any]:
    tensor = one.tensor
    files, _, lengths = tensor.records
    return {
        "part": one.part.name,
        "fqn": tensor.fqn,
        "shape": list(tensor.global_shape),
        "dtype": tensor.dtype,
        "chunks": tensor.chunk_count,
        "cut": cut_of(tensor.chunks),
        "bytes": bytes_of(tensor),
        "stored_bytes": sum(lengths.tolist()),
        "files": int(np.unique(files[files >= 0]).size),
    }


def _chunks(one: Listed, limit: int | None = None) -> Iterator[dict[str, Any]]:
    tensor, paths = one.tensor, one.part.paths
    directory = one.part.files.directory
    columns = (tensor.positions, *tensor.boxes, *tensor.records)
    for position, offsets, sizes, file, first, length in zip(
        *(column[:limit].tolist() for column in columns), strict=True
    ):
        yield {
            "chunk": position,
            "offsets": offsets,
            "sizes": sizes,
            "file": None if file < 0 else directory + paths[file],
            "byte_offset": None if file < 0 else first,
            "byte_length": None if file < 0 else length,
        }


def _chunk_cells(chunk: dict[str, Any]) -> Iterator[object]:
    for head in _CHUNK_HEADS:
        value = chunk[head]
        if value is None:
            yield "no record" if head == "file" else ""
        else:
            yield f"({', '.join(map(str, value))})" if isinstance(value, list) else value


def _cell(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _head(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "version": VERSION,
        "location": checkpoint.location,
        "formats": {part.name: part.format for part in checkpoint.parts.values()},
        "other_entries": [name for part in checkpoint.parts.values() for name in part.blobs],
        "not_judged": [{"what": what, "why": why} for what, why in _not_judged(checkpoint)],
    }


def _summary(checkpoint: Checkpoint) -> str:
    files = checkpoint.files
    held = f"{count(len(files), 'file')}, {size(sum(files.sizes.values()))}"
    return f"{printable(checkpoint.location)}: {checkpoint.format or 'no known format'}, {held}"


def _totals(listed: Sequence[Listed], everything: int) -> str:
    known = [total for one in listed if (total := bytes_of(one.tensor)) is not None]
    tensors = count(len(listed), "tensor")
    if len(listed) < everything:
        tensors += f" of {everything:,}"
    text = f"{tensors} in {count(sum(one.tensor.chunk_count for one in listed), 'chunk')}, {size(sum(known))}"
    unknown = len(listed) - len(known)
    return f"{text} and {count(unknown, 'tensor')} of unknown size" if unknown else text


def _not_judged(checkpoint: Checkpoint) -> list[tuple[str, str]]:
    entries = [
        *checkpoint.not_judged,
        *(entry for part in checkpoint.parts.values() for entry in part.reading.not_judged),
    ]
    return list(dict.fromkeys((entry.what, entry.why) for entry in entries))
