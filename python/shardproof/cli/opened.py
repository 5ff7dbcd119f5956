"""Opening what a command is asked about, or saying in one sentence what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardproof.cli.progress import progress
from shardproof.errors import LimitExceeded, MalformedFile, UnsupportedFormat

if TYPE_CHECKING:
    from shardproof.checkpoint.model import Checkpoint

__all__ = ["opened"]


def opened(path: str) -> Checkpoint:
    """Open a checkpoint; an error ends with the next step."""
    from shardproof.checkpoint.opening import open_checkpoint  # noqa: PLC0415 -- --help does not need it

    try:
        with progress(f"reading {path}"):
            return open_checkpoint(path)
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{error}; `shardproof formats` lists what can be read") from error
    except (MalformedFile, LimitExceeded) as error:
        raise type(error)(f"{error}; `shardproof check` says more") from error
