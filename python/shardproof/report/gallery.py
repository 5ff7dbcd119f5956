"""Pictures of the tensors of a checkpoint, with the findings of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from shardproof.checkpoint.job import owner_of
from shardproof.report.listing import Listed, bytes_of
from shardproof.report.place import box, count, printable, size
from shardproof.report.scene import scene_of
from shardproof.report.svg import Legend, drawing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shardproof.findings import Finding

__all__ = ["Picture", "picture_of"]

GAPS: Final = frozenset({"SP301", "SP306", "SP423"})
DOUBLED: Final = frozenset({"SP303", "SP304", "SP307"})


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of one tensor."""

    one: Listed
    findings: tuple[Finding, ...]
    svg: str


def picture_of(
    one: Listed,
    findings: Iterable[Finding],
    *,
    color_by: Literal["file", "process"] = "file",
    style: bool = True,
) -> Picture:
    """Draw a tensor of a checkpoint: every chunk where it is, coloured by who holds it.

    Parameters
    ----------
    one
        The tensor.
    findings
        Those of the whole checkpoint; the ones about this tensor are drawn.
    color_by
        Whether a colour is a file or the process that wrote it.
    style
        Whether the drawing has its own style, and its name.
    """
    tensor = one.tensor
    mine = tuple(f for f in findings if f.fqn == tensor.fqn and (f.part or "") == one.part.name)
    paths = one.part.paths
    files, firsts, lengths = tensor.records
    names = [printable(path) for path in paths]
    if color_by == "process":
        owners = [owner_of(path) for path in paths]
        names = sorted(set(owners))
        files_to = np.array([names.index(owner) for owner in owners] or [0], np.int64)
        numbers = np.where(files < 0, -1, files_to[np.maximum(files, 0)])
    else:
        numbers = files
    offsets, sizes = tensor.boxes
    positions = tensor.positions

    def tell(row: int) -> str:
        lines = [f"chunk {positions[row]}: {box(offsets[row].tolist(), sizes[row].tolist())}"]
        if tensor.bits:
            elements = int(np.prod(sizes[row].astype(object)))
            lines.append(size(max(elements * tensor.bits, 0) // 8))
        if files[row] < 0:
            lines.append("no record")
        else:
            lines.append(f"{printable(paths[files[row]])} bytes {firsts[row]}..{int(firsts[row]) + int(lengths[row])}")
        return "\n".join(lines)

    boxes = [[f.box for f in mine if f.code in codes and f.box is not None] for codes in (GAPS, DOUBLED)]
    scene = scene_of(tensor.chunks, numbers.tolist(), gaps=boxes[0], doubled=boxes[1])
    total = bytes_of(tensor)
    words = [tensor.dtype, count(tensor.chunk_count, "chunk"), *([] if total is None else [size(total)])]
    # A page has the name as a heading.
    title = f"{printable(tensor.fqn)}: {', '.join(words)}" if style else ", ".join(words)
    return Picture(one, mine, drawing(scene, Legend(color_by, names, tell), title, style=style))
