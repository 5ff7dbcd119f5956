"""Opening what a command is asked about, or saying in one sentence what to do instead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shardproof.cli.progress import progress
from shardproof.errors import InvalidInput, LimitExceeded, MalformedFile, UnsupportedFormat
from shardproof.report.place import printable

if TYPE_CHECKING:
    from shardproof.checkpoint.model import Checkpoint

__all__ = ["PART", "opened"]


PART = click.option("--part", metavar="NAME", help="Only this part, where a checkpoint has several.")


def opened(path: str, part: str | None = None) -> Checkpoint:
    """Open a checkpoint, or the one part of several that is meant; an error ends with the next step."""
    from shardproof.checkpoint.opening import open_checkpoint  # noqa: PLC0415 -- --help does not need it

    try:
        with progress(f"reading {path}"):
            checkpoint = open_checkpoint(path)
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{error}; `shardproof formats` lists what can be read") from error
    except (MalformedFile, LimitExceeded) as error:
        raise type(error)(f"{error}; `shardproof check` says more") from error
    if part is None or len(checkpoint.parts) == 1:
        return checkpoint
    if part not in checkpoint.parts:
        raise InvalidInput(
            f"{path}: no part is named {part!r}; there are {', '.join(map(printable, checkpoint.parts))}"
        )
    return replace(checkpoint, parts={part: checkpoint.parts[part]})
