"""Rows for people: columns that line up and fit the terminal, or CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from shardproof.report.place import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["as_csv", "as_table", "shortened"]

_GAP: Final = "  "
_LEAST: Final = 12
"""Characters to which a cell is shortened at most: what is left must tell one name from another."""


def as_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    right: Sequence[str] = (),
    flexible: Sequence[str] = (),
) -> list[str]:
    """Write rows as lines whose columns line up.

    Parameters
    ----------
    heads
        Names of the columns.
    rows
        The cells; what a terminal would obey is escaped.
    width
        Characters of a line. None for as many as it takes.
    right
        Columns that are aligned to the right.
    flexible
        Columns whose cells are shortened, the first one first, when a line would be too wide.

    Examples
    --------
    >>> for line in as_table(["fqn", "chunks"], [["layers.0.weight", "8"]], right=["chunks"]):
    ...     print(line)
    fqn              chunks
    layers.0.weight       8
    """
    table = [list(heads), *([printable(cell) if cell else cell for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for head in flexible if width is not None else ():
        column = heads.index(head)
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - (width or 0)
        if excess > 0:
            widths[column] = min(widths[column], max(widths[column] - excess, _LEAST))
    aligned = [str.rjust if head in right else str.ljust for head in heads]
    layout = list(zip(aligned, widths, strict=True))
    return [
        _GAP.join(align(shortened(cell, most), most) for (align, most), cell in zip(layout, row, strict=True)).rstrip()
        for row in table
    ]


def shortened(text: str, width: int) -> str:
    """Leave out the middle of a text that is too long: names differ at both ends.

    Examples
    --------
    >>> shortened("model.layers.31.mlp.down_proj.weight", 20)
    'model.layer...weight'
    """
    if len(text) <= width:
        return text
    first = (width - 3 + 1) // 2 + 2
    last = width - 3 - first
    return f"{text[:first]}...{text[len(text) - last :]}"


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows as CSV with a header; in texts, what a terminal would obey is escaped.

    Examples
    --------
    >>> print(as_csv(["fqn", "chunks"], [["a,b", 8]]))
    fqn,chunks
    "a,b",8
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([printable(cell) if isinstance(cell, str) and cell else cell for cell in row] for row in rows)
    return written.getvalue().rstrip("\n")
