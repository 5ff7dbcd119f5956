"""`shardproof map`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from shardproof.cli.opened import PART, opened
from shardproof.cli.progress import progress
from shardproof.cli.selected import selected
from shardproof.errors import InvalidInput

__all__ = ["command"]

_MOST = 10_000


@click.command("map", short_help="Draw how the tensors of a checkpoint are cut.")
@click.argument("path", metavar="DIR")
@click.argument("names", required=False, metavar="[FQN|GLOB]")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), metavar="FILE", help=".svg or .html")
@click.option("--color-by", type=click.Choice(["file", "process"]), default="file", show_default=True)
@PART
def command(
    path: str, names: str | None, *, output: str, color_by: Literal["file", "process"], part: str | None
) -> int:
    """Draw how the tensors of a checkpoint are cut, and what is wrong with them.

    Chunks are rectangles in true proportion, coloured by the file or process that holds them, hatched where elements
    are missing, outlined where there are too many; a pointer on one shows where it is and where its bytes are. HTML is
    one page with the findings and all tensors, or those that are named; it needs no network. SVG is one tensor.

    \b
    Examples:
      shardproof map runs/step-1000 -o map.html                        everything
      shardproof map runs/step-1000 '*.mlp.*' -o map.html              some
      shardproof map runs/step-1000 model.embed.weight -o embed.svg    one
      shardproof map runs/step-1000 -o map.html --color-by process

    Exit status 0, whatever the findings: `shardproof check` judges.
    """
    form = Path(output).suffix.lower()
    if form not in {".svg", ".html"}:
        raise InvalidInput(f"{output}: a name that ends in .svg or .html says what to draw")
    checkpoint = opened(path, part)
    from shardproof.checkpoint.check import check_checkpoint  # noqa: PLC0415 -- an error does not need it
    from shardproof.report import gallery, listing, page  # noqa: PLC0415

    listed = [listing.Listed(part, tensor) for part, tensor in selected(checkpoint, names)]
    with progress(f"checking {path}"):
        report = check_checkpoint(checkpoint, max_findings=_MOST)
    shown = {(one.part.name, one.tensor.fqn) for one in listed}
    findings = [f for f in report.findings if names is None or ((f.part or ""), f.fqn) in shown]
    if form == ".html":
        text = page.page(listed, report, findings, color_by=color_by)
    elif len(listed) != 1:
        raise InvalidInput(f"{output}: an SVG is of one tensor, not {len(listed)}; name one, or write .html")
    else:
        text = gallery.picture_of(listed[0], findings, color_by=color_by).svg + "\n"
    Path(output).write_text(text, encoding="utf-8")
    click.echo(f"{output}: {len(listed)} tensors drawn" if len(listed) != 1 else f"{output}: 1 tensor drawn")
    return 0
