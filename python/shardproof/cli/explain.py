"""`shardproof explain`."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import fill
from typing import Final

import click

__all__ = ["command"]

_QUESTIONS: Final = ("What:", "Why it matters:", "How it comes about:", "What to do:")


@click.command("explain", short_help="Explain a finding: what it means, why it matters, what to do.")
@click.argument("codes", nargs=-1, metavar="[CODE]...")
def command(codes: tuple[str, ...]) -> int:
    """Explain findings, given their codes or names; without any, list them all.

    \b
    shardproof explain SP301
    shardproof explain chunk-gap
    """
    from shardproof.explanations import EXPLANATIONS  # noqa: PLC0415 -- --help does not need it
    from shardproof.findings import KINDS  # noqa: PLC0415

    if not codes:
        for kind in KINDS.values():
            click.echo(f"{kind.code}  {kind.severity!s:<7}  {kind.name:<26}  {kind.summary}")
        return 0
    width = min(get_terminal_size().columns, 88)
    by_word = {word: kind for kind in KINDS.values() for word in (kind.code, kind.name)}
    texts = []
    for code in codes:
        named = by_word.get(code.upper()) or by_word.get(code.lower())
        if named is None:
            raise click.BadParameter(f"{code!r} is no finding; `shardproof explain` lists them", param_hint="CODE")
        explanation = EXPLANATIONS[named.code]
        texts.append(
            f"{named.code} {named.name} ({named.severity}): {named.summary}\n\n"
            + "\n\n".join(
                fill(f"{question} {answer}", width=width)
                for question, answer in zip(_QUESTIONS, explanation, strict=True)
            )
        )
    click.echo("\n\n".join(texts))
    return 0
