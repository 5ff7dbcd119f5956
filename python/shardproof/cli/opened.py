"""Opening what a command is asked about, or saying in one sentence what to do instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from shardproof.cli.progress import progress
from shardproof.errors import InvalidInput, LimitExceeded, MalformedFile, UnsupportedFormat
from shardproof.report.place import printable

if TYPE_CHECKING:
    from shardproof.checkpoint.model import Checkpoint

__all__ = ["FORMATS", "PART", "instead", "opened"]

FORMATS: Final = "`shardproof formats` lists what can be read"
"""The next step where no format is recognised."""

PART = click.option("--part", metavar="NAME", help="Only this part, where a checkpoint has several.")


def opened(path: str, part: str | None = None) -> Checkpoint:
    """Open a checkpoint, or the one part of several that is meant; an error ends with the next step."""
    from shardproof.checkpoint.opening import open_checkpoint  # noqa: PLC0415 -- --help does not need it

    try:
        with progress(f"reading {path}"):
            checkpoint = open_checkpoint(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}; {instead(path)}") from error
    except UnsupportedFormat as error:
        raise UnsupportedFormat(f"{error}; {FORMATS}") from error
    except (MalformedFile, LimitExceeded) as error:
        raise type(error)(f"{error}; `shardproof check` says more") from error
    if part is None or len(checkpoint.parts) == 1:
        return checkpoint
    if part not in checkpoint.parts:
        raise InvalidInput(
            f"{path}: no part is named {part!r}; there are {', '.join(map(printable, checkpoint.parts))}"
        )
    return replace(checkpoint, parts={part: checkpoint.parts[part]})


def instead(path: str) -> str:
    """Say what to do where nothing is: take what is called nearly so, else look where the path still leads."""
    if "://" in path:
        return "look at what its store lists"
    from difflib import get_close_matches  # noqa: PLC0415 -- only a mistake needs it

    missing = Path(path)
    there = next(parent for parent in missing.parents if parent.exists())
    if not there.is_dir():
        return f"{printable(str(there))} is a file, name it alone"
    wanted = missing.relative_to(there).parts[0]
    near = get_close_matches(wanted, [entry.name for entry in there.iterdir()], n=1)
    if near:
        return f"did you mean {printable(str(there / near[0]))}?"
    return f"look in {printable(str(there.resolve()))}"
