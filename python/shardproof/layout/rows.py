"""Rows of numbers: coerced once, taken as tables where they can be, and judged where they cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from shardproof import _core
from shardproof.errors import InvalidType, LayoutError
from shardproof.findings import KINDS, CoreRecord, Finding, Findings, Positions

__all__ = [
    "MAX",
    "MOST",
    "Counted",
    "Ragged",
    "Table",
    "as_tables",
    "coerced",
    "count_faults",
    "cut",
    "found",
    "gathered",
    "layout_error",
    "row_faults",
    "same",
    "shape_faults",
]

Table: TypeAlias = NDArray[np.int64]
"""An (N, rank) array, C-contiguous."""

Ragged: TypeAlias = list[tuple[int, ...]]
"""Rows that differ in length or hold numbers beyond 64 bits."""

Counted: TypeAlias = tuple[list[CoreRecord], dict[int, int]]
"""Findings of the core, and how many there are of each code."""

MAX: Final = 2**63 - 1
_MIN: Final = -(2**63)
MOST: Final = 10_000
"""Findings of one code that are kept; all are counted."""
_SHOWN: Final = 10
"""Findings in the message of a `LayoutError`."""


def coerced(value: Any, field: str, rank: int) -> tuple[Table | Ragged, bool]:  # noqa: ANN401 - anything may come
    """Coerce offsets or sizes, and say whether they can never change: the one place where that is done."""
    rows, frozen = _core.read_rows(value, field, rank)
    return (_converted(value, field, rank), False) if rows is None else (rows, frozen)


def _converted(value: NDArray[Any], field: str, rank: int) -> Table | Ragged:
    """Coerce an array that cannot be read in place."""
    if value.dtype.kind == "O" and value.ndim:
        return coerced(value.tolist(), field, rank)[0]
    if value.ndim != 2 or value.dtype.kind not in "iu":
        msg = f"{field} is an array of shape {value.shape} and dtype {value.dtype}, not (N, rank) integers"
        raise InvalidType(msg)
    if value.dtype.kind == "u" and (value > MAX).any():
        return [tuple(row) for row in value.tolist()]
    # `order` rather than a contiguity check: also a Fortran-ordered or byte-swapped table becomes a plain one.
    table = np.array(value, np.int64, order="C", subok=False)
    table.setflags(write=False)
    return table


def same(left: Table | Ragged, right: Table | Ragged) -> bool:
    """Compare the numbers of two fields."""
    if isinstance(left, list) or isinstance(right, list):
        return isinstance(left, list) and isinstance(right, list) and left == right
    return np.array_equal(left, right)


def as_tables(shapes: tuple[tuple[int, ...], ...], fields: Mapping[str, Table | Ragged]) -> Mapping[str, Table] | None:
    """Give the tables of a layout without form faults, and None for any other."""
    return cast("Mapping[str, Table]", fields) if _core.are_tables(shapes, tuple(fields.values())) else None


def shape_faults(name: str, shape: tuple[int, ...]) -> list[Finding]:
    """Name every negative dimension of a shape, and every one beyond 64 bits."""
    findings: list[Finding] = []
    for dimension, dim in enumerate(shape):
        values: dict[str, int | str] = {"field": name, "number": dim}
        if dim < 0:
            findings.append(found("SP104", dimension=dimension, values=values))
        if not _MIN <= dim <= MAX:
            findings.append(
                found("SP106", dimension=dimension, values={"reason": f"{name}: {dim} does not fit 64 bits"})
            )
    return findings


def count_faults(fields: Mapping[str, Table | Ragged]) -> list[Finding]:
    """Name the fields that have not as many rows as the first."""
    (first, rows), *others = fields.items()
    return [
        found("SP101", values={"field": name, "count": len(field), "expected": len(rows), "expected_field": first})
        for name, field in others
        if len(field) != len(rows)
    ]


def row_faults(fields: Mapping[str, Table | Ragged], rank: int, other_ranks: Mapping[str, int]) -> list[Finding]:
    """Name every row of wrong rank and every number beyond 64 bits."""
    findings: list[Finding] = []
    for name, field in fields.items():
        expected = other_ranks.get(name, rank)
        if isinstance(field, np.ndarray) and field.shape[1] == expected:
            continue
        for position, row in enumerate(field):
            if len(row) != expected:
                values: dict[str, int | str] = {"field": name, "rank": len(row), "expected": expected}
                findings.append(found("SP102", position, values=values))
                continue
            findings.extend(
                found("SP105", position, dimension, {"field": name, "reason": f"{name}: {number} does not fit 64 bits"})
                for dimension, number in enumerate(row)
                if not _MIN <= number <= MAX
            )
    return findings


def gathered(field: Table | Ragged, positions: Sequence[int], rank: int) -> Table:
    """Make a table of the rows at these positions."""
    rows = field[positions] if isinstance(field, np.ndarray) else [field[position] for position in positions]
    return np.array(rows, np.int64, order="C").reshape(len(positions), rank)


def cut(shape: tuple[int, ...]) -> list[int]:
    """Bring a shape into 64 bits, so that everything else about its chunks can be judged."""
    return [min(max(dim, _MIN), MAX) for dim in shape]


def found(
    code: str, position: int | None = None, dimension: int | None = None, values: Mapping[str, int | str] | None = None
) -> Finding:
    """Build a finding of form, at one position or at none."""
    return Finding(
        code=code,
        severity=KINDS[code].severity,
        positions=Positions() if position is None else Positions(1, (position,)),
        dimension=dimension,
        values=values or {},
    )


def layout_error(findings: Findings, what: str) -> LayoutError:
    """Build the error that shows the first faults with their numbers, and how many more there are."""
    faults = "1 fault" if findings.total == 1 else f"{findings.total} faults"
    lines = [f"{faults} in {what}"]
    for finding in findings[:_SHOWN]:
        place = [f"shard {position}" for position in finding.positions.first[:1]]
        if finding.dimension is not None:
            place.append(f"dimension {finding.dimension}")
        where = ", ".join(place)
        lines.append(f"  {finding.code} {finding.name:<20} {where + ': ' if where else ''}{finding.sentence}")
    if findings.total > _SHOWN:
        lines.append(f"  and {findings.total - _SHOWN} more")
    return LayoutError("\n".join(lines), findings)
