"""What the terminal can show."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size

__all__ = ["columns", "knows_boxes"]


def columns() -> int | None:
    """Count the characters of a line; None if the output goes elsewhere, where lines may be of any length."""
    return get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else None


def knows_boxes() -> bool:
    """Whether the output can be written with characters that draw boxes."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in {"utf8", "utf16", "utf32"}
