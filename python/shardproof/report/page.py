"""A checkpoint as one page of HTML that needs no network and runs no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from shardproof.report.gallery import picture_of
from shardproof.report.listing import bytes_of
from shardproof.report.place import count, place, printable, size
from shardproof.report.svg import STYLE
from shardproof.report.text import headline

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from shardproof.checkpoint.check import CheckReport
    from shardproof.findings import Finding
    from shardproof.report.listing import Listed

__all__ = ["PAGE_TABLE", "findings_table", "overview", "page"]

_PICTURES: Final = 40
_RECTANGLES: Final = 4_000
"""Chunks that are drawn on a page, and the few that each picture may have however many there were before."""
_FEW: Final = 64
_BARS: Final = 200
_FINDINGS: Final = 100

PAGE_TABLE: Final = (
    "table.sp-table{border-collapse:collapse;font-size:13px;width:100%}.sp-table td{text-align:left;"
    "padding:.25rem .6rem .25rem 0;border-bottom:1px solid #8884;vertical-align:top;overflow-wrap:anywhere}"
    ".sp-table .w{white-space:nowrap}.sp-table td.n{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}.sp-table .bar{display:block;height:.7rem;margin-top:.2rem;background:#0072b2}"
    ".sp-table .b{width:35%}.sp-table .error{color:#c4161c}"
    "@media(prefers-color-scheme:dark){.sp-table .error{color:#ff7b72}.sp-table .bar{background:#56b4e9}}"
    # On a narrow screen a row is a block, with as many of its cells in a line as have room.
    "@media(max-width:40rem){.sp-table tr{display:block;border-bottom:1px solid #8884;padding:.3rem 0}"
    ".sp-table td{display:inline-block;border:0;padding:.1rem .6rem .1rem 0}.sp-table td:empty{display:none}"
    ".sp-table td.b{width:100%;padding:0}}"
)
_STYLE: Final = (
    STYLE
    + PAGE_TABLE
    + ":root{color-scheme:light dark}body{margin:0 auto;max-width:60rem;padding:1rem;font:15px system-ui,sans-serif;"
    "background:#fff;color:#1c1e21}@media(prefers-color-scheme:dark){body{background:#17191c;color:#e8e6e3}"
    "a{color:#8ab4f8}}h1{font-size:1.25rem;overflow-wrap:anywhere}h2{font-size:1rem;margin:2rem 0 .5rem;"
    "overflow-wrap:anywhere}svg{max-width:100%;height:auto}.scroll{overflow-x:auto}"
    "@media(max-width:40rem){svg{max-width:none;width:30rem}}"
)


def page(
    listed: Sequence[Listed], report: CheckReport, findings: Sequence[Finding], *, color_by: Literal["file", "process"]
) -> str:
    """Write a page: the verdict, the findings, the tensors by bytes, and a picture of each.

    Parameters
    ----------
    listed
        The tensors that are shown.
    report
        Of the whole checkpoint.
    findings
        Those that are listed and drawn.
    color_by
        Whether a colour is a file or a process.
    """
    ranked = _ranked(listed, findings)
    pictured = ranked[:_PICTURES]
    sections = []
    left = _RECTANGLES
    for number, one in enumerate(pictured):
        picture = picture_of(one, findings, color_by=color_by, style=False, rectangles=max(left, _FEW))
        left -= picture.rectangles
        name = escape(printable(one.tensor.fqn))
        sections.append(f'<section id="t{number}"><h2>{name}</h2><div class="scroll">{picture.svg}</div></section>')
    more = len(listed) - len(pictured)
    if more:
        sections.append(f"<p>{count(more, 'more tensor')} not drawn: name one, or some with a pattern.</p>")
    title = escape(headline(report))
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{title}</h1>",
            findings_table(findings, report.findings.total),
            overview(listed, findings) if len(listed) > 1 else "",
            *sections,
            "</body></html>\n",
        ]
    )


def findings_table(findings: Sequence[Finding], total: int) -> str:
    """Write findings as a table, and how many more there are."""
    if not total:
        return ""
    rows = [
        f'<tr><td class="w {finding.severity}">{finding.severity}</td>'
        f'<td class="w">{finding.code} {escape(finding.name)}</td>'
        f"<td>{'' if finding.fqn is None else escape(printable(finding.fqn))}</td>"
        f"<td>{escape(printable(finding.sentence))}<br><small>{escape(place(finding))}</small></td></tr>"
        for finding in findings[:_FINDINGS]
    ]
    more = total - len(rows)
    after = f"<p>and {count(more, 'more finding')}</p>" if more else ""
    return f'<div class="scroll"><table class="sp-table">{"".join(rows)}</table></div>{after}'


def overview(listed: Sequence[Listed], findings: Sequence[Finding], *, links: bool = True) -> str:
    """Write tensors as bars, as long as they have bytes; those with findings first, the largest first."""
    ranked = _ranked(listed, findings)
    largest = max((bytes_of(one.tensor) or 0 for one in ranked), default=0) or 1
    found = _found(findings)
    rows = []
    for number, one in enumerate(ranked[:_BARS]):
        total = bytes_of(one.tensor)
        name = escape(printable(one.tensor.fqn))
        link = f'<a href="#t{number}">{name}</a>' if links and number < _PICTURES else name
        faults = found.get((one.part.name, one.tensor.fqn), 0)
        mark = f'<span class="error w">{count(faults, "finding")}</span>' if faults else ""
        # What has bytes can be seen.
        width = max(100 * total / largest, 0.4) if total else 0
        rows.append(
            f'<tr><td>{link}</td><td class="b"><span class="bar" style="width:{width:.1f}%"></span></td>'
            f'<td class="n">{"?" if total is None else size(total)}</td>'
            f'<td class="n">{count(one.tensor.chunk_count, "chunk")}</td><td>{mark}</td></tr>'
        )
    more = len(ranked) - len(rows)
    after = f"<p>and {count(more, 'more tensor')}</p>" if more else ""
    return f'<div class="scroll"><table class="sp-table">{"".join(rows)}</table></div>{after}'


def _found(findings: Sequence[Finding]) -> dict[tuple[str, str | None], int]:
    found: dict[tuple[str, str | None], int] = {}
    for finding in findings:
        key = (finding.part or "", finding.fqn)
        found[key] = found.get(key, 0) + 1
    return found


def _ranked(listed: Sequence[Listed], findings: Sequence[Finding]) -> list[Listed]:
    found = _found(findings)
    return sorted(
        listed, key=lambda one: (-found.get((one.part.name, one.tensor.fqn), 0), -(bytes_of(one.tensor) or 0))
    )
