"""`shardproof diff`."""

from __future__ import annotations

from typing import Final, Literal

import click

from shardproof.cli.opened import PART, opened

__all__ = ["command"]

_STATUS: Final = {"equal": 0, "recut": 0, "different": 1, "not compared": 2}


@click.command("diff", short_help="Say how two checkpoints differ.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--exact", is_flag=True, help="Another cut, or chunks stored by other processes, are a difference too.")
@PART
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Lines of a section; 0 for all.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    first: str, second: str, *, exact: bool, part: str | None, limit: int, form: Literal["text", "json"]
) -> int:
    """Say how two checkpoints differ: names, shapes, dtypes, covered elements, cuts and processes.

    The order of tensors and of chunks does not count. The elements themselves are not read.

    \b
    Examples:
      shardproof diff runs/step-1000 runs/step-2000
      shardproof diff --exact before after         the same processes hold the same, too
      shardproof diff a b --format json | jq .renamed

    The exit status is 0 if both hold the same tensors with the same elements, however they are cut (with --exact only
    if they are cut and stored alike), 1 if they differ, and 2 if that could not be found out.
    """
    left, right = opened(first, part), opened(second, part)
    from shardproof.checkpoint.difference import diff_checkpoints  # noqa: PLC0415 -- --help does not need it
    from shardproof.report.difference import as_json, as_text  # noqa: PLC0415

    difference = diff_checkpoints(left, right)
    if form == "json":
        click.echo(as_json(difference, left.location, right.location))
    else:
        click.echo(as_text(difference, left.location, right.location, limit=limit or None))
    return 1 if exact and difference.verdict == "recut" else _STATUS[difference.verdict]
