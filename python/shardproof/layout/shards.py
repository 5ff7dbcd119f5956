"""Shards of one local tensor, and the look-up among them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from shardproof import _core
from shardproof.errors import InvalidType, LookupFailed
from shardproof.findings import NO_FINDINGS, Finding, Findings
from shardproof.layout.chunks import ChunkLayout
from shardproof.layout.rows import (
    MAX,
    MOST,
    Counted,
    Table,
    as_tables,
    coerced,
    count_faults,
    cut,
    found,
    gathered,
    layout_error,
    row_faults,
    same,
    shape_faults,
)
from shardproof.metadata import integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FIELDS", "ShardLayout", "fields_of"]

FIELDS: Final = ("global_shape", "global_offsets", "local_offsets", "local_sizes")
"""What a checkpointable tensor carries, in the order in which `ShardLayout` takes it."""


def fields_of(tensor: Any) -> tuple[tuple[Any, Any, Any, Any], tuple[int, ...]]:  # noqa: ANN401 - any tensor
    """Read the four attributes and the shape of a checkpointable tensor.

    Raises
    ------
    InvalidType
        If one of them is missing or None.
    """
    values = []
    for name in (*FIELDS, "shape"):
        value = getattr(tensor, name, None)
        if value is None:
            msg = f"{type(tensor).__name__} has no {name}"
            raise InvalidType(msg)
        values.append(value)
    *fields, shape = values
    return cast("tuple[Any, Any, Any, Any]", tuple(fields)), tuple(shape)


class ShardLayout(_core.Resolver):
    """The shards of one local tensor: chunks of a global tensor, each with its place in the local one.

    Any integers are taken, faulty ones too: `findings` says what is wrong with them, and what needs a valid layout
    raises `LayoutError`. An int64 array that is C-contiguous is taken without a copy and must not be written to
    afterwards.

    Parameters
    ----------
    global_shape
        Shape of the whole tensor.
    global_offsets
        Where each of N shards starts in the global tensor.
    local_offsets
        Where each shard starts in the local tensor.
    local_sizes
        Lengths of each shard.
    local_shape
        Shape of the local tensor.

    Raises
    ------
    InvalidType
        If anything in them is not an integer.

    Examples
    --------
    >>> layout = ShardLayout((16,), [(0,), (12,)], [(0,), (4,)], [(4,), (4,)], (8,))
    >>> layout.resolve((12,)), layout.slices(1)
    (1, (slice(4, 8, None),))
    """

    __slots__ = ("_fields", "_tables", "frozen", "global_shape", "local_shape")

    global_shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    frozen: bool
    """Whether the layout was made of nothing but tuples of ints, which can never change."""

    def __init__(
        self,
        global_shape: Iterable[object],
        global_offsets: Any,  # noqa: ANN401 - sequences and arrays of any integers
        local_offsets: Any,  # noqa: ANN401
        local_sizes: Any,  # noqa: ANN401
        local_shape: Iterable[object],
    ) -> None:
        self.global_shape = integers(global_shape, "global_shape")
        self.local_shape = integers(local_shape, "local_shape")
        rank = len(self.global_shape)
        offsets, offsets_frozen = coerced(global_offsets, "global_offsets", rank)
        places, places_frozen = coerced(local_offsets, "local_offsets", rank)
        sizes, sizes_frozen = coerced(local_sizes, "local_sizes", rank)
        self._fields = {"global_offsets": offsets, "local_offsets": places, "local_sizes": sizes}
        self.frozen = (
            (offsets_frozen and places_frozen and sizes_frozen)
            and isinstance(global_shape, tuple)
            and all(type(dim) is int for dim in global_shape)
        )
        self._tables = as_tables((self.global_shape, self.local_shape), self._fields)

    @classmethod
    def of(cls, tensor: Any) -> ShardLayout:  # noqa: ANN401 - any tensor will do
        """Read the layout that a checkpointable tensor carries.

        Parameters
        ----------
        tensor
            Has `shape`, `global_shape`, `global_offsets`, `local_offsets` and `local_sizes`.

        Raises
        ------
        InvalidType
            If one of them is missing or None, or holds something that is not an integer.
        """
        values, shape = fields_of(tensor)
        return cls(*values, shape)

    @property
    def rank(self) -> int:
        """Number of dimensions of the global tensor."""
        return len(self.global_shape)

    def __len__(self) -> int:
        return len(self._fields["global_offsets"])

    @property
    def chunks(self) -> ChunkLayout:
        """The chunks of the global tensor, sharing the tables of this layout.

        Raises
        ------
        LayoutError
            If the layout is faulty.
        """
        self._checked()
        return ChunkLayout._of_tables(  # noqa: SLF001 - both live here
            self.global_shape, self._fields["global_offsets"], self._fields["local_sizes"]
        )

    def findings(self) -> Findings:
        """List every fault of form and bounds (SP1xx, SP2xx).

        An empty shard behind the end is a fault like any other. Overlaps are not looked for: `check_local` does.

        Returns
        -------
        Findings
            Empty when every shard lies inside the global and inside the local tensor.

        Examples
        --------
        >>> for finding in ShardLayout((16,), [(-1,), (12,)], [(0,)], [(4,), (5,)], (8,)).findings():
        ...     print(finding.code, finding.name)
        SP101 count-mismatch
        SP103 chunk-negative
        SP201 chunk-out-of-bounds
        """
        form, counted = self._faults()
        return Findings.together(form, *counted) if form or counted else NO_FINDINGS

    def _faults(self) -> tuple[list[Finding], list[Counted]]:
        """Name the faults of form; have the core name and count those of sign and bounds."""
        tables = self._tables
        if tables is not None and _core.shards_inside(
            self.global_shape,
            tables["global_offsets"],
            tables["local_sizes"],
            self.local_shape,
            tables["local_offsets"],
        ):
            return [], []
        form, both, global_only = self._sound_rows()
        sides = ((both, True), (global_only, False))
        return form, [self._faults_at(rows, alike=alike) for rows, alike in sides if rows]

    def check_local(self) -> Findings:
        """List what is wrong with the shards among themselves, and their form and bounds.

        Beside `findings`: elements of the global tensor that two shards have (SP303, SP304), elements of the local
        tensor that belong to two (SP307: loading one would overwrite the other), and a note with the number of local
        elements that belong to none (SP308). Whether the global tensor is covered is not judged: `prove` does, given
        the chunks of all processes. Empty shards share nothing; touching ones neither.

        Shards with faults of form are left out, those that stick out are cut to the tensor.

        Returns
        -------
        Findings
            Boxes are those of the global tensor, of SP307 those of the local one.

        Examples
        --------
        >>> layout = ShardLayout((16,), [(0,), (12,)], [(0,), (3,)], [(4,), (4,)], (8,))
        >>> for finding in layout.check_local():
        ...     print(finding.code, finding.box, finding.sentence)
        SP307 ((3,), (1,)) 1 element of the local tensor belongs to several shards
        SP308 None 1 element of the local tensor belongs to no shard
        """
        form, counted = self._faults()
        if len(self.local_shape) == self.rank:
            counted.append(self._shared())
        return Findings.together(form, *counted)

    def _shared(self) -> Counted:
        """Have the core name what shards without faults of form share."""
        tables, positions = self._tables, None
        if tables is None:
            _, positions, _ = self._sound_rows()
            tables = {name: gathered(field, positions, self.rank) for name, field in self._fields.items()}
        return _core.local_faults(
            cut(self.global_shape),
            tables["global_offsets"],
            tables["local_sizes"],
            cut(self.local_shape),
            tables["local_offsets"],
            positions,
            int.from_bytes(os.urandom(16), "little"),
            MOST,
        )

    def _sound_rows(self) -> tuple[list[Finding], list[int], list[int]]:
        """Name the faults of form; list shards without any, and those that have some on the local side alone."""
        # A local tensor of another rank is a fault as soon as a shard should lie in it.
        alike = len(self.local_shape) == self.rank
        form = shape_faults("global_shape", self.global_shape) + shape_faults("local_shape", self.local_shape)
        if not alike and len(self):
            mismatch: dict[str, int | str] = {
                "field": "local_shape",
                "rank": len(self.local_shape),
                "expected": self.rank,
            }
            form.append(found("SP102", values=mismatch))
        ranks = {"local_offsets": len(self.local_shape)}
        form += count_faults(self._fields)
        form += (in_rows := row_faults(self._fields, self.rank, ranks))
        bad = {(finding.values["field"], finding.positions.first[0]) for finding in in_rows}
        both: list[int] = []
        global_only: list[int] = []
        for position in range(min(len(self), len(self._fields["local_sizes"]))):
            if ("global_offsets", position) in bad or ("local_sizes", position) in bad:
                continue
            here = alike and position < len(self._fields["local_offsets"]) and ("local_offsets", position) not in bad
            (both if here else global_only).append(position)
        return form, both, global_only

    def _faults_at(self, positions: list[int], *, alike: bool) -> Counted:
        """Name the faults of sign and bounds of some shards, those of the global side alone where not `alike`."""
        rows = {name: gathered(self._fields[name], positions, self.rank) for name in ("global_offsets", "local_sizes")}
        nowhere = [MAX] * self.rank
        return _core.shard_faults(
            cut(self.global_shape),
            rows["global_offsets"],
            rows["local_sizes"],
            cut(self.local_shape) if alike else nowhere,
            gathered(self._fields["local_offsets"], positions, self.rank)
            if alike
            else np.zeros_like(rows["local_sizes"]),
            positions,
            MOST,
        )

    def check(self) -> None:
        """Demand a layout without faults of form and bounds; afterwards it is not checked again.

        Raises
        ------
        LayoutError
            With all faults, if there are any.
        """
        self._checked()

    def as_tuples(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Give global offsets, local offsets and local sizes as tuples of tuples of ints, as a tensor carries them."""
        return tuple(
            tuple(map(tuple, field.tolist() if isinstance(field, np.ndarray) else field))
            for field in self._fields.values()
        )

    def _checked(self) -> _core.OffsetIndex:
        """Check once, then keep the index: a layout that has one is valid."""
        index = self._index
        if index is None:
            findings = self.findings()
            if findings.total:
                raise layout_error(findings, f"the layout of a local tensor of shape {self.local_shape}")
            tables = cast("dict[str, Table]", self._fields)
            index = self._index = _core.OffsetIndex(tables["global_offsets"], tables["local_sizes"])
        return index

    def _resolve(self, wanted: Any) -> int:  # noqa: ANN401 - an offset or an index of any framework
        """Find a shard where that takes more than looking at exact ints, or say why there is none."""
        index = self._checked()
        offset, hint = wanted, None
        if type(wanted) is not tuple:
            # A metadata index has an offset, and a sequence has none.
            offset, hint = getattr(wanted, "offset", wanted), getattr(wanted, "index", None)
            if callable(hint):
                hint = None
        hint = _checked_hint(hint)
        if offset is None:
            return self._only()
        # Numpy integers and the like become ints, and what is beyond 64 bits is nowhere.
        position = index.find(integers(offset, "offset"), hint)
        if position is None:
            msg = f"no shard starts at offset {tuple(offset)}; there are {len(self)} shards of {self.global_shape}"
            raise LookupFailed(msg)
        return position

    def _only(self) -> int:
        if len(self) == 1:
            return 0
        msg = (
            f"there are {len(self)} shards: an offset is needed to choose one"
            if len(self)
            else f"this process holds no shard of {self.global_shape}"
        )
        raise LookupFailed(msg)

    def resolve_many(self, offsets: Any) -> NDArray[np.int64]:  # noqa: ANN401 - sequences and arrays
        """Find the shards that start at many offsets.

        Parameters
        ----------
        offsets
            M offsets: a sequence of sequences of integers, or an (M, rank) array of any integer dtype.

        Returns
        -------
        int64 (M,)
            Positions, -1 where no shard starts at the offset.

        Raises
        ------
        LayoutError
            If the layout is faulty.
        InvalidType
            If anything in `offsets` is no integer.

        Examples
        --------
        >>> layout = ShardLayout((8,), [(0,), (4,)], [(0,), (4,)], [(4,), (4,)], (8,))
        >>> layout.resolve_many([(4,), (1,), (0,)])
        array([ 1, -1,  0])
        """
        index = self._checked()
        wanted, _ = coerced(offsets, "offsets", self.rank)
        if not isinstance(wanted, list):
            return index.find_many(wanted)
        found = np.full(len(wanted), -1, np.int64)
        for row, offset in enumerate(wanted):
            position = index.find(offset)
            found[row] = -1 if position is None else position
        return found

    def slices(self, position: int) -> tuple[slice, ...]:
        """Give the slices of the local tensor that a shard is.

        Raises
        ------
        LayoutError
            If the layout is faulty.
        IndexError
            If there is no shard at `position`.

        Examples
        --------
        >>> ShardLayout((8,), [(4,)], [(1,)], [(3,)], (4,)).slices(0)
        (slice(1, 4, None),)
        """
        if self._index is None:
            self._checked()
        tables = cast("dict[str, Table]", self._fields)
        slices = None if position < 0 else _core.slices(tables["local_offsets"], tables["local_sizes"], position)
        if slices is None:
            msg = f"position {position}: there are {len(self)} shards"
            raise IndexError(msg)
        return slices

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ShardLayout)
            and (self.global_shape, self.local_shape) == (other.global_shape, other.local_shape)
            and all(same(field, other._fields[name]) for name, field in self._fields.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardLayout, (self.global_shape, *self._fields.values(), self.local_shape)

    def _repr_html_(self) -> str:
        from shardproof.report.notebook import shards_as_html  # noqa: PLC0415 -- reports come after layouts

        return shards_as_html(self, ChunkLayout(self.local_shape, *list(self._fields.values())[1:]))

    def __repr__(self) -> str:
        return f"<ShardLayout: {len(self)} shards of {self.global_shape} in a local tensor of {self.local_shape}>"


def _checked_hint(hint: object) -> int | None:
    """Demand that a hint is an integer; one that no position can have becomes None."""
    if hint is None:
        return None
    (plain,) = integers((hint,), "index")
    return plain if 0 <= plain <= MAX else None
