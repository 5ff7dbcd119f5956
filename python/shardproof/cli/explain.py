"""`shardproof explain`."""

from __future__ import annotations

from difflib import get_close_matches
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shardproof.findings import Kind

__all__ = ["command"]


def _kinds() -> dict[str, Kind]:
    """Kinds of findings by code and by name."""
    from shardproof.findings import KINDS  # noqa: PLC0415 -- --help does not need it

    return {word: kind for kind in KINDS.values() for word in (kind.code, kind.name)}


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    del ctx, param
    return [word for word in _kinds() if word.lower().startswith(incomplete.lower())]


@click.command("explain", short_help="Explain a finding: what it means, why it matters, what to do.")
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=_complete)
def command(codes: tuple[str, ...]) -> int:
    """Explain findings, given their codes or names; without any, list them all.

    \b
    Examples:
      shardproof explain                      all codes, a line each
      shardproof explain SP301                one, with what to do
      shardproof explain chunk-gap sp303      several, by name or code
    """
    from shardproof.report.catalogue import explained  # noqa: PLC0415 -- --help does not need it

    kinds = _kinds()
    if not codes:
        for kind in dict.fromkeys(kinds.values()):
            click.echo(f"{kind.code}  {kind.severity!s:<7}  {kind.name:<26}  {kind.summary}")
        return 0
    width = min(get_terminal_size().columns, 88)
    texts = []
    for code in codes:
        named = kinds.get(code.upper()) or kinds.get(code.lower())
        if named is None:
            lower = {word.lower(): word for word in kinds}
            near = get_close_matches(code.lower(), lower, n=1)
            hint = f"did you mean {lower[near[0]]}?" if near else "`shardproof explain` lists them"
            raise click.BadParameter(f"{code!r} is no finding; {hint}", param_hint="CODE")
        texts.append(explained(named, width))
    click.echo("\n\n".join(texts))
    return 0
