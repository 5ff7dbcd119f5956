"""`shardproof formats`."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("formats", short_help="List the formats that can be read.")
def command() -> int:
    """List the formats that can be read.

    A format is recognised by what is in a directory, never by its name.

    \b
    Examples:
      shardproof formats
    """
    from shardproof.checkpoint.reader import readers  # noqa: PLC0415 -- --help does not need it

    for reader in readers():
        click.echo(f"{reader.format:<14}  {reader.summary}")
    return 0
