"""`shardproof show`."""

from __future__ import annotations

from typing import Final, Literal

import click

from shardproof.cli.opened import PART, opened
from shardproof.cli.selected import selected
from shardproof.cli.terminal import columns, knows_boxes

__all__ = ["command"]

_LIMIT: Final = 100


@click.command("show", short_help="List the tensors of a checkpoint and how they are cut.")
@click.argument("path", metavar="DIR")
@click.argument("names", required=False, metavar="[FQN|GLOB]")
@click.option("--sort", type=click.Choice(["name", "bytes", "chunks"]), help="By name, or the largest first.")
@PART
@click.option("--limit", type=click.IntRange(0), default=_LIMIT, show_default=True, help="Lines of a table; 0 for all.")
@click.option("--format", "form", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
def command(
    path: str,
    names: str | None,
    *,
    sort: Literal["name", "bytes", "chunks"] | None,
    part: str | None,
    limit: int,
    form: Literal["text", "json", "csv"],
) -> int:
    """List the tensors of a checkpoint: shape, dtype, how each is cut, bytes, files.

    Of one tensor its chunks are shown: a picture of the cut, and where each chunk is stored. Nothing is judged:
    `shardproof check` does that.

    \b
    Examples:
      shardproof show runs/step-1000                         all tensors
      shardproof show runs/step-1000 '*.mlp.*' --sort bytes  some, the largest first
      shardproof show runs/step-1000 model.norm.weight       one, with its chunks
      shardproof show runs/step-1000 --format csv > tensors.csv

    JSON and CSV hold all rows. Sizes are of the elements; stored bytes are what the records take.
    """
    checkpoint = opened(path, part)
    from shardproof.report import listing  # noqa: PLC0415 -- it needs numpy, which an error does not

    listed = [listing.Listed(part, tensor) for part, tensor in selected(checkpoint, names)]
    if names is not None and len({one.tensor.fqn for one in listed}) == 1:
        if form == "json":
            text = listing.chunks_as_json(checkpoint, listed)
        elif form == "csv":
            text = listing.chunks_as_csv(listed)
        else:
            width, ascii_only = columns(), not knows_boxes()
            text = "\n\n".join(
                listing.chunks_as_text(one, limit=limit or None, width=width, ascii_only=ascii_only) for one in listed
            )
        click.echo(text)
        return 0
    if sort == "name":
        listed.sort(key=lambda one: (one.part.name, one.tensor.fqn))
    elif sort == "chunks":
        listed.sort(key=lambda one: -one.tensor.chunk_count)
    elif sort == "bytes":
        listed.sort(key=lambda one: -(listing.bytes_of(one.tensor) or 0))
    if form == "json":
        text = listing.tensors_as_json(checkpoint, listed)
    elif form == "csv":
        text = listing.tensors_as_csv(listed)
    else:
        text = listing.tensors_as_text(checkpoint, listed, limit=limit or None, width=columns())
    click.echo(text)
    return 0
