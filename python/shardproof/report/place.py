"""Where a finding is, in words; and names from files, made safe to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardproof.findings import Finding, Positions

__all__ = ["box", "count", "place", "printable", "size"]

_SHOWN = 4


def printable(text: str) -> str:
    """Escape what a terminal would obey rather than show: a name in a file can be anything."""
    if text.isprintable() and text:
        return text
    escaped = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return escaped or '""'


def count(number: int, noun: str) -> str:
    """Put a number and a noun together."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def size(byte_length: int) -> str:
    """Write a number of bytes with a unit."""
    if byte_length >= 1 << 80:  # no units for what only a faulty file says, and a float may not hold it
        return f"2^{byte_length.bit_length() - 1} bytes"
    if byte_length == 1:
        return "1 byte"
    scaled = float(byte_length)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if scaled < 1000 or unit == "TB":
            break
        scaled /= 1000
    return f"{scaled:.0f} {unit}" if unit == "bytes" else f"{scaled:.3g} {unit}"


def place(finding: Finding) -> str:
    """Say which chunks, which dimension, which box, and which bytes of which file."""
    pieces = [_chunks(finding.positions)]
    if finding.dimension is not None:
        pieces.append(f"dimension {finding.dimension}")
    if finding.box is not None:
        pieces.append(box(*finding.box))
    where = ", ".join(filter(None, pieces))
    file = ""
    if finding.file is not None:
        file = printable(finding.file)
        if finding.byte_range is not None:
            first, length = finding.byte_range
            file += f" bytes {first}..{first + length}"
    return " in ".join(filter(None, (where, file)))


def _chunks(positions: Positions) -> str:
    if positions.count == 0:
        return ""
    if positions.count == 1:
        return f"chunk {positions.first[0]}"
    named = ", ".join(map(str, positions.first[:_SHOWN]))
    more = positions.count - len(positions.first[:_SHOWN])
    return f"chunks {named} and {more:,} more" if more else f"chunks {named}"


def box(offsets: Sequence[int], sizes: Sequence[int]) -> str:
    """Write a box: where it starts and how long it is."""
    return f"({', '.join(map(str, offsets))})+({', '.join(map(str, sizes))})"
