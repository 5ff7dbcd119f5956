"""Pictures of the tensors of a checkpoint, with the findings of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from shardproof.checkpoint.job import owner_of
from shardproof.report.cut import cut_of
from shardproof.report.listing import Listed, bytes_of
from shardproof.report.place import box, count, place, printable, size
from shardproof.report.scene import RECTANGLES, scene_of
from shardproof.report.svg import Legend, drawing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from shardproof.findings import Finding
    from shardproof.report.scene import Box

__all__ = ["DOUBLED", "GAPS", "Picture", "marked", "picture_of"]

GAPS: Final = frozenset({"SP301", "SP302", "SP306", "SP423"})
DOUBLED: Final = frozenset({"SP303", "SP304", "SP307"})

_DIGITS: Final = 10
_FILES: Final = 8 * 10**_DIGITS
"""More than the number of any process, and a whole number of palettes."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of one tensor."""

    one: Listed
    findings: tuple[Finding, ...]
    svg: str
    rectangles: int


def picture_of(
    one: Listed,
    findings: Iterable[Finding],
    *,
    color_by: Literal["file", "process"] = "file",
    style: bool = True,
    rectangles: int = RECTANGLES,
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
    rectangles
        Chunks up to which each is drawn.
    """
    tensor = one.tensor
    mine = tuple(f for f in findings if f.fqn == tensor.fqn and (f.part or "") == one.part.name)
    paths = one.part.paths
    files, firsts, lengths = tensor.records
    owners, names = _owners(paths, files, color_by)
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

    (gaps, short), (doubled, several) = (marked(mine, codes, tensor.global_shape) for codes in (GAPS, DOUBLED))
    scene = scene_of(tensor.chunks, owners, gaps=gaps, doubled=doubled, rectangles=rectangles)
    legend = Legend(color_by, names, tell, lambda row: str(positions[row]), short, several)
    total = bytes_of(tensor)
    cut = cut_of(tensor.chunks)
    chunks = cut if tensor.chunk_count < 2 else f"{count(tensor.chunk_count, 'chunk')}, {cut}"
    words = [tensor.dtype, chunks, *([] if total is None else [size(total)])]
    # A page has the name as a heading.
    title = f"{printable(tensor.fqn)}: {', '.join(words)}" if style else ", ".join(words)
    return Picture(one, mine, drawing(scene, legend, title, style=style), scene.rectangles)


def marked(findings: Iterable[Finding], codes: Collection[str], shape: tuple[int, ...]) -> tuple[list[Box], list[str]]:
    """Give the boxes of findings about a tensor of `shape`, and what a pointer on one should show."""
    # Where there are no chunks at all, everything is what they do not cover.
    whole = (0,) * len(shape), shape
    placed = [(whole if f.code == "SP302" else f.box, f) for f in findings if f.code in codes]
    boxed: list[tuple[Box, Finding]] = [(at, f) for at, f in placed if at is not None]
    return [at for at, _ in boxed], [f"{f.code} {f.name}: {f.sentence}\n{place(f)}" for _, f in boxed]


def _owners(paths: Sequence[str], files: NDArray[np.int64], color_by: str) -> tuple[list[int], dict[int, str]]:
    """Say who holds each chunk, by number, -1 for nobody; and their names."""
    owners, names = {-1: -1}, dict[int, str]()
    for file in map(int, np.unique(files[files >= 0])):
        owner = owner_of(paths[file]) if color_by == "process" else paths[file]
        # A process has the same colour in all pictures; files that no process has signed come behind all processes.
        number = int(owner) if color_by == "process" and owner.isdecimal() and len(owner) < _DIGITS else file + _FILES
        owners[file] = number
        names[number] = f"process {owner}" if number < _FILES else printable(owner)
    return [owners[file] for file in files.tolist()], names
