"""How two checkpoints differ, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shardproof.report.cut import cut_of
from shardproof.report.place import box, count, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shardproof.checkpoint.difference import CheckpointDiff, Key, Recovered
    from shardproof.layout import ChunkLayout

__all__ = ["VERSION", "as_json", "as_text"]

VERSION: Final = 1
"""Version of the JSON; a member may be added without a new one."""

_BOXES: Final = 4
_KEPT: Final = 1_000
"""Boxes of one tensor that JSON lists."""

_WORDS: Final = {
    "equal": "equal",
    "recut": "same elements, cut or stored in another way",
    "different": "different",
    "not compared": "not compared in full",
}


def as_text(difference: CheckpointDiff, left: str, right: str, *, limit: int | None = None) -> str:
    """Write what differs, section by section."""
    lines = [f"{printable(left)}, {printable(right)}: {_WORDS[difference.verdict]}"]
    for title, entries in _sections(difference):
        if entries:
            lines += ["", f"{title} ({len(entries):,}):", *(f"  {entry}" for entry in entries[:limit])]
        if limit is not None and len(entries) > limit:
            lines.append(f"  and {len(entries) - limit:,} more; --limit 0 shows all")
    lines += [
        "",
        f"{count(difference.tensors, 'tensor')} in both; elements are not read, only what metadata say of them",
    ]
    return "\n".join(lines)


def as_json(difference: CheckpointDiff, left: str, right: str) -> str:
    """Write what differs as one JSON document."""
    of_left, of_right = difference.left, difference.right

    def sides(key: Key, name: str) -> dict[str, Any]:
        return {**_key(key), "left": getattr(of_left[key][1], name), "right": getattr(of_right[key][1], name)}

    return json.dumps(
        {
            "version": VERSION,
            "left": left,
            "right": right,
            "verdict": difference.verdict,
            "tensors": difference.tensors,
            "only_left": list(map(_key, difference.only_left)),
            "only_right": list(map(_key, difference.only_right)),
            "renamed": [{"left": _key(one), "right": _key(other)} for one, other in difference.renamed],
            "reshaped": [sides(key, "global_shape") for key in difference.reshaped],
            "retyped": [sides(key, "dtype") for key in difference.retyped],
            "recovered": [
                {
                    **_key(one.key),
                    "only_left": _boxes(one.only_left),
                    "only_right": _boxes(one.only_right),
                    "complete": one.complete and max(len(one.only_left), len(one.only_right)) <= _KEPT,
                }
                for one in difference.recovered
            ],
            "recut": [
                {**_key(key), "left": cut_of(of_left[key][1].chunks), "right": cut_of(of_right[key][1].chunks)}
                for key in difference.recut
            ],
            "moved": [
                {
                    **_key(one.key),
                    "chunks": one.chunks,
                    "first": {"offsets": one.offsets, "sizes": one.sizes, "left": one.left, "right": one.right},
                }
                for one in difference.moved
            ],
            "not_compared": [{**_key(key), "why": why} for key, why in difference.not_compared],
        },
        indent=2,
    )


def _sections(difference: CheckpointDiff) -> Iterator[tuple[str, list[str]]]:
    left, right = difference.left, difference.right
    to = dict(difference.renamed)
    of = {other: one for one, other in difference.renamed}
    for title, keys, names, has in (
        ("only in the first", difference.only_left, to, left),
        ("only in the second", difference.only_right, of, right),
    ):
        yield title, [_only(key, names, has) for key in keys]
    yield (
        "another shape",
        [_reshaped(key, left[key][1].global_shape, right[key][1].global_shape) for key in difference.reshaped],
    )
    yield "another dtype", [_retyped(difference, key) for key in difference.retyped]
    yield "other elements are covered", list(map(_recovered, difference.recovered))
    yield (
        "same elements, another cut",
        [f"{_name(key)}: {cut_of(left[key][1].chunks)} -> {cut_of(right[key][1].chunks)}" for key in difference.recut],
    )
    yield (
        "same chunks, stored by other processes",
        [
            f"{_name(one.key)}: {count(one.chunks, 'chunk')}, first {box(one.offsets, one.sizes)}: "
            f"{printable(one.left)} -> {printable(one.right)}"
            for one in difference.moved
        ],
    )
    yield "not compared", [f"{_name(key)}: {printable(why)}" for key, why in difference.not_compared]


def _only(key: Key, names: dict[Key, Key], has: Any) -> str:  # noqa: ANN401 -- the tensors of one side
    if key not in has:
        return f"{_name(key)}: not a tensor"
    tensor = has[key][1]
    perhaps = f"; perhaps {_name(names[key])}" if key in names else ""
    return f"{_name(key)}: {printable(tensor.dtype)} {list(tensor.global_shape)}{perhaps}"


def _reshaped(key: Key, left: tuple[int, ...], right: tuple[int, ...]) -> str:
    """Say which dimensions differ by how much: padding shows as the same number everywhere."""
    text = f"{_name(key)}: {list(left)} -> {list(right)}"
    if len(left) != len(right):
        return text
    grown = (
        f"{after - before:+,} on dim {d}"
        for d, (before, after) in enumerate(zip(left, right, strict=True))
        if after != before
    )
    return f"{text}, {', '.join(grown)}"


def _retyped(difference: CheckpointDiff, key: Key) -> str:
    one, other = difference.left[key][1], difference.right[key][1]
    text = f"{_name(key)}: {printable(one.dtype)} -> {printable(other.dtype)}"
    if one.bits is None or other.bits is None or one.bits == other.bits:
        return text
    return f"{text}, {'narrower' if other.bits < one.bits else 'wider'}"


def _recovered(one: Recovered) -> str:
    sides = (("first", one.only_left), ("second", one.only_right))
    return f"{_name(one.key)}: " + "; ".join(
        f"only the {name} has {_some(boxes)}" for name, boxes in sides if len(boxes)
    )


def _some(boxes: ChunkLayout) -> str:
    shown = [box(boxes[position].offsets, boxes[position].sizes) for position in range(min(len(boxes), _BOXES))]
    more = len(boxes) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _boxes(boxes: ChunkLayout) -> list[dict[str, Any]]:
    tables: Iterable[tuple[list[int], list[int]]] = zip(
        boxes.offsets[:_KEPT].tolist(), boxes.sizes[:_KEPT].tolist(), strict=True
    )
    return [{"offsets": offsets, "sizes": sizes} for offsets, sizes in tables]


def _key(key: Key) -> dict[str, str]:
    return {"part": key[0], "fqn": key[1]}


def _name(key: Key) -> str:
    return f"{printable(key[0])}: {printable(key[1])}" if key[0] else printable(key[1])
