"""Chunks of a global tensor, as metadata lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shardproof import _core
from shardproof.findings import NO_FINDINGS, Finding, Findings
from shardproof.layout.rows import (
    MOST,
    Ragged,
    Table,
    as_tables,
    coerced,
    count_faults,
    cut,
    gathered,
    layout_error,
    row_faults,
    same,
    shape_faults,
)
from shardproof.metadata import ChunkStorageMetadata, integers

__all__ = ["ChunkLayout"]


class ChunkLayout:
    """A global shape and a list of chunks.

    Any integers are taken, faulty ones too: `findings` says what is wrong with them. An int64 array that is
    C-contiguous is taken without a copy and must not be written to afterwards.

    Parameters
    ----------
    global_shape
        Shape of the whole tensor.
    offsets, sizes
        Starts and lengths of N chunks: sequences of sequences of integers, or (N, rank) arrays of any integer dtype.

    Raises
    ------
    InvalidType
        If anything in them is not an integer.

    Examples
    --------
    >>> chunks = ChunkLayout((4, 6), offsets=[(0, 0), (2, 0)], sizes=[(2, 6), (2, 6)])
    >>> len(chunks), chunks.rank, chunks.findings().total
    (2, 2, 0)
    """

    __slots__ = ("_fields", "_tables", "global_shape")

    global_shape: tuple[int, ...]

    def __init__(self, global_shape: Iterable[object], offsets: Any, sizes: Any) -> None:  # noqa: ANN401 - see above
        self.global_shape = integers(global_shape, "global_shape")
        rank = len(self.global_shape)
        self._fields = {name: coerced(value, name, rank)[0] for name, value in (("offsets", offsets), ("sizes", sizes))}
        self._tables = as_tables((self.global_shape,), self._fields)

    @classmethod
    def _of_tables(cls, global_shape: tuple[int, ...], offsets: Table | Ragged, sizes: Table | Ragged) -> ChunkLayout:
        layout = cls.__new__(cls)
        layout.global_shape = global_shape
        layout._fields = {"offsets": offsets, "sizes": sizes}
        layout._tables = as_tables((global_shape,), layout._fields)  # noqa: SLF001
        return layout

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.global_shape)

    def __len__(self) -> int:
        return len(self._fields["offsets"])

    @property
    def offsets(self) -> Table:
        """Starts of the chunks, int64 (N, rank), read-only.

        Raises
        ------
        LayoutError
            If the layout has form faults, so that there is no such table.
        """
        return self._table("offsets")

    @property
    def sizes(self) -> Table:
        """Lengths of the chunks, int64 (N, rank), read-only.

        Raises
        ------
        LayoutError
            If the layout has form faults, so that there is no such table.
        """
        return self._table("sizes")

    def _table(self, name: str) -> Table:
        field = self._fields[name]
        if isinstance(field, list):
            raise layout_error(self.findings(), "a layout of chunks")
        return field

    def __getitem__(self, position: int) -> ChunkStorageMetadata:
        return ChunkStorageMetadata(*(tuple(map(int, self._fields[name][position])) for name in ("offsets", "sizes")))

    def __iter__(self) -> Iterator[ChunkStorageMetadata]:
        return (self[position] for position in range(len(self)))

    def findings(self) -> Findings:
        """List every fault of form and bounds (SP1xx, SP2xx).

        An empty chunk behind the end is a warning. Overlaps and gaps are not looked for: `prove` does.

        Returns
        -------
        Findings
            Empty when every chunk lies inside the tensor and no number is negative.

        Examples
        --------
        >>> ChunkLayout((8,), [(6,)], [(4,)]).findings()[0].sentence
        '6 + 4 = 10 > 8'
        """
        tables = self._tables
        if tables is not None and _core.chunks_inside(self.global_shape, tables["offsets"], tables["sizes"]):
            return NO_FINDINGS
        form, offsets, sizes, positions = self.sound_rows()
        return Findings.together(form, _core.chunk_faults(cut(self.global_shape), offsets, sizes, positions, MOST))

    def sound_rows(self) -> tuple[list[Finding], Table, Table, list[int] | None]:
        """Name the faults of form, and keep the chunks that have none.

        Returns
        -------
        list of Finding, int64 (M, rank), int64 (M, rank), list of int or None
            The faults, offsets and sizes of the chunks without any, and their positions; None for all positions.

        Examples
        --------
        >>> form, offsets, sizes, positions = ChunkLayout((8,), [(0,), (2, 2)], [(4,), (4,)]).sound_rows()
        >>> form[0].sentence, positions
        ('offsets has 2 numbers, the tensor 1', [0])
        """
        if self._tables is not None:
            return [], self._tables["offsets"], self._tables["sizes"], None
        form = shape_faults("global_shape", self.global_shape) + count_faults(self._fields)
        form += (in_rows := row_faults(self._fields, self.rank, {}))
        bad = {finding.positions.first[0] for finding in in_rows}
        positions = [position for position in range(min(map(len, self._fields.values()))) if position not in bad]
        offsets, sizes = (gathered(field, positions, self.rank) for field in self._fields.values())
        return form, offsets, sizes, positions

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ChunkLayout)
            and self.global_shape == other.global_shape
            and all(same(field, other._fields[name]) for name, field in self._fields.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return ChunkLayout, (self.global_shape, self._fields["offsets"], self._fields["sizes"])

    def _repr_html_(self) -> str:
        from shardproof.report.notebook import layout_as_html  # noqa: PLC0415 -- reports come after layouts

        return layout_as_html(self)

    def __repr__(self) -> str:
        return f"<ChunkLayout: {len(self)} chunks of {self.global_shape}>"
