"""`shardproof check`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, Literal

import click

from shardproof.cli.opened import FORMATS, instead
from shardproof.cli.progress import progress
from shardproof.errors import ShardproofError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shardproof.checkpoint.check import CheckReport
    from shardproof.findings import Severity

__all__ = ["command"]

_STATUS: Final = {"whole": 0, "broken": 1, "not proved": 2}
_LIMIT: Final = 20
_MOST: Final = 10_000


@click.command("check", short_help="Prove that checkpoints are whole, or say what is wrong.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--deep", is_flag=True, help="Look into stored records too: archives, shapes, checksums.")
@click.option("--expect", metavar="PATH", help="What ought to be there: another checkpoint, or a .txt with names.")
@click.option("--select", metavar="CODES", multiple=True, help="Report only these findings: codes, SP3, or names.")
@click.option("--ignore", metavar="CODES", multiple=True, help="Leave these findings out, and say so.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note"]),
    default="error",
    show_default=True,
    help="The mildest finding that makes the exit status 1.",
)
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the report to a file.")
@click.option("--max-findings", type=click.IntRange(0), help=f"Findings listed; {_LIMIT}, or 100 in JSON and SARIF.")
@click.option("-q", "--quiet", is_flag=True, help="Only the first line.")
@click.option("-v", "--verbose", is_flag=True, help="All findings, and why something was not judged.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
def command(
    paths: tuple[str, ...],
    *,
    deep: bool,
    expect: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    form: Literal["text", "json", "sarif"],
    output: str | None,
    max_findings: int | None,
    quiet: bool,
    verbose: bool,
    color: str,
) -> int:
    """Prove that checkpoints are whole, or say what is wrong with them.

    A PATH is a directory, a metadata file, a safetensors file, or a URL that fsspec can reach. Nothing in it is
    executed.

    \b
    Examples:
      shardproof check runs/step-1000                       is it whole?
      shardproof check runs/* --quiet                       a line each
      shardproof check --deep runs/step-1000                look into the stored records too
      shardproof check s3://bucket/step-1000 --format json  for programs, with a schema
      shardproof check new --expect old                     the same keys, shapes and dtypes?

    The exit status is 0 if all are whole, 1 if one is broken, and 2 if one is not proved or cannot be read.
    """
    from shardproof.checkpoint.check import check_checkpoint  # noqa: PLC0415 -- --help does not need it
    from shardproof.findings import Severity  # noqa: PLC0415

    left_out = _left_out(select, ignore)
    most = max_findings if max_findings is not None else _MOST if verbose else 100
    reports: list[CheckReport] = []
    status = 0
    for path in paths:
        try:
            with progress(f"checking {path}"):
                report = check_checkpoint(path, deep=deep, expect=expect, max_findings=most).without(left_out)
        except (ShardproofError, OSError) as error:
            said = str(error)
            if isinstance(error, FileNotFoundError):
                said += f"; {instead(path if expect is None or said.startswith(f'{path}: ') else expect)}"
            click.echo(f"shardproof: {said}", err=True)
            status = _STATUS["not proved"]
            continue
        reports.append(report)
        status = max(status, _status(report, Severity[fail_on.upper()]))
    limit = max_findings if max_findings is not None else _MOST if verbose else _LIMIT
    colored = color == "always" or (color == "auto" and output is None and _is_terminal())
    text = _render(reports, form, limit=limit, color=colored, quiet=quiet, verbose=verbose)
    if output is None:
        click.echo(text, color=True, nl=bool(text))
    else:
        with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text + "\n")
    return status


def _render(reports: Sequence[CheckReport], form: str, *, limit: int, color: bool, quiet: bool, verbose: bool) -> str:
    if form == "json":
        from shardproof.report.json import render as render_json  # noqa: PLC0415

        return render_json(reports)
    if form == "sarif":
        from shardproof.report.sarif import render as render_sarif  # noqa: PLC0415

        return render_sarif(reports)
    from shardproof.report.text import headline, render  # noqa: PLC0415

    if quiet:
        return "\n".join(headline(report, color=color) for report in reports)
    texts = [render(report, color=color, limit=limit, reasons=verbose) for report in reports]
    return "\n\n".join([*texts, *[FORMATS] * (not all(report.formats for report in reports))])


def _status(report: CheckReport, mildest: Severity) -> int:
    failed = any(severity <= mildest for severity in report.severities.values())
    return max(_STATUS[report.verdict], 1 if failed and report.verdict == "whole" else 0)


def _left_out(select: Sequence[str], ignore: Sequence[str]) -> Collection[str]:
    """Find the codes that are not to be reported."""
    from shardproof.findings import KINDS  # noqa: PLC0415

    selected = _codes(select, "--select") or set(KINDS)
    return (set(KINDS) - selected) | _codes(ignore, "--ignore")


def _codes(words: Sequence[str], option: str) -> set[str]:
    """Find the codes that are meant by codes, their beginnings or names, separated by commas."""
    from shardproof.findings import KINDS  # noqa: PLC0415

    codes: set[str] = set()
    for word in (word.strip() for words_ in words for word in words_.split(",")):
        meant = {code for code, kind in KINDS.items() if code.startswith(word.upper()) or kind.name == word}
        if not meant or not word:
            raise click.BadParameter(f"{word!r} is no code, no beginning of one, and no name", param_hint=option)
        codes |= meant
    return codes


def _is_terminal() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
