"""A sign of life on the terminal while something takes long."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["progress"]

_PATIENCE: Final = 1.0
"""Seconds before anything is shown."""


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show on stderr, if it is a terminal, that something is going on and for how long."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(what: str, done: threading.Event) -> None:
    start = time.monotonic()
    shown = False
    wait = _PATIENCE
    while not done.wait(wait):
        shown, wait = True, 0.5
        sys.stderr.write(f"\r\x1b[K{what}: {time.monotonic() - start:.0f} s")
        sys.stderr.flush()
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
